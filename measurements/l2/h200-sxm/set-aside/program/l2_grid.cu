#include "../../../../../perfmodel/measure/sources/residency.cu"
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <algorithm>
#define R(x) do{cudaError_t e_=(x); if(e_!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e_)); exit(1);} }while(0)
__global__ void noise(unsigned* p,size_t n){ size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; if(i<n){unsigned x=(unsigned)i*2654435761u+12345u; x^=x>>16; x*=0x7feb352du; x^=x>>15; p[i]=0x3f800000u|(x>>9);} }
__global__ void nothing(){}
int main(int c,char**v){
  int only=c>1?atoi(v[1]):-1; R(cudaSetDevice(0)); cudaStream_t s; R(cudaStreamCreate(&s));
  size_t G=1ull<<30; float4 *in,*st,*out; R(cudaMalloc(&in,64<<20)); R(cudaMalloc(&st,G)); R(cudaMalloc(&out,G));
  noise<<<(64<<20)/1024,256>>>((unsigned*)in,(64<<20)/4); noise<<<G/1024,256>>>((unsigned*)st,G/4); R(cudaDeviceSynchronize());
  cudaEvent_t a,b; R(cudaEventCreate(&a)); R(cudaEventCreate(&b)); std::vector<float> t;
  for(int i=0;i<30;++i){ R(cudaEventRecord(a,s)); nothing<<<1,32,0,s>>>(); R(cudaEventRecord(b,s)); R(cudaEventSynchronize(b)); float m; R(cudaEventElapsedTime(&m,a,b)); t.push_back(m*1e3f);} std::sort(t.begin(),t.end()); printf("floor,,,,,%.3f\n",t[15]);
  const char* names[]={"data_reset","stream_persistent","read_persistent"};
  int sets[]={0,4,8,12,16,20,24,27,30,34,37}, tabs[]={4,8,12,16,24,32,48}, hits[]={0,1,2,3,4,6,8};
  for(int k=0;k<3;++k) for(int set:sets) for(int tab:tabs) for(int h:hits){
    if(h&&!set) continue;
    R(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize,(size_t)set<<20)); R(cudaCtxResetPersistingL2Cache());
    cudaStreamAttrValue at; memset(&at,0,sizeof at); at.accessPolicyWindow.base_ptr=in; at.accessPolicyWindow.num_bytes=h?(size_t)tab<<20:0; at.accessPolicyWindow.hitRatio=h?h/8.0f:1.0f;
    at.accessPolicyWindow.hitProp=cudaAccessPropertyPersisting; at.accessPolicyWindow.missProp=cudaAccessPropertyStreaming; R(cudaStreamSetAttribute(s,cudaStreamAttributeAccessPolicyWindow,&at));
    unsigned m=(unsigned)tab<<16; t.clear();
    for(int r=0;r<5;++r){ R(cudaEventRecord(a,s));
      if(k==0){unsigned n=1u<<26; data_reset<<<n/1024,1024,0,s>>>(in,out,n,m);} else if(k==1){unsigned n=1u<<25; stream_persistent<<<n/256,256,0,s>>>(st,in,out,n,m);} else {unsigned n=1u<<25; read_persistent<<<n/256,256,0,s>>>(st,in,(float*)out,n,m);}
      R(cudaEventRecord(b,s)); R(cudaEventSynchronize(b)); float ms; R(cudaEventElapsedTime(&ms,a,b)); if(r) t.push_back(ms*1e3f); }
    std::sort(t.begin(),t.end()); printf("%s,%d,%d,%d,%.4f,%.3f\n",names[k],set,tab,h,(t[3]-t[0])/t[1],(t[1]+t[2])/2);
  }
  return 0;
}
