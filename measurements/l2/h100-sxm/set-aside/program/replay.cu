// What the profiler counts of the package's sweeps beside set-asides: replay CASES, one a line, each launched
// twice, cold. A line: id function in stream out set-aside window-buffer window hitRatio hitProp missProp lookups.
#include "../../../h200-sxm/before/program/common.h"
#include <cuda_profiler_api.h>
static cudaAccessProperty property(const char* p){ return p[0]=='p'?cudaAccessPropertyPersisting:p[0]=='s'?cudaAccessPropertyStreaming:cudaAccessPropertyNormal; }
int main(int c,char**v){ start(); const size_t G=4ull<<30; char *in,*st,*out; unsigned* rows; R(cudaMalloc(&in,128<<20)); R(cudaMalloc(&st,G)); R(cudaMalloc(&out,G)); R(cudaMalloc(&rows,4<<20));
  noise<<<(128<<20)/1024,256>>>((unsigned*)in,(128<<20)/4,3u); noise<<<(unsigned)(G/1024),256>>>((unsigned*)st,G/4,7u); R(cudaDeviceSynchronize());
  std::vector<unsigned> picks(1<<20); FILE* f=fopen(v[1],"r"); if(!f) return 2; int id; char fn[64],buffer[16],hp[16],mp[16]; size_t ib,sb,ob,set,win; double hit; unsigned lookups;
  while(fscanf(f,"%d %63s %zu %zu %zu %zu %15s %zu %lf %15s %15s %u",&id,fn,&ib,&sb,&ob,&set,buffer,&win,&hit,hp,mp,&lookups)==12){
    if(lookups){ unsigned long long x=88172645463325252ull; for(auto& r:picks){ x^=x<<13; x^=x>>7; x^=x<<17; r=(unsigned)((x>>20)%(ib/128)); } R(cudaMemcpy(rows,picks.data(),4<<20,cudaMemcpyHostToDevice)); }
    for(int r=0;r<2;++r){
      R(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize,set)); R(cudaCtxResetPersistingL2Cache());
      cudaStreamAttrValue at; memset(&at,0,sizeof at); at.accessPolicyWindow.base_ptr=buffer[0]=='o'?out:in; at.accessPolicyWindow.num_bytes=win; at.accessPolicyWindow.hitRatio=(float)hit; at.accessPolicyWindow.hitProp=win?property(hp):cudaAccessPropertyNormal; at.accessPolicyWindow.missProp=win?property(mp):cudaAccessPropertyNormal;
      R(cudaStreamSetAttribute(s,cudaStreamAttributeAccessPolicyWindow,&at)); R(cudaStreamSynchronize(s)); R(cudaProfilerStart());
      const long long n=ob/16, w=sb/16; const unsigned m=(unsigned)(ib/16); const float4 *i4=(float4*)in,*s4=(float4*)st; float4* o4=(float4*)out;
      if(!strcmp(fn,"data_reset")) data_reset<<<(unsigned)(n/1024),1024,0,s>>>(i4,o4,(unsigned)n,m);
      else if(!strcmp(fn,"stream_persistent")) stream_persistent<<<(unsigned)(w/256),256,0,s>>>(s4,i4,o4,(unsigned)w,m);
      else if(!strcmp(fn,"read_persistent")) read_persistent<<<(unsigned)(w/256),256,0,s>>>(s4,i4,(float*)out,(unsigned)w,m);
      else if(!strcmp(fn,"stream_copy")) stream_copy<<<(unsigned)(w/256),256,0,s>>>(s4,o4,w);
      else if(!strcmp(fn,"stream_read")) stream_read<<<(unsigned)(w/256),256,0,s>>>(s4,(float*)out,w);
      else if(!strcmp(fn,"stream_write")) stream_write<<<(unsigned)(w/256),256,0,s>>>(o4,w);
      else if(!strcmp(fn,"stream_two_reads")) stream_two_reads<<<(unsigned)(w/256),256,0,s>>>(s4,s4+w,o4,w);
      else if(!strcmp(fn,"stream_two_writes")) stream_two_writes<<<(unsigned)(w/256),256,0,s>>>(s4,o4,o4+w,w);
      else if(!strcmp(fn,"embedding")) embedding<<<lookups/8,256,0,s>>>((float*)in,rows,(float*)st,(float*)out,lookups,(unsigned)(sb/4/lookups));
      else { fprintf(stderr,"unknown %s\n",fn); return 2; }
      R(cudaGetLastError()); R(cudaStreamSynchronize(s)); R(cudaProfilerStop()); printf("%d\n",id); } }
  return 0; }
