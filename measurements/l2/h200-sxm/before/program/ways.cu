// Tables beside a write and a copy, by ways set aside, hitRatio and missProp, at two places of memory.
#include "common.h"
static void go(int k,float4*in,float4*st,float4*out,unsigned n,unsigned m){ if(k==0) data_reset<<<n/1024,1024,0,s>>>(in,out,n,m); else stream_persistent<<<n/256,256,0,s>>>(st,in,out,n,m); }
int main(int c,char**v){ bool count=c>1; start(); const size_t G=512ull<<20; float4 *in[2],*st[2],*out[2];
  for(int p=0;p<2;++p){ R(cudaMalloc(&in[p],64<<20)); R(cudaMalloc(&st[p],G)); R(cudaMalloc(&out[p],G)); noise<<<(64<<20)/1024,256>>>((unsigned*)in[p],(64<<20)/4,3+p); noise<<<G/1024,256>>>((unsigned*)st[p],G/4,7+p); } R(cudaDeviceSynchronize());
  if(!count) printf("floor,,,,,,,,%.3f,\nfunction,place,table_mib,out_mib,set_mib,window_mib,hit_eighths,miss_prop,time_us,spread\n",floor_us());
  const unsigned n=(unsigned)(G/16);
  for(int p=0;p<(count?1:2);++p) for(int k=0;k<2;++k) for(int set:{0,11,15,18,22,26,30,33,37}) for(int tab:{1,3,8,14,20,28,36,48}) for(int h:{0,1,2,4,6,8,16}) for(int normal=0;normal<2;++normal){
    if(!set&&(h||normal)) continue; if(normal&&(h==0||h>=8)) continue; if(h==16&&tab<14) continue;
    if(count&&!((set==22||set==33||set==18)&&(tab==8||tab==20||tab==36)&&(h==2||h==4||h==8||h==0))) continue;
    const int win=h==16?tab/2:h?tab:0; window(in[p],(size_t)set<<20,(size_t)win<<20,h==16?1.0:h/8.0,normal); const unsigned m=(unsigned)tab<<16; std::vector<float> t;
    if(count){ for(int r=0;r<2;++r) go(k,in[p],st[p],out[p],n,m); R(cudaStreamSynchronize(s)); fprintf(stderr,"cnt %d,%d,%d,%d,%s\n",k,tab,set,h,normal?"normal":"streaming"); continue; }
    for(int r=0;r<6;++r){ float x=timed([&]{go(k,in[p],st[p],out[p],n,m);}); if(r) t.push_back(x);} std::sort(t.begin(),t.end());
    printf("%s,%d,%d,512,%d,%d,%d,%s,%.3f,%.4f\n",k?"stream_persistent":"data_reset",p,tab,set,win,h==16?8:h?h:8,normal?"normal":"streaming",t[2],(t[4]-t[0])/t[2]); }
  return 0; }
