// Windows over sets after what else was in L2: own lines, written ones, others' lines; launch after launch.
#include "common.h"
int main(int c,char**v){ bool count=c>1; start(); float4 *in,*fl; float*out; R(cudaMalloc(&in,128<<20)); R(cudaMalloc(&fl,256<<20)); R(cudaMalloc(&out,4096)); void* host; R(cudaMallocHost(&host,64<<20));
  noise<<<(32<<20)/256,256,0,s>>>((unsigned*)in,32<<20,3); noise<<<(64<<20)/256,256,0,s>>>((unsigned*)fl,64<<20,5); R(cudaStreamSynchronize(s)); R(cudaMemcpy(host,in,64<<20,cudaMemcpyDeviceToHost));
  const char* names[]={"own-plain","own-written","own-copied","others-read","others-written","others-memset","own-window-1","own-written-128"};
  if(!count) printf("floor %.3f\nstate,bytes,iterations,set_mib,hit_eighths,launch,time_us\n",floor_us());
  for(int mib:{24,40,48,56,64}) for(int set:{16,30}) for(int h:{1,2,4}) for(int st=0;st<8;++st){ if(count&&(set!=16||h==1)) continue;
    const int it=1008/mib; const long long n=(long long)mib*65536; const unsigned w=(unsigned)mib<<18;
    for(int rep=0;rep<(count?1:3);++rep){
      window(in,0,0,1,true);
      if(count&&(st==0||st==6)) fprintf(stderr,"cnt pre\ncnt pre\n"); if(count&&st==3) fprintf(stderr,"cnt pre\n");
      if(st==0) for(int r=0;r<2;++r) working_set_read<<<264,1024,0,s>>>(in,out,n,it,0);
      if(st==1) noise<<<w/256,256,0,s>>>((unsigned*)in,w,3);
      if(st==2) R(cudaMemcpyAsync(in,host,(size_t)mib<<20,cudaMemcpyHostToDevice,s));
      if(st==3) working_set_read<<<264,1024,0,s>>>(fl,out,16<<20,1,0);
      if(st==4) noise<<<(64<<20)/256,256,0,s>>>((unsigned*)fl,64<<20,5);
      if(st==5) R(cudaMemsetAsync(fl,1,256<<20,s));
      if(st==6){ window(in,(size_t)set<<20,(size_t)mib<<20,1.0,false); for(int r=0;r<2;++r) working_set_read<<<264,1024,0,s>>>(in,out,n,it,0); R(cudaStreamSynchronize(s)); }
      if(st==7) noise<<<(32<<20)/256,256,0,s>>>((unsigned*)in,32<<20,3);
      R(cudaStreamSynchronize(s)); window(in,(size_t)set<<20,(size_t)mib<<20,h/8.0,false);
      for(int l=0;l<(count?4:6);++l){ if(count){ working_set_read<<<264,1024,0,s>>>(in,out,n,it,0); R(cudaStreamSynchronize(s)); fprintf(stderr,"cnt %s,%d,%d,%d,%d,%d\n",names[st],mib<<20,it,set,h,l);} else { float x=timed([&]{working_set_read<<<264,1024,0,s>>>(in,out,n,it,0);}); if(rep) printf("%s,%d,%d,%d,%d,%d,%.3f\n",names[st],mib<<20,it,set,h,l,x);} }
    } }
  return 0; }
