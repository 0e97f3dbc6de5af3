// What a cold launch writes to DRAM: streams and runs of 128, 32 and 4 B at random places read beside a stream that is written.
#include <cstdio>
#include <cstdint>
#include <cstdlib>
#include <vector>
#include <cuda_profiler_api.h>
#define OK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){printf("error %s\n",cudaGetErrorString(e)); exit(1);}}while(0)
__global__ void copy(const float* in, float* out, size_t n){ size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x; if(i<n) out[i]=in[i]; }
__global__ void put(const float*, float* out, size_t n){ size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x; if(i<n) out[i]=(float)i; }
__device__ __host__ inline uint32_t hash(uint32_t x){ x^=x>>16; x*=0x7feb352du; x^=x>>15; x*=0x846ca68bu; x^=x>>16; return x; }
__global__ void gather(const float* table, const int* index, float* out, size_t n, int run){ size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x; if(i<n) out[i]=table[(size_t)index[i/run]*run+i%run]; }
__global__ void hashed(const float* table, float* out, size_t n, int run, uint32_t mask){ size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x; if(i<n) out[i]=table[(size_t)(hash((uint32_t)(i/run))&mask)*run+i%run]; }
int main(){
  OK(cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity,64));
  size_t most=(size_t)2<<30; float *t,*o; int* x; OK(cudaMalloc(&t,most)); OK(cudaMalloc(&o,(size_t)256<<20)); OK(cudaMalloc(&x,(size_t)256<<20));
  OK(cudaMemset(t,0,most)); OK(cudaMemset(o,0,(size_t)256<<20));
  std::vector<int> h;
  auto mib=[](double m){ return (size_t)(m*262144); };
  double ns[]={1,1.5,2,2.5,3,3.5,4,4.5,5,6,8,12};
  for(double m:ns){ size_t n=mib(4*m); int g=(n+255)/256;  // m Mi floats
    for(int rep=0;rep<2;rep++){
      cudaProfilerStart(); copy<<<g,256>>>(t,o,n); OK(cudaDeviceSynchronize()); cudaProfilerStop(); printf("copy %zu 0 0 0\n",n);
      cudaProfilerStart(); put<<<g,256>>>(t,o,n); OK(cudaDeviceSynchronize()); cudaProfilerStop(); printf("put %zu 0 0 0\n",n); } }
  int grans[]={32,64,128};
  for(int gr: grans){ OK(cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity,gr));
  for(double m:{2.,3.,4.,5.,6.,8.}) for(int run:{1,8,32,128}) for(size_t tm:{64,256,2048}){
    if(gr!=64 && m!=4) continue; if(tm!=256 && m!=4 && run!=32) continue;
    size_t n=mib(4*m), places=(tm<<18)/run; int g=(n+255)/256; size_t k=n/run; h.resize(k); for(size_t i=0;i<k;i++) h[i]=(int)(hash((uint32_t)i*2654435761u+17)&(places-1));
    OK(cudaMemcpy(x,h.data(),k*4,cudaMemcpyHostToDevice));
    cudaProfilerStart(); gather<<<g,256>>>(t,x,o,n,run); OK(cudaDeviceSynchronize()); cudaProfilerStop(); printf("gather %zu %d %zu %d\n",n,run,tm,gr);
    if(gr==64){
    cudaProfilerStart(); hashed<<<g,256>>>(t,o,n,run,(uint32_t)(places-1)); OK(cudaDeviceSynchronize()); cudaProfilerStop(); printf("hashed %zu %d %zu %d\n",n,run,tm,gr); }
    fflush(stdout);
  }}
  return 0; }
