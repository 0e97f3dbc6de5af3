// Sets whose blocks move on, for long, and windows over sets after other lines: reads that L2 is asked for, and what misses.
#include "../../../../../perfmodel/measure/sources/residency.cu"
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <algorithm>
#define R(x) do{cudaError_t e_=(x); if(e_!=cudaSuccess){fprintf(stderr,"%d %s\n",__LINE__,cudaGetErrorString(e_)); exit(1);} }while(0)
__global__ void noise(unsigned* p,size_t n,unsigned k){ size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; if(i<n){unsigned x=(unsigned)i*2654435761u+k; x^=x>>16; x*=0x7feb352du; x^=x>>15; p[i]=0x3f800000u|(x>>9);} }
__global__ void flush_plain(const float4* p,size_t n,float* o){ float s=0; for(size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x;i<n;i+=(size_t)gridDim.x*blockDim.x){ float4 v=p[i]; s+=v.x+v.y+v.z+v.w; } if(s==1.5f) o[0]=s; }
__global__ void flush_first(const float4* p,size_t n,float* o){ float s=0; for(size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x;i<n;i+=(size_t)gridDim.x*blockDim.x){ float4 v; unsigned long long pol; asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;":"=l"(pol)); asm volatile("ld.global.L2::cache_hint.v4.f32 {%0,%1,%2,%3}, [%4], %5;":"=f"(v.x),"=f"(v.y),"=f"(v.z),"=f"(v.w):"l"(p+i),"l"(pol)); s+=v.x+v.y+v.z+v.w; } if(s==1.5f) o[0]=s; }
int main(int c,char** v){ bool count=c>1&&!strcmp(v[1],"count"), windows=c>2&&!strcmp(v[2],"windows");
  cudaStream_t s; R(cudaStreamCreate(&s)); float4 *in,*fl; float* out; R(cudaMalloc(&in,128<<20)); R(cudaMalloc(&fl,256<<20)); R(cudaMalloc(&out,4096));
  noise<<<(32<<20)/256,256,0,s>>>((unsigned*)in,32<<20,3); noise<<<(64<<20)/256,256,0,s>>>((unsigned*)fl,64<<20,5); R(cudaStreamSynchronize(s));
  if(!windows){ for(double mib:{8.25,16.5,33.0,49.5,57.75}) for(int it:{30,120,400}) for(int sh:{1,2,4,8,37,132}){ if(mib*it>7000) continue; working_set_read<<<264,1024,0,s>>>(in,out,(long long)(mib*65536),it,sh); } R(cudaStreamSynchronize(s)); return 0; }
  cudaEvent_t a,b; R(cudaEventCreate(&a)); R(cudaEventCreate(&b));
  if(!count) printf("flush,miss_prop,mib,set_mib,hit_eighths,iterations,time_us,spread\n");
  for(int fk=0;fk<3;++fk) for(int mp=0;mp<2;++mp) for(int mib:{24,40}) for(int set:{0,16,30}) for(int h:{2,4,8}) for(int it:{10,42,168}){
    if(!set&&(h!=2||mp)) continue; if(count&&(it!=42||h==8)) continue;
    R(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize,(size_t)set<<20)); R(cudaCtxResetPersistingL2Cache());
    cudaStreamAttrValue at; memset(&at,0,sizeof at); at.accessPolicyWindow.base_ptr=in; at.accessPolicyWindow.num_bytes=set?(size_t)mib<<20:0; at.accessPolicyWindow.hitRatio=h/8.f;
    at.accessPolicyWindow.hitProp=cudaAccessPropertyPersisting; at.accessPolicyWindow.missProp=mp?cudaAccessPropertyNormal:cudaAccessPropertyStreaming; R(cudaStreamSetAttribute(s,cudaStreamAttributeAccessPolicyWindow,&at));
    std::vector<float> t; long long n=(long long)mib*65536;
    if(count){ flush_plain<<<264,1024>>>(fl,(256<<20)/16,out); if(fk==1) flush_first<<<264,1024>>>(fl,(256<<20)/16,out); R(cudaDeviceSynchronize()); working_set_read<<<264,1024,0,s>>>(in,out,n,it,0); R(cudaDeviceSynchronize()); if(fk==2){ working_set_read<<<264,1024,0,s>>>(in,out,n,it,0); R(cudaDeviceSynchronize()); } continue; }
    for(int r=0;r<6;++r){ if(fk<2){ flush_plain<<<264,1024>>>(fl,(256<<20)/16,out); if(fk==1) flush_first<<<264,1024>>>(fl,(256<<20)/16,out); R(cudaDeviceSynchronize()); }
      R(cudaEventRecord(a,s)); working_set_read<<<264,1024,0,s>>>(in,out,n,it,0); R(cudaEventRecord(b,s)); R(cudaEventSynchronize(b)); float ms; R(cudaEventElapsedTime(&ms,a,b)); if(r) t.push_back(ms*1e3f);} 
    std::sort(t.begin(),t.end()); printf("%s,%s,%d,%d,%d,%d,%.3f,%.4f\n",fk==0?"plain":fk==1?"evict_first":"none",mp?"normal":"streaming",mib,set,h,it,t[2],(t[3]-t[1])/t[2]); }
  return 0; }
