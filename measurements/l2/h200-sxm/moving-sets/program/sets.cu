// Sets whose reads all hit: the same bytes by several codes, by passes.
#include "../../../../../perfmodel/measure/sources/residency.cu"
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <algorithm>
#include <functional>
#define R(x) do{cudaError_t e_=(x); if(e_!=cudaSuccess){fprintf(stderr,"%d %s\n",__LINE__,cudaGetErrorString(e_)); exit(1);} }while(0)
__global__ void noise(unsigned* p,size_t n,unsigned k){ size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; if(i<n){unsigned x=(unsigned)i*2654435761u+k; x^=x>>16; x*=0x7feb352du; x^=x>>15; p[i]=0x3f800000u|(x>>9);} }
extern "C" __global__ void set_plain(const float4* in, float* out, long long n, int iterations){
  const long long step=(long long)gridDim.x*blockDim.x; float s=0;
  for(int r=0;r<iterations;++r) for(long long i=(long long)blockIdx.x*blockDim.x+threadIdx.x;i<n;i+=step) s+=fold(__ldcg(in+i));
  if(s<0.5f) out[0]=s; }
extern "C" __global__ void set_words(const uint4* in, float* out, size_t n, int iterations){ unsigned s=0; const size_t step=size_t(gridDim.x)*blockDim.x;
  for(int r=0;r<iterations;++r) for(size_t i=size_t(blockIdx.x)*blockDim.x+threadIdx.x;i<n;i+=step){ float4 v=past_l1((const float4*)in+i); s^=__float_as_uint(v.x)^__float_as_uint(v.y)^__float_as_uint(v.z)^__float_as_uint(v.w);} if(s==0x12345) out[0]=1; }
int main(){ cudaStream_t s; R(cudaStreamCreate(&s)); float4* in; float* out; R(cudaMalloc(&in,256<<20)); R(cudaMalloc(&out,4096)); noise<<<(64<<20)/256,256,0,s>>>((unsigned*)in,64<<20,3);
  cudaEvent_t a,b; R(cudaEventCreate(&a)); R(cudaEventCreate(&b));
  auto t=[&](const char* f,double mib,int it,int grid,int sh,std::function<void()> g){ std::vector<float> v; g(); for(int r=0;r<7;++r){ R(cudaEventRecord(a,s)); g(); R(cudaEventRecord(b,s)); R(cudaEventSynchronize(b)); float ms; R(cudaEventElapsedTime(&ms,a,b)); v.push_back(ms*1e3f);} std::sort(v.begin(),v.end()); printf("%s,%g,%d,%d,%d,%.3f,%.4f,%.3f\n",f,mib,it,grid,sh,v[3],(v[5]-v[1])/v[3],mib*1048576.*it/(v[3]-2.8)/1e6); };
  printf("function,mib,iterations,blocks,shift,time_us,spread,tb_s\n");
  for(int i=0;i<20;++i) set_plain<<<264,1024,0,s>>>(in,out,(256ll<<20)/16,2);
  for(int run=0;run<2;++run) for(double mib:{4.125,8.25,12.375,16.5,24.75,33.0}) for(int gib:{1,4}){ int it=(int)(gib*1024/mib); long long n=(long long)(mib*65536);
    t("set_plain",mib,it,264,0,[&]{set_plain<<<264,1024,0,s>>>(in,out,n,it);}); t("set_words",mib,it,264,0,[&]{set_words<<<264,1024,0,s>>>((uint4*)in,out,n,it);});
    t("working_set_read",mib,it,264,0,[&]{working_set_read<<<264,1024,0,s>>>(in,out,n,it,0);}); t("set_plain",mib,it,132,0,[&]{set_plain<<<132,1024,0,s>>>(in,out,n,it);});
    t("set_plain",mib,it,1056,0,[&]{set_plain<<<1056,256,0,s>>>(in,out,n,it);}); 
    for(int sh:{1,37,132}) t("working_set_read",mib,it,264,sh,[&]{working_set_read<<<264,1024,0,s>>>(in,out,n,it,sh);}); }
  return 0; }
