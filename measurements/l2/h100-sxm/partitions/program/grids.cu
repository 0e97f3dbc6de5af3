// Grids of which the first blocks have work, the SM and the clocks of each of those.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <algorithm>
#include <set>
#define R(x) do{cudaError_t e_=(x); if(e_!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e_)); exit(1);} }while(0)
typedef unsigned u32;
__device__ __forceinline__ float past(const float4* p){ float4 v; asm volatile("ld.global.cg.v4.f32 {%0,%1,%2,%3}, [%4];":"=f"(v.x),"=f"(v.y),"=f"(v.z),"=f"(v.w):"l"(p)); return v.x+v.y+v.z+v.w; }
__device__ __forceinline__ float4 get(const float4* p){ float4 v; asm volatile("ld.global.cg.v4.f32 {%0,%1,%2,%3}, [%4];":"=f"(v.x),"=f"(v.y),"=f"(v.z),"=f"(v.w):"l"(p)); return v; }
__device__ __forceinline__ u32 smid(){ u32 r; asm volatile("mov.u32 %0, %%smid;":"=r"(r)); return r; }
__global__ void where(int* at, int wait){ if(threadIdx.x==0) at[blockIdx.x]=smid(); long long t=clock64(); while(clock64()-t<wait); }
__global__ void spin(long long c){ long long t=clock64(); while(clock64()-t<c); }
// Grid-stride as the set reads are; the first blocks have work. What each block's SM is and how long it took.
__global__ void __launch_bounds__(1024,2) set_clocks(const float4* in, float* out, u32 n, int iterations, int* at){
  const u32 step=gridDim.x*blockDim.x; float s=0; long long t=clock64();
  for(int r=0;r<iterations;++r) for(u32 i=blockIdx.x*blockDim.x+threadIdx.x;i<n;i+=step) s+=past(in+i);
  if(s<-1e30f) out[0]=s;
  __syncthreads(); if(threadIdx.x==0){ at[2*blockIdx.x]=smid(); at[2*blockIdx.x+1]=(int)(clock64()-t); }
}
int main(){
  R(cudaSetDevice(0)); cudaStream_t s; R(cudaStreamCreate(&s)); 
  char* in; float* out; R(cudaMalloc(&in,64ull<<20)); R(cudaMalloc(&out,4096)); R(cudaMemset(in,1,64ull<<20));
  int* at; R(cudaMalloc(&at,8192*4));
  FILE* grids=fopen("grids.txt","w"); fprintf(grids,"busy,iterations,repeat,launch_us,sm:clocks a pass of each busy block\n"); std::vector<int> h(1024);
  cudaEvent_t a,b; R(cudaEventCreate(&a)); R(cudaEventCreate(&b));
  for(int busy:{8,16,24,32,48,64,80,96,112,128,144,160,192,224,264,320,400}) for(int rep=0;rep<5;++rep){ int it=40; u32 n=(u32)busy*1024; 
    for(int k=0;k<2;++k){ if(k) where<<<40*rep+20,256,0,s>>>(at,2000); R(cudaEventRecord(a,s)); set_clocks<<<264,1024,0,s>>>((float4*)in,out,n,it,at); R(cudaEventRecord(b,s)); R(cudaStreamSynchronize(s)); }
    float m; R(cudaEventElapsedTime(&m,a,b)); R(cudaMemcpy(h.data(),at,264*8,cudaMemcpyDeviceToHost)); fprintf(grids,"%d,%d,%d,%.2f,",busy,it,rep,m*1e3); for(int k=0;k<std::min(busy,264);++k) fprintf(grids,"%d:%d ",h[2*k],h[2*k+1]/it); fprintf(grids,"\n"); }
  fclose(grids); return 0; }
