// What a lock is made of, one lane a warp: exchanges, loads, stores and fences in a row.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <string>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>
template<int V> __global__ void chain(int* data,const unsigned* base,int turns,int active,int* out){
  int lane=threadIdx.x%32,g=blockIdx.x*(blockDim.x/32)+threadIdx.x/32;
  if((int)blockIdx.x>=active||lane) return;
  int* at=data+base[g]; int v=1; long long t0=clock64();
  for(int i=0;i<turns;++i){
    if(V==0){ v=atomicExch(at,v^i)+1; }
    if(V==1){ v=atomicExch(at,v^i)+1; __threadfence(); }
    if(V==2){ ((volatile int*)at)[1]=v+i; __threadfence(); }
    if(V==3){ v=((volatile int*)at)[1]+1; ((volatile int*)at)[1]=v; __threadfence(); }
    if(V==4){ int got=atomicExch(at,1); if(got!=-1){ ((volatile int*)at)[1]=((volatile int*)at)[1]+got; __threadfence(); atomicExch(at,0);} v+=got; }
    if(V==5){ v=((volatile int*)at)[1]^v; }
    if(V==6){ atomicExch(at,v^i); __threadfence(); }
  }
  long long t1=clock64(); if(v==0x12345678) data[0]=v; out[g]=(int)(t1-t0);
}
int *data,*out;unsigned*base;FILE*f;
template<int V> void run(const char*n,int active,int warps,int turns){
  cudaFuncSetAttribute(chain<V>,cudaFuncAttributeMaxDynamicSharedMemorySize,150000);
  std::vector<int> mn,md,mx;
  for(int r=0;r<4;++r){chain<V><<<132,warps*32,150000>>>(data,base,turns,active,out);cudaDeviceSynchronize();
    std::vector<int> h(active*warps);cudaMemcpy(h.data(),out,h.size()*4,cudaMemcpyDeviceToHost);std::sort(h.begin(),h.end());
    if(r){mn.push_back(h[0]);md.push_back(h[h.size()/2]);mx.push_back(h.back());}}
  auto m=[](std::vector<int>v){std::sort(v.begin(),v.end());return v[v.size()/2];};
  fprintf(f,"%s,%d,%d,%d,%d,%d,%d,%s\n",n,active,warps,turns,m(mn),m(md),m(mx),cudaGetErrorString(cudaGetLastError()));
}
int main(){cudaMalloc(&data,64<<20);cudaMalloc(&base,1<<20);cudaMalloc(&out,1<<20);cudaMemset(data,0x5a,64<<20);
  std::vector<unsigned> b(132*32);for(int i=0;i<132*32;++i)b[i]=(unsigned)(((uint64_t)(i*2654435761u)%(8u<<20>>5))*32);
  cudaMemcpy(base,b.data(),b.size()*4,cudaMemcpyHostToDevice);
  f=fopen((std::string(getenv("OUT"))+"/locks.csv").c_str(),"w");fprintf(f,"variant,sms,warps,turns,min_clk,med_clk,max_clk,error\n");
  for(int a:{1,132})for(int w:{1,4,8,16,32}){run<0>("exchange",a,w,16);run<1>("exchange_fence",a,w,16);run<2>("store_fence",a,w,16);run<3>("load_store_fence",a,w,16);run<4>("lock",a,w,16);run<5>("load",a,w,16);run<6>("release_fence",a,w,16);}
  fclose(f);}
