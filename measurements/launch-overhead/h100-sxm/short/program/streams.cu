// Short launches: empty blocks and dense streams by vector, block and bytes; lifetimes of blocks.
#include <cuda_runtime.h>
#include <cuda_profiler_api.h>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>
typedef unsigned u32; typedef long long i64; typedef unsigned long long u64;
__global__ void marker_kernel(){}
__global__ void flush_read(const uint4* p,size_t n,u32* out){ size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; if(i<n){uint4 v=p[i]; if((v.x^v.y^v.z^v.w)==0x12345678u&&v.x==77u) out[0]=v.x;} }
__global__ void flush_write(uint4* p,size_t n,u32 seed){ size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; if(i<n){u32 a=(u32)i*2654435761u^seed; p[i]=make_uint4(a,a*3u,a^77u,~a);} }
__global__ void k_empty(){}
__device__ float first(float v){return v;} __device__ float first(float2 v){return v.x+v.y;} __device__ float first(float4 v){return v.x+v.y+v.z+v.w;}
__device__ void value(float& v,float a){v=a;} __device__ void value(float2& v,float a){v=make_float2(a,a+1.f);} __device__ void value(float4& v,float a){v=make_float4(a,a+1.f,a*3.f,a+5.f);}
template<class T> __global__ void k_write(T* out,size_t n){ size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; if(i<n){T v; value(v,(float)(u32)i); out[i]=v;} }
template<class T> __global__ void k_read(const T* __restrict__ in,float* out,size_t n){ size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; if(i<n){ float s=first(in[i]); if(s==-123.456f) out[0]=s; } }
template<class T> __global__ void k_copy(const T* __restrict__ in,T* __restrict__ out,size_t n){ size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; if(i<n) out[i]=in[i]; }
// of each block: when it starts, its SM, clocks until its first warp has its data
template<class T> __global__ void k_lives(const T* __restrict__ in,u64* stamps,size_t n){ u64 g; u32 a,b,sm; asm volatile("mov.u64 %0,%%globaltimer;":"=l"(g)); asm volatile("mov.u32 %0,%%smid;":"=r"(sm)); asm volatile("mov.u32 %0,%%clock;":"=r"(a));
  size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; float s=0; if(i<n) s=first(in[i]); if(s==-123.456f) stamps[3]=7; asm volatile("mov.u32 %0,%%clock;":"=r"(b)::"memory");
  if(!threadIdx.x){ stamps[3*blockIdx.x]=g; stamps[3*blockIdx.x+1]=sm|((u64)a<<32); stamps[3*blockIdx.x+2]=b-a; } }
static char *IN,*OUT,*FL,*FW; static const size_t FB=256ull<<20; static u32 seed=1;
extern "C" const char* setup(){ cudaMalloc(&IN,256ull<<20); cudaMalloc(&OUT,256ull<<20); cudaMalloc(&FL,FB); cudaMalloc(&FW,FB); cudaMemset(IN,1,256ull<<20); cudaMemset(OUT,0,256ull<<20); cudaMemset(FL,1,FB); return cudaGetErrorString(cudaDeviceSynchronize()); }
extern "C" void flush(int how){ u32 g=(u32)(FB/16/256);
  if(how==2) flush_write<<<g,256>>>((uint4*)FW,FB/16,seed++);
  if(how==1||how==2) flush_read<<<g,256>>>((const uint4*)FL,FB/16,(u32*)OUT); }
extern "C" void mark(){ marker_kernel<<<1,32>>>(); }
template<class T> void go(int kind,u32 b,u32 g,size_t n){ if(kind==1) k_write<<<g,b>>>((T*)OUT,n); if(kind==2) k_read<<<g,b>>>((const T*)IN,(float*)OUT,n); if(kind==3) k_copy<<<g,b>>>((const T*)IN,(T*)OUT,n); if(kind==4) k_lives<<<g,b>>>((const T*)IN,(u64*)OUT,n); }
// kind (0 empty, 1 write, 2 read, 3 copy), bytes a thread, block, blocks, threads with work
extern "C" const char* launch(const i64* p){ u32 b=(u32)p[2],g=(u32)p[3]; size_t n=(size_t)p[4]; if(!p[0]) k_empty<<<g,b>>>();
  else if(p[1]==4) go<float>((int)p[0],b,g,n); else if(p[1]==8) go<float2>((int)p[0],b,g,n); else go<float4>((int)p[0],b,g,n);
  return cudaGetErrorString(cudaGetLastError()); }
extern "C" const char* timed(const i64* p,int cold,int reps,float* us){ cudaEvent_t b[64],e[64]; const char* s="";
  for(int r=0;r<reps;r++){ cudaEventCreate(&b[r]); cudaEventCreate(&e[r]); } cudaDeviceSynchronize(); for(int k=0;k<5;k++) flush(1); if(!cold){launch(p);launch(p);}
  for(int r=0;r<reps;r++){ if(cold) flush(cold); cudaEventRecord(b[r]); s=launch(p); cudaEventRecord(e[r]); }
  cudaError_t q=cudaDeviceSynchronize(); for(int r=0;r<reps;r++){ float ms=0; cudaEventElapsedTime(&ms,b[r],e[r]); us[r]=ms*1000.f; cudaEventDestroy(b[r]); cudaEventDestroy(e[r]); } return q?cudaGetErrorString(q):s; }
extern "C" const char* sequence(const i64* p,int cold,int reps){ const char* s=""; mark(); if(!cold){launch(p);launch(p);} for(int r=0;r<reps;r++){ if(cold) flush(cold); s=launch(p); } cudaError_t q=cudaDeviceSynchronize(); return q?cudaGetErrorString(q):s; }
int main(int c,char** v){ printf("# %s\n",setup()); i64 p[5]; bool counted=c>1&&!strcmp(v[1],"counted"),lives=c>1&&!strcmp(v[1],"lives");
  for(int k=0;k<300;k++) flush(1); cudaDeviceSynchronize();
  while(scanf("%lld %lld %lld %lld %lld",p,p+1,p+2,p+3,p+4)==5){
    if(counted){ launch(p); launch(p); cudaDeviceSynchronize(); for(int r=0;r<3;r++){ cudaProfilerStart(); const char* s=launch(p); cudaDeviceSynchronize(); cudaProfilerStop(); if(strcmp(s,"no error")) printf("# %s\n",s); } continue; }
    if(lives){ p[0]=4; std::vector<u64> h(3*p[3]); for(int cold=0;cold<2;cold++) for(int r=0;r<3;r++){ launch(p); if(cold) flush(1); launch(p); cudaMemcpy(h.data(),OUT,h.size()*8,cudaMemcpyDeviceToHost); if(r==0) continue; u64 g0=~0ull; for(i64 k=0;k<p[3];k++) if(h[3*k]<g0) g0=h[3*k];
      printf("%lld %lld %lld %lld %d %d",p[1],p[2],p[3],p[4],cold,r); for(i64 k=0;k<p[3];k++) printf(" %llu,%llu,%llu,%llu",h[3*k]-g0,h[3*k+1]&0xffff,h[3*k+1]>>32,h[3*k+2]); printf("\n"); } continue; }
    for(int how=0;how<3;how++){ float us[64]; const char* s=timed(p,how,15,us); printf("%lld %lld %lld %lld %lld %d",p[0],p[1],p[2],p[3],p[4],how); for(int r=0;r<15;r++) printf(" %.3f",us[r]); printf("%s%s\n",strcmp(s,"no error")?" # ":"",strcmp(s,"no error")?s:""); } }
  printf("# %s\n",cudaGetErrorString(cudaDeviceSynchronize())); }
