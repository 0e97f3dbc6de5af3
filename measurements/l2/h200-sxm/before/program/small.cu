// Small tables of which a window marks lines streaming: what of them misses beside a write and a copy.
#include "common.h"
int main(int c,char**v){ start(); const size_t G=512ull<<20; float4 *in,*st,*out; R(cudaMalloc(&in,64<<20)); R(cudaMalloc(&st,G)); R(cudaMalloc(&out,G)); noise<<<(64<<20)/1024,256>>>((unsigned*)in,(64<<20)/4,3); noise<<<G/1024,256>>>((unsigned*)st,G/4,7); R(cudaDeviceSynchronize());
  const unsigned n=(unsigned)(G/16); const bool count=c>1;
  if(!count) printf("floor %.3f\nfunction,table_kib,set_mib,hit_eighths,miss_prop,time_us\n",floor_us());
  for(int k=0;k<3;++k) for(int kib:{256,512,1024,1536,2048,3072,4096,6144,8192,12288}) for(int set:{11,22}) for(int h:{0,2,4,6}){ if(count&&(set==22||h==6)) continue;
    window(in,(size_t)set<<20,h?(size_t)kib<<10:0,h/8.0,false); const unsigned m=(unsigned)kib<<6; std::vector<float> t;
    auto go=[&]{ if(k==0) data_reset<<<n/1024,1024,0,s>>>(in,out,n,m); else if(k==1) stream_persistent<<<n/256,256,0,s>>>(st,in,out,n,m); else read_persistent<<<n/256,256,0,s>>>(st,in,(float*)out,n,m); };
    const char* name=k==0?"data_reset":k==1?"stream_persistent":"read_persistent";
    if(count){ for(int r=0;r<2;++r) go(); R(cudaStreamSynchronize(s)); fprintf(stderr,"cnt %s,%d,%d,%d\n",name,kib,set,h); continue; }
    for(int r=0;r<6;++r){ float x=timed(go); if(r) t.push_back(x);} std::sort(t.begin(),t.end()); printf("%s,%d,%d,%d,streaming,%.3f\n",name,kib,set,h,t[2]); }
  return 0; }
