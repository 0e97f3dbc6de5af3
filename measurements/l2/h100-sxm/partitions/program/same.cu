// Sets that all blocks read, from places that differ: how fast, and what reaches L2's slices (with the profiler).
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <algorithm>
#define R(x) do{cudaError_t e_=(x); if(e_!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e_)); exit(1);} }while(0)
typedef unsigned u32;
__device__ __forceinline__ float fold(float4 v){return v.x+v.y+v.z+v.w;}
__global__ void spin(long long c){ long long t=clock64(); while(clock64()-t<c); }
// apart: units of 16 B between the starts of blocks that follow each other, whole lines; 0: all in step.
__global__ void __launch_bounds__(1024,2) same_set(const float4* in, float* out, u32 n, int iterations, u32 apart){
  const u32 start=(u32)((unsigned long long)apart*blockIdx.x%n); float s=0;
  for(int r=0;r<iterations;++r) for(u32 i=threadIdx.x;i<n;i+=blockDim.x){ u32 at=i+start; if(at>=n) at-=n; s+=fold(__ldcg(in+at)); }
  if(s<-1e30f) out[0]=s;
}
int main(int c,char**v){
  bool ncu=c>1; R(cudaSetDevice(0)); cudaStream_t s; R(cudaStreamCreate(&s)); char* in; float* out; R(cudaMalloc(&in,192ull<<20)); R(cudaMalloc(&out,4096)); R(cudaMemset(in,1,192ull<<20));
  cudaEvent_t a,b; R(cudaEventCreate(&a)); R(cudaEventCreate(&b)); if(!ncu) printf("mib,iterations,blocks,apart_bytes,repeats,time_us,spread\n");
  for(double mib:{0.25,1.0,4.0,8.0,16.0,24.0,28.0,32.0,36.0,40.0,48.0,64.0,96.0}) for(int blocks:{264,132}) for(int kind=0;kind<6;++kind){
    u32 n=(u32)(mib*65536), even=n/264/8*8, apart[]={0,even,1024,1024*9,n/264*97/8*8,n/2/8*8+1024}; if(blocks==132&&kind>2) continue; if(ncu&&(mib==0.25||mib==8||mib==24||mib==40||blocks==132)) continue;
    int it=std::max(1,(int)(16/mib)); if(kind>0&&apart[kind]==0) continue;
    if(ncu){ same_set<<<blocks,1024,0,s>>>((float4*)in,out,n,it,apart[kind]); R(cudaStreamSynchronize(s)); R(cudaGetLastError()); continue; }
    std::vector<float> t; for(int r=0;r<4;++r){ spin<<<1,1,0,s>>>(20000); R(cudaEventRecord(a,s)); same_set<<<blocks,1024,0,s>>>((float4*)in,out,n,it,apart[kind]); R(cudaEventRecord(b,s)); R(cudaEventSynchronize(b)); float m; R(cudaEventElapsedTime(&m,a,b)); if(r) t.push_back(m*1e3f); } R(cudaGetLastError());
    std::sort(t.begin(),t.end()); printf("%.2f,%d,%d,%llu,3,%.3f,%.4f\n",mib,it,blocks,(unsigned long long)apart[kind]*16,t[1],(t[2]-t[0])/t[1]); }
  return 0; }
