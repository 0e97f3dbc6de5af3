// Clocks of a slice, and of all SMs, for atomics of a warp by the sectors and lanes of its packets.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <string>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>
// OP 0: compare-and-swap that fails, 1: exchange with answer, 2: addition with answer, 3: addition without, 4: compare-and-swap of 8 B
__device__ int sinkv;
template<int OP> __global__ void shapes(int* data,const int* lane_word,const unsigned* base,int turns,int active,int* out){
  int lane=threadIdx.x%32,g=blockIdx.x*(blockDim.x/32)+threadIdx.x/32;
  if((int)blockIdx.x>=active) return;
  int w=lane_word[lane]; if(w<0) return;
  int* at=data+base[g]+w;
  int v=lane+1; long long t0=clock64();
  for(int i=0;i<turns;++i){
    if(OP==0){ v^=atomicCAS(at,-5-(v&1023),v); }
    if(OP==1){ v^=atomicExch(at,v); }
    if(OP==2){ v^=atomicAdd(at,v&3); }
    if(OP==3){ atomicAdd(at,v&3); }
    if(OP==4){ v^=(int)atomicCAS((unsigned long long*)at,(unsigned long long)(-5-(v&1023)),(unsigned long long)v); }
  }
  long long t1=clock64();
  if(v==0x12345678) sinkv=v;
  if(lane==0) out[g]=(int)(t1-t0);
}
int *data,*lw,*out;unsigned*base;FILE*f;
template<int OP> void run(const char*op,const char*shape,const std::vector<int>&lanes,const char*place,const std::vector<unsigned>&b,int warps,int active,int turns){
  std::vector<int> l(32,-1);for(size_t i=0;i<lanes.size();++i)l[i]=lanes[i];
  cudaMemcpy(lw,l.data(),128,cudaMemcpyHostToDevice);cudaMemcpy(base,b.data(),b.size()*4,cudaMemcpyHostToDevice);
  cudaEvent_t a,e;cudaEventCreate(&a);cudaEventCreate(&e);std::vector<float> us;std::vector<int> mx;
  for(int r=0;r<4;++r){cudaEventRecord(a);shapes<OP><<<132,warps*32,150000>>>(data,lw,base,turns,active,out);cudaEventRecord(e);cudaEventSynchronize(e);
    float ms;cudaEventElapsedTime(&ms,a,e);std::vector<int> h(active*warps);cudaMemcpy(h.data(),out,h.size()*4,cudaMemcpyDeviceToHost);
    if(r){us.push_back(ms*1000);std::sort(h.begin(),h.end());mx.push_back(h.back());}}
  std::sort(us.begin(),us.end());std::sort(mx.begin(),mx.end());
  fprintf(f,"%s,%s,%s,%d,%d,%d,%.2f,%d,%s\n",op,shape,place,active,warps,turns,us[1],mx[1],cudaGetErrorString(cudaGetLastError()));
}
template<int OP> void all(const char*op){
  cudaFuncSetAttribute(shapes<OP>,cudaFuncAttributeMaxDynamicSharedMemorySize,150000);
  int wd=OP==4?2:1;
  std::vector<std::pair<const char*,std::vector<int>>> S;
  auto add=[&](const char*n,std::vector<int> v){S.push_back({n,v});};
  add("1x1",{0});add("1x2",{0,wd});add("1x4",OP==4?std::vector<int>{0,2,4,6}:std::vector<int>{0,1,2,3});
  if(OP!=4) add("1x8",{0,1,2,3,4,5,6,7});
  add("01x1",{0,8});add("02x1",{0,16});add("03x1",{0,24});add("012x1",{0,8,16});add("0123x1",{0,8,16,24});
  {std::vector<int> v;for(int i=0;i<16/wd;++i)v.push_back(i*wd);add("01xall",v);}
  {std::vector<int> v;for(int i=0;i<32/wd;++i)v.push_back(i*wd);add("0123xall",v);}
  {std::vector<int> v;for(int s=0;s<4;++s)for(int i=0;i<4;++i)v.push_back(s*8+i*2);add("0123xhalf",v);}
  {std::vector<int> v;for(int s=0;s<32;++s)v.push_back(0);add("same",v);}
  {std::vector<int> v;for(int s=0;s<8;++s)v.push_back(0);add("same8",v);}
  {std::vector<int> v;for(int s=0;s<32;++s)v.push_back((s%2)*8);add("same2",v);}
  for(auto&s:S){
    std::vector<unsigned> one(132*32,4096u),four(132*32),spread(132*32);
    for(int i=0;i<132*32;++i){four[i]=(i%1)*32;spread[i]=(unsigned)(((uint64_t)(i*2654435761u)%(8u<<20>>5))*32);}
    run<OP>(op,s.first,s.second,"one",one,8,132,16);
    run<OP>(op,s.first,s.second,"spread",spread,32,132,32);
    run<OP>(op,s.first,s.second,"spread",spread,32,1,32);
    run<OP>(op,s.first,s.second,"spread",spread,32,16,32);
  }
  fflush(f);
}
int main(){cudaMalloc(&data,64<<20);cudaMalloc(&lw,128);cudaMalloc(&base,1<<20);cudaMalloc(&out,1<<20);
  std::vector<int> init(16<<20);uint64_t s=88172645463325252ull;for(auto&x:init){s^=s<<13;s^=s>>7;s^=s<<17;x=(int)(s>>33);}
  cudaMemcpy(data,init.data(),64<<20,cudaMemcpyHostToDevice);
  f=fopen((std::string(getenv("OUT"))+"/shapes.csv").c_str(),"w");fprintf(f,"op,shape,place,sms,warps,turns,time_us,max_clk,error\n");
  all<0>("cas");all<1>("exchange");all<2>("add_return");all<3>("add");all<4>("cas64");fclose(f);}
