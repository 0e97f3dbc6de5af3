// When blocks start and end on some SMs: gathers and lookups, each launch alone, warm or after others' lines.
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#define R(x) do{cudaError_t e_=(x); if(e_!=cudaSuccess){fprintf(stderr,"%d %s\n",__LINE__,cudaGetErrorString(e_)); exit(1);} }while(0)
typedef unsigned u32; typedef unsigned long long u64;
__device__ __host__ u32 mix(u32 h){ h^=h>>16; h*=0x85ebca6bu; h^=h>>13; h*=0xc2b2ae35u; h^=h>>16; return h; }
__device__ __forceinline__ u32 clk(){ u32 t; asm volatile("mov.u32 %0,%%clock;":"=r"(t)::"memory"); return t; }
__device__ __forceinline__ u32 sm(){ u32 s; asm volatile("mov.u32 %0,%%smid;":"=r"(s)); return s; }
__global__ void gather(const float* __restrict__ table,const u32* __restrict__ rows,float* __restrict__ out,u32 n,u32 run){ u32 i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n) out[i]=table[(size_t)rows[i/run]*run+i%run]; }
__global__ void gather_timed(const float* __restrict__ table,const u32* __restrict__ rows,float* __restrict__ out,u32 n,u32 run,uint4* log){
  u32 t0=clk(); u32 i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n) out[i]=table[(size_t)rows[i/run]*run+i%run];
  u32 t1=clk(); u32 s=sm(); if(s%12==5&&threadIdx.x%32==0) log[blockIdx.x*8+threadIdx.x/32]=make_uint4(t0,t1,s,1); }
__global__ void embedding(const float* __restrict__ table,const u32* __restrict__ rows,const float* __restrict__ stream,float* out,u32 lookups,u32 share){
  const u32 lookup=(blockIdx.x*blockDim.x+threadIdx.x)/32,lane=threadIdx.x%32;
  if(lookup<lookups){ float s=table[(size_t)rows[lookup]*32+lane]; for(u32 i=lane;i<share;i+=32) s+=stream[(size_t)lookup*share+i]; if(s==12345.678f) out[0]=s; } }
__global__ void embedding_timed(const float* __restrict__ table,const u32* __restrict__ rows,const float* __restrict__ stream,float* out,u32 lookups,u32 share,uint4* log){
  u32 t0=clk(); const u32 lookup=(blockIdx.x*blockDim.x+threadIdx.x)/32,lane=threadIdx.x%32;
  if(lookup<lookups){ float s=table[(size_t)rows[lookup]*32+lane]; for(u32 i=lane;i<share;i+=32) s+=stream[(size_t)lookup*share+i]; if(s==12345.678f) out[0]=s; }
  __syncwarp(); u32 t1=clk(); u32 q=sm(); if(q%12==5&&lane==0) log[blockIdx.x*8+threadIdx.x/32]=make_uint4(t0,t1,q,1); }
__global__ void noise(u32* p,size_t n,u32 k){ size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; if(i<n) p[i]=0x3f800000u|(mix((u32)i*2654435761u+k)>>9); }
__global__ void places(u32* p,size_t n,u32 below,u32 k){ size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; if(i<n) p[i]=(u32)(((u64)mix((u32)i*2891336453u+k)*below)>>32); }
static double q(std::vector<double>& v,double p){ if(v.empty()) return -1; size_t k=std::min(v.size()-1,(size_t)(p*v.size())); std::nth_element(v.begin(),v.begin()+k,v.end()); return v[k]; }
int main(){
  const size_t M=1<<20; float *T,*O,*S; u32 *ROWS,*F; uint4* LOG; size_t tb=2048*M, ob=128*M, sb=900*M, fb=256*M;
  R(cudaMalloc(&T,tb)); R(cudaMalloc(&O,ob)); R(cudaMalloc(&S,sb)); R(cudaMalloc(&ROWS,128*M)); R(cudaMalloc(&F,fb)); size_t lb=(size_t)1<<20; R(cudaMalloc(&LOG,lb*8*16));
  noise<<<(tb/4+255)/256,256>>>((u32*)T,tb/4,1); noise<<<(sb/4+255)/256,256>>>((u32*)S,sb/4,2);
  R(cudaDeviceSynchronize()); cudaEvent_t a,b; cudaEventCreate(&a); cudaEventCreate(&b);
  std::vector<uint4> h(lb*8);
  struct C{ int kind; u32 n,run; u32 mib; u32 cold; u32 share; };
  std::vector<C> cs;
  for(u32 n:{33792u,135168u,270336u,337920u,435712u,540672u,811008u,1081344u,2162688u,4194304u}) for(u32 run:{1u,2u,4u,8u,48u}) cs.push_back({0,n,run,2,0,0});
  for(u32 n:{270336u,540672u,1081344u,4194304u}) for(u32 run:{8u,32u}) for(u32 mib:{16u,2048u}) cs.push_back({0,n,run,mib,1,0});
  for(u32 run:{8u,16u,32u,64u}) for(u32 mib:{16u,64u,2048u}) cs.push_back({0,4194304u,run,mib,0,0});
  for(u32 run:{1u,8u,32u}) for(u32 mib:{2u,64u,2048u}) cs.push_back({0,16777216u,run,mib,0,0});
  for(u32 share:{1u,10u,20u,32u,33u,40u,50u,60u,64u,66u,75u,96u,100u,105u,128u,200u}) for(u32 mib:{2u,24u}) cs.push_back({1,1048576u,share,mib,0,share});
  printf("kernel,n,run,table_mib,cache,event_us,event_timed_us,blocks_logged,sms,span,life_mean,life_p10,life_p50,life_p90,life_first,life_second,life_later,warp_mean,gap_p10,gap_p50,gap_p90,start_spread_first,held\n");
  for(auto& c:cs){
    u32 rows=c.kind?c.n:(c.n+c.run-1)/c.run; u64 below=c.kind?(u64)c.mib*M/128:(u64)c.mib*M/4/c.run; places<<<(rows+255)/256,256>>>(ROWS,rows,(u32)below,91);
    u32 g=c.kind?(c.n+7)/8:(c.n+255)/256; if(g>lb) continue; R(cudaMemset(LOG,0,(size_t)g*8*16)); R(cudaDeviceSynchronize());
    auto plain=[&]{ if(c.kind) embedding<<<g,256>>>(T,ROWS,S,O,c.n,c.share); else gather<<<g,256>>>(T,ROWS,O,c.n,c.run); };
    auto timed=[&]{ if(c.kind) embedding_timed<<<g,256>>>(T,ROWS,S,O,c.n,c.share,LOG); else gather_timed<<<g,256>>>(T,ROWS,O,c.n,c.run,LOG); };
    auto flush=[&]{ if(c.cold){ noise<<<fb/4/256,256>>>(F,fb/4,5); cudaMemsetAsync(F,1,fb); } };
    auto event=[&](auto f){ std::vector<double> t; for(int k=0;k<9;k++){ flush(); cudaEventRecord(a); f(); cudaEventRecord(b); R(cudaEventSynchronize(b)); float ms; cudaEventElapsedTime(&ms,a,b); if(k>1) t.push_back(ms*1e3); } return q(t,.5); };
    double et=event(timed),ep=event(plain);
    if(!c.cold) for(int k=0;k<3;k++) plain(); 
    R(cudaDeviceSynchronize()); R(cudaMemset(LOG,0,(size_t)g*8*16)); R(cudaDeviceSynchronize());
    if(!c.cold) for(int k=0;k<2;k++) plain(); flush(); timed(); R(cudaDeviceSynchronize());
    R(cudaMemcpy(h.data(),LOG,(size_t)g*8*16,cudaMemcpyDeviceToHost));
    struct B{u32 s,e;}; std::vector<std::vector<B>> by(160); std::vector<double> wl;
    for(u32 i=0;i<g;i++){ u32 s=~0u,e=0,m=0; bool any=false; u32 base=0; for(int w=0;w<8;w++){ auto&x=h[(size_t)i*8+w]; if(!x.w) continue; if(!any){base=x.x; any=true; m=x.z; s=0; e=0;} int ds=(int)(x.x-base),de=(int)(x.y-base); if(ds<(int)s) s=ds; if((int)e<de) e=de; wl.push_back(x.y-x.x);} if(any) by[m].push_back({base+s,base+e}); }
    std::vector<double> life,first,second,later,gap,span,spread; size_t nb=0,sms=0; int held=0;
    for(auto& v:by){ if(v.empty()) continue; sms++; nb+=v.size(); u32 z=v[0].s; for(auto&x:v) if((int)(x.s-z)<0) z=x.s; std::sort(v.begin(),v.end(),[&](B x,B y){return x.s-z<y.s-z;});
      std::vector<u32> ends; u32 last=0; for(size_t k=0;k<v.size();k++){ double l=v[k].e-v[k].s; life.push_back(l); (k<8?first:k<16?second:later).push_back(l); ends.push_back(v[k].e-z); last=std::max(last,v[k].e-z); }
      std::sort(ends.begin(),ends.end()); for(size_t k=8;k<v.size();k++) gap.push_back((double)(v[k].s-z)-(double)ends[k-8]); span.push_back(last); spread.push_back(v[std::min<size_t>(7,v.size()-1)].s-z);
      int live=0; std::vector<std::pair<u32,int>> ev; for(auto&x:v){ev.push_back({x.s-z,1});ev.push_back({x.e-z,-1});} std::sort(ev.begin(),ev.end()); for(auto&x:ev){live+=x.second; held=std::max(held,live);} }
    auto mean=[](std::vector<double>&v){ double s=0; for(double x:v) s+=x; return v.empty()?-1:s/v.size(); };
    printf("%s,%u,%u,%u,%s,%.3f,%.3f,%zu,%zu,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%d\n",c.kind?"embedding":"gather",c.n,c.run,c.mib,c.cold?"cold":"warm",ep,et,nb,sms,mean(span),mean(life),q(life,.1),q(life,.5),q(life,.9),mean(first),mean(second),mean(later),mean(wl),q(gap,.1),q(gap,.5),q(gap,.9),mean(spread),held); fflush(stdout);
  }
}
