// Sets that blocks read in turn, each time the part of another block: what L2 gives, how far blocks drift apart, and the same in step.
#include "../../../../../perfmodel/measure/sources/residency.cu"
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#include <algorithm>
#include <functional>
#define R(x) do{cudaError_t e_=(x); if(e_!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e_)); exit(1);} }while(0)
typedef unsigned u32;
__global__ void noise(u32* p,size_t n,u32 k){ size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; if(i<n){u32 x=(u32)i*2654435761u+k; x^=x>>16; x*=0x7feb352du; x^=x>>15; p[i]=0x3f800000u|(x>>9);} }
__global__ void nothing(){}
__global__ void sweep_read(const uint4* p,long long n,u32* out){ u32 s=0; for(long long i=(long long)blockIdx.x*blockDim.x+threadIdx.x;i<n;i+=(long long)gridDim.x*blockDim.x){uint4 v=p[i]; s+=v.x^v.y^v.z^v.w;} if(s==0x7a3c1d55u) out[0]=s; }
// When warp 0 of each block has ended each turn.
extern "C" __global__ void __launch_bounds__(1024,2) turns_logged(const float4* in, float* out, long long n, int iterations, int shift, u32* log){
  const long long step=(long long)gridDim.x*blockDim.x; float s=0;
  for(int r=0;r<iterations;++r){ const long long block=(blockIdx.x+(long long)r*shift)%gridDim.x;
    for(long long i=block*blockDim.x+threadIdx.x;i<n;i+=step) s+=fold(past_l1(in+i));
    if(threadIdx.x==0){ unsigned long long t; asm volatile("mov.u64 %0, %%globaltimer;":"=l"(t)); log[(size_t)r*gridDim.x+blockIdx.x]=(u32)t+(s<0.5f); } }
  if(s<0.5f) out[0]=s;
}
// All blocks wait for one another after each turn.
extern "C" __global__ void __launch_bounds__(1024,2) turns_stepped(const float4* in, float* out, long long n, int iterations, int shift, u32* count){
  const long long step=(long long)gridDim.x*blockDim.x; float s=0;
  for(int r=0;r<iterations;++r){ const long long block=(blockIdx.x+(long long)r*shift)%gridDim.x;
    for(long long i=block*blockDim.x+threadIdx.x;i<n;i+=step) s+=fold(past_l1(in+i));
    if(s<0.5f) out[0]=s;
    __syncthreads(); if(threadIdx.x==0){ atomicAdd(count,1u); while(*(volatile u32*)count<(u32)(r+1)*gridDim.x); } __syncthreads(); }
}
static cudaStream_t s; static u32 *fl,*sink,*counter; static size_t FB=256ull<<20;
static void flush(){ sweep_read<<<264,1024,0,s>>>((uint4*)fl,FB/16,sink); sweep_read<<<264,1024,0,s>>>((uint4*)fl,FB/16,sink); }
static std::string timed(std::function<void()> f,int reps,bool cold){
  cudaEvent_t a,b; R(cudaEventCreate(&a)); R(cudaEventCreate(&b)); std::vector<float> t; f();
  for(int i=0;i<reps;++i){ if(cold) flush(); R(cudaEventRecord(a,s)); f(); R(cudaEventRecord(b,s)); R(cudaEventSynchronize(b)); float m; R(cudaEventElapsedTime(&m,a,b)); t.push_back(m*1e3f);}
  R(cudaGetLastError()); R(cudaEventDestroy(a)); R(cudaEventDestroy(b)); std::sort(t.begin(),t.end()); char o[96]; size_t q=t.size();
  snprintf(o,sizeof o,"%d,%.3f,%.4f",reps,t[q/2],(t[(3*q)/4]-t[q/4])/t[q/2]); return o;
}
int main(int c,char**v){
  std::string w=c>1?v[1]:"all"; R(cudaSetDevice(0)); R(cudaStreamCreate(&s));
  float4* in; u32* log; R(cudaMalloc(&in,256ull<<20)); R(cudaMalloc(&fl,FB)); R(cudaMalloc(&sink,4096)); R(cudaMalloc(&counter,4096)); R(cudaMalloc(&log,1<<20));
  noise<<<(256ull<<20)/1024,256,0,s>>>((u32*)in,(256ull<<20)/4,12345); noise<<<FB/1024,256,0,s>>>(fl,FB/4,77); R(cudaStreamSynchronize(s));
  for(int i=0;i<20;++i) sweep_read<<<264,1024,0,s>>>((uint4*)in,(256ll<<20)/16,sink);
  const char* cs[]={"warm","cold"}; float* fs=(float*)sink;
  auto row=[&](const char* f,int mib,int it,int blocks,int block,int sh,int cold,std::string t){ printf("%s,%d,%d,%d,%d,%d,events,%s,%s\n",f,mib,it,blocks,block,sh,cs[cold],t.c_str()); fflush(stdout); };
  if(w=="times"){
    printf("floor,0,0,1,32,0,events,warm,%s\n",timed([&]{nothing<<<1,32,0,s>>>();},31,false).c_str());
    for(int mib:{4,8,12,20,28,36,44,52,60,66,70,78,90,110,128}) for(int it:{6,25,100}) for(int sh:{0,1,2,5,37,131,132}) for(int cold:{0,1}){ if(it==100&&cold&&mib!=44&&mib!=66) continue; long long n=(long long)mib*65536;
      row("working_set_read",mib,it,264,1024,sh,cold,timed([&]{working_set_read<<<264,1024,0,s>>>(in,fs,n,it,sh);},5,cold)); }
    for(int mib:{12,28,44,60,70,90}) for(int sh:{0,1,37}){ long long n=(long long)mib*65536; int it=25;
      row("working_set_read",mib,it,132,1024,sh,0,timed([&]{working_set_read<<<132,1024,0,s>>>(in,fs,n,it,sh);},5,0));
      row("working_set_read",mib,it,528,512,sh,0,timed([&]{working_set_read<<<528,512,0,s>>>(in,fs,n,it,sh);},5,0));
      row("working_set_read",mib,it,264,512,sh,0,timed([&]{working_set_read<<<264,512,0,s>>>(in,fs,n,it,sh);},5,0));
      row("turns_stepped",mib,it,264,1024,sh,0,timed([&]{cudaMemsetAsync(counter,0,4,s); turns_stepped<<<264,1024,0,s>>>(in,fs,n,it,sh,counter);},5,0)); }
  }
  if(w=="log"){ FILE* f=fopen(v[2],"wb");
    for(int mib:{8,28,44,60,70,90}) for(int sh:{0,1,37}){ int it=68; long long n=(long long)mib*65536;
      for(int k=0;k<2;++k) turns_logged<<<264,1024,0,s>>>(in,fs,n,it,sh,log);
      std::vector<u32> h(264*it); R(cudaMemcpyAsync(h.data(),log,h.size()*4,cudaMemcpyDeviceToHost,s)); R(cudaStreamSynchronize(s));
      u32 head[4]={(u32)mib,(u32)sh,(u32)it,264u}; fwrite(head,4,4,f); fwrite(h.data(),4,h.size(),f); }
    fclose(f); }
  if(w=="ncu") for(int mib:{8,16,24,32,40,48,56,64,72,80,96,128}) for(int it:{5,20,60}) for(int sh:{1,2,37}){ if(it!=20&&sh==2) continue; long long n=(long long)mib*65536;
    working_set_read<<<264,1024,0,s>>>(in,fs,n,it,sh);
    if(it==20&&sh<=1){ R(cudaMemsetAsync(counter,0,4,s)); turns_stepped<<<264,1024,0,s>>>(in,fs,n,it,sh,counter); }
    R(cudaStreamSynchronize(s)); }
  R(cudaStreamSynchronize(s)); return 0;
}
