// Short launches, one thing varied at a time: empty, spinning and idle blocks, dense streams.
#include <cuda_runtime.h>
#include <cuda_profiler_api.h>
#include <cstdint>
#include <cstdio>
#include <cstring>
typedef unsigned u32; typedef long long i64;
__global__ void marker_kernel(){}
__global__ void flush_read(const uint4* p,size_t n,u32* out){ size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; if(i<n){uint4 v=p[i]; if((v.x^v.y^v.z^v.w)==0x12345678u&&v.x==77u) out[0]=v.x;} }
__global__ void flush_write(uint4* p,size_t n,u32 seed){ size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; if(i<n){u32 a=(u32)i*2654435761u^seed; p[i]=make_uint4(a,a*3u,a^77u,~a);} }
__global__ void flush_wait(int clocks){ u32 a,b; asm volatile("mov.u32 %0,%%clock;":"=r"(a)); do asm volatile("mov.u32 %0,%%clock;":"=r"(b)); while(b-a<(u32)clocks); }
__global__ void k_empty(){}
// every warp spins so many clocks
__global__ void k_spin(int clocks){ u32 a,b; asm volatile("mov.u32 %0,%%clock;":"=r"(a)); if(clocks) do asm volatile("mov.u32 %0,%%clock;":"=r"(b)); while(b-a<(u32)clocks); }
__global__ void k_write(float* out,size_t n){ size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; if(i<n) out[i]=(float)(u32)i; }
__global__ void k_read(const float* in,float* out,size_t n){ size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; if(i<n){ float s=in[i]; if(s==-123.456f) out[0]=s; } }
__global__ void k_copy(const float* in,float* out,size_t n){ size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; if(i<n) out[i]=in[i]; }
__global__ void k_write4(uint4* out,size_t n){ size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; if(i<n) out[i]=make_uint4((u32)i,1,2,3); }
__global__ void k_read4(const uint4* in,u32* out,size_t n){ size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; if(i<n){ uint4 v=in[i]; if((v.x^v.y^v.z^v.w)==0x12345678u&&v.x==77u) out[0]=v.x; } }
__global__ void k_copy4(const uint4* in,uint4* out,size_t n){ size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; if(i<n) out[i]=in[i]; }
static char *IN,*OUT,*FL,*FW; static const size_t FB=256ull<<20; static u32 seed=1;
extern "C" const char* setup(){ cudaMalloc(&IN,256ull<<20); cudaMalloc(&OUT,256ull<<20); cudaMalloc(&FL,FB); cudaMalloc(&FW,FB); cudaMemset(IN,1,256ull<<20); cudaMemset(OUT,0,256ull<<20); cudaMemset(FL,1,FB); return cudaGetErrorString(cudaDeviceSynchronize()); }
// 1: other data read; 2: other data written, then read; 3: written; 4: as 2, then 30 us of waiting
extern "C" void flush(int how){ u32 g=(u32)(FB/16/256);
  if(how==2||how==3||how==4) flush_write<<<g,256>>>((uint4*)FW,FB/16,seed++);
  if(how==1||how==2||how==4) flush_read<<<g,256>>>((const uint4*)FL,FB/16,(u32*)OUT);
  if(how==4) flush_wait<<<1,32>>>(60000); }
extern "C" void mark(){ marker_kernel<<<1,32>>>(); }
extern "C" const char* launch(int id,const i64* p){ u32 b=(u32)p[0],g=(u32)p[1]; size_t n=(size_t)p[2];
  switch(id){ case 0:k_empty<<<g,b>>>();break; case 1:k_spin<<<g,b>>>((int)n);break;
    case 3:k_write<<<g,b>>>((float*)OUT,n);break; case 4:k_read<<<g,b>>>((float*)IN,(float*)OUT,n);break; case 5:k_copy<<<g,b>>>((float*)IN,(float*)OUT,n);break;
    case 6:k_write4<<<g,b>>>((uint4*)OUT,n);break; case 7:k_read4<<<g,b>>>((uint4*)IN,(u32*)OUT,n);break; case 8:k_copy4<<<g,b>>>((uint4*)IN,(uint4*)OUT,n);break; }
  return cudaGetErrorString(cudaGetLastError()); }
extern "C" const char* timed(int id,const i64* p,int cold,int reps,float* us){ cudaEvent_t b[64],e[64]; const char* s="";
  for(int r=0;r<reps;r++){ cudaEventCreate(&b[r]); cudaEventCreate(&e[r]); } cudaDeviceSynchronize(); for(int k=0;k<4;k++) flush(1); if(!cold){launch(id,p);launch(id,p);}
  for(int r=0;r<reps;r++){ if(cold) flush(cold); cudaEventRecord(b[r]); s=launch(id,p); cudaEventRecord(e[r]); }
  cudaError_t q=cudaDeviceSynchronize(); for(int r=0;r<reps;r++){ float ms=0; cudaEventElapsedTime(&ms,b[r],e[r]); us[r]=ms*1000.f; cudaEventDestroy(b[r]); cudaEventDestroy(e[r]); } return q?cudaGetErrorString(q):s; }
extern "C" const char* sequence(int id,const i64* p,int cold,int reps){ const char* s=""; mark(); if(!cold){launch(id,p);launch(id,p);} for(int r=0;r<reps;r++){ if(cold) flush(cold); s=launch(id,p); } cudaError_t q=cudaDeviceSynchronize(); return q?cudaGetErrorString(q):s; }
// points on stdin: id, block, blocks, n. "events": times of each; "counted": four launches of each for a profiler
int main(int c,char** v){ printf("# %s\n",setup()); i64 p[4]; int id; bool counted=c>1&&!strcmp(v[1],"counted");
  for(int k=0;k<300;k++) flush(1); cudaDeviceSynchronize();
  while(scanf("%d %lld %lld %lld",&id,p,p+1,p+2)==4){
    if(counted){ launch(id,p); launch(id,p); cudaDeviceSynchronize(); for(int r=0;r<4;r++){ cudaProfilerStart(); const char* s=launch(id,p); cudaDeviceSynchronize(); cudaProfilerStop(); if(strcmp(s,"no error")) printf("# %s\n",s); } continue; }
    for(int how=0;how<5;how++){ float us[64]; const char* s=timed(id,p,how,25,us); printf("%d %lld %lld %lld %d",id,p[0],p[1],p[2],how); for(int r=0;r<25;r++) printf(" %.3f",us[r]); printf("%s%s\n",strcmp(s,"no error")?" # ":"",strcmp(s,"no error")?s:""); } }
  printf("# %s\n",cudaGetErrorString(cudaDeviceSynchronize())); }
