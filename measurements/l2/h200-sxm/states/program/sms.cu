// Atomics, reads and writes all over L2 from k SMs: what saturates. One block of 1024 an SM.
#include <cstdio>
#include <vector>
#include <algorithm>
#define CK(e) do{cudaError_t r=(e); if(r!=cudaSuccess){fprintf(stderr,"%s line %d\n",cudaGetErrorString(r),__LINE__);}}while(0)
__device__ unsigned mix(unsigned x){x^=x>>16;x*=0x7feb352du;x^=x>>15;x*=0x846ca68bu;x^=x>>16;return x;}
__global__ void lone(int*a,unsigned m,int it){unsigned t=blockIdx.x*1024u+threadIdx.x; for(int i=0;i<it;i++) atomicAdd(a+(mix(t*977u+i*7919u)&m),1);}
__global__ void full(int*a,unsigned m,int it){unsigned t=blockIdx.x*1024u+threadIdx.x; for(int i=0;i<it;i++) atomicAdd(a+(((mix((t>>5)*977u+i*7919u)<<5)+(t&31))&m),1);}
__global__ void rd(const uint4*a,unsigned m,int it,unsigned*o){unsigned t=blockIdx.x*1024u+threadIdx.x,s=0; for(int i=0;i<it;i+=4){uint4 v[4];
#pragma unroll
 for(int j=0;j<4;j++) v[j]=__ldcg(a+(((mix((t>>5)*977u+(i+j)*7919u)<<5)+(t&31))&m));
#pragma unroll
 for(int j=0;j<4;j++) s^=v[j].x^v[j].y^v[j].z^v[j].w;} if(s==0x12345679u) o[0]=s;}
__global__ void wr(uint4*a,unsigned m,int it){unsigned t=blockIdx.x*1024u+threadIdx.x; for(int i=0;i<it;i++) a[((mix((t>>5)*977u+i*7919u)<<5)+(t&31))&m]=make_uint4(t,i,t^i,t*i);}
__global__ void fill(unsigned*p,unsigned n){for(unsigned i=blockIdx.x*blockDim.x+threadIdx.x;i<n;i+=gridDim.x*blockDim.x)p[i]=mix(i);}
int main(){ int*a; unsigned*o; CK(cudaMalloc(&a,8<<20)); CK(cudaMalloc(&o,64)); fill<<<264,512>>>((unsigned*)a,2<<20); cudaEvent_t s,e; cudaEventCreate(&s); cudaEventCreate(&e); int sm=120<<10;
 CK(cudaFuncSetAttribute(lone,cudaFuncAttributeMaxDynamicSharedMemorySize,sm)); CK(cudaFuncSetAttribute(full,cudaFuncAttributeMaxDynamicSharedMemorySize,sm)); CK(cudaFuncSetAttribute(rd,cudaFuncAttributeMaxDynamicSharedMemorySize,sm)); CK(cudaFuncSetAttribute(wr,cudaFuncAttributeMaxDynamicSharedMemorySize,sm));
 for(int k:{1,4,8,16,33,50,66,83,99,116,132}) for(int w=0;w<4;w++){ std::vector<float> t; int it=256; for(int r=0;r<6;r++){ cudaEventRecord(s);
   if(w==0) lone<<<k,1024,sm>>>(a,(2u<<20)-1,it); else if(w==1) full<<<k,1024,sm>>>(a,(2u<<20)-1,it); else if(w==2) rd<<<k,1024,sm>>>((uint4*)a,(512u<<10)-1,it,o); else wr<<<k,1024,sm>>>((uint4*)a,(512u<<10)-1,it);
   cudaEventRecord(e); CK(cudaEventSynchronize(e)); float ms; cudaEventElapsedTime(&ms,s,e); if(r) t.push_back(ms*1e3f);} std::sort(t.begin(),t.end());
   double sectors=(double)k*1024*it*(w==0?1:w==1?1/8.0:0.5); printf("%s,%d,%d,%.3f,%.2f\n",w==0?"lone":w==1?"full":w==2?"read":"write",k,it,t[2],sectors/t[2]/1e3); } }
