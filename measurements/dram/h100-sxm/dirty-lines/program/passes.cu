// What a cold launch writes to DRAM by how the profiler counts it, and by the streams it reads and writes: sizes in MiB of each stream.
#include <cstdio>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_profiler_api.h>
#define OK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){printf("error %s\n",cudaGetErrorString(e)); exit(1);}}while(0)
__device__ __host__ inline uint32_t hash(uint32_t x){ x^=x>>16; x*=0x7feb352du; x^=x>>15; x*=0x846ca68bu; x^=x>>16; return x; }
__global__ void gather(const float* __restrict__ table, const int* __restrict__ index, float* __restrict__ out, unsigned n, unsigned run){ unsigned i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n) out[i]=table[index[i/run]*run+i%run]; }
template<int R,int W,int V> __global__ void mix(const float4* __restrict__ in, float4* __restrict__ out, size_t n, size_t pitch){
  size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x;
  if(V==4){ if(i<n){ float4 s=make_float4((float)i,0,0,0);
    #pragma unroll
    for(int r=0;r<R;r++){ float4 v=in[i+r*pitch]; s.x+=v.x; s.y+=v.y; s.z+=v.z; s.w+=v.w; }
    if(W==0){ if(s.x==-1.25f) out[i]=s; }
    #pragma unroll
    for(int w=0;w<W;w++) out[i+w*pitch]=s; } }
  else { const float* a=(const float*)in; float* b=(float*)out; if(i<4*n){ float s=(float)i;
    #pragma unroll
    for(int r=0;r<R;r++) s+=a[i+r*pitch*4];
    if(W==0){ if(s==-1.25f) b[i]=s; }
    #pragma unroll
    for(int w=0;w<W;w++) b[i+w*pitch*4]=s; } }
}
__global__ void inplace(float* p, size_t n){ size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x; if(i<n) p[i]+=1.f; }
static float4 *A,*B; static int* X; static bool flush=false;
static const size_t PITCH=(size_t)256<<16; // 256 MiB in float4
template<typename F> void one(const char* what, double mib, int r, int w, int v, F f){
  if(flush){ mix<1,0,4><<<65536,256>>>(A+3*PITCH,B,65536*256,0); OK(cudaDeviceSynchronize()); }
  cudaProfilerStart(); f(); OK(cudaDeviceSynchronize()); cudaProfilerStop(); printf("row,%s,%g,%d,%d,%d\n",what,mib,r,w,v); fflush(stdout); }
template<int R,int W,int V> void mixes(double mib){ size_t n=(size_t)(mib*65536); unsigned g=(unsigned)((n*(V==4?1:4)+255)/256); one("mix",mib,R,W,V,[&]{ mix<R,W,V><<<g,256>>>(A,B,n,PITCH); }); }
void gathers(int m, int run, size_t tm){ unsigned n=(unsigned)m<<20; size_t places=(tm<<18)/run; std::vector<int> h(n/run); for(size_t i=0;i<h.size();i++) h[i]=(int)(hash((uint32_t)i*2654435761u+17)&(places-1));
  OK(cudaMemcpy(X,h.data(),h.size()*4,cudaMemcpyHostToDevice)); one("gather",m,run,(int)tm,4,[&]{ gather<<<n/256,256>>>((float*)A,X,(float*)B,n,run); }); }
int main(int c, char** v){
  const bool all=c>1&&!strcmp(v[1],"all"); flush=c>1&&!strcmp(v[1],"flush");
  OK(cudaMalloc(&A,4*PITCH*16)); OK(cudaMalloc(&B,4*PITCH*16)); OK(cudaMalloc(&X,(size_t)64<<20));
  OK(cudaMemset(A,0,4*PITCH*16)); OK(cudaMemset(B,0,4*PITCH*16));
  for(double m:{16.,24.,32.,40.,64.,128.}) mixes<1,0,4>(m);
  for(double m:{16.,24.,32.}) { mixes<1,1,4>(m); mixes<0,1,4>(m); }
  for(int run:{1,8,32}) gathers(4,run,256);
  if(!all) return 0;
  for(double m:{8.,12.,16.,20.,24.,32.,48.}){ mixes<2,1,1>(m); mixes<4,1,1>(m); mixes<1,2,1>(m); mixes<1,4,1>(m); mixes<2,1,4>(m); mixes<0,2,1>(m); mixes<0,1,1>(m);
    one("inplace",m,1,1,1,[&]{ size_t n=(size_t)(m*262144); inplace<<<(unsigned)((n+255)/256),256>>>((float*)B,n); }); }
  for(int m:{3,4,6}) for(int run:{2,4,16}) gathers(m,run,m==4?64:256);
  for(int m:{4}) for(int run:{1,8,32}) for(size_t tm:{8,16,32}) gathers(m,run,tm);
  return 0; }
