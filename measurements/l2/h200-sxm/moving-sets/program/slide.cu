// The best-practices guide's kernel (both remainders, no guard) by threads of a block, table and window.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <algorithm>
#define R(x) do{cudaError_t e_=(x); if(e_!=cudaSuccess){fprintf(stderr,"%d %s\n",__LINE__,cudaGetErrorString(e_)); exit(1);} }while(0)
__global__ void noise(unsigned* p,size_t n,unsigned k){ size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; if(i<n){unsigned x=(unsigned)i*2654435761u+k; x^=x>>16; x*=0x7feb352du; x^=x>>15; p[i]=x;} }
extern "C" __global__ void both_mod(int* small,int* large,int n,int m){ int t=blockIdx.x*blockDim.x+threadIdx.x; small[t%m]=2*small[t%m]; large[t%n]=2*large[t%n]; }
extern "C" __global__ void one_mod(int* small,int* large,int n,int m){ int t=blockIdx.x*blockDim.x+threadIdx.x; if(t<n){ small[t%m]*=2; large[t]*=2; } }
int main(){
  int n=256000000; int *small,*large; R(cudaMalloc(&small,128<<20)); R(cudaMalloc(&large,(size_t)n*4));
  noise<<<(32<<20)/256,256>>>((unsigned*)small,32<<20,1); noise<<<(n+255)/256,256>>>((unsigned*)large,n,2);
  cudaStream_t s; R(cudaStreamCreate(&s)); cudaEvent_t a,b; R(cudaEventCreate(&a)); R(cudaEventCreate(&b));
  printf("kernel,block,small_bytes,set_bytes,hit_ratio,time_us,spread\n");
  for(int k=0;k<2;++k) for(int block:{64,128,256,512,1024}) for(int mb:{2,10,20,25,30,35,40,60}) for(int w=0;w<3;++w){
    int m=mb*250000; size_t set=w?30000000:0; float hit=w==2?20.f/mb:1.f; if(w==2&&mb<=20) continue;
    R(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize,set)); R(cudaCtxResetPersistingL2Cache());
    cudaStreamAttrValue at; memset(&at,0,sizeof at); at.accessPolicyWindow.base_ptr=small; at.accessPolicyWindow.num_bytes=w?(size_t)mb*1000000:0; at.accessPolicyWindow.hitRatio=hit;
    at.accessPolicyWindow.hitProp=w?cudaAccessPropertyPersisting:cudaAccessPropertyNormal; at.accessPolicyWindow.missProp=w?cudaAccessPropertyStreaming:cudaAccessPropertyNormal;
    R(cudaStreamSetAttribute(s,cudaStreamAttributeAccessPolicyWindow,&at)); std::vector<float> t;
    for(int r=0;r<6;++r){ R(cudaEventRecord(a,s)); if(k==0) both_mod<<<n/block,block,0,s>>>(small,large,n,m); else one_mod<<<n/block,block,0,s>>>(small,large,n,m); R(cudaEventRecord(b,s)); R(cudaEventSynchronize(b)); float ms; R(cudaEventElapsedTime(&ms,a,b)); if(r) t.push_back(ms*1e3f);}
    std::sort(t.begin(),t.end()); printf("%s,%d,%d,%zu,%.4f,%.3f,%.4f\n",k?"one_mod":"both_mod",block,mb*1000000,set,hit,t[2],(t[3]-t[1])/t[2]); }
  return 0; }
