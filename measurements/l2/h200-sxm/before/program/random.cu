// Gathers and lookups under windows: tables at random places beside streams, by set-aside, hitRatio and missProp.
#include "common.h"
__global__ void counted_gather(const float* __restrict__ table, const unsigned* __restrict__ rows, float* __restrict__ out, unsigned n, unsigned run) { unsigned i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = table[(size_t)rows[i / run] * run + i % run]; }
__global__ void places(unsigned* p, unsigned n, unsigned count, unsigned k) { unsigned i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { unsigned x = i * 2654435761u + k; x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu; x ^= x >> 16; p[i] = (unsigned)(((unsigned long long)x * count) >> 32); } }
int main(int c,char**v){ bool count=c>1; start(); const unsigned n=25165824; float *in,*gout,*st; unsigned* rows; R(cudaMalloc(&in,128<<20)); R(cudaMalloc(&gout,(size_t)n*4)); R(cudaMalloc(&rows,(size_t)n*4)); R(cudaMalloc(&st,256<<20));
  noise<<<(32<<20)/256,256,0,s>>>((unsigned*)in,32<<20,3); noise<<<(64<<20)/256,256,0,s>>>((unsigned*)st,64<<20,9); R(cudaStreamSynchronize(s));
  if(!count) printf("floor %.3f\nfunction,run,table_mib,stream_mib,set_mib,hit_eighths,miss_prop,time_us,spread\n",floor_us());
  for(int run:{1,4,8,32}) for(int mib:{8,16,20,28,40,56}){ if(count&&!((run==1||run==8)&&mib!=16)) continue;
    places<<<(n/run+255)/256,256,0,s>>>(rows,n/run,((unsigned)mib<<18)/run,91);
    for(int set:{0,15,22,30,37}) for(int h:{0,1,2,4,6,8}) for(int normal=0;normal<2;++normal){ if(!set&&(h||normal)) continue; if(normal&&h!=2&&h!=4) continue; if(count&&(h==1||(normal&&h!=4))) continue;
      window(in,(size_t)set<<20,h?(size_t)mib<<20:0,h/8.0,normal);
      auto go=[&]{counted_gather<<<n/256,256,0,s>>>(in,rows,gout,n,run);};
      if(count){ for(int r=0;r<2;++r) go(); R(cudaStreamSynchronize(s)); fprintf(stderr,"cnt gather,%d,%d,%d,%d,%s\n",run,mib,set,h,normal?"normal":"streaming"); continue; }
      std::vector<float> t; for(int r=0;r<6;++r){ float x=timed(go); if(r) t.push_back(x);} std::sort(t.begin(),t.end());
      printf("gather,%d,%d,0,%d,%d,%s,%.3f,%.4f\n",run,mib,set,h,normal?"normal":"streaming",t[2],(t[4]-t[0])/t[2]); } }
  if(!count) for(int mib:{8,24,40}) for(int stream:{40,160}){ const unsigned lookups=1<<20, share=((unsigned)stream<<18)/lookups;
    places<<<(lookups+255)/256,256,0,s>>>(rows,lookups,((unsigned)mib<<20)/128,77);
    for(int set:{0,8,15,22,30,37}) for(int h:{0,2,4,8}) for(int normal=0;normal<2;++normal){ if(!set&&(h||normal)) continue; if(normal&&h!=4) continue;
      window(in,(size_t)set<<20,h?(size_t)mib<<20:0,h/8.0,normal); std::vector<float> t;
      for(int r=0;r<6;++r){ float x=timed([&]{embedding<<<(lookups+7)/8,256,0,s>>>(in,rows,st,gout,lookups,share);}); if(r) t.push_back(x);} std::sort(t.begin(),t.end());
      printf("embedding,32,%d,%d,%d,%d,%s,%.3f,%.4f\n",mib,stream,set,h,normal?"normal":"streaming",t[2],(t[4]-t[0])/t[2]); } }
  return 0; }
