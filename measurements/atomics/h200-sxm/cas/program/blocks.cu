// A block that adds up one number, stage by stage: clearing, atomic, barriers, the global atomic.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>
// STAGE 0: nothing but the guard; 1: clear and barrier; 2: and the block's atomic; 3: and a barrier; 4: and the global atomic
template<int STAGE,bool STAMP> __global__ void part(int* out,long long n,long long* clocks){
  long long t0=STAMP?clock64():0,t1=0,t2=0,t3=0;
  __shared__ int sums[1];
  if(STAGE>0){ if(threadIdx.x==0) sums[0]=0; __syncthreads(); }
  if(STAMP) t1=clock64();
  long long i=(long long)blockIdx.x*blockDim.x+threadIdx.x;
  if(STAGE==0 && i>=n) out[0]=1;
  if(STAGE>1 && i<n) atomicAdd(sums,1);
  if(STAMP) t2=clock64();
  if(STAGE>2) __syncthreads();
  if(STAMP) t3=clock64();
  if(STAGE>3 && threadIdx.x==0) atomicAdd(out,sums[0]);
  else if(STAGE>1 && threadIdx.x==0 && n==12345) out[1]=sums[0];
  if(STAMP && threadIdx.x%32==0){ long long t4=clock64(); long long w=(blockIdx.x*(blockDim.x/32ll)+threadIdx.x/32)*6; unsigned s;asm volatile("mov.u32 %0,%%smid;":"=r"(s));
    clocks[w]=t0;clocks[w+1]=t1;clocks[w+2]=t2;clocks[w+3]=t3;clocks[w+4]=t4;clocks[w+5]=s; }
}
int* out;long long* ck;FILE* f;
template<int S,bool P> void go(int b,long long n){
  std::vector<float> us;cudaEvent_t a,e;cudaEventCreate(&a);cudaEventCreate(&e);
  for(int r=0;r<8;++r){cudaEventRecord(a);part<S,P><<<n/b,b>>>(out,n,ck);cudaEventRecord(e);cudaEventSynchronize(e);float ms;cudaEventElapsedTime(&ms,a,e);us.push_back(ms*1000);}
  std::sort(us.begin(),us.end());
  double d[4]={0,0,0,0},life=0;
  if(P){ long long w=n/32,wb=b/32; std::vector<long long> h(w*6);cudaMemcpy(h.data(),ck,w*48,cudaMemcpyDeviceToHost);
    for(long long k=0;k<w;++k)for(int j=0;j<4;++j)d[j]+=double(h[k*6+j+1]-h[k*6+j])/w;
    for(long long k=0;k<w/wb;++k){long long lo=1ll<<62,hi=0;for(int j=0;j<wb;++j){lo=std::min(lo,h[(k*wb+j)*6]);hi=std::max(hi,h[(k*wb+j)*6+4]);}life+=double(hi-lo)/(w/wb);}}
  fprintf(f,"%d,%d,%d,%lld,%.2f,%.0f,%.0f,%.0f,%.0f,%.0f\n",S,P,b,n,us[us.size()/2],d[0],d[1],d[2],d[3],life);
}
int main(){ f=fopen((std::string(getenv("OUT"))+"/priv.csv").c_str(),"w");cudaMalloc(&out,256);cudaMalloc(&ck,400<<20);
 fprintf(f,"stage,stamped,block,n,time_us,to_barrier,atomic,barrier,global,life\n");
 for(int b:{32,64,128,256,512,1024}) for(long long n:{8388608ll,135168ll*2}){ go<0,false>(b,n);go<1,false>(b,n);go<2,false>(b,n);go<3,false>(b,n);go<4,false>(b,n);go<4,true>(b,n);go<1,true>(b,n);}
 fclose(f);printf("%s\n",cudaGetErrorString(cudaDeviceSynchronize()));}
