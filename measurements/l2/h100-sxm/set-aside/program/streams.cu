// Streams alone beside a set-aside nobody uses: so many read and so many written, by ways and blocks an SM.
#include "../../../h200-sxm/before/program/common.h"
template<int READ,int WRITE> __global__ void mixed(const float4* in,float4* out,size_t n){ size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; float4 v=make_float4((float)i,1,2,3);
#pragma unroll
  for(int k=0;k<READ;++k){ float4 x=in[k*n+i]; v.x+=x.x; v.y+=x.y; v.z+=x.z; v.w+=x.w; }
#pragma unroll
  for(int k=0;k<WRITE;++k) out[k*n+i]=v;
  if(!WRITE&&v.x+v.y+v.z+v.w==12345.678f) out[0]=v; }
template<int READ,int WRITE> static void rows(const float4* in,float4* out,size_t set,int ways,int held){ const size_t n=(256ull<<20)/16/(READ+WRITE)*2/256*256; std::vector<float> t;
  const size_t shared=held==8?0:(size_t)(220/held)<<10; R(cudaFuncSetAttribute(mixed<READ,WRITE>,cudaFuncAttributeMaxDynamicSharedMemorySize,220<<10)); window(0,set,0,1,true);
  for(int r=0;r<6;++r){ float x=timed([&]{ mixed<READ,WRITE><<<n/256,256,shared,s>>>(in,out,n); }); R(cudaGetLastError()); if(r) t.push_back(x); } std::sort(t.begin(),t.end());
  printf("mixed,%d,%d,%zu,%d,%d,%d,%.3f,%.4f\n",READ,WRITE,n*16,held,(int)(set>>20),ways,t[2],(t[4]-t[0])/t[2]); }
int main(){ start(); cudaDeviceProp p; R(cudaGetDeviceProperties(&p,0)); const size_t G=512ull<<20; float4 *in,*out; R(cudaMalloc(&in,G)); R(cudaMalloc(&out,G)); noise<<<G/1024,256>>>((unsigned*)in,G/4,7u); R(cudaDeviceSynchronize());
  printf("floor,,,,,,,%.3f,\nfunction,reads,writes,bytes,resident,set_mib,ways,time_us,spread\n",floor_us());
  for(int ways=0;ways<=10;++ways){ size_t set=(size_t)(ways*(p.l2CacheSize/16.0))>>20<<20; const size_t most=(size_t)p.persistingL2CacheMaxSize>>20<<20; if(set>most) set=most;
    for(int held:{8,2,1}){ if(held<8&&ways%2) continue; rows<0,1>(in,out,set,ways,held); rows<1,3>(in,out,set,ways,held); rows<1,1>(in,out,set,ways,held); rows<3,1>(in,out,set,ways,held); if(held==8){ rows<1,2>(in,out,set,ways,held); rows<2,1>(in,out,set,ways,held); rows<7,1>(in,out,set,ways,held); rows<1,0>(in,out,set,ways,held);} } }
  return 0; }
