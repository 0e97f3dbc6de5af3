// Sets in order past L1: what the busiest slice of L2 has of them (with the profiler), and how fast they come (events, behind queued work).
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <algorithm>
#include <functional>
#define R(x) do{cudaError_t e_=(x); if(e_!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e_)); exit(1);} }while(0)
typedef unsigned u32;
__device__ __forceinline__ float fold(float4 v){return v.x+v.y+v.z+v.w;}
// Each thread its own part, one load a time.
__global__ void __launch_bounds__(1024,2) set_one(const float4* in, float* out, u32 n, int iterations){
  const u32 step=gridDim.x*blockDim.x; float s=0;
  for(int r=0;r<iterations;++r) for(u32 i=blockIdx.x*blockDim.x+threadIdx.x;i<n;i+=step) s+=fold(__ldcg(in+i));
  if(s<-1e30f) out[0]=s;
}
// Blocks spread over the set whatever its size: each warp reads lines one after the other from its own start, four in flight.
__global__ void __launch_bounds__(1024,2) set_spread(const float4* in, float* out, u32 n, int loads){
  const u32 warp=(blockIdx.x*blockDim.x+threadIdx.x)/32, lane=threadIdx.x&31, lines=n/32; float s=0;
  u32 at=(u32)((unsigned long long)warp*2654435761u%lines);
  for(int r=0;r<loads;r+=4){ float4 v[4];
    #pragma unroll
    for(int k=0;k<4;++k){ v[k]=__ldcg(in+at*32+lane); at+=1; if(at>=lines) at-=lines; }
    s+=fold(v[0])+fold(v[1])+fold(v[2])+fold(v[3]); }
  if(s<-1e30f) out[0]=s;
}
__global__ void spin(long long c){ long long t=clock64(); while(clock64()-t<c); }
__global__ void nothing(){}
int main(int c,char**v){
  bool ncu=c>1&&!strcmp(v[1],"ncu"); R(cudaSetDevice(0)); cudaStream_t s; R(cudaStreamCreate(&s));
  char* in; float* out; size_t all=256ull<<20; R(cudaMalloc(&in,all)); R(cudaMalloc(&out,4096)); R(cudaMemset(in,1,all)); R(cudaStreamSynchronize(s));
  cudaEvent_t a,b; R(cudaEventCreate(&a)); R(cudaEventCreate(&b));
  auto timed=[&](std::function<void()> f,int reps){ std::vector<float> t; f(); f(); for(int i=0;i<reps;++i){ spin<<<1,1,0,s>>>(40000); R(cudaEventRecord(a,s)); f(); R(cudaEventRecord(b,s)); R(cudaEventSynchronize(b)); float m; R(cudaEventElapsedTime(&m,a,b)); t.push_back(m*1e3f);} R(cudaGetLastError()); std::sort(t.begin(),t.end()); printf("%d,%.3f,%.4f\n",reps,t[t.size()/2],(t[(3*t.size())/4]-t[t.size()/4])/t[t.size()/2]); };
  int kib[]={64,128,192,256,384,512,640,768,1024,1280,1536,1792,2048,2560,3072,3584,4096,5120,6144,8192,10240,12288,16384,20480,24576,32768,40960};
  size_t places[]={0,96ull<<20,(37ull<<20)+(768<<10)};
  if(ncu){ for(size_t p:places) for(int k:kib){ if((k>8192||k%256)&&p) continue; u32 n=k*64u; set_one<<<264,1024,0,s>>>((float4*)(in+p),out,n,1); R(cudaStreamSynchronize(s)); R(cudaGetLastError()); } return 0; }
  printf("function,place,kib,iterations,blocks,reps,time_us,spread\n");
  printf("nothing,0,0,0,1,"); timed([&]{nothing<<<1,32,0,s>>>();},31);
  for(size_t p:places) for(int k:kib){ if((k>8192||k%256)&&p) continue; u32 n=k*64u; int it=std::max(2,262144/k);
    printf("set_one,%zu,%d,%d,264,",p>>10,k,it); timed([&]{set_one<<<264,1024,0,s>>>((float4*)(in+p),out,n,it);},7);
    printf("set_spread,%zu,%d,%d,264,",p>>10,k,32); timed([&]{set_spread<<<264,1024,0,s>>>((float4*)(in+p),out,n,32);},7); }
  // Few SMs: where L2's slices are no limit.
  for(int k:{1024,2048,4096}) for(int blocks:{16,33,66,132}){ u32 n=k*64u; printf("set_spread,0,%d,32,%d,",k,blocks); timed([&]{set_spread<<<blocks,1024,0,s>>>((float4*)in,out,n,32);},7); }
  return 0; }
