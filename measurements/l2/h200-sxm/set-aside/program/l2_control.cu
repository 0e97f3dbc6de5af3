#include <cuda.h>
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <string>
#include <algorithm>
#include <functional>
#include <dlfcn.h>
static void* lib_(){static void* h=dlopen("libcuda.so.1",RTLD_NOW); return h;}
static decltype(&cuGetErrorString) p_cuGetErrorString=(decltype(&cuGetErrorString))dlsym(lib_(),"cuGetErrorString");
static decltype(&cuMemGetAllocationGranularity) p_cuMemGetAllocationGranularity=(decltype(&cuMemGetAllocationGranularity))dlsym(lib_(),"cuMemGetAllocationGranularity");
static decltype(&cuMemCreate) p_cuMemCreate=(decltype(&cuMemCreate))dlsym(lib_(),"cuMemCreate");
static decltype(&cuMemGetAllocationPropertiesFromHandle) p_cuMemGetAllocationPropertiesFromHandle=(decltype(&cuMemGetAllocationPropertiesFromHandle))dlsym(lib_(),"cuMemGetAllocationPropertiesFromHandle");
static decltype(&cuMemAddressReserve) p_cuMemAddressReserve=(decltype(&cuMemAddressReserve))dlsym(lib_(),"cuMemAddressReserve");
static decltype(&cuMemMap) p_cuMemMap=(decltype(&cuMemMap))dlsym(lib_(),"cuMemMap");
static decltype(&cuMemSetAccess) p_cuMemSetAccess=(decltype(&cuMemSetAccess))dlsym(lib_(),"cuMemSetAccess");
static decltype(&cuDeviceGetAttribute) p_cuDeviceGetAttribute=(decltype(&cuDeviceGetAttribute))dlsym(lib_(),"cuDeviceGetAttribute");
#undef cuGetErrorString
#define cuGetErrorString p_cuGetErrorString
#undef cuMemGetAllocationGranularity
#define cuMemGetAllocationGranularity p_cuMemGetAllocationGranularity
#undef cuMemCreate
#define cuMemCreate p_cuMemCreate
#undef cuMemGetAllocationPropertiesFromHandle
#define cuMemGetAllocationPropertiesFromHandle p_cuMemGetAllocationPropertiesFromHandle
#undef cuMemAddressReserve
#define cuMemAddressReserve p_cuMemAddressReserve
#undef cuMemMap
#define cuMemMap p_cuMemMap
#undef cuMemSetAccess
#define cuMemSetAccess p_cuMemSetAccess
#undef cuDeviceGetAttribute
#define cuDeviceGetAttribute p_cuDeviceGetAttribute
typedef unsigned u32; typedef unsigned long long u64;
#define R(x) do{cudaError_t e_=(x); if(e_!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e_)); exit(1);} }while(0)
#define D(x) do{CUresult e_=(x); if(e_!=CUDA_SUCCESS){const char*s; cuGetErrorString(e_,&s); fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,s); exit(1);} }while(0)
__device__ __host__ inline u32 hashed(u32 x){ x^=x>>16; x*=0x7feb352du; x^=x>>15; x*=0x846ca68bu; x^=x>>16; return x; }
// Word i of a pattern.
__device__ __forceinline__ u32 word(int kind, u32 i){
  switch(kind){
    case 0: return 0u;                                   // zeros
    case 1: return 0x3f9d3a11u;                          // one word repeated
    case 2: return hashed(i/32);                         // a line of one word
    case 3: return hashed(i)&0xffu;                      // small integers
    case 4: return (hashed(i/32+77)&1)? hashed(i):0u;    // every second line random
    case 5: return hashed(i);                            // random
    case 6: return (hashed(i+9)&1)? (0x3f800000u|(hashed(i)>>9)):0u; // half of the numbers 0
    case 7: return 0x3f800000u|(hashed(i)>>9);           // floats in [1,2)
    case 8: return i;                                    // an index
  }
  return 0;
}
extern "C" __global__ void fill(uint4* out, long long n, int kind){
  long long i=(long long)blockIdx.x*blockDim.x+threadIdx.x;
  if(i<n){ u32 w=(u32)i*4; out[i]=make_uint4(word(kind,w),word(kind,w+1),word(kind,w+2),word(kind,w+3)); }
}
extern "C" __global__ void check(const uint4* in, long long n, int kind, int* bad){
  long long i=(long long)blockIdx.x*blockDim.x+threadIdx.x;
  if(i<n){ u32 w=(u32)i*4; uint4 v=in[i]; if(v.x!=word(kind,w)||v.y!=word(kind,w+1)||v.z!=word(kind,w+2)||v.w!=word(kind,w+3)) atomicAdd(bad,1); }
}
extern "C" __global__ void read_all(const uint4* in, u32* out, long long n){
  long long i=(long long)blockIdx.x*blockDim.x+threadIdx.x;
  if(i<n){ uint4 v=in[i]; u32 s=(v.x^v.y*3)+(v.z^v.w*5); if(s==0x12345671u&&i==n+1) out[0]=s; if(s==0x7a3c1d55u) out[1]=s; }
}
extern "C" __global__ void copy_all(const uint4* in, uint4* out, long long n){
  long long i=(long long)blockIdx.x*blockDim.x+threadIdx.x;
  if(i<n) out[i]=in[i];
}
extern "C" __global__ void set_read(const uint4* in, u32* out, long long n, int iterations){
  const long long step=(long long)gridDim.x*blockDim.x; u32 s=0;
  for(int r=0;r<iterations;++r) for(long long i=(long long)blockIdx.x*blockDim.x+threadIdx.x;i<n;i+=step){ uint4 v=__ldcg(in+i); s+=(v.x^v.y)+(v.z^v.w); }
  if(s==0x7a3c1d55u) out[1]=s;
}
// (g) rewritten sets
extern "C" __global__ void __launch_bounds__(1024,2) write_same(uint4* out, long long n, int iterations, uint4 v){
  const long long step=(long long)gridDim.x*blockDim.x;
  for(int r=0;r<iterations;++r) for(long long i=(long long)blockIdx.x*blockDim.x+threadIdx.x;i<n;i+=step) out[i]=v;
}
extern "C" __global__ void __launch_bounds__(1024,2) write_new(uint4* out, long long n, int iterations){
  const long long step=(long long)gridDim.x*blockDim.x;
  for(int r=0;r<iterations;++r) for(long long i=(long long)blockIdx.x*blockDim.x+threadIdx.x;i<n;i+=step) out[i]=make_uint4(r,u32(i),2u,3u);
}
// (a) watchers and a flood
extern "C" __global__ void watch(const u32* table, u32 lines, int hops, u32* bins, int* done){
  __shared__ u32 own[128];
  if(threadIdx.x<128) own[threadIdx.x]=0;
  __syncthreads();
  u32 at=hashed(blockIdx.x*blockDim.x+threadIdx.x+1);
  for(int h=0;h<hops&&threadIdx.x%32==0;++h){
    u32 line=(u32)(((u64)hashed(at+h*2654435761u)*lines)>>32), v;
    long long start=clock64();
    asm volatile("ld.global.cg.u32 %0, [%1];":"=r"(v):"l"(table+(long long)line*32+(start>>62)):"memory");
    at+=v;
    asm volatile("":"+r"(at)::"memory");
    long long stop=clock64()+(at==0x7fffffffu);
    if(h>=hops/2) atomicAdd(own+min(127u,(u32)(stop-start)/16),1u);
  }
  __syncthreads();
  if(threadIdx.x<128) atomicAdd(bins+threadIdx.x,own[threadIdx.x]);
  if(threadIdx.x==0){__threadfence(); atomicAdd(done,1);}
}
extern "C" __global__ void flood(const uint4* in, long long n, u32* out, const int* done, int enough, u64* moved){
  u32 s=0; bool stop=false;
  for(int r=0;r<100000&&!stop;++r){
    for(long long i=(long long)blockIdx.x*blockDim.x+threadIdx.x;i<n;i+=(long long)gridDim.x*blockDim.x*4){
      for(int k=0;k<4;++k){ long long at=i+(long long)k*gridDim.x*blockDim.x; if(at<n){uint4 v=__ldcg(in+at); s+=(v.x^v.y)+(v.z^v.w);} }
      if(threadIdx.x==0) atomicAdd(moved,(u64)blockDim.x*64);
      if(*(volatile const int*)done>=enough){stop=true;break;}
    }
  }
  if(s==0x7a3c1d55u) out[1]=s;
}
static CUdeviceptr vmm(size_t bytes,bool comp,int*got){
  CUmemAllocationProp p; memset(&p,0,sizeof p); p.type=CU_MEM_ALLOCATION_TYPE_PINNED; p.location.type=CU_MEM_LOCATION_TYPE_DEVICE; p.location.id=0;
  p.allocFlags.compressionType=comp?CU_MEM_ALLOCATION_COMP_GENERIC:0;
  size_t g; D(cuMemGetAllocationGranularity(&g,&p,CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)); bytes=(bytes+g-1)/g*g;
  CUmemGenericAllocationHandle h; D(cuMemCreate(&h,bytes,&p,0));
  CUmemAllocationProp q; D(cuMemGetAllocationPropertiesFromHandle(&q,h)); *got=q.allocFlags.compressionType;
  CUdeviceptr a; D(cuMemAddressReserve(&a,bytes,0,0,0)); D(cuMemMap(a,bytes,0,h,0));
  CUmemAccessDesc d; memset(&d,0,sizeof d); d.location=p.location; d.flags=CU_MEM_ACCESS_FLAGS_PROT_READWRITE; D(cuMemSetAccess(a,bytes,&d,1)); return a;
}
static float timed(std::function<void()> f,int reps){
  cudaEvent_t a,b; R(cudaEventCreate(&a)); R(cudaEventCreate(&b)); std::vector<float> t; if(reps>1) f();
  for(int i=0;i<reps;++i){ R(cudaEventRecord(a)); f(); R(cudaEventRecord(b)); R(cudaEventSynchronize(b)); float m; R(cudaEventElapsedTime(&m,a,b)); t.push_back(m*1e3f);} 
  R(cudaGetLastError()); std::sort(t.begin(),t.end()); return t[t.size()/2];
}
int main(int c,char**v){
  int reps=c>2?atoi(v[2]):9; std::string what=c>1?v[1]:"all"; R(cudaSetDevice(0)); R(cudaFree(0)); u32* sink; R(cudaMalloc(&sink,4096)); int* bad; R(cudaMalloc(&bad,4));
  if(what=="comp"){
    int sup=0; D(cuDeviceGetAttribute(&sup,CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED,0)); fprintf(stderr,"compression supported %d\n",sup);
    size_t B=512ull<<20; long long n=B/16; u32 g=(u32)(n/256);
    for(int comp=0;comp<2;++comp){ int got; CUdeviceptr a=vmm(B,comp,&got),b=vmm(B,comp,&got); fprintf(stderr,"asked %d got %d\n",comp,got);
      for(int k=0;k<9;++k){
        printf("compression,fill,%d,%d,%d,512,%.3f\n",comp,got,k,timed([&]{fill<<<g,256>>>((uint4*)a,n,k);},reps));
        printf("compression,read,%d,%d,%d,512,%.3f\n",comp,got,k,timed([&]{read_all<<<g,256>>>((uint4*)a,sink,n);},reps));
        printf("compression,copy,%d,%d,%d,512,%.3f\n",comp,got,k,timed([&]{copy_all<<<g,256>>>((uint4*)a,(uint4*)b,n);},reps));
        if(reps>1){ int z=0; R(cudaMemcpy(bad,&z,4,cudaMemcpyHostToDevice)); check<<<g,256>>>((uint4*)b,n,k,bad); R(cudaMemcpy(&z,bad,4,cudaMemcpyDeviceToHost)); if(z) fprintf(stderr,"WRONG %d %d %d\n",comp,k,z);
          if(k==0||k==3||k==5) for(int m:{24,40,48,64,80,96,128,192,256}){ long long q=((size_t)m<<20)/16; int it=2048/m; printf("compression,set_read,%d,%d,%d,%d,%.3f\n",comp,got,k,m,timed([&]{set_read<<<264,1024>>>((uint4*)a,sink,q,it);},5)/it); }
        }
      } }
  }
  if(what=="sets"){
    uint4* a; R(cudaMalloc(&a,256ull<<20)); R(cudaFuncSetAttribute(write_same,cudaFuncAttributeMaxDynamicSharedMemorySize,120<<10)); R(cudaFuncSetAttribute(write_new,cudaFuncAttributeMaxDynamicSharedMemorySize,120<<10));
    for(int m:{16,24,32,48,64,96}){ long long n=((size_t)m<<20)/16; int it=std::max(2,256/m);
      for(int sh:{0,120}){ printf("sets,same,%d,%d,%d,%.3f\n",m,it,sh,timed([&]{write_same<<<264,1024,sh<<10>>>(a,n,it,make_uint4(1,2,3,4));},reps));
        printf("sets,new,%d,%d,%d,%.3f\n",m,it,sh,timed([&]{write_new<<<264,1024,sh<<10>>>(a,n,it);},reps)); } }
  }
  if(what=="windows"){ setvbuf(stdout,NULL,_IOLBF,0); { int* dz; u64* mz; u32* bz; R(cudaMalloc(&dz,4)); R(cudaMalloc(&mz,8)); R(cudaMalloc(&bz,4096)); R(cudaMemset(bz,0,4096)); R(cudaMemset(dz,1,4)); watch<<<1,1024>>>(bz,1,2,bz+64,dz); R(cudaMemset(dz,1,4)); flood<<<1,1024>>>((uint4*)bz,1,sink,dz,1,mz); R(cudaDeviceSynchronize()); }
    cudaStream_t s[3]; for(int i=0;i<3;++i) R(cudaStreamCreateWithFlags(s+i,cudaStreamNonBlocking));
    u32* t; R(cudaMalloc(&t,128ull<<20)); uint4* big; R(cudaMalloc(&big,1ull<<30)); fill<<<(1<<30)/16/256,256>>>(big,(1ll<<30)/16,5); R(cudaMemset(t,0,128<<20));
    u32* bins; R(cudaMalloc(&bins,2*128*4)); int* done; R(cudaMalloc(&done,4)); u64* moved; R(cudaMalloc(&moved,8));
    struct P{int a,b,set;float ra,rb;}; std::vector<P> ps;
    for(int m:{8,16,24}) for(int set:{0,8,16,30}) for(float r:{1.0f,0.5f}) if(set||r==1.0f) ps.push_back({m,m,set,r,r});
    for(int set:{8,16,30}) { ps.push_back({16,16,set,1.0f,0.5f}); ps.push_back({24,4,set,1.0f,1.0f}); ps.push_back({12,12,set,1.0f,0.0f}); ps.push_back({12,12,set,1.0f,1.0f}); }
    for(auto&p:ps){
      R(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize,(size_t)p.set<<20)); R(cudaCtxResetPersistingL2Cache());
      u32* tb=t+(64u<<20)/4;
      for(int i=0;i<2;++i){ cudaStreamAttrValue at; memset(&at,0,sizeof at); float r=i?p.rb:p.ra; at.accessPolicyWindow.base_ptr=i?tb:t; at.accessPolicyWindow.num_bytes=(p.set&&r>0)?(size_t)(i?p.b:p.a)<<20:0; at.accessPolicyWindow.hitRatio=r; at.accessPolicyWindow.hitProp=cudaAccessPropertyPersisting; at.accessPolicyWindow.missProp=cudaAccessPropertyStreaming; R(cudaStreamSetAttribute(s[i],cudaStreamAttributeAccessPolicyWindow,&at)); }
      R(cudaMemset(bins,0,1024)); R(cudaMemset(done,0,4)); R(cudaMemset(moved,0,8)); R(cudaDeviceSynchronize());
      cudaEvent_t e0,e1; R(cudaEventCreate(&e0)); R(cudaEventCreate(&e1));
      R(cudaEventRecord(e0,s[2])); flood<<<132,1024,0,s[2]>>>(big,(1ll<<30)/16,sink,done,132,moved);
      int hops=3000; watch<<<66,1024,0,s[0]>>>(t,((u32)p.a<<20)/128,hops,bins,done); watch<<<66,1024,0,s[1]>>>(tb,((u32)p.b<<20)/128,hops,bins+128,done);
      R(cudaEventRecord(e1,s[2])); R(cudaDeviceSynchronize()); float ms; R(cudaEventElapsedTime(&ms,e0,e1));
      u32 h[256]; R(cudaMemcpy(h,bins,1024,cudaMemcpyDeviceToHost)); u64 mv; R(cudaMemcpy(&mv,moved,8,cudaMemcpyDeviceToHost));
      for(int i=0;i<2;++i){ printf("windows,%d,%d,%d,%g,%g,%c,%.3f,%.1f",p.a,p.b,p.set,p.ra,p.rb,i?'B':'A',ms*1e3,mv/(ms*1e-3)/1e9); for(int k=0;k<128;++k) printf(",%u",h[i*128+k]); printf("\n"); }
    }
  }
  return 0;
}
