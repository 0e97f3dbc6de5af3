// Tables beside a write, copies and writes of few waves: does a launch's first wave read beside its writes?
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#define R(x) do{cudaError_t e_=(x); if(e_!=cudaSuccess){fprintf(stderr,"%d %s\n",__LINE__,cudaGetErrorString(e_)); exit(1);} }while(0)
__global__ void noise(unsigned* p,size_t n,unsigned k){ size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; if(i<n){unsigned x=(unsigned)i*2654435761u+k; x^=x>>16; x*=0x7feb352du; x^=x>>15; p[i]=0x3f800000u|(x>>9);} }
extern "C" __global__ void m_reset(const float4* in,float4* out,unsigned n,unsigned m){ unsigned i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n) out[i]=in[i%m]; }
extern "C" __global__ void m_mask(const float4* in,float4* out,unsigned n,unsigned m){ unsigned i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n) out[i]=in[i&(m-1)]; }
extern "C" __global__ void m_copy(const float4* in,float4* out,unsigned n,unsigned m){ unsigned i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n) out[i]=in[i]; }
extern "C" __global__ void m_write(const float4* in,float4* out,unsigned n,unsigned m){ unsigned i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n) out[i]=make_float4(i,1,2,3); }
extern "C" __global__ void m_read(const float4* in,float4* out,unsigned n,unsigned m){ unsigned i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n){ float4 v=in[i%m]; if(v.x+v.y+v.z+v.w==12345.678f) out[0]=v; } }
int main(){ float4 *in,*out; R(cudaMalloc(&in,64<<20)); R(cudaMalloc(&out,64<<20)); noise<<<(16<<20)/256,256>>>((unsigned*)in,16<<20,1); noise<<<(16<<20)/256,256>>>((unsigned*)out,16<<20,2);
  for(int block:{1024,256}) for(int g:{66,132,198,264,297,330,396,462,528,594,660,792,924,1056,1320,1584,2112}) for(int r=0;r<3;++r){ int grid=g*(1024/block); unsigned n=(unsigned)g*1024;
    m_reset<<<grid,block>>>(in,out,n,8192-5); if(block==1024||g%132==0) m_mask<<<grid,block>>>(in,out,n,8192); m_copy<<<grid,block>>>(in,out,n,0); m_copy<<<grid,block>>>(in,out,n,0); m_write<<<grid,block>>>(in,out,n,0); m_read<<<grid,block>>>(in,out,n,8192-5); }
  R(cudaDeviceSynchronize()); return 0; }
