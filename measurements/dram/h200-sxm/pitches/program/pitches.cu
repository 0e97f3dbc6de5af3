// Strided copies and reads by pitch; warm streams by size. Usage: x MODE REPEATS
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <algorithm>
#include <string>
#define CK(e) do{cudaError_t r=(e); if(r!=cudaSuccess){fprintf(stderr,"%s %d\n",cudaGetErrorString(r),__LINE__);}}while(0)
__global__ void fill(unsigned*p,size_t n,unsigned seed){for(size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x;i<n;i+=(size_t)gridDim.x*blockDim.x){unsigned x=(unsigned)i*2654435761u^seed^(unsigned)(i>>32); x^=x>>16;x*=0x7feb352du;x^=x>>15;x*=0x846ca68bu;x^=x>>16;p[i]=(x>>9)|0x3f800000u;}}
__global__ void flush_k(uint4*p,size_t n,unsigned*o){unsigned s=0;for(size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x;i<n;i+=(size_t)gridDim.x*blockDim.x){uint4 v=p[i];s^=v.x^v.y^v.z^v.w;} if(s==0x12345679u)o[0]=s;}
__global__ void strided_copy(const float* in, float* out, int n, int stride, int offset){const int i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n) out[i]=in[(long long)i*stride+offset];}
__global__ void strided_read(const unsigned* in, unsigned* out, int n, int stride, int offset){const int i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n){unsigned v=in[(long long)i*stride+offset]; if(v==0x12345679u) out[0]=v;}}
__global__ void copy(const uint4* in, uint4* out, long long n){const long long i=(long long)blockIdx.x*blockDim.x+threadIdx.x; if(i<n) out[i]=in[i];}
__global__ void read16(const uint4* in, unsigned* out, long long n){const long long i=(long long)blockIdx.x*blockDim.x+threadIdx.x; if(i<n){uint4 v=in[i]; unsigned s=v.x^v.y^v.z^v.w; if(s==0x12345679u) out[0]=s;}}
__global__ void write16(uint4* out, long long n){const long long i=(long long)blockIdx.x*blockDim.x+threadIdx.x; if(i<n) out[i]=uint4{};}
__global__ void empty(){}
struct P{std::string k; long long n; int stride; int offset; const char* use; int alloc;};
float*in; float*out; uint4*fl; unsigned*o; size_t FL=(size_t)256<<20;
void launch(const P&p,const float*src){
  if(p.k=="scopy") strided_copy<<<(p.n+255)/256,256>>>(src,out,p.n,p.stride,p.offset);
  else if(p.k=="sread") strided_read<<<(p.n+255)/256,256>>>((const unsigned*)src,o,p.n,p.stride,p.offset);
  else if(p.k=="copy") copy<<<(p.n/16+255)/256,256>>>((const uint4*)src,(uint4*)out,p.n/16);
  else if(p.k=="read") read16<<<(p.n/16+255)/256,256>>>((const uint4*)src,o,p.n/16);
  else if(p.k=="write") write16<<<(p.n/16+255)/256,256>>>((uint4*)out,p.n/16);
  else empty<<<p.n,256>>>();
}
int main(int c,char**v){
  std::string mode=v[1]; int reps=atoi(v[2]);
  bool ncu=mode=="ncu"||mode=="ncuwarm"; size_t IN=(size_t)17<<30;
  if(mode=="ncu") IN=(size_t)4400<<20; if(mode=="ncuwarm"||mode=="warm") IN=(size_t)256<<20;
  CK(cudaMalloc(&in,IN)); CK(cudaMalloc(&out,(size_t)128<<20)); CK(cudaMalloc(&fl,FL)); CK(cudaMalloc(&o,64));
  fill<<<1056,512>>>((unsigned*)in,IN/4,1); fill<<<1056,512>>>((unsigned*)out,(128<<20)/4,2); fill<<<1056,512>>>((unsigned*)fl,FL/4,3); CK(cudaDeviceSynchronize());
  std::vector<P> pts;
  if(mode=="ncu"||mode=="strided"){
    int val[]={22,28,44,52,60,72,76,88,100,104,120,160};
    int ss[]={1,2,3,4,5,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,36,40,44,48,52,56,60,64,66,68,72,76,80,88,96,100,104,112,120,128,136,144,160,192,256,384,512,1024};
    for(int s:ss){ if(ncu&&s>256) continue; bool u=std::find(val,val+12,s)!=val+12; pts.push_back({"scopy",4194304,s,0,u?"validation":"fit",0}); if(!ncu||s>=16) pts.push_back({"sread",4194304,s,0,u?"validation":"fit",0});}
    if(!ncu){ for(int s:{1,2,3,4,8,16,24,32,48,64,72,80,96,100,112,128,144,192,256}){bool u=std::find(val,val+12,s)!=val+12; pts.push_back({"scopy",16777216,s,0,u?"validation":"fit",0}); pts.push_back({"scopy",6000000,s,3,"validation",0});}
    for(int s:{64,72,80,100,128}) pts.push_back({"scopy",4194304,s,0,"validation",1});}
  } else {
    for(int s:{1,4,8,12,16,20,24,28,32,34,36,38,40,42,44,46,48,50,52,56,60,64}) for(const char*k:{"read","copy","write"}){ long long b=(long long)s*1000000; if(!strcmp(k,"copy")) b/=2; b=b/4096*4096; pts.push_back({k,b,1,0,(s%8==4||s==38||s==46)?"validation":"fit",0}); }
    for(int b:{1,132,1056}) pts.push_back({"empty",b,0,0,"fit",0});
  }
  cudaEvent_t a,b; cudaEventCreate(&a); cudaEventCreate(&b);
  for(auto&p:pts){
    const float*src=in; float*own=nullptr;
    if(p.alloc){ size_t by=(size_t)p.n*p.stride*4+4096; CK(cudaMalloc(&own,by)); fill<<<1056,512>>>((unsigned*)own,by/4,5); src=own; }
    if(ncu){ for(int i=0;i<reps;i++) launch(p,src); CK(cudaDeviceSynchronize()); printf("%s,%lld,%d,%d,%s\n",p.k.c_str(),p.n,p.stride,p.offset,p.use); continue; }
    for(int cold=0;cold<2;cold++){
      for(int i=0;i<3;i++) launch(p,src);
      CK(cudaDeviceSynchronize());
      std::vector<float> t;
      for(int i=0;i<reps;i++){ if(cold) flush_k<<<1056,512>>>(fl,FL/16,o); cudaEventRecord(a); launch(p,src); cudaEventRecord(b); cudaEventSynchronize(b); float ms; cudaEventElapsedTime(&ms,a,b); t.push_back(ms*1e3f);}
      cudaError_t e=cudaGetLastError(); std::sort(t.begin(),t.end());
      const char*ok="unchecked";
      if(p.k=="scopy"&&!cold){ std::vector<float> h(1000); float x; CK(cudaMemcpy(h.data(),out+p.n-1000,4000,cudaMemcpyDeviceToHost)); ok="ok"; for(int j=0;j<1000;j+=333){CK(cudaMemcpy(&x,src+(p.n-1000+j)*p.stride+p.offset,4,cudaMemcpyDeviceToHost)); if(x!=h[j]) ok="wrong";}}
      printf("%s,%lld,%d,%d,%d,%s,events,%s,%d,%.3f,%.3f,%.3f,%s,%s\n",p.k.c_str(),p.n,p.stride,p.offset,p.alloc,p.use,cold?"cold":"warm",reps,t[reps/2],t[0],t[reps-1],ok,e?cudaGetErrorString(e):"");
    }
    if(own) cudaFree(own);
  }
}
