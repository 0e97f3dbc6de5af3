// Working sets and windows, by events: sets of which not all blocks have a part; the end of what L2 keeps of sets that SMs read for
// themselves, in turn or all together; sets written again by one block an SM or two; gains of data-reset's windows, several sessions.
#include "../../../../../perfmodel/measure/sources/residency.cu"
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#include <algorithm>
#include <functional>
#define R(x) do{cudaError_t e_=(x); if(e_!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e_)); exit(1);} }while(0)
typedef unsigned u32;
__global__ void noise(u32* p,size_t n,u32 k){ size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; if(i<n){u32 x=(u32)i*2654435761u+k; x^=x>>16; x*=0x7feb352du; x^=x>>15; p[i]=0x3f800000u|(x>>9);} }
__global__ void nothing(){}
__global__ void sweep_read(const uint4* p,long long n,u32* out){ u32 s=0; for(long long i=(long long)blockIdx.x*blockDim.x+threadIdx.x;i<n;i+=(long long)gridDim.x*blockDim.x){uint4 v=p[i]; s+=v.x^v.y^v.z^v.w;} if(s==0x7a3c1d55u) out[0]=s; }
// Plain: no arithmetic of the outer loop; the compiler may unroll.
extern "C" __global__ void set_plain(const float4* in, float* out, long long n, int iterations){
  const long long step=(long long)gridDim.x*blockDim.x; float s=0;
  for(int r=0;r<iterations;++r) for(long long i=(long long)blockIdx.x*blockDim.x+threadIdx.x;i<n;i+=step) s+=fold(__ldcg(in+i));
  if(s<0.5f) out[0]=s;
}
// The same with 32-bit indices, four loads in flight by hand.
extern "C" __global__ void set_four(const float4* in, float* out, u32 n, int iterations){
  const u32 step=gridDim.x*blockDim.x; float s=0;
  for(int r=0;r<iterations;++r) for(u32 i=blockIdx.x*blockDim.x+threadIdx.x;i<n;i+=4*step){
    float4 a=__ldcg(in+i),b=make_float4(0,0,0,0),c=b,d=b;
    if(i+step<n) b=__ldcg(in+i+step); if(i+2*step<n) c=__ldcg(in+i+2*step); if(i+3*step<n) d=__ldcg(in+i+3*step);
    s+=fold(a)+fold(b)+fold(c)+fold(d); }
  if(s<0.5f) out[0]=s;
}
extern "C" __global__ void __launch_bounds__(1024,2) write_new(uint4* out, long long n, int iterations){
  const long long step=(long long)gridDim.x*blockDim.x;
  for(int r=0;r<iterations;++r) for(long long i=(long long)blockIdx.x*blockDim.x+threadIdx.x;i<n;i+=step) out[i]=make_uint4(r,u32(i)*2654435761u,2u,3u);
}
static cudaStream_t s; static u32 *fl,*sink; static size_t FB=256ull<<20;
static void flush(){ noise<<<FB/1024,256,0,s>>>(fl,FB/4,77); sweep_read<<<264,1024,0,s>>>((uint4*)fl,FB/16,sink); }
static std::string timed(std::function<void()> f,int reps,bool cold){
  cudaEvent_t a,b; R(cudaEventCreate(&a)); R(cudaEventCreate(&b)); std::vector<float> t; f();
  for(int i=0;i<reps;++i){ if(cold) flush(); R(cudaEventRecord(a,s)); f(); R(cudaEventRecord(b,s)); R(cudaEventSynchronize(b)); float m; R(cudaEventElapsedTime(&m,a,b)); t.push_back(m*1e3f);}
  R(cudaGetLastError()); R(cudaEventDestroy(a)); R(cudaEventDestroy(b)); std::sort(t.begin(),t.end()); char o[96]; size_t q=t.size();
  snprintf(o,sizeof o,"%d,%.3f,%.4f",reps,t[q/2],(t[(3*q)/4]-t[q/4])/t[q/2]); return o;
}
int main(int c,char**v){
  std::string w=c>1?v[1]:"all"; R(cudaSetDevice(0)); R(cudaStreamCreate(&s));
  size_t G=1ull<<30; float4 *in,*out; R(cudaMalloc(&in,512ull<<20)); R(cudaMalloc(&out,4*G)); R(cudaMalloc(&fl,FB)); R(cudaMalloc(&sink,4096));
  noise<<<(512ull<<20)/1024,256,0,s>>>((u32*)in,(512ull<<20)/4,12345); noise<<<G/1024,256,0,s>>>((u32*)out,G/4,5); R(cudaStreamSynchronize(s));
  for(int i=0;i<20;++i) sweep_read<<<264,1024,0,s>>>((uint4*)in,(512ll<<20)/16,sink);
  const char* cs[]={"warm","cold"}; float* fs=(float*)sink;
  auto each=[&](const char* part,const char* f,double mib,int it,int other,int reps,std::function<void()> g,int states=2){ for(int k=0;k<states;++k) printf("%s,%s,%.3f,%lld,%d,%d,events,%s,%s\n",part,f,mib,(long long)(mib*1048576),it,other,cs[k],timed(g,reps,k).c_str()); };
  if(w=="all"||w=="floor") printf("floor,nothing,0,0,0,0,events,warm,%s\n",timed([&]{nothing<<<1,32,0,s>>>();},31,false).c_str());
  if(w=="all"||w=="small") for(double mib:{0.25,0.5,1.0,1.5,2.0,2.5,3.0,4.0,4.5,5.0,6.0,8.0,8.5,12.0,20.0}){ long long n=(long long)(mib*65536); int it=std::max(8,(int)(256/mib));
    each("small","set_plain",mib,it,0,7,[&]{set_plain<<<264,1024,0,s>>>(in,fs,n,it);},1);
    each("small","set_four",mib,it,0,7,[&]{set_four<<<264,1024,0,s>>>(in,fs,(u32)n,it);},1);
    each("small","working_set_read",mib,it,0,7,[&]{working_set_read<<<264,1024,0,s>>>(in,fs,n,it,0);},1); 
    each("small","set_plain_132",mib,it,132,7,[&]{set_plain<<<132,1024,0,s>>>(in,fs,n,it);},1);
    each("small","set_plain_1056",mib,it,1056,7,[&]{set_plain<<<1056,256,0,s>>>(in,fs,n,it);},1); }
  if(w=="all"||w=="knee") for(int mib=40;mib<=76;mib+=2) for(int it:{2,4,8,17,34,68}){ long long n=(long long)mib*65536;
    each("knee","set_plain",mib,it,0,5,[&]{set_plain<<<264,1024,0,s>>>(in,fs,n,it);});
    if(it==4||it==17||it==68) for(int sh:{1,37}) each("turns","working_set_read",mib,it,sh,5,[&]{working_set_read<<<264,1024,0,s>>>(in,fs,n,it,sh);}); }
  if(w=="all"||w=="shared") for(int mib=16;mib<=44;mib+=2) for(int it:{1,2,4}){ long long n=(long long)mib*65536; if(it>1&&mib%4) continue;
    each("shared","working_set_shared",mib,it,0,3,[&]{working_set_shared<<<264,1024,0,s>>>(in,fs,n,it);}); }
  if(w=="all"||w=="write"){ R(cudaFuncSetAttribute(write_new,cudaFuncAttributeMaxDynamicSharedMemorySize,120<<10));
    for(int mib:{1,2,4,8,16,24,32,40,48,56,64,80,96}) for(int it:{4,32}) for(int b:{264,132}) for(int sh:{0,120}){ long long n=(long long)mib*65536; if(b==132&&sh) continue;
      each("write","write_new",mib,it,b==132?132:(sh?1:2),5,[&]{write_new<<<b,1024,sh<<10,s>>>((uint4*)out,n,it);}); } }
  if(w=="all"||w=="gain"){ cudaEvent_t a,b; R(cudaEventCreate(&a)); R(cudaEventCreate(&b));
    for(int run=0;run<6;++run) for(int gib:{1,4}) for(int tab:{4,8,12,16,24,32}) for(int set:{0,8,16,24,30,34}) for(int h:{0,4,8}){
      if((h&&!set)||(h==4&&set>tab)) continue; if(gib==4&&(tab>16||run>3||(set&&set!=8&&set!=16)||h==4)) continue;
      R(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize,(size_t)set<<20)); R(cudaCtxResetPersistingL2Cache());
      cudaStreamAttrValue at; memset(&at,0,sizeof at); at.accessPolicyWindow.base_ptr=in; at.accessPolicyWindow.num_bytes=h?(size_t)tab<<20:0; at.accessPolicyWindow.hitRatio=h?h/8.0f:1.0f;
      at.accessPolicyWindow.hitProp=cudaAccessPropertyPersisting; at.accessPolicyWindow.missProp=cudaAccessPropertyStreaming; R(cudaStreamSetAttribute(s,cudaStreamAttributeAccessPolicyWindow,&at));
      u32 m=(u32)tab<<16,n=(u32)(gib*(G/16)); std::vector<float> t;
      for(int r=0;r<4;++r){ R(cudaEventRecord(a,s)); data_reset<<<n/1024,1024,0,s>>>(in,out,n,m); R(cudaEventRecord(b,s)); R(cudaEventSynchronize(b)); float ms; R(cudaEventElapsedTime(&ms,a,b)); if(r) t.push_back(ms*1e3f); }
      std::sort(t.begin(),t.end()); printf("gain,data_reset,%d,%d,%d,%d,%d,%d,events,warm,3,%.3f,%.4f\n",run,gib,tab,set,h,0,t[1],(t[2]-t[0])/t[1]); } }
  if(w=="ncu") for(int mib:{1,2,3}){ long long n=(long long)mib*65536; set_plain<<<264,1024,0,s>>>(in,fs,n,64); working_set_read<<<264,1024,0,s>>>(in,fs,n,64,0); set_four<<<264,1024,0,s>>>(in,fs,(u32)n,64); R(cudaStreamSynchronize(s)); }
  if(w=="ncu") for(int mib:{48,52,54,56,58,60,64}) for(int it:{4,17,68}){ long long n=(long long)mib*65536; set_plain<<<264,1024,0,s>>>(in,fs,n,it); if(it==17) working_set_read<<<264,1024,0,s>>>(in,fs,n,it,1); R(cudaStreamSynchronize(s)); }
  if(w=="ncu") for(int mib:{20,24,26,28,30,32,36}){ working_set_shared<<<264,1024,0,s>>>(in,fs,(long long)mib*65536,1); R(cudaStreamSynchronize(s)); }
  R(cudaStreamSynchronize(s)); return 0;
}
