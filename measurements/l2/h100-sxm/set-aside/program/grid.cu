// l2_grid.cu for any L2: set-asides that cover so many of its 16 ways. Prints a row a point.
#include "../../../h200-sxm/before/program/common.h"
static size_t covering(int ways,size_t l2,size_t most){ size_t set=(size_t)(ways*(l2/16.0))>>20<<20; return set<=most?set:most>>20<<20; }
int main(){ start(); cudaDeviceProp p; R(cudaGetDeviceProperties(&p,0)); const size_t G=1ull<<30; float4 *in,*st,*out;
  R(cudaMalloc(&in,64<<20)); R(cudaMalloc(&st,G)); R(cudaMalloc(&out,G)); noise<<<(64<<20)/1024,256>>>((unsigned*)in,(64<<20)/4,12345u); noise<<<G/1024,256>>>((unsigned*)st,G/4,12345u); R(cudaDeviceSynchronize());
  printf("floor,,,,,,,%.3f,\nfunction,table_mib,out_mib,set_mib,window_mib,hit_eighths,ways,time_us,spread\n",floor_us());
  const char* names[]={"data_reset","stream_persistent","read_persistent"}; std::vector<float> t;
  for(int k=0;k<3;++k) for(int ways:{0,2,3,4,5,6,7,8,9,10}) for(int tab:{4,8,12,16,24,32,48}) for(int h:{0,1,2,3,4,6,8}){
    if(h&&!ways) continue; const size_t set=covering(ways,p.l2CacheSize,p.persistingL2CacheMaxSize);
    window(in,set,h?(size_t)tab<<20:0,h/8.0,false); const unsigned m=(unsigned)tab<<16; t.clear();
    for(int r=0;r<5;++r){ float x=timed([&]{ if(k==0){ const unsigned n=1u<<26; data_reset<<<n/1024,1024,0,s>>>(in,out,n,m); } else { const unsigned n=1u<<25; if(k==1) stream_persistent<<<n/256,256,0,s>>>(st,in,out,n,m); else read_persistent<<<n/256,256,0,s>>>(st,in,(float*)out,n,m); } }); if(r) t.push_back(x); }
    R(cudaGetLastError()); std::sort(t.begin(),t.end());
    printf("%s,%d,%d,%d,%d,%d,%d,%.3f,%.4f\n",names[k],tab,k?512:1024,(int)(set>>20),h?tab:0,h?h:8,ways,(t[1]+t[2])/2,(t[3]-t[0])/t[1]); }
  return 0; }
