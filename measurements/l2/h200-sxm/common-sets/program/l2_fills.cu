// How full a set-aside can be: windows of so much of it, hitRatio 1, beside a write, a read, and a stream that is doubled in place.
#include "../../../../../perfmodel/measure/sources/residency.cu"
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#include <algorithm>
#define R(x) do{cudaError_t e_=(x); if(e_!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e_)); exit(1);} }while(0)
typedef unsigned u32;
extern "C" __global__ void sliding_window(int* table, int* stream, u32 n, u32 m) { u32 i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n){ table[i%m]=2*table[i%m]; stream[i]=2*stream[i]; } }
__global__ void noise(u32* p,size_t n){ size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; if(i<n){u32 x=(u32)i*2654435761u+12345u; x^=x>>16; x*=0x7feb352du; x^=x>>15; p[i]=0x3f800000u|(x>>9);} }
__global__ void nothing(){}
int main(int c,char**v){
  bool count=c>1; R(cudaSetDevice(0)); cudaStream_t s; R(cudaStreamCreate(&s)); size_t G=512ull<<20; char *in,*st,*out; R(cudaMalloc(&in,64<<20)); R(cudaMalloc(&st,G)); R(cudaMalloc(&out,G));
  noise<<<(64<<20)/1024,256>>>((u32*)in,(64<<20)/4); noise<<<G/1024,256>>>((u32*)st,G/4); R(cudaDeviceSynchronize());
  cudaEvent_t a,b; R(cudaEventCreate(&a)); R(cudaEventCreate(&b)); std::vector<float> t;
  if(!count){ for(int i=0;i<30;++i){ R(cudaEventRecord(a,s)); nothing<<<1,32,0,s>>>(); R(cudaEventRecord(b,s)); R(cudaEventSynchronize(b)); float m; R(cudaEventElapsedTime(&m,a,b)); t.push_back(m*1e3f);} std::sort(t.begin(),t.end()); printf("floor,,,,,%.3f\n",t[15]); }
  const char* names[]={"data_reset","read_persistent","sliding_window"}; const double way=60.0*1048576/16; double fills[]={.5,.7,.8,.85,.9,.93,.96,.98,1.0,1.02,1.05,1.1,1.2};
  int k0=c>2?atoi(v[2]):0, k1=c>2?k0+1:3;
  for(int k=k0;k<k1;++k) for(int ways:{0,2,3,5,8,10}) for(double f:fills){
    if(k==2&&(ways==2||ways==5)) continue;
    size_t table; if(ways){ table=(size_t)(f*ways*way)/4096*4096; } else { if(f<0.9||f>1.0||k<2) continue; table=(size_t)((f-0.9)*100+0.5)*3000000+9000000; }
    R(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize,(size_t)(ways*way))); R(cudaCtxResetPersistingL2Cache());
    cudaStreamAttrValue at; memset(&at,0,sizeof at); at.accessPolicyWindow.base_ptr=in; at.accessPolicyWindow.num_bytes=ways?table:0; at.accessPolicyWindow.hitRatio=1.0f;
    at.accessPolicyWindow.hitProp=cudaAccessPropertyPersisting; at.accessPolicyWindow.missProp=cudaAccessPropertyStreaming; R(cudaStreamSetAttribute(s,cudaStreamAttributeAccessPolicyWindow,&at));
    t.clear(); int reps=count?1:5;
    for(int r=0;r<reps;++r){ R(cudaEventRecord(a,s)); u32 n=(u32)(G/16);
      if(k==0) data_reset<<<n/1024,1024,0,s>>>((float4*)in,(float4*)out,n,(u32)(table/16)); else if(k==1) read_persistent<<<n/256,256,0,s>>>((float4*)st,(float4*)in,(float*)out,n,(u32)(table/16)); else sliding_window<<<(u32)(G/1024),256,0,s>>>((int*)in,(int*)out,(u32)(G/4),(u32)(table/4));
      R(cudaEventRecord(b,s)); R(cudaEventSynchronize(b)); float ms; R(cudaEventElapsedTime(&ms,a,b)); if(r) t.push_back(ms*1e3f); }
    if(count){ printf("%s,%d,%zu,%.2f\n",names[k],ways,table,f); } else { std::sort(t.begin(),t.end()); printf("%s,%d,%zu,%.2f,%.4f,%.3f\n",names[k],ways,table,f,(t[3]-t[0])/t[1],(t[1]+t[2])/2); } fflush(stdout);
  }
  R(cudaGetLastError()); return 0;
}
