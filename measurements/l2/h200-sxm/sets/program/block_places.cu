// Where blocks fall: the SM of each block of launches that fill the GPU once.
#include <cuda_runtime.h>
#include <cstdio>
#include <vector>
__global__ void where(unsigned* sm,int n){ unsigned s; asm volatile("mov.u32 %0, %%smid;":"=r"(s)); if(threadIdx.x==0) sm[blockIdx.x]=s; long long t=clock64(); while(clock64()-t<20000*(long long)(1+0*n)); }
int main(){ unsigned* d; cudaMalloc(&d,1<<16); int shapes[][2]={{264,1024},{132,1024},{528,512},{1056,256},{264,512},{66,1024}}; 
 for(auto& s:shapes) for(int rep=0;rep<3;++rep){ where<<<s[0],s[1]>>>(d,1); std::vector<unsigned> h(s[0]); cudaMemcpy(h.data(),d,s[0]*4,cudaMemcpyDeviceToHost);
  printf("%d,%d,%d",s[0],s[1],rep); int first=-1; std::vector<int> c(256,0); for(int i=0;i<s[0];++i){ if(++c[h[i]]==2&&first<0) first=i; } printf(",first SM twice at block %d:",first); for(int i=0;i<s[0];++i) printf(" %u",h[i]); printf("\n"); } }
