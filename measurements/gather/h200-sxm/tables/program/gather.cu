// Gathers and their parts, as shared library for a profiler and as program for counters.
#include <cuda_runtime.h>
#include <cuda_profiler_api.h>
#include <ctime>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
typedef unsigned u32; typedef unsigned long long u64;
__device__ __forceinline__ u32 mix(u32 h){ h^=h>>16; h*=0x85ebca6bu; h^=h>>13; h*=0xc2b2ae35u; h^=h>>16; return h; }
__global__ void marker_kernel(){}
__global__ void flush_write(uint4* p,size_t n,u32 seed){ size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; if(i<n){u32 a=(u32)i*2654435761u^seed; p[i]=make_uint4(a,a*3u,a^77u,~a);} }
__global__ void flush_read(const uint4* p,size_t n,u32* out){ size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; if(i<n){uint4 v=p[i]; if((v.x^v.y^v.z^v.w)==0x12345678u&&v.x==77u) out[0]=v.x;} }
__global__ void fill_rows(u32* p,size_t n,u64 bound){ for(size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x;i<n;i+=(size_t)gridDim.x*blockDim.x) p[i]=(u32)((u64)mix((u32)i*2891336453u+12345u)*bound>>32); }
__global__ void k_empty(u32 n){}
__global__ void k_store(float* __restrict__ out,u32 n){ u32 i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n) out[i]=(float)i; }
__global__ void k_divide(float* __restrict__ out,u32 n,u32 run){ u32 i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n) out[i]=(float)((i/run)*7u+i%run); }
__global__ void k_rows(const u32* __restrict__ rows,float* __restrict__ out,u32 n,u32 run){ u32 i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n) out[i]=(float)(rows[i/run]+i%run); }
__global__ void k_copy(const float* __restrict__ table,float* __restrict__ out,u32 n){ u32 i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n) out[i]=table[i]; }
__global__ void k_hashed(const float* __restrict__ table,float* __restrict__ out,u32 n,u32 run,u32 count){ u32 i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n) out[i]=table[(size_t)__umulhi(mix((i/run)*2891336453u+12345u),count)*run+i%run]; }
__global__ void k_shift(const float* __restrict__ table,const u32* __restrict__ rows,float* __restrict__ out,u32 n,u32 bits){ u32 i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n) out[i]=table[((size_t)rows[i>>bits]<<bits)+(i&((1u<<bits)-1))]; }
__global__ void k_gather(const float* __restrict__ table,const u32* __restrict__ rows,float* __restrict__ out,u32 n,u32 run){ u32 i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n) out[i]=table[(size_t)rows[i/run]*run+i%run]; }
// the same, and a few warps say when: begin, index there, row there (clocks), SM and time of begin
__global__ void k_timed(const float* __restrict__ table,const u32* __restrict__ rows,float* __restrict__ out,u32 n,u32 run,uint4* log,u32 every){
  __shared__ volatile u32 seen[512];
  u32 i=blockIdx.x*blockDim.x+threadIdx.x,t0,t1,t2; asm volatile("mov.u32 %0,%%clock;":"=r"(t0)::"memory");
  if(i<n){ u32 q=i/run,m=i%run; u32 r=rows[q]; seen[threadIdx.x]=r; asm volatile("mov.u32 %0,%%clock;":"=r"(t1)::"memory"); float v=table[(size_t)r*run+m]; seen[256+threadIdx.x]=__float_as_uint(v); asm volatile("mov.u32 %0,%%clock;":"=r"(t2)::"memory"); out[i]=v;
    if(threadIdx.x%32==0&&blockIdx.x%every==0){ u32 sm; asm("mov.u32 %0,%%smid;":"=r"(sm)); log[(blockIdx.x/every)*8+threadIdx.x/32]=make_uint4(t0,t1-t0,t2-t1,sm); } }
}
__global__ void __launch_bounds__(256) k_reads(const float* __restrict__ table,float* out,u32 length,int reads,int step){
  u32 i=blockIdx.x*blockDim.x+threadIdx.x; float s=0;
#pragma unroll 4
  for(int k=0;k<reads;++k) s+=table[(size_t)__umulhi(mix(i*64u+k),length)*step];
  if(s==12345.678f) out[0]=s;
}
static char *T,*ROWS,*OUTB,*FL; static uint4* LOG; static const size_t FB=256ull<<20; static u32 seed=1;
extern "C" const char* setup(long long table){ cudaMalloc(&T,table); cudaMalloc(&ROWS,256ull<<20); cudaMalloc(&OUTB,512ull<<20); cudaMalloc(&FL,2*FB); cudaMalloc(&LOG,64<<20);
  flush_write<<<(u32)(FB/16/256),256>>>((uint4*)OUTB,FB/16,3); return cudaGetErrorString(cudaDeviceSynchronize()); }
extern "C" const char* rows(long long n,long long bound){ fill_rows<<<1056,256>>>((u32*)ROWS,n,bound); return cudaGetErrorString(cudaGetLastError()); }
extern "C" void flush(int how){ u32 g=(u32)(FB/16/256); flush_write<<<g,256>>>((uint4*)FL,FB/16,seed++); if(how) flush_read<<<g,256>>>((const uint4*)(FL+FB),FB/16,(u32*)FL); }
extern "C" void granularity(int bytes){ cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity,bytes); }
extern "C" void mark(){ marker_kernel<<<1,32>>>(); }
// id, n, run, table bytes, blocks or every
extern "C" void launch(int id,long long n,long long run,long long bytes,long long x){
  u32 g=(u32)((n+255)/256); const float* t=(const float*)T; const u32* r=(const u32*)ROWS; float* o=(float*)OUTB; u32 bits=0; while((1ll<<bits)<run) bits++;
  switch(id){ case 0:k_empty<<<g,256>>>(n);break; case 1:k_store<<<g,256>>>(o,n);break; case 2:k_divide<<<g,256>>>(o,n,run);break; case 3:k_rows<<<g,256>>>(r,o,n,run);break;
    case 4:k_copy<<<g,256>>>(t,o,n);break; case 5:k_gather<<<g,256>>>(t,r,o,n,run);break; case 6:k_hashed<<<g,256>>>(t,o,n,run,(u32)(bytes/4/run));break; case 7:k_shift<<<g,256>>>(t,r,o,n,bits);break;
    case 8:k_timed<<<g,256>>>(t,r,o,n,run,LOG,x);break; case 9:k_reads<<<(u32)x,256>>>(t,o,(u32)(bytes/4/run),(int)n,(int)run);break; }
}
extern "C" const char* sequence(int id,long long n,long long run,long long bytes,long long x,int cold,int reps){
  mark(); if(!cold){launch(id,n,run,bytes,x);launch(id,n,run,bytes,x);}
  for(int k=0;k<reps;k++){ if(cold) flush(1); launch(id,n,run,bytes,x); } return cudaGetErrorString(cudaDeviceSynchronize()); }
extern "C" const char* peek(long long count,void* to){ cudaMemcpy(to,LOG,count*16,cudaMemcpyDeviceToHost); return cudaGetErrorString(cudaGetLastError()); }
int main(int c,char** v){ // for counters: lines "id n run bytes x cold [granularity]"
  time_t began=time(0); setup(4ll<<30); char line[256]; FILE* f=fopen(v[1],"r"); long long n,run,b,x; int id,cold,g,k=0;
  while(fgets(line,sizeof line,f)) if(sscanf(line,"%d %lld %lld %lld %lld %d%n",&id,&n,&run,&b,&x,&cold,&g)==6){ granularity(atoi(line+g)?atoi(line+g):64); if(id!=9) rows((n+run-1)/run,b/4/run); if(cold) flush(1); else { launch(id,n,run,b,x); launch(id,n,run,b,x); } cudaDeviceSynchronize(); printf("launch %d: %s",k++,line); fflush(stdout); cudaProfilerStart(); launch(id,n,run,b,x); cudaDeviceSynchronize(); cudaProfilerStop(); if(time(0)-began>atol(v[2])) break; }
  printf("%s\n",cudaGetErrorString(cudaGetLastError())); return 0; }
