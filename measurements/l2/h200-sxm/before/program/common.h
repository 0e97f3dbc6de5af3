// What the programs here share: windows, times between events, data.
#include "../../../../../perfmodel/measure/sources/residency.cu"
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <algorithm>
#define R(x) do{cudaError_t e_=(x); if(e_!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e_)); exit(1);} }while(0)
__global__ void noise(unsigned* p,size_t n,unsigned k){ size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; if(i<n){unsigned x=(unsigned)i*2654435761u+k; x^=x>>16; x*=0x7feb352du; x^=x>>15; p[i]=0x3f800000u|(x>>9);} }
__global__ void nothing(){}
static cudaStream_t s; static cudaEvent_t a_,b_;
static void window(void* base,size_t aside,size_t bytes,double hit,bool normal){
  R(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize,aside)); R(cudaCtxResetPersistingL2Cache());
  cudaStreamAttrValue at; memset(&at,0,sizeof at); at.accessPolicyWindow.base_ptr=base; at.accessPolicyWindow.num_bytes=bytes; at.accessPolicyWindow.hitRatio=bytes?(float)hit:1.0f;
  at.accessPolicyWindow.hitProp=bytes?cudaAccessPropertyPersisting:cudaAccessPropertyNormal; at.accessPolicyWindow.missProp=(!bytes||normal)?cudaAccessPropertyNormal:cudaAccessPropertyStreaming;
  R(cudaStreamSetAttribute(s,cudaStreamAttributeAccessPolicyWindow,&at)); }
template<class F> static float timed(F f){ R(cudaEventRecord(a_,s)); f(); R(cudaEventRecord(b_,s)); R(cudaEventSynchronize(b_)); float ms; R(cudaEventElapsedTime(&ms,a_,b_)); return ms*1e3f; }
static float floor_us(){ std::vector<float> t; for(int i=0;i<30;++i) t.push_back(timed([]{nothing<<<1,32,0,s>>>();})); std::sort(t.begin(),t.end()); return t[15]; }
static void start(){ R(cudaSetDevice(0)); R(cudaStreamCreate(&s)); R(cudaEventCreate(&a_)); R(cudaEventCreate(&b_)); }
