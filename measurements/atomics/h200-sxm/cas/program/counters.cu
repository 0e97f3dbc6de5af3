// Launches of `retries`, for the profiler: addresses, spacing, threads and block of each as arguments.
#include "../../../../../perfmodel/measure/sources/contention.cu"
#include <cstdio>
#include <cstdlib>
#include <vector>
int main(int c,char**v){ TYPE* d; uint64* t; cudaMalloc(&d,256<<20); cudaMalloc(&t,16384);
 for(int i=1;i+3<c;i+=4){ int a=atoi(v[i]),s=atoi(v[i+1]),n=atoi(v[i+2]),b=atoi(v[i+3]);
  cudaMemset(d,0,256<<20);cudaMemset(t,0,16384);
  retries<<<(n+b-1)/b,b>>>(d,t,n,a,s,32);
  std::vector<uint64> h(2048);cudaMemcpy(h.data(),t,16384,cudaMemcpyDeviceToHost);uint64 x=0,y=0;for(int k=0;k<1024;++k){x+=h[k];y+=h[1024+k];}
  fprintf(stderr,"tries,%d,%d,%d,%d,%llu,%llu\n",a,s,n,b,x,y);}
 fprintf(stderr,"%s\n",cudaGetErrorString(cudaDeviceSynchronize()));}
