// Which SMs go together, by the order in which blocks of a grid come to them and by clusters, whose blocks share a GPC; and sets of which
// not all blocks have a part, by events, behind work that keeps the GPU busy, or cold.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#define R(x) do{cudaError_t e_=(x); if(e_!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e_)); exit(1);} }while(0)
typedef unsigned u32;
__device__ __forceinline__ float fold(float4 v){return v.x+v.y+v.z+v.w;}
__device__ __forceinline__ u32 smid(){ u32 r; asm volatile("mov.u32 %0, %%smid;":"=r"(r)); return r; }
__global__ void where(int* at, int wait){ if(threadIdx.x==0) at[blockIdx.x]=smid(); long long t=clock64(); while(clock64()-t<wait); }
__global__ void nothing(){}
__global__ void spin(long long c){ long long t=clock64(); while(clock64()-t<c); }
__global__ void noise(u32* p,size_t n,u32 k){ size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; if(i<n){u32 x=(u32)i*2654435761u+k; x^=x>>16; p[i]=0x3f800000u|(x>>9);} }
__global__ void sweep_read(const uint4* p,long long n,u32* out){ u32 s=0; for(long long i=(long long)blockIdx.x*blockDim.x+threadIdx.x;i<n;i+=(long long)gridDim.x*blockDim.x){uint4 v=p[i]; s+=v.x^v.y^v.z^v.w;} if(s==0x7a3c1d55u) out[0]=s; }
__global__ void __launch_bounds__(1024) working_set_read(const float4* __restrict__ in, float* out, size_t n, int iterations) {
  float s = 0;
  for (int r = 0; r < iterations; r++)
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
      float4 v = __ldcg(in + i); s += v.x + v.y + v.z + v.w;
    }
  if (s == -123.456f) out[0] = s;
}
static cudaStream_t s;
int main(){
  R(cudaSetDevice(0)); R(cudaStreamCreate(&s)); cudaDeviceProp prop; R(cudaGetDeviceProperties(&prop,0)); int sms=prop.multiProcessorCount;
  char* in; float* out; u32* fl; size_t all=128ull<<20, FB=256ull<<20; R(cudaMalloc(&in,all)); R(cudaMalloc(&out,4096)); R(cudaMalloc(&fl,FB)); R(cudaMemset(in,1,all));
  int* at; R(cudaMalloc(&at,8192*4));
  auto flush=[&]{ noise<<<FB/1024,256,0,s>>>(fl,FB/4,77); sweep_read<<<264,1024,0,s>>>((uint4*)fl,FB/16,(u32*)out); };
  std::vector<int> h(8192), order;
  FILE* places=fopen("places.txt","w"); setvbuf(places,0,_IOLBF,1<<16); fprintf(places,"blocks,block,before,repeat,second,third,order\n");
  // Where blocks go: behind nothing, behind a busy block, behind a flush.
  const int grids[][2]={{132,1024},{264,1024},{528,512},{1056,256},{66,1024}};
  for(auto& g:grids) for(int before=0;before<4;++before) for(int rep=0;rep<6;++rep){
    if(before==1) spin<<<1,32,0,s>>>(40000); if(before==2) flush(); if(before==3){ nothing<<<264,1024,0,s>>>(); }
    where<<<g[0],g[1],0,s>>>(at,20000); R(cudaStreamSynchronize(s)); R(cudaMemcpy(h.data(),at,g[0]*4,cudaMemcpyDeviceToHost));
    std::map<int,int> seen; int second=0,third=0; for(int b=0;b<g[0];++b){ int k=++seen[h[b]]; if(k==2&&!second) second=b+1; if(k==3&&!third) third=b+1; }
    if(order.empty()&&g[0]==sms) order.assign(h.begin(),h.begin()+sms);
    const char* names[]={"nothing","spin","flush","empty"}; fprintf(places,"%d,%d,%s,%d,%d,%d,",g[0],g[1],names[before],rep,second,third);
    if(rep<2) for(int b=0;b<std::min(g[0],264);++b) fprintf(places,"%d ",h[b]); fprintf(places,"\n"); }
  // Which SMs share a GPC: blocks of clusters, one an SM.
  R(cudaFuncSetAttribute(where,cudaFuncAttributeMaxDynamicSharedMemorySize,160<<10)); R(cudaFuncSetAttribute(where,cudaFuncAttributeNonPortableClusterSizeAllowed,1));
  std::vector<int> boss(256); for(int i=0;i<256;++i) boss[i]=i; std::function<int(int)> top=[&](int x){ return boss[x]==x?x:boss[x]=top(boss[x]); };
  for(int size:{2,4,8,16}) { for(int rep=0;rep<8;++rep){ cudaLaunchConfig_t c={}; int n=size*(sms/size)*2; c.gridDim=dim3(n); c.blockDim=dim3(256); c.dynamicSmemBytes=160<<10; c.stream=s; cudaLaunchAttribute a[1]; a[0].id=cudaLaunchAttributeClusterDimension; a[0].val.clusterDim.x=size; a[0].val.clusterDim.y=1; a[0].val.clusterDim.z=1; c.attrs=a; c.numAttrs=1;
    cudaError_t e=cudaLaunchKernelEx(&c,where,at,20000); if(e!=cudaSuccess){ fprintf(places,"# clusters of %d: %s\n",size,cudaGetErrorString(e)); cudaGetLastError(); break; }
    R(cudaStreamSynchronize(s)); R(cudaMemcpy(h.data(),at,n*4,cudaMemcpyDeviceToHost)); for(int b=0;b<n;++b) boss[top(h[b])]=top(h[b/size*size]); }
    std::map<int,std::vector<int>> part; for(int i=0;i<sms;++i) part[top(i)].push_back(i); fprintf(places,"# shared by clusters of up to %d:",size); for(auto& p:part){ fprintf(places," ["); for(int i:p.second) fprintf(places,"%d ",i); fprintf(places,"]"); } fprintf(places,"\n"); }
  fclose(places);
  // Sets by events.
  cudaEvent_t a,b; R(cudaEventCreate(&a)); R(cudaEventCreate(&b)); FILE* sets=fopen("sets.csv","w"); setvbuf(sets,0,_IOLBF,1<<16); fprintf(sets,"bytes,iterations,cache,repeats,time_us,spread,least_us,most_us\n");
  auto timed=[&](std::function<void()> f,int reps,int state){ std::vector<float> t; f(); for(int i=0;i<reps;++i){ if(state) flush(); else { f(); spin<<<1,1,0,s>>>(20000); } R(cudaEventRecord(a,s)); f(); R(cudaEventRecord(b,s)); R(cudaEventSynchronize(b)); float m; R(cudaEventElapsedTime(&m,a,b)); t.push_back(m*1e3f);} R(cudaGetLastError()); std::sort(t.begin(),t.end()); fprintf(sets,"%s,%d,%.3f,%.4f,%.3f,%.3f\n",state?"cold":"warm",reps,t[t.size()/2],(t[(3*t.size())/4]-t[t.size()/4])/t[t.size()/2],t[0],t.back()); };
  fprintf(sets,"0,0,"); timed([&]{nothing<<<1,32,0,s>>>();},15,0); fprintf(sets,"0,0,"); timed([&]{nothing<<<1,32,0,s>>>();},15,1);
  u32 x=20261123; auto draw=[&]{ x^=x<<13; x^=x>>17; x^=x<<5; return (x>>8)/16777216.0; };
  double bounds[]={0.2,0.4,0.7,1.0,1.25,1.4,1.6,2.05,2.2,2.5,3.0,3.5,4.1,4.3,5.0,6.2,7.0,8.2,9.0,10.5,12.4,14,16.5,20,24,30,36,40,44,46,48,50};
  for(int k=0;k+1<(int)(sizeof bounds/8);++k) for(int d=0;d<2;++d){ size_t bytes=(size_t)((bounds[k]+(bounds[k+1]-bounds[k])*draw())*1048576)/16*16; int its[]={3,5,8,20,35,50}; int it=its[(int)(draw()*6)]; if(bytes>(20u<<20)) it=std::min(it,8);
    for(int state=0;state<2;++state){ fprintf(sets,"%zu,%d,",bytes,it); timed([&]{ working_set_read<<<264,1024,0,s>>>((float4*)in,out,bytes/16,it); },11,state); } }
  for(int k:{16,32,48,64,72,80,84,88,96,104,112,120,128,132,136,144,160,176,192,208,224,240,256,264,270,300,340,400}) { size_t bytes=(size_t)k*16384; for(int it:{8,40}) for(int state=0;state<2;++state){ fprintf(sets,"%zu,%d,",bytes,it); timed([&]{ working_set_read<<<264,1024,0,s>>>((float4*)in,out,bytes/16,it); },11,state); } }
  fclose(sets); R(cudaStreamSynchronize(s)); return 0; }
