// The same strided copies again and again: over time, over allocations, and warm about the size of L2. Usage: x MODE
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <algorithm>
#include <string>
#include <unistd.h>
#define CK(e) do{cudaError_t r=(e); if(r!=cudaSuccess){fprintf(stderr,"%s line %d\n",cudaGetErrorString(r),__LINE__);}}while(0)
__global__ void fill(unsigned*p,size_t n,unsigned seed){for(size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x;i<n;i+=(size_t)gridDim.x*blockDim.x){unsigned x=(unsigned)i*2654435761u^seed^(unsigned)(i>>32); x^=x>>16;x*=0x7feb352du;x^=x>>15;x*=0x846ca68bu;x^=x>>16;p[i]=(x>>9)|0x3f800000u;}}
__global__ void flush_k(uint4*p,size_t n,unsigned*o){unsigned s=0;for(size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x;i<n;i+=(size_t)gridDim.x*blockDim.x){uint4 v=p[i];s^=v.x^v.y^v.z^v.w;} if(s==0x12345679u)o[0]=s;}
__global__ void strided_copy(const float* in, float* out, int n, int stride, int offset){const int i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n) out[i]=in[(long long)i*stride+offset];}
__global__ void empty(){}
__global__ void spin(long long c){long long t=clock64(); while(clock64()-t<c);}
float*out; uint4*fl; unsigned*o; size_t FL=(size_t)256<<20;
std::vector<cudaEvent_t> ev(800);
static void go(const float*src,float*dst,int n,int s,int off){strided_copy<<<(n+255)/256,256>>>(src,dst,n,s,off);}
static void report(const char*what,int n,int s,int off,const char*where,int round,const char*cache,std::vector<float>t,const char*use){
  std::vector<float> u=t; std::sort(u.begin(),u.end());
  printf("%s,%d,%d,%d,%s,%d,%s,%s,%zu,%.3f,%.3f,%.3f\n",what,n,s,off,where,round,use,cache,t.size(),u[u.size()/2],u[0],u.back());
}
// launches queued one after the other, each between two events
static std::vector<float> series(const float*src,float*dst,int n,int s,int off,int reps,bool cold,bool queued){
  if(queued) spin<<<1,32>>>(400000);
  for(int i=0;i<reps;i++){ if(cold) flush_k<<<1056,512>>>(fl,FL/16,o); cudaEventRecord(ev[2*i]); go(src,dst,n,s,off); cudaEventRecord(ev[2*i+1]); }
  CK(cudaDeviceSynchronize()); std::vector<float> t(reps); for(int i=0;i<reps;i++){cudaEventElapsedTime(&t[i],ev[2*i],ev[2*i+1]); t[i]*=1e3f;} return t;
}
static void list(const char*what,int s,std::vector<float> t){printf("series,%s,%d",what,s); for(float x:t) printf(",%.1f",x); printf("\n");}
struct W{int n,s;};
static std::vector<W> warm_points(){std::vector<W> w; for(int s:{3,5,8,11,14,20,26,32,40,52}) w.push_back({300000,s}); for(int s:{2,3,6,8,10,12,13,14,16,18,21}) w.push_back({700000,s}); for(int s=1;s<=14;s++) w.push_back({1048576,s}); for(int s:{1,2,3,4,5}) w.push_back({3000000,s}); for(int s:{32,64,128,256,1024}) w.push_back({262144,s}); for(int s:{32,64,256,1024,2048}) w.push_back({131072,s}); for(int s:{8,16,20,24,28,32,36}) w.push_back({450000,s}); return w;}
static const char*use_of(const W&w){return (w.n==700000||w.n==450000||w.s==14)?"validation":"fit";}
int main(int c,char**v){
  std::string mode=v[1];
  for(auto&e:ev) cudaEventCreate(&e);
  CK(cudaMalloc(&out,(size_t)128<<20)); CK(cudaMalloc(&fl,FL)); CK(cudaMalloc(&o,64));
  fill<<<1056,512>>>((unsigned*)fl,FL/4,3); fill<<<1056,512>>>((unsigned*)out,(128<<20)/4,2); CK(cudaDeviceSynchronize());
  if(mode=="empty"){
    for(int queued=0;queued<2;queued++) for(int r=0;r<3;r++){
      std::vector<float> t; for(int i=0;i<150;i++){ if(queued) spin<<<1,32>>>(20000); cudaEventRecord(ev[0]); empty<<<1,32>>>(); cudaEventRecord(ev[1]); cudaEventSynchronize(ev[1]); float ms; cudaEventElapsedTime(&ms,ev[0],ev[1]); if(i>=20) t.push_back(ms*1e3f);}
      std::sort(t.begin(),t.end()); printf("%d,%s,%d,%s,%.3f,%.3f,%.3f\n",atoi(v[2]),v[3],r,queued?"queued":"idle",t[t.size()/2],t[0],t.back()); }
    return 0;
  }
  if(mode=="keep"){ // under the profiler, warm: the last of four counts
    float*in; size_t by=(size_t)1088<<20; CK(cudaMalloc(&in,by)); fill<<<1056,512>>>((unsigned*)in,by/4,1); CK(cudaDeviceSynchronize());
    for(auto&w:warm_points()) for(int off:{0,3}){ printf("%d,%d,%d,%s\n",w.n,w.s,off,use_of(w)); for(int i=0;i<4;i++) go(in,out,w.n,w.s,off); CK(cudaDeviceSynchronize()); }
    return 0;
  }
  if(mode=="warm"){
    std::vector<float*> bufs; std::vector<void*> space; size_t by=(size_t)1088<<20;
    for(int b=0;b<6;b++){ float*p; void*q; CK(cudaMalloc(&p,by)); CK(cudaMalloc(&q,(size_t)(2*(b+1)+b*b*6)<<20)); fill<<<1056,512>>>((unsigned*)p,by/4,11+b); bufs.push_back(p); space.push_back(q);} CK(cudaDeviceSynchronize());
    for(auto&w:warm_points()) for(int b=0;b<6;b++) for(int off:{0,3}){ char where[16]; sprintf(where,"own%d",b);
      series(bufs[b],out,w.n,w.s,off,4,false,true);
      report("scopy",w.n,w.s,off,where,0,"warm",series(bufs[b],out,w.n,w.s,off,15,false,true),use_of(w)); }
    return 0;
  }
  size_t IN=(size_t)9<<30; float*in; CK(cudaMalloc(&in,IN)); fill<<<1056,512>>>((unsigned*)in,IN/4,1); CK(cudaDeviceSynchronize());
  const int N=4194304;
  if(mode=="series"){
    for(int s:{16,72,128,256}){
      list("at-once",s,series(in,out,N,s,0,60,false,false));
      usleep(300000); list("after-300ms-idle",s,series(in,out,N,s,0,60,false,false));
      { std::vector<float> t; for(int i=0;i<40;i++){ auto x=series(in,out,N,s,0,1,false,false); t.push_back(x[0]); usleep(500);} list("each-after-0.5ms-idle",s,t); }
      { std::vector<float> t; for(int i=0;i<20;i++){ auto x=series(in,out,N,s,0,1,false,false); t.push_back(x[0]); usleep(10000);} list("each-after-10ms-idle",s,t); }
      fill<<<1056,512>>>((unsigned*)in,(size_t)N*s,1); list("after-fill",s,series(in,out,N,s,0,60,false,false));
      list("cold",s,series(in,out,N,s,0,40,true,false));
      spin<<<132*8,256>>>(60000000); list("after-30ms-spin",s,series(in,out,N,s,0,60,false,false));
      float*own; size_t by=(size_t)N*s*4+4096; CK(cudaMalloc(&own,by)); fill<<<1056,512>>>((unsigned*)own,by/4,5); list("own-fresh",s,series(own,out,N,s,0,100,false,false)); list("own-later",s,series(own,out,N,s,0,60,false,false)); usleep(100000); list("own-after-idle",s,series(own,out,N,s,0,60,false,false)); cudaFree(own);
    }
    return 0;
  }
  if(mode=="places"){
    std::vector<std::pair<std::string,const float*>> where; std::vector<float*> own;
    for(size_t mb:{0,2,6,34,258,1026,4098}) where.push_back({"at"+std::to_string(mb)+"MiB",in+(mb<<18)});
    for(int b=0;b<8;b++){ float*p; void*q; size_t by=(size_t)N*128*4+4096; CK(cudaMalloc(&p,by)); CK(cudaMalloc(&q,(size_t)(2+b*14)<<20)); fill<<<1056,512>>>((unsigned*)p,by/4,21+b); own.push_back(p); where.push_back({"own"+std::to_string(b),p}); }
    float*out2; CK(cudaMalloc(&out2,(size_t)64<<20)); CK(cudaDeviceSynchronize());
    for(int round=0;round<2;round++) for(int s:{16,72,128}) for(auto&w:where){
      series(w.second,out,N,s,0,12,false,false);
      report("scopy",N,s,0,w.first.c_str(),round,"warm",series(w.second,out,N,s,0,21,false,false),"fit");
      report("scopy-other-output",N,s,0,w.first.c_str(),round,"warm",series(w.second,out2+(1<<20),N,s,0,9,false,false),"fit");
      report("scopy",N,s,0,w.first.c_str(),round,"cold",series(w.second,out,N,s,0,9,true,false),"fit");
    }
    return 0;
  }
}
