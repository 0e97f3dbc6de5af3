// Copies and writes whose dirty bytes a profiler counts.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#define R(x) do{cudaError_t e_=(x); if(e_!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e_)); exit(1);} }while(0)
typedef unsigned u32;
template<class T> __global__ void copy_kernel(const T* in,T* out,size_t n){ size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; if(i<n) out[i]=in[i]; }
template<class T> __global__ void write_kernel(T* out,size_t n,T v){ size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; if(i<n) out[i]=v; }
__global__ void noise(u32* p,size_t n){ size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; if(i<n){u32 x=(u32)i*2654435761u+77u; x^=x>>16; x*=0x7feb352du; x^=x>>15; p[i]=0x3f800000u|(x>>9);} }
int main(){
  size_t G=512ull<<20; float *in,*out; R(cudaMalloc(&in,G)); R(cudaMalloc(&out,G)); noise<<<G/1024,256>>>((u32*)in,G/4); noise<<<G/1024,256>>>((u32*)out,G/4); R(cudaDeviceSynchronize());
  for(int mb:{8,16,20,24,28,32,36,40,48,56,64,96}) for(int k=0;k<5;++k){ size_t b=(size_t)mb<<20;
    if(k==0) copy_kernel<float4><<<(b/16+255)/256,256>>>((float4*)in,(float4*)out,b/16);
    if(k==1) copy_kernel<float4><<<(b/16+1023)/1024,1024>>>((float4*)in,(float4*)out,b/16);
    if(k==2) copy_kernel<float2><<<(b/8+255)/256,256>>>((float2*)in,(float2*)out,b/8);
    if(k==3) copy_kernel<float><<<(b/4+255)/256,256>>>((float*)in,(float*)out,b/4);
    if(k==4) write_kernel<float4><<<(b/16+255)/256,256>>>((float4*)out,b/16,make_float4(1,2,3,4));
    R(cudaDeviceSynchronize()); printf("%d,%d\n",mb,k); }
  R(cudaDeviceSynchronize()); return 0;
}
