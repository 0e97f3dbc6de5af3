// Rounds of compare-and-swap, by clocks: lanes of one warp, of many warps, of one SM and of all of them.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <vector>
#include <string>
#include <algorithm>
#include <cuda_runtime.h>
typedef unsigned long long u64;
__device__ __forceinline__ unsigned smid(){unsigned s;asm volatile("mov.u32 %0,%%smid;":"=r"(s));return s;}
__device__ __forceinline__ int bump(int* at,int& tries,int old){
  int seen; while((seen=atomicCAS(at,old,old+1))!=old){old=seen;++tries;} return tries;}
// mode 0: lanes<k of each active warp contend at the warp's own word. mode 1: lane 0 only does `k` successful CAS in a chain.
// mode 2: lane 0 of each warp wants ONE common word. mode 3: chains of k failing CAS by 32 lanes at lane*stride words
// place of warp g: word = off[g]
template<int MODE> __global__ void loop(int* data,const unsigned* off,int k,int only,int active_blocks,int4* out,int* sink,int stride){
  extern __shared__ int sh[];
  int lane=threadIdx.x%32, w=threadIdx.x/32, g=blockIdx.x*(blockDim.x/32)+w;
  if(only>=0 ? smid()!=(unsigned)only : (int)blockIdx.x>=active_blocks) return;
  int* at=data+off[MODE==2?0:g];
  if(MODE==3) at+=lane*stride;
  int tries=0; int old=*(volatile int*)at;
  __syncthreads();
  long long t0=clock64();
  if(MODE==0){ if(lane<k){tries=1; bump(at,tries,old);} }
  if(MODE==1){ if(lane==0) for(int i=0;i<k;++i){ int seen=atomicCAS(at,old,old+1); if(seen!=old) sink[0]=1; old=seen+1; ++tries; } }
  if(MODE==2){ if(lane==0) for(int i=0;i<k;++i){ tries++; bump(at,tries,old); old=*(volatile int*)at; } }
  if(MODE==3){ for(int i=0;i<k;++i){ int seen=atomicCAS(at,-5-i,old+1); old=seen; if(seen==-77) sink[0]=1; ++tries; } }
  __syncwarp();
  long long t1=clock64();
  int sum=tries,most=tries;
  for(int d=16;d;d/=2){sum+=__shfl_xor_sync(~0u,sum,d);most=max(most,__shfl_xor_sync(~0u,most,d));}
  if(lane==0) out[g]=make_int4((int)(t1-t0),(int)smid(),sum,most);
}
int* data;unsigned* off;int4* out;int* sink;const size_t WORDS=64u<<20;
template<int MODE> void run(const char* name,int blocks,int warps,int k,int only,int active,const std::vector<unsigned>& o,int stride,int shb,int reps,FILE* f,const char* place){
  cudaMemcpy(off,o.data(),o.size()*4,cudaMemcpyHostToDevice);
  std::vector<int> med,mx,mn; std::vector<float> us; double sum=0,most=0;
  cudaEvent_t a,b;cudaEventCreate(&a);cudaEventCreate(&b);
  cudaFuncSetAttribute(loop<MODE>,cudaFuncAttributeMaxDynamicSharedMemorySize,shb);
  for(int r=0;r<reps+1;++r){
    cudaMemsetAsync(out,0,sizeof(int4)*blocks*warps);
    cudaEventRecord(a);
    loop<MODE><<<blocks,warps*32,shb>>>(data,off,k,only,active,out,sink,stride);
    cudaEventRecord(b);cudaEventSynchronize(b);
    if(cudaGetLastError()!=cudaSuccess){fprintf(f,"%s,error\n",name);return;}
    if(!r) continue;
    float ms;cudaEventElapsedTime(&ms,a,b);us.push_back(ms*1000);
    std::vector<int4> h(blocks*warps);cudaMemcpy(h.data(),out,sizeof(int4)*h.size(),cudaMemcpyDeviceToHost);
    std::vector<int> c;sum=most=0;for(auto&x:h)if(x.x>0){c.push_back(x.x);sum+=x.z;most+=x.w;}
    if(c.empty())continue;std::sort(c.begin(),c.end());
    med.push_back(c[c.size()/2]);mx.push_back(c.back());mn.push_back(c[0]);
  }
  auto m=[](std::vector<int> v){if(v.empty())return -1;std::sort(v.begin(),v.end());return v[v.size()/2];};
  std::sort(us.begin(),us.end());
  fprintf(f,"%s,%s,%d,%d,%d,%d,%d,%d,%d,%d,%.2f,%.0f,%.0f\n",name,place,active,warps,k,only,stride,m(mn),m(med),m(mx),us[us.size()/2],sum,most);
}
int main(){
  cudaMalloc(&data,WORDS*4);cudaMalloc(&off,4<<20);cudaMalloc(&out,16<<20);cudaMalloc(&sink,64);
  std::vector<int> init(WORDS);uint64_t s=88172645463325252ull;for(auto&x:init){s^=s<<13;s^=s>>7;s^=s<<17;x=(int)(s>>33);}
  cudaMemcpy(data,init.data(),WORDS*4,cudaMemcpyHostToDevice);
  FILE* f=fopen((std::string(getenv("OUT"))+"/rounds.csv").c_str(),"w");
  fprintf(f,"name,place,sms,warps,k,only,stride,min_clk,med_clk,max_clk,time_us,tries,warp_tries\n");
  const int LW=32; auto places=[&](int n,bool spread){std::vector<unsigned> o(n);
    for(int i=0;i<n;++i) o[i]= spread ? (unsigned)(((uint64_t)(i*2654435761u)%(8u<<20>>5))*LW) : i*LW; return o;};
  // E1
  for(int p=0;p<12;++p) for(int m=0;m<132;m+=(p<3?1:6)){ std::vector<unsigned> o(132*1,(unsigned)(p*97*LW+p*64));
    run<1>("chain1",132,1,32,m,132,o,0,200000,1,f,"one"); run<0>("own1",132,1,32,m,132,o,0,200000,1,f,"one"); }
  fflush(f);
  // E2
  for(int spread=0;spread<2;++spread) for(int g:{1,2,4,8,16,33,66,132}) for(int w:{1,2,4,8,16,32}){ auto o=places(132*w,spread);
    for(int k:{2,8,32}) run<0>("own",132,w,k,-1,g,o,0,200000,3,f,spread?"spread":"dense");
    run<1>("chain",132,w,16,-1,g,o,0,200000,3,f,spread?"spread":"dense"); }
  fflush(f);
  // E3 one word, k additions each
  for(int c:{1,2,8,32,64,128,256}) for(int w:{1,2,4,8,16,32}) if(c%w==0&&c/w<=132){ std::vector<unsigned> o(132*w,1234*32u);
    run<2>("one",132,w,1,-1,c/w,o,0,200000,3,f,"one"); run<2>("one",132,w,8,-1,c/w,o,0,200000,3,f,"one"); }
  fflush(f);
  // E4 failing CAS of whole warps: lanes stride words apart, base of warp: pieces of `span` bytes
  for(int stride:{1,2,4,8,32}) for(int span:{128,256,1024,8192,262144,33554432}){
    for(int w:{8,32}){ int n=132*w; std::vector<unsigned> o(n); unsigned words=span/4,unit=std::max(32,32*stride);
      unsigned units=std::max(1u,words/unit); for(int i=0;i<n;++i)o[i]=(i%units)*unit;
      char nm[32];sprintf(nm,"%d",span);
      run<3>("fail",132,w,32,-1,132,o,stride,200000,3,f,nm);}}
  // one address, all lanes
  for(int w:{1,8,32}) for(int own=0;own<2;++own) for(int g:{1,8,132}){auto o=own?places(132*w,true):std::vector<unsigned>(132*w,4096u);
    run<3>("failsame",132,w,32,-1,g,o,0,200000,3,f,own?"own":"one");}
  fclose(f);printf("%s\n",cudaGetErrorString(cudaDeviceSynchronize()));
}
