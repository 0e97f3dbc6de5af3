// Does what a process has allocated, or has just freed, change DRAM-bound launches? Usage: x EXTRA_GIB
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <algorithm>
#include <string>
#include <unistd.h>
#define CK(e) do{cudaError_t r=(e); if(r!=cudaSuccess){fprintf(stderr,"%s line %d\n",cudaGetErrorString(r),__LINE__);}}while(0)
__global__ void fill(unsigned*p,size_t n,unsigned seed){for(size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x;i<n;i+=(size_t)gridDim.x*blockDim.x){unsigned x=(unsigned)i*2654435761u^seed^(unsigned)(i>>32); x^=x>>16;x*=0x7feb352du;x^=x>>15;x*=0x846ca68bu;x^=x>>16;p[i]=(x>>9)|0x3f800000u;}}
__global__ void strided_copy(const float* in, float* out, int n, int stride){const int i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n) out[i]=in[(long long)i*stride];}
__global__ void copy16(const uint4* in, uint4* out, long long n){const long long i=(long long)blockIdx.x*blockDim.x+threadIdx.x; if(i<n) out[i]=in[i];}
__global__ void read16(const uint4* in, unsigned* out, long long n){const long long i=(long long)blockIdx.x*blockDim.x+threadIdx.x; if(i<n){uint4 v=in[i]; unsigned s=v.x^v.y^v.z^v.w; if(s==0x12345679u) out[0]=s;}}
__global__ void spin(long long c){long long t=clock64(); while(clock64()-t<c);}
float*small_,*out; unsigned*o; const int N=4194304; std::vector<cudaEvent_t> ev(1000);
static void go(const char*k,int s){ if(k[0]=='s') strided_copy<<<N/256,256>>>(small_,out,N,s); else if(k[0]=='c') copy16<<<(32<<20)/16/256*4,256>>>((uint4*)small_,(uint4*)out,(128ll<<20)/16); else read16<<<(256<<20)/16/256,256>>>((uint4*)small_,o,(256ll<<20)/16); }
static void series(const char*when,const char*k,int s,int reps,bool all){ spin<<<1,32>>>(300000);
  for(int i=0;i<reps;i++){cudaEventRecord(ev[2*i]); go(k,s); cudaEventRecord(ev[2*i+1]);} CK(cudaDeviceSynchronize());
  std::vector<float> t(reps),at(reps); for(int i=0;i<reps;i++){cudaEventElapsedTime(&t[i],ev[2*i],ev[2*i+1]); cudaEventElapsedTime(&at[i],ev[0],ev[2*i]);}
  if(all){printf("series,%s,%s,%d",when,k,s); for(int i=0;i<reps;i++) printf(",%.2f:%.1f",at[i],t[i]*1e3f); printf("\n");}
  std::vector<float> u(t.begin()+2,t.end()); std::sort(u.begin(),u.end()); printf("median,%s,%s,%d,%d,%.3f,%.3f,%.3f\n",when,k,s,(int)u.size(),u[u.size()/2]*1e3f,u[0]*1e3f,u.back()*1e3f); }
static void every(const char*when){ for(int s:{16,32,64,72,128,160}) series(when,"strided",s,40,false); series(when,"copy",0,40,false); series(when,"read",0,40,false);}
int main(int c,char**v){ int gib=atoi(v[1]); for(auto&e:ev) cudaEventCreate(&e);
  size_t by=(size_t)N*160*4; CK(cudaMalloc(&small_,by)); CK(cudaMalloc(&out,(size_t)160<<20)); CK(cudaMalloc(&o,64)); fill<<<1056,512>>>((unsigned*)small_,by/4,1); CK(cudaDeviceSynchronize());
  size_t fr,to; cudaMemGetInfo(&fr,&to); printf("free,%zu,%zu\n",fr,to);
  every("small-only"); usleep(500000); every("small-after-0.5s");
  float*extra; size_t eb=(size_t)gib<<30; CK(cudaMalloc(&extra,eb)); every("extra-untouched"); fill<<<1056,512>>>((unsigned*)extra,eb/4,2); CK(cudaDeviceSynchronize()); every("extra-written"); usleep(500000); every("extra-after-0.5s");
  CK(cudaFree(extra)); series("freed","strided",128,300,true); every("freed-then"); usleep(1500000); every("freed-after-1.5s");
  CK(cudaMalloc(&extra,eb)); fill<<<1056,512>>>((unsigned*)extra,eb/4,2); CK(cudaDeviceSynchronize()); CK(cudaFree(extra)); series("freed2","copy",0,200,true); series("freed2-then","strided",16,100,true);
  CK(cudaMalloc(&extra,eb)); fill<<<1056,512>>>((unsigned*)extra,eb/4,2); CK(cudaDeviceSynchronize()); CK(cudaFree(extra)); series("freed3","read",0,300,true);
  return 0; }
