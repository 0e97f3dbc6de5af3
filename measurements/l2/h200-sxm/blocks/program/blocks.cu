// Sets that blocks read and write again and again, by blocks at work and by SM; bursts of lone sectors; copies with instructions before their load.
#include <cuda_runtime.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>
#define R(x) do{cudaError_t e_=(x); if(e_!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e_)); exit(1);} }while(0)
typedef unsigned u32; typedef unsigned long long u64;
struct Seen { u64 start, end; u32 sm, worked; };
__device__ __forceinline__ u32 smid(){ u32 s; asm volatile("mov.u32 %0,%%smid;":"=r"(s)); return s; }
__device__ __forceinline__ float fold(float4 v){ return v.x+v.y+v.z+v.w; }
__device__ __forceinline__ float fold(float v){ return v; }
template<class T> __global__ void set_plain(const T* in,float* out,long long n,int iterations,u32 first,u32 last,u32 step_sm,Seen* seen){
  u64 t0=clock64(); u32 sm=smid(); bool on=sm>=first&&sm<=last&&(sm-first)%step_sm==0;
  const long long step=(long long)gridDim.x*blockDim.x; float s=0; long long b=(long long)blockIdx.x*blockDim.x+threadIdx.x;
  if(on) for(int r=0;r<iterations;++r) for(long long i=b;i<n;i+=step) s+=fold(__ldcg(in+i));
  if(s==0.123f) out[0]=s;
  __syncthreads(); if(threadIdx.x==0&&seen) seen[blockIdx.x]=Seen{t0,(u64)clock64(),sm,(u32)(on&&b<n)};
}
__global__ void __launch_bounds__(1024,2) set_write(uint4* out,long long n,int iterations,u32 first,u32 last,u32 step_sm,Seen* seen){
  u64 t0=clock64(); u32 sm=smid(); bool on=sm>=first&&sm<=last&&(sm-first)%step_sm==0;
  const long long step=(long long)gridDim.x*blockDim.x; long long b=(long long)blockIdx.x*blockDim.x+threadIdx.x;
  if(on) for(int r=0;r<iterations;++r) for(long long i=b;i<n;i+=step) out[i]=make_uint4(r,u32(i)*2654435761u,2u,3u);
  __syncthreads(); if(threadIdx.x==0&&seen) seen[blockIdx.x]=Seen{t0,(u64)clock64(),sm,(u32)(on&&b<n)};
}
// One load a thread, lanes `stride` floats apart; how long until the last warp of the block has its data.
__global__ void burst(const float* in,float* out,int stride,Seen* seen){
  __shared__ u64 last; if(threadIdx.x==0) last=0; __syncthreads();
  u64 t0=clock64(); size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; float v=__ldg(in+i*stride);
  asm volatile("add.f32 %0,%0,0f00000000;":"+f"(v)::"memory"); u64 t1=clock64()+(v==0.123f);
  if((threadIdx.x&31)==0) atomicMax(&last,t1); if(v==0.123f) out[i]=v;
  __syncthreads(); if(threadIdx.x==0&&seen) seen[blockIdx.x]=Seen{t0,last,smid(),1u};
}
template<int K,int J> __global__ void chained(const float* in,float* out,u32 n,u32 a,u32 c,Seen* seen){
  u64 t0=seen?clock64():0; u32 i=blockIdx.x*blockDim.x+threadIdx.x; u32 x=i;
#pragma unroll
  for(int k=0;k<K;++k) asm volatile("mad.lo.u32 %0,%0,%1,%2;":"+r"(x):"r"(a),"r"(c));  // a=1, c=0
  if(x<n){ float v=in[x];
#pragma unroll
  for(int k=0;k<J;++k) asm volatile("fma.rn.f32 %0,%0,0f3f800000,0f00000000;":"+f"(v));
  out[x]=v; }
  if(seen&&threadIdx.x==0&&blockIdx.x%61==7) seen[blockIdx.x/61]=Seen{t0,(u64)clock64(),smid(),1u};
}
__global__ void strided(const float* in,float* out,int n,int stride,int offset){ int i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n) out[i]=in[size_t(i)*stride+offset]; }
__global__ void run_copy(const float* in,float* out,int n,int run,int pitch){ int i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n) out[i]=in[size_t(i/run)*pitch+i%run]; }
__global__ void run_shift(const float* in,float* out,int n,int lg,int pitch){ int i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n) out[i]=in[size_t(i>>lg)*pitch+(i&((1<<lg)-1))]; }
__global__ void noise(u32* p,size_t n){ size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; if(i<n){u32 x=(u32)i*2654435761u+77u; x^=x>>16; x*=0x7feb352du; x^=x>>15; p[i]=0x3f800000u|(x>>9);} }
__global__ void spin(u32 clocks){ u64 a=clock64(); while(clock64()-a<clocks); }
__global__ void nothing(){}
static cudaStream_t s; static cudaEvent_t ea,eb; static Seen* seen;
static float* in; static float* out;
static double timed(std::function<void()> f,int reps=7){ std::vector<float> t; f(); for(int r=0;r<reps;++r){ spin<<<1,1,0,s>>>(40000); R(cudaEventRecord(ea,s)); f(); R(cudaEventRecord(eb,s)); R(cudaEventSynchronize(eb)); float m; R(cudaEventElapsedTime(&m,ea,eb)); t.push_back(m*1e3f);} R(cudaGetLastError()); std::sort(t.begin(),t.end()); return t[t.size()/2]; }
static std::string looked(u32 blocks){ std::vector<Seen> h(blocks); R(cudaStreamSynchronize(s)); R(cudaMemcpy(h.data(),seen,blocks*sizeof(Seen),cudaMemcpyDeviceToHost)); double sum=0,mx=0,mn=1e18,two=0,one=0; int k=0,n2=0,n1=0; std::vector<int> c(256,0); for(auto&x:h) if(x.worked) ++c[x.sm];
  for(auto&x:h) if(x.worked){ double d=(double)(x.end-x.start); sum+=d; mx=std::max(mx,d); mn=std::min(mn,d); ++k; if(c[x.sm]>1){two+=d;++n2;} else {one+=d;++n1;} } int sms=0,dbl=0; for(int v:c){ sms+=v>0; dbl+=v>1; }
  char o[200]; snprintf(o,sizeof o,"%d,%d,%d,%.0f,%.0f,%.0f,%.0f,%.0f",k,sms,dbl,k?sum/k:0,mn>1e17?0:mn,mx,n1?one/n1:0,n2?two/n2:0); return o; }
template<class T> void set_row(const char* name,int grid,int block,long long bytes,int its,u32 a=0,u32 b=999,u32 st=1){ double t=timed([&]{set_plain<T><<<grid,block,0,s>>>((T*)in,out,bytes/(long long)sizeof(T),its,a,b,st,nullptr);});
  for(int q=0;q<2;++q){ set_plain<T><<<grid,block,0,s>>>((T*)in,out,bytes/(long long)sizeof(T),its,a,b,st,seen); printf("%s,%d,%d,%lld,%d,%u-%u-%u,%.3f,%s\n",name,grid,block,bytes,its,a,b,st,t,looked(grid).c_str()); } fflush(stdout); }
void write_row(const char* name,int grid,int block,long long bytes,int its,u32 a=0,u32 b=999,u32 st=1){ double t=timed([&]{set_write<<<grid,block,0,s>>>((uint4*)in,bytes/16,its,a,b,st,nullptr);});
  for(int q=0;q<2;++q){ set_write<<<grid,block,0,s>>>((uint4*)in,bytes/16,its,a,b,st,seen); printf("%s,%d,%d,%lld,%d,%u-%u-%u,%.3f,%s\n",name,grid,block,bytes,its,a,b,st,t,looked(grid).c_str()); } fflush(stdout); }
template<int K,int J> void chain_row(u32 n,int block){ double t=timed([&]{chained<K,J><<<n/block,block,0,s>>>(in,out,n,1,0,nullptr);},5); double u=timed([&]{chained<K,J><<<n/block,block,0,s>>>(in,out,n,1,0,seen);},3); printf("chained,%d,%d,%u,%d,,%.3f,%.3f,%s\n",K,J,n,block,t,u,looked(n/block/61).c_str()); fflush(stdout); }
int main(){
  R(cudaSetDevice(0)); R(cudaStreamCreate(&s)); R(cudaEventCreate(&ea)); R(cudaEventCreate(&eb)); R(cudaMalloc(&seen,sizeof(Seen)<<18));
  size_t G=512ull<<20; R(cudaMalloc(&in,G*2)); R(cudaMalloc(&out,G)); noise<<<G*2/1024,256>>>((u32*)in,G/2); noise<<<G/1024,256>>>((u32*)out,G/4); R(cudaDeviceSynchronize());
  printf("floor,%.3f\n",timed([&]{nothing<<<1,32,0,s>>>();},21)); printf("floor264,%.3f\n",timed([&]{nothing<<<264,1024,0,s>>>();},21));
  // sets: one SM, all SMs, by warps
  for(int grid:{1,16,66,132}) for(int block:{32,64,128,256,512,1024}){ set_row<float4>("read16",grid,block,(long long)grid*block*16,128); set_row<float>("read4",grid,block,(long long)grid*block*4,128); }
  for(int block:{256,512}) for(int grid:{264,528,1056}){ if(grid*block>132*2048) continue; set_row<float4>("read16",grid,block,(long long)grid*block*16,128); }
  // two blocks an SM, on chosen SMs
  for(int grid:{132,264}){ u32 pick[][3]={{0,0,1},{0,1,1},{0,999,2},{0,15,1},{0,31,1},{124,131,1},{124,124,1},{0,65,1},{0,999,1},{0,999,4}}; for(auto&p:pick){ set_row<float4>("read16-on",grid,1024,(long long)grid*16384,64,p[0],p[1],p[2]); write_row("write16-on",grid,1024,(long long)grid*16384,64,p[0],p[1],p[2]); } }
  // parts of a full grid
  for(int chunks:{16,32,40,64,80,96,128,132,152,192,228,264,272,296,321,330,396,462,528}) for(int its:{64}){ set_row<float4>("read16",264,1024,(long long)chunks*16384,its); write_row("write16",264,1024,(long long)chunks*16384,its); }
  for(int chunks:{66,132,160,198,264,300,396}) { set_row<float4>("read16",132,1024,(long long)chunks*16384,64); write_row("write16",132,1024,(long long)chunks*16384,64); }
  // bursts
  for(int grid:{1,16,132,264}) for(int stride:{1,2,4,8,16,32,64}) for(int block:{32,64,128,256,512,1024}){ double t=timed([&]{burst<<<grid,block,0,s>>>(in,out,stride,nullptr);},9); double m=0,l=0; const int q=5; std::string o; std::vector<double> v; for(int r=0;r<q;++r){ burst<<<grid,block,0,s>>>(in,out,stride,seen); o=looked(grid); int k,a,d; double mean,mn,mx; sscanf(o.c_str(),"%d,%d,%d,%lf,%lf,%lf",&k,&a,&d,&mean,&mn,&mx); m+=mean/q; l+=mx/q; } printf("burst,%d,%d,%d,,,%.3f,%.1f,%.1f\n",grid,block,stride,t,m,l); } fflush(stdout);
  // copies
  for(u32 n:{16u<<20,64u<<20}) for(int block:{256,1024}){ chain_row<0,0>(n,block); chain_row<8,0>(n,block); chain_row<16,0>(n,block); chain_row<32,0>(n,block); chain_row<64,0>(n,block); chain_row<0,32>(n,block); chain_row<0,64>(n,block); }
  for(int n:{16<<20,64<<20}) for(int block:{256,1024}){ for(int off:{0,1,2,4,8,16,31}) printf("strided,%d,%d,%d,1,,%.3f\n",n,block,off,timed([&]{strided<<<n/block,block,0,s>>>(in,out,n,1,off);},7));
    for(int lg:{3,4,5,6,8,10}) for(int mul:{1,2}){ if((size_t)n*mul*4>2*G) continue; int run=1<<lg,pitch=run*mul; printf("run_copy,%d,%d,%d,%d,,%.3f\n",n,block,run,pitch,timed([&]{run_copy<<<n/block,block,0,s>>>(in,out,n,run,pitch);},7)); printf("run_shift,%d,%d,%d,%d,,%.3f\n",n,block,run,pitch,timed([&]{run_shift<<<n/block,block,0,s>>>(in,out,n,lg,pitch);},7)); } fflush(stdout); }
  R(cudaDeviceSynchronize()); return 0;
}
