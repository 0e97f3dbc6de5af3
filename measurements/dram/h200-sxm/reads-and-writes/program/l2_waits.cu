// What a DRAM read waits behind writes, by the DRAM's load and mixture, and beside a set-aside: one element a thread, blocks of so many threads, so many blocks an SM.
// Times between events, queued behind work; in every 61st block one lane says how many clocks its loads and its block took.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <string>
#include <algorithm>
#define R_(x) do{cudaError_t e_=(x); if(e_!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e_)); exit(1);} }while(0)
typedef unsigned u32; typedef unsigned long long u64;
__device__ __forceinline__ u32 now(){ u32 t; asm volatile("mov.u32 %0,%%clock;":"=r"(t)::"memory"); return t; }
__device__ __forceinline__ void tell(u64* sums,u32 a,u32 b,u32 c){ if(threadIdx.x==0&&blockIdx.x%61==7){ atomicAdd(sums,(u64)a); atomicAdd(sums+1,(u64)b); atomicAdd(sums+2,(u64)c); atomicAdd(sums+3,1ull); } }
// LOADS independent loads of streams, their sum to STORES streams.
template<int LOADS,int STORES,bool CLOCKED> __global__ void mixed(const int* in,int* out,u32 n,u64* sums){
  u32 i=blockIdx.x*blockDim.x+threadIdx.x; u32 t0=CLOCKED?now():0; int v=0,w[LOADS>0?LOADS:1];
#pragma unroll
  for(int k=0;k<LOADS;++k) w[k]=in[(size_t)k*n+i];
#pragma unroll
  for(int k=0;k<LOADS;++k) v+=w[k];
  if(LOADS==0) v=(int)i;
  if(CLOCKED) asm volatile("add.s32 %0,%0,1;":"+r"(v)::"memory");
  if(STORES==0){ if(v==123456789) out[0]=v; }
  u32 t1=0; if(CLOCKED){ t1=now()+(v==123456789); }
#pragma unroll
  for(int k=0;k<STORES;++k) out[(size_t)k*n+i]=v+k;
  if(CLOCKED) tell(sums,t1-t0,0,now()-t0);
}
// LOADS floats at random places of 1 GiB, and STORES streams written.
template<int LOADS,int STORES,bool CLOCKED> __global__ void scattered(const int* in,int* out,u32 n,u64* sums){
  u32 i=blockIdx.x*blockDim.x+threadIdx.x; u32 t0=CLOCKED?now():0; int v=0,w[LOADS];
#pragma unroll
  for(int k=0;k<LOADS;++k){ u32 x=(i+k*0x3779u)*2654435761u; x^=x>>15; x*=0x85ebca6bu; x^=x>>13; w[k]=in[x>>4]; }
#pragma unroll
  for(int k=0;k<LOADS;++k) v+=w[k];
  if(CLOCKED) asm volatile("add.s32 %0,%0,1;":"+r"(v)::"memory");
  if(STORES==0){ if(v==123456789) out[0]=v; }
  u32 t1=0; if(CLOCKED){ t1=now()+(v==123456789); }
#pragma unroll
  for(int k=0;k<STORES;++k) out[(size_t)k*n+i]=v+k;
  if(CLOCKED) tell(sums,t1-t0,0,now()-t0);
}
// CHAIN streams, each doubled in place after the one before.
template<int CHAIN,bool CLOCKED> __global__ void doubled(int* in,u32 n,u64* sums){
  u32 i=blockIdx.x*blockDim.x+threadIdx.x; u32 t0=CLOCKED?now():0,t1=0,t2=0;
#pragma unroll
  for(int k=0;k<CHAIN;++k){ int* p=in+(size_t)k*n+i; int v=2**p; *p=v; if(CLOCKED){ if(k==0)t1=now(); if(k==1)t2=now(); } }
  if(CLOCKED) tell(sums,t1-t0,CHAIN>1?t2-t1:0,now()-t0);
}
// CHAIN streams read one after the other.
template<int CHAIN,bool CLOCKED> __global__ void followed(const int* in,int* out,u32 n,u64* sums){
  u32 i=blockIdx.x*blockDim.x+threadIdx.x; u32 t0=CLOCKED?now():0,t1=0,t2=0; int v=0;
#pragma unroll
  for(int k=0;k<CHAIN;++k){ v=in[(size_t)k*n+i+(v==123456789)]; if(CLOCKED){ asm volatile("add.s32 %0,%0,1;":"+r"(v)::"memory"); u32 t=now()+(v==123456788); if(k==0)t1=t; if(k==1)t2=t; } }
  if(v==123456789) out[0]=v;
  if(CLOCKED) tell(sums,t1-t0,CHAIN>1?t2-t1:0,now()-t0);
}
// A table and a stream. WHAT 0: both doubled in place; 1: the stream first; 2: the table is read only; 3: the stream is read only; 4: neither is written.
template<int WHAT,bool CLOCKED> __global__ void sliding(int* table,int* stream,u32 n,u32 m,u64* sums){
  u32 i=blockIdx.x*blockDim.x+threadIdx.x; u32 t0=CLOCKED?now():0,t1=0,t2=0; u32 j=i%m;
  int* a=WHAT==1?stream+i:table+j; int* b=WHAT==1?table+j:stream+i;
  int v=2**a; if(WHAT!=2&&WHAT!=4) *a=v; else { asm volatile("add.s32 %0,%0,0;":"+r"(v)::"memory"); if(v==123456789) *a=v; }
  if(CLOCKED) t1=now();
  int w=2**b; if(WHAT<3) *b=w; else { asm volatile("add.s32 %0,%0,0;":"+r"(w)::"memory"); if(w==123456789) *b=w; }
  if(CLOCKED){ t2=now(); tell(sums,t1-t0,t2-t1,t2-t0); }
}
__global__ void noise(u32* p,size_t n){ size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; if(i<n){u32 x=(u32)i*2654435761u+12345u; x^=x>>16; x*=0x7feb352du; x^=x>>15; p[i]=(x&0xffffff)|1;} }
__global__ void spin(u32 clocks){ u64 a=clock64(); while(clock64()-a<clocks); }
__global__ void nothing(){}
cudaStream_t s; cudaEvent_t ea,eb; u64* sums; bool count=false,more=false; std::string only;
template<class F,class G> void row(const char* what,int loads,int stores,int block,int per,size_t bytes,size_t small,size_t set,double hit,F plain,G clocked){
  if(only.size()&&only!=what) return; if(count&&(per!=8||block!=256)) return;
  if(count){ plain(); R_(cudaStreamSynchronize(s)); printf("%s,%d,%d,%d,%d,%zu,%zu,%zu,%.4f\n",what,loads,stores,block,per,bytes,small,set,hit); return; }
  std::vector<float> t; float ms; u64 z[4]={0,0,0,0},h[4];
  for(int r=0;r<6;++r){ spin<<<1,1,0,s>>>(60000); R_(cudaEventRecord(ea,s)); plain(); R_(cudaEventRecord(eb,s)); R_(cudaEventSynchronize(eb)); R_(cudaEventElapsedTime(&ms,ea,eb)); if(r) t.push_back(ms*1e3f); }
  R_(cudaMemcpyAsync(sums,z,32,cudaMemcpyHostToDevice,s)); spin<<<1,1,0,s>>>(60000); R_(cudaEventRecord(ea,s)); clocked(); R_(cudaEventRecord(eb,s)); R_(cudaEventSynchronize(eb)); R_(cudaEventElapsedTime(&ms,ea,eb));
  R_(cudaMemcpy(h,sums,32,cudaMemcpyDeviceToHost)); std::sort(t.begin(),t.end()); double c=h[3]?h[3]:1;
  printf("%s,%d,%d,%d,%d,%zu,%zu,%zu,%.4f,%.3f,%.4f,%.3f,%.1f,%.1f,%.1f\n",what,loads,stores,block,per,bytes,small,set,hit,t[2],(t[4]-t[0])/t[2],ms*1e3,h[0]/c,h[1]/c,h[2]/c); fflush(stdout);
}
size_t shared_for(int per,int block){ if(per*block>=2048) return 0; size_t k=(233472/per-1024)/1024*1024; return k>232448?232448:k; }
char *in,*out,*table;
#define SHARED(K) R_(cudaFuncSetAttribute(K,cudaFuncAttributeMaxDynamicSharedMemorySize,232448))
template<int L,int S> void mix(int block,int per,u32 n){ SHARED((mixed<L,S,false>)); SHARED((mixed<L,S,true>)); size_t sh=shared_for(per,block);
  row("mixed",L,S,block,per,(size_t)n*4,0,0,1,[&]{mixed<L,S,false><<<n/block,block,sh,s>>>((int*)in,(int*)out,n,sums);},[&]{mixed<L,S,true><<<n/block,block,sh,s>>>((int*)in,(int*)out,n,sums);}); }
template<int L,int S> void sca(int block,int per,u32 n){ SHARED((scattered<L,S,false>)); SHARED((scattered<L,S,true>)); size_t sh=shared_for(per,block);
  row("scattered",L,S,block,per,(size_t)n*4,0,0,1,[&]{scattered<L,S,false><<<n/block,block,sh,s>>>((int*)in,(int*)out,n,sums);},[&]{scattered<L,S,true><<<n/block,block,sh,s>>>((int*)in,(int*)out,n,sums);}); }
template<int C> void dbl(int block,int per,u32 n,size_t set=0){ SHARED((doubled<C,false>)); SHARED((doubled<C,true>)); size_t sh=shared_for(per,block);
  row("doubled",C,C,block,per,(size_t)n*4,0,set,1,[&]{doubled<C,false><<<n/block,block,sh,s>>>((int*)in,n,sums);},[&]{doubled<C,true><<<n/block,block,sh,s>>>((int*)in,n,sums);}); }
template<int C> void fol(int block,int per,u32 n){ SHARED((followed<C,false>)); SHARED((followed<C,true>)); size_t sh=shared_for(per,block);
  row("followed",C,0,block,per,(size_t)n*4,0,0,1,[&]{followed<C,false><<<n/block,block,sh,s>>>((int*)in,(int*)out,n,sums);},[&]{followed<C,true><<<n/block,block,sh,s>>>((int*)in,(int*)out,n,sums);}); }
void window(size_t set,size_t bytes,float hit){ R_(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize,set)); R_(cudaCtxResetPersistingL2Cache());
  cudaStreamAttrValue at; memset(&at,0,sizeof at); at.accessPolicyWindow.base_ptr=table; at.accessPolicyWindow.num_bytes=bytes; at.accessPolicyWindow.hitRatio=hit;
  at.accessPolicyWindow.hitProp=cudaAccessPropertyPersisting; at.accessPolicyWindow.missProp=cudaAccessPropertyStreaming; R_(cudaStreamSetAttribute(s,cudaStreamAttributeAccessPolicyWindow,&at)); }
template<int W> void slide(const char* what,int block,int per,u32 n,size_t small,size_t set,float hit,bool windowed=true){ SHARED((sliding<W,false>)); SHARED((sliding<W,true>)); size_t sh=shared_for(per,block);
  window(set,set&&windowed?small:0,hit); row(what,2,W==0||W==1?2:W==4?0:1,block,per,(size_t)n*4,small,set,windowed?hit:0,[&]{sliding<W,false><<<n/block,block,sh,s>>>((int*)table,(int*)in,n,(u32)(small/4),sums);},[&]{sliding<W,true><<<n/block,block,sh,s>>>((int*)table,(int*)in,n,(u32)(small/4),sums);}); }
int main(int c,char** v){
  count=c>1&&!strncmp(v[1],"count",5); more=c>1&&strstr(v[1],"more"); if(c>2) only=v[2];
  R_(cudaSetDevice(0)); R_(cudaStreamCreate(&s)); R_(cudaEventCreate(&ea)); R_(cudaEventCreate(&eb)); R_(cudaMalloc(&sums,64));
  const size_t A=256ull<<20; R_(cudaMalloc(&table,96<<20)); R_(cudaMalloc(&in,4*A+4096)); R_(cudaMalloc(&out,8*A));
  noise<<<(96<<20)/1024,256>>>((u32*)table,(96<<20)/4); noise<<<4*A/1024,256>>>((u32*)in,A); noise<<<8*A/1024,256>>>((u32*)out,2*A); R_(cudaDeviceSynchronize());
  u32 n=(u32)(A/4);
  if(!count){ std::vector<float> t; for(int i=0;i<30;++i){ float m; spin<<<1,1,0,s>>>(60000); R_(cudaEventRecord(ea,s)); nothing<<<1,32,0,s>>>(); R_(cudaEventRecord(eb,s)); R_(cudaEventSynchronize(eb)); R_(cudaEventElapsedTime(&m,ea,eb)); t.push_back(m*1e3f);} std::sort(t.begin(),t.end()); printf("floor,%.3f\n",t[15]); }
  const double way=60.0*1048576/16;
  if(more){
  n=(u32)(192u<<20)/4;
  for(int block:{128,512}) for(int per:{1,2,3,4,8,16}){ if(block==512&&per>4) continue; if(block==128&&(per==1||per==3)) continue;
    mix<1,0>(block,per,n); mix<2,0>(block,per,n); mix<1,1>(block,per,n); mix<2,1>(block,per,n); mix<3,1>(block,per,n); mix<1,2>(block,per,n); mix<1,3>(block,per,n); mix<2,2>(block,per,n); mix<4,4>(block,per,n);
    dbl<1>(block,per,n); dbl<2>(block,per,n); dbl<3>(block,per,n); fol<2>(block,per,n); }
  u32 g=(u32)(64u<<20)/4; for(int per:{1,2,4,8}){ sca<1,0>(256,per,g); sca<1,1>(256,per,g); sca<1,2>(256,per,g); sca<1,4>(256,per,g); sca<1,8>(256,per,g); sca<2,4>(256,per,g); }
  for(int per:{2,4,8}) for(int ways:{0,5,8}) for(size_t mb:{8,14,17,20,28}){ size_t set=(size_t)(ways*way),small=mb*1000000; if(mb==28&&ways==5) continue;
    slide<0>("slide",256,per,n,small,set,1); slide<1>("slide-stream-first",256,per,n,small,set,1); slide<2>("slide-read-table",256,per,n,small,set,1); slide<3>("slide-read-stream",256,per,n,small,set,1); slide<4>("slide-read",256,per,n,small,set,1); }
  R_(cudaGetLastError()); return 0; }
  if(!count) for(int block:{256,1024}) for(int per:{1,2,3,4,6,8}){ if(block==1024&&per>2) continue; if(block==1024&&per==2&&0) continue;
    mix<1,0>(block,per,n); mix<2,0>(block,per,n); mix<4,0>(block,per,n); mix<1,1>(block,per,n); mix<2,1>(block,per,n); mix<3,1>(block,per,n); mix<1,2>(block,per,n); mix<1,3>(block,per,n); mix<1,4>(block,per,n); mix<2,2>(block,per,n); mix<4,4>(block,per,n); mix<0,1>(block,per,n);
    dbl<1>(block,per,n); dbl<2>(block,per,n); dbl<3>(block,per,n); fol<1>(block,per,n); fol<2>(block,per,n); fol<3>(block,per,n); }
  if(count){ for(int ways:{0,8}) for(size_t mb:{4,12,24,72}) { u32 k=n; if(mb==72&&ways) continue; slide<0>("slide",256,8,k,mb*1000000,(size_t)(ways*way),1); slide<2>("slide-read-table",256,8,k,mb*1000000,(size_t)(ways*way),1); slide<3>("slide-read-stream",256,8,k,mb*1000000,(size_t)(ways*way),1); }
    slide<0>("slide",256,2,n,12000000,(size_t)(8*way),1); slide<0>("slide",1024,2,n,12000000,(size_t)(8*way),1); slide<0>("slide",1024,2,n,72000000,0,1); return 0; }
  for(int per:{1,2,4,6,8}) for(int ways:{0,4,8,10}) for(size_t mb:{4,12,24,72}){ if(mb==72&&ways!=0&&ways!=8) continue;
    size_t set=(size_t)(ways*way),small=mb*1000000; slide<0>("slide",256,per,n,small,set,1); slide<1>("slide-stream-first",256,per,n,small,set,1); slide<2>("slide-read-table",256,per,n,small,set,1); slide<3>("slide-read-stream",256,per,n,small,set,1); slide<4>("slide-read",256,per,n,small,set,1);
    if(ways&&mb<24) slide<0>("slide-no-window",256,per,n,small,set,1,false); }
  for(int block:{128,512,1024}) for(int ways:{0,8}) for(size_t mb:{4,12,24,72}){ if(mb==72&&ways) continue; slide<0>("slide",block,2048/block>32?32:2048/block,n,mb*1000000,(size_t)(ways*way),1); }
  for(int ways:{4,6,7,8,9,10}) for(int per:{1,2,4,8}){ window((size_t)(ways*way),0,1); dbl<1>(256,per,n,(size_t)(ways*way)); }
  R_(cudaGetLastError()); return 0;
}
