// Small launches and streams, one thing varied at a time: turns of blocks, phases of working sets, strides, jumps in code, dependent loads.
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
typedef unsigned u32; typedef long long i64;
__device__ __forceinline__ u32 mix(u32 h){ h^=h>>16; h*=0x85ebca6bu; h^=h>>13; h*=0xc2b2ae35u; h^=h>>16; return h; }
__global__ void marker_kernel(){}
__global__ void flush_read(const uint4* p,size_t n,u32* out){ size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; if(i<n){uint4 v=p[i]; if((v.x^v.y^v.z^v.w)==0x12345678u&&v.x==77u) out[0]=v.x;} }
__global__ void fill_all(u32* p,size_t n,u32 mask){ for(size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x;i<n;i+=(size_t)gridDim.x*blockDim.x) p[i]=mix((u32)i*747796405u+17u)&mask; }
__global__ void k_empty(){}
// every warp spins so many clocks
__global__ void k_spin(int clocks){ u32 a,b; asm volatile("mov.u32 %0,%%clock;":"=r"(a)); if(clocks) do asm volatile("mov.u32 %0,%%clock;":"=r"(b)); while(b-a<(u32)clocks); }
// the same, warps say when they began and ended, and where
__global__ void k_log(int clocks,uint4* log){ u32 a,b; asm volatile("mov.u32 %0,%%clock;":"=r"(a)::"memory"); do asm volatile("mov.u32 %0,%%clock;":"=r"(b)); while(b-a<(u32)clocks);
  if(threadIdx.x%32==0){ u32 sm,w; asm("mov.u32 %0,%%smid;":"=r"(sm)); asm("mov.u32 %0,%%warpid;":"=r"(w)); asm volatile("mov.u32 %0,%%clock;":"=r"(b)::"memory"); log[(size_t)blockIdx.x*(blockDim.x/32)+threadIdx.x/32]=make_uint4(a,b,sm,w); } }
__global__ void k_write(float* out,size_t n){ size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; if(i<n) out[i]=(float)(u32)i; }
__global__ void k_read(const float* in,float* out,size_t n){ size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; if(i<n){ float s=in[i]; if(s==-123.456f) out[0]=s; } }
__global__ void k_copy(const float* in,float* out,size_t n){ size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; if(i<n) out[i]=in[i]; }
__global__ void k_strided(const float* in,float* out,u32 n,size_t stride){ u32 i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n) out[i]=in[i*stride]; }
__global__ void __launch_bounds__(1024) k_set(const float4* in,float* out,size_t n,int iterations){ float s=0;
  for(int r=0;r<iterations;r++) for(size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x;i<n;i+=(size_t)gridDim.x*blockDim.x){ float4 v=__ldcg(in+i); s+=v.x+v.y+v.z+v.w; }
  if(s==-123.456f) out[0]=s; }
// DEPTH dense loads one after the other, then one at a random place
template<int DEPTH> __global__ void k_after(const u32* zeros,const float* table,float* out,u32 n,u32 places,u32 run){ u32 i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n){ u32 j=i;
#pragma unroll
    for(int d=0;d<DEPTH;d++) j+=zeros[j+d*(8u<<20)];
    out[i]=table[(size_t)__umulhi(mix(j/run*2891336453u+12345u),places)*run+j%run]; } }
#define FMA4 asm volatile("fma.rn.f32 %0,%0,%4,%5; fma.rn.f32 %1,%1,%4,%5; fma.rn.f32 %2,%2,%4,%5; fma.rn.f32 %3,%3,%4,%5;":"+f"(a),"+f"(b),"+f"(c),"+f"(d):"f"(m),"f"(k));
template<int HOPS,int GAP> __global__ void k_hops(float* out,const float* in,float m,int never){ float a=in[threadIdx.x],b=a+1,c=a+2,d=a+3,k=0.5f;
#pragma unroll
  for(int h=0;h<HOPS;++h){ if(never==h){
#pragma unroll
      for(int i=0;i<GAP/4;++i) FMA4 }
#pragma unroll
    for(int i=0;i<4;++i) FMA4 }
  out[blockIdx.x*blockDim.x+threadIdx.x]=a+b+c+d; }
template<int N> __global__ void k_straight(float* out,const float* in,float m){ float a=in[threadIdx.x],b=a+1,c=a+2,d=a+3,k=0.5f;
#pragma unroll
  for(int i=0;i<N/4;++i) FMA4
  out[blockIdx.x*blockDim.x+threadIdx.x]=a+b+c+d; }
static char *IN,*OUT,*FL,*Z; static uint4* LOG; static const size_t FB=256ull<<20;
extern "C" const char* setup(){ cudaMalloc(&IN,5ull<<30); cudaMalloc(&OUT,1ull<<30); cudaMalloc(&FL,FB); cudaMalloc(&Z,128ull<<20); cudaMalloc(&LOG,64<<20); cudaMemset(Z,0,128ull<<20); cudaMemset(OUT,0,1ull<<30);
  fill_all<<<1056,256>>>((u32*)IN,(5ull<<30)/4,0x3fffffffu); fill_all<<<1056,256>>>((u32*)FL,FB/4,0x3fffffffu);
  cudaFuncSetAttribute(k_spin,cudaFuncAttributeMaxDynamicSharedMemorySize,200<<10); return cudaGetErrorString(cudaDeviceSynchronize()); }
__global__ void flush_write(uint4* p,size_t n,u32 seed){ size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; if(i<n){u32 a=(u32)i*2654435761u^seed; p[i]=make_uint4(a,a*3u,a^77u,~a);} }
static u32 seed=1;
// 1: reads; 2: writes something else first; 3: writes only
extern "C" void flush(int how=1){ if(how>1) flush_write<<<(u32)(FB/16/256),256>>>((uint4*)(IN+(4ull<<30)),FB/16,seed++); if(how<3) flush_read<<<(u32)(FB/16/256),256>>>((const uint4*)FL,FB/16,(u32*)OUT); }
extern "C" void mark(){ marker_kernel<<<1,32>>>(); }
// id; p: meaning by id
extern "C" const char* launch(int id,const i64* p){ float *in=(float*)IN,*out=(float*)OUT; const u32* z=(const u32*)Z; u32 b=(u32)p[0],g=(u32)p[1];
  switch(id){
    case 0:k_empty<<<g,b>>>();break;
    case 1:k_spin<<<g,b,p[3]>>>((int)p[2]);break;
    case 2:k_log<<<g,b>>>((int)p[2],LOG);break;
    case 3:k_write<<<g,b>>>(out,(size_t)p[2]);break; case 4:k_read<<<g,b>>>(in,out,(size_t)p[2]);break; case 5:k_copy<<<g,b>>>(in,out,(size_t)p[2]);break;
    case 6:k_strided<<<g,b>>>(in,out,(u32)p[2],(size_t)p[3]);break;
    case 7:k_set<<<g,b>>>((const float4*)in,out,(size_t)p[2],(int)p[3]);break;
    case 8:{ u32 n=(u32)p[2],pl=(u32)p[4],r=(u32)p[5]; switch(p[3]){ case 0:k_after<0><<<g,b>>>(z,in,out,n,pl,r);break; case 1:k_after<1><<<g,b>>>(z,in,out,n,pl,r);break; case 2:k_after<2><<<g,b>>>(z,in,out,n,pl,r);break; case 3:k_after<3><<<g,b>>>(z,in,out,n,pl,r);break; } break; }
    case 9:{ float m=0.999f; switch(p[2]){ 
#define H(I,N,G) case I:k_hops<N,G><<<g,b>>>(out,in,m,-1);break;
      H(0,4,16) H(1,4,64) H(2,4,256) H(3,16,16) H(4,16,64) H(5,16,256)
#define S(I,N) case I:k_straight<N><<<g,b>>>(out,in,m);break;
      S(10,64) S(11,256) S(12,1024) } break; }
  } return cudaGetErrorString(cudaGetLastError()); }
extern "C" const char* timed(int id,const i64* p,int cold,int reps,float* us){ cudaEvent_t b[64],e[64]; const char* s="";
  for(int r=0;r<reps;r++){ cudaEventCreate(&b[r]); cudaEventCreate(&e[r]); } cudaDeviceSynchronize(); for(int k=0;k<4;k++) flush(); if(!cold){launch(id,p);launch(id,p);}
  for(int r=0;r<reps;r++){ if(cold) flush(cold); cudaEventRecord(b[r]); s=launch(id,p); cudaEventRecord(e[r]); }
  cudaError_t q=cudaDeviceSynchronize(); for(int r=0;r<reps;r++){ float ms=0; cudaEventElapsedTime(&ms,b[r],e[r]); us[r]=ms*1000.f; cudaEventDestroy(b[r]); cudaEventDestroy(e[r]); } return q?cudaGetErrorString(q):s; }
extern "C" const char* sequence(int id,const i64* p,int cold,int reps){ const char* s=""; mark(); if(!cold){launch(id,p);launch(id,p);} for(int r=0;r<reps;r++){ if(cold) flush(cold); s=launch(id,p); } cudaError_t q=cudaDeviceSynchronize(); return q?cudaGetErrorString(q):s; }
extern "C" const char* peek(i64 count,void* to){ cudaMemcpy(to,LOG,count*16,cudaMemcpyDeviceToHost); return cudaGetErrorString(cudaGetLastError()); }
extern "C" const char* look(i64 count,void* to){ cudaMemcpy(to,OUT,count*4,cudaMemcpyDeviceToHost); return cudaGetErrorString(cudaGetLastError()); }
int main(int c,char** v){ setup(); i64 p[8]={0}; int id=0; // for counters: id and parameters, cold after a flush
  while(scanf("%d %lld %lld %lld %lld %lld %lld",&id,p,p+1,p+2,p+3,p+4,p+5)==7){ flush(); launch(id,p); cudaDeviceSynchronize(); } printf("%s\n",cudaGetErrorString(cudaGetLastError())); }
