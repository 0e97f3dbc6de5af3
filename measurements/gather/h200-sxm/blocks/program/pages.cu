// The same number of different lines, gathered from few pages or many, in any order: warm launches between events.
#include <cuda_runtime.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>
#define R(x) do{cudaError_t e_=(x); if(e_!=cudaSuccess){fprintf(stderr,"%d %s\n",__LINE__,cudaGetErrorString(e_)); exit(1);} }while(0)
typedef unsigned u32; typedef unsigned long long u64;
__global__ void gather(const float* __restrict__ table,const u32* __restrict__ rows,float* __restrict__ out,u32 n,u32 run){ u32 i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n) out[i]=table[(size_t)rows[i/run]*run+i%run]; }
__global__ void gather_kept(const float* __restrict__ table,const u32* __restrict__ rows,float* __restrict__ out,u32 n,u32 run){ u32 i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n){ float v=table[(size_t)rows[i/run]*run+i%run]; if(v==12345.678f) out[i]=v; } }
__global__ void noise(u32* p,size_t n,u32 k){ size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; if(i<n){ u32 h=(u32)i*2654435761u+k; h^=h>>16; h*=0x85ebca6bu; h^=h>>13; p[i]=0x3f800000u|(h>>9);} }
int main(int argc,char** argv){
  const size_t M=1<<20; float *T,*O; u32* ROWS; R(cudaMalloc(&T,4096*M)); R(cudaMalloc(&O,64*M)); R(cudaMalloc(&ROWS,32*M));
  for(int k=0;k<4;k++) noise<<<(1024*M/4+255)/256,256>>>((u32*)T+k*256*M,256*M,k); R(cudaDeviceSynchronize());
  cudaEvent_t a,b; cudaEventCreate(&a); cudaEventCreate(&b); std::mt19937 g(7);
  bool count=argc>1; if(!count) printf("kernel,n,run,pattern,table_mib,pages,lines,time_us,spread\n");
  for(int stores=1;stores>=0;stores--) for(u32 n:{1u<<20,2u<<20,4u<<20}) for(u32 run:{8u,32u}){
    u32 rows=n/run; u64 each=run*4; // rows of `each` bytes
    std::vector<u32> r(rows);
    for(const char* pattern:{"random16","random64","random2048","once","once-order","spread-order","spread-random","pages-order","lines16"}){
      u32 mib=0; u64 lines=0;
      if(!strncmp(pattern,"random",6)){ mib=atoi(pattern+6); std::uniform_int_distribution<u32> d(0,(u64)mib*M/each-1); for(auto&x:r) x=d(g); }
      else if(!strcmp(pattern,"once")||!strcmp(pattern,"once-order")){ mib=n*4/M; std::iota(r.begin(),r.end(),0u); if(!strcmp(pattern,"once")) std::shuffle(r.begin(),r.end(),g); }
      else if(!strcmp(pattern,"lines16")){ if(run!=8) continue; mib=rows*128/M; for(u32 i=0;i<rows;i++) r[i]=i*4+g()%4; std::shuffle(r.begin(),r.end(),g); } // each row in a line of its own, dense lines
      else if(!strncmp(pattern,"spread",6)){ mib=2048; u64 step=(u64)mib*M/each/rows; for(u32 i=0;i<rows;i++) r[i]=i*step+g()%step; if(!strcmp(pattern,"spread-random")) std::shuffle(r.begin(),r.end(),g); }
      else { mib=2048; u64 per=2*M/each; u32 pages=1024; u32 in=rows/pages; std::vector<u32> pg(pages); std::iota(pg.begin(),pg.end(),0u); std::shuffle(pg.begin(),pg.end(),g); for(u32 i=0;i<rows;i++) r[i]=pg[i/in]*per+(i%in)*(per/in)+g()%(per/in); }
      { std::vector<u64> l(rows); for(u32 i=0;i<rows;i++) l[i]=(u64)r[i]*each/128; std::sort(l.begin(),l.end()); lines=std::unique(l.begin(),l.end())-l.begin(); }
      R(cudaMemcpy(ROWS,r.data(),rows*4,cudaMemcpyHostToDevice));
      std::vector<float> t; float ms;
      for(int k=0;k<(count?3:25);k++){ cudaEventRecord(a); if(stores) gather<<<n/256,256>>>(T,ROWS,O,n,run); else gather_kept<<<n/256,256>>>(T,ROWS,O,n,run); cudaEventRecord(b); R(cudaEventSynchronize(b)); cudaEventElapsedTime(&ms,a,b); if(k>3) t.push_back(ms*1e3); }
      if(count) continue;
      std::sort(t.begin(),t.end()); printf("%s,%u,%u,%s,%u,%u,%llu,%.3f,%.3f\n",stores?"gather":"gather_kept",n,run,pattern,mib,mib/2,lines,t[t.size()/2],(t[t.size()*9/10]-t[t.size()/10])/t[t.size()/2]);
    } }
}
