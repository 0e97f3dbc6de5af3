#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <stdint.h>
typedef __nv_bfloat16 bf;
extern "C" {
__global__ void silu_mul_bf16(bf* __restrict__ out, const bf* __restrict__ gate_up, int d){
  long t = blockIdx.x; const bf* g = gate_up + t*2*d; const bf* u = g + d;
  for (int i = threadIdx.x; i < d; i += blockDim.x){ float x = __bfloat162float(g[i]); out[t*d+i] = __float2bfloat16(x/(1.f+__expf(-x))*__bfloat162float(u[i])); }
}
__global__ void silu_mul_vec8(uint4* __restrict__ out, const uint4* __restrict__ gate_up, int d8){
  long t = blockIdx.x; const uint4* g = gate_up + t*2*d8; const uint4* u = g + d8;
  for (int i = threadIdx.x; i < d8; i += blockDim.x){ uint4 a=g[i], b=u[i]; uint4 r; const __half2* ha=(const __half2*)&a; const __half2* hb=(const __half2*)&b; __half2* hr=(__half2*)&r;
    #pragma unroll
    for(int k=0;k<4;k++){ float2 x=__half22float2(ha[k]), y=__half22float2(hb[k]); x.x = x.x/(1.f+__expf(-x.x))*y.x; x.y = x.y/(1.f+__expf(-x.y))*y.y; hr[k]=__float22half2_rn(x);} out[t*d8+i]=r; }
}
__global__ void fused_add_rms(float* __restrict__ x, float* __restrict__ res, const float* __restrict__ w, int d, float eps){
  __shared__ float part[32]; long t=blockIdx.x; float s=0;
  for(int i=threadIdx.x;i<d;i+=blockDim.x){ float v=x[t*d+i]+res[t*d+i]; res[t*d+i]=v; s+=v*v; }
  for(int o=16;o;o>>=1) s+=__shfl_xor_sync(~0u,s,o);
  if((threadIdx.x&31)==0) part[threadIdx.x>>5]=s; __syncthreads();
  if(threadIdx.x<32){ s=threadIdx.x<(blockDim.x>>5)?part[threadIdx.x]:0; for(int o=16;o;o>>=1) s+=__shfl_xor_sync(~0u,s,o); if(threadIdx.x==0) part[0]=rsqrtf(s/d+eps);} __syncthreads();
  float r=part[0]; for(int i=threadIdx.x;i<d;i+=blockDim.x) x[t*d+i]=res[t*d+i]*r*w[i];
}
__global__ void rope_neox_half(half* __restrict__ q, const float* __restrict__ cs, const int* __restrict__ pos, int heads, int hd){
  int t=blockIdx.x; int half_d=hd/2; const float* c=cs+(long)pos[t]*hd;
  for(int i=threadIdx.x;i<heads*half_d;i+=blockDim.x){ int h=i/half_d, k=i%half_d; half* p=q+((long)t*heads+h)*hd; float a=__half2float(p[k]), b=__half2float(p[k+half_d]); float co=c[k], si=c[k+half_d]; p[k]=__float2half(a*co-b*si); p[k+half_d]=__float2half(b*co+a*si); }
}
__global__ void moe_top1(int* __restrict__ idx, float* __restrict__ w, const float* __restrict__ logits, int tokens, int experts){
  int t=(blockIdx.x*blockDim.x+threadIdx.x)>>5, lane=threadIdx.x&31; if(t>=tokens) return; float m=-1e30f; int mi=0; float s=0;
  for(int e=lane;e<experts;e+=32){ float v=logits[(long)t*experts+e]; if(v>m){m=v;mi=e;} s+=__expf(v); }
  for(int o=16;o;o>>=1){ float om=__shfl_xor_sync(~0u,m,o); int oi=__shfl_xor_sync(~0u,mi,o); s+=__shfl_xor_sync(~0u,s,o); if(om>m){m=om;mi=oi;} }
  if(lane==0){ idx[t]=mi; w[t]=__expf(m)/s; }
}
__global__ void kv_quant(int8_t* __restrict__ q, float* __restrict__ sc, const half* __restrict__ k, int heads, int hd){
  int row=blockIdx.x*(blockDim.x/32)+threadIdx.x/32; if(row>=heads) return; long t=blockIdx.y; int lane=threadIdx.x%32; float m=0;
  const half* p=k+(t*heads+row)*hd; for(int i=lane;i<hd;i+=32) m=fmaxf(m,fabsf(__half2float(p[i])));
  for(int o=16;o;o>>=1) m=fmaxf(m,__shfl_xor_sync(~0u,m,o)); float s=127.f/m; if(lane==0) sc[t*heads+row]=m/127.f;
  for(int i=lane;i<hd;i+=32) q[(t*heads+row)*hd+i]=(int8_t)rintf(__half2float(p[i])*s);
}
__global__ void decode_scores(float* __restrict__ s, const half2* __restrict__ q, const half2* __restrict__ kc, int ctx, int hd2, float scale){
  int h=blockIdx.y; int t=blockIdx.x*(blockDim.x/32)+threadIdx.x/32; if(t>=ctx) return; int lane=threadIdx.x%32; float a=0;
  for(int i=lane;i<hd2;i+=32){ float2 x=__half22float2(q[h*hd2+i]), y=__half22float2(kc[((long)h*ctx+t)*hd2+i]); a+=x.x*y.x+x.y*y.y; }
  for(int o=16;o;o>>=1) a+=__shfl_xor_sync(~0u,a,o); if(lane==0) s[(long)h*ctx+t]=a*scale;
}
__global__ void gemv_half_vec(half* __restrict__ y, const uint4* __restrict__ W, const uint4* __restrict__ x, int n, int k8){
  int row=blockIdx.x*(blockDim.x/32)+threadIdx.x/32; if(row>=n) return; int lane=threadIdx.x%32; float a=0;
  for(int i=lane;i<k8;i+=32){ uint4 w=W[(long)row*k8+i], v=x[i]; const __half2* hw=(const __half2*)&w; const __half2* hv=(const __half2*)&v;
   #pragma unroll
   for(int j=0;j<4;j++){ float2 p=__half22float2(hw[j]), r=__half22float2(hv[j]); a+=p.x*r.x+p.y*r.y; } }
  for(int o=16;o;o>>=1) a+=__shfl_xor_sync(~0u,a,o); if(lane==0) y[row]=__float2half(a);
}
__global__ void gemm_half_naive(half* __restrict__ C, const half* __restrict__ A, const half* __restrict__ B, int M, int N, int K){
  int j=blockIdx.x*blockDim.x+threadIdx.x, i=blockIdx.y*blockDim.y+threadIdx.y; if(i>=M||j>=N) return; float a=0; for(int k=0;k<K;k++) a+=__half2float(A[(long)i*K+k])*__half2float(B[(long)k*N+j]); C[(long)i*N+j]=__float2half(a);
}
__global__ void dp4a_gemm(int* __restrict__ C, const int* __restrict__ A, const int* __restrict__ B, int M, int N, int K4){
  __shared__ int As[16][17], Bs[16][17]; int tx=threadIdx.x, ty=threadIdx.y; int i=blockIdx.y*16+ty, j=blockIdx.x*16+tx; int acc=0;
  for(int k=0;k<K4;k+=16){ As[ty][tx]=(i<M&&k+tx<K4)?A[(long)i*K4+k+tx]:0; int jj=blockIdx.x*16+ty; Bs[ty][tx]=(jj<N&&k+tx<K4)?B[(long)jj*K4+k+tx]:0; __syncthreads();
   #pragma unroll
   for(int p=0;p<16;p++) acc=__dp4a(As[ty][p],Bs[tx][p],acc); __syncthreads(); }
  if(i<M&&j<N) C[(long)i*N+j]=acc;
}
__global__ void sgemm_4x4(float* __restrict__ C, const float* __restrict__ A, const float* __restrict__ B, int M, int N, int K){
  __shared__ float As[8][64], Bs[8][64]; int tid=threadIdx.x; int tx=tid%16, ty=tid/16; float acc[4][4]={};
  int bm=blockIdx.y*64, bn=blockIdx.x*64;
  for(int k0=0;k0<K;k0+=8){
    for(int l=tid;l<512;l+=256){ int r=l/8,c=l%8; int gi=bm+r,gk=k0+c; As[c][r]=(gi<M&&gk<K)?A[(long)gi*K+gk]:0.f; int rb=l/64,cb=l%64; int gj=bn+cb; gk=k0+rb; Bs[rb][cb]=(gj<N&&gk<K)?B[(long)gk*N+gj]:0.f; }
    __syncthreads();
    #pragma unroll
    for(int k=0;k<8;k++){ float a[4],b[4]; for(int x=0;x<4;x++){a[x]=As[k][ty*4+x]; b[x]=Bs[k][tx*4+x];} 
      #pragma unroll
      for(int x=0;x<4;x++)
      #pragma unroll
      for(int y=0;y<4;y++) acc[x][y]+=a[x]*b[y]; }
    __syncthreads(); }
  for(int x=0;x<4;x++) for(int y=0;y<4;y++){ int i=bm+ty*4+x, j=bn+tx*4+y; if(i<M&&j<N) C[(long)i*N+j]=acc[x][y]; }
}
__global__ void splitk_reduce(float* __restrict__ out, const float* __restrict__ part, int n, int splits){
  int i=blockIdx.x*blockDim.x+threadIdx.x; if(i>=n) return; float s=0; for(int p=0;p<splits;p++) s+=part[(long)p*n+i]; out[i]=s;
}
__global__ void batchnorm_stats(float* __restrict__ mean, float* __restrict__ var, const float* __restrict__ x, int N, int C, int HW){
  int c=blockIdx.x; float s=0,q=0; for(int n=0;n<N;n++) for(int i=threadIdx.x;i<HW;i+=blockDim.x){ float v=x[((long)n*C+c)*HW+i]; s+=v; q+=v*v; }
  __shared__ float a[32], b[32]; for(int o=16;o;o>>=1){ s+=__shfl_xor_sync(~0u,s,o); q+=__shfl_xor_sync(~0u,q,o);} if(threadIdx.x%32==0){a[threadIdx.x/32]=s;b[threadIdx.x/32]=q;} __syncthreads();
  if(threadIdx.x==0){ s=q=0; for(int w=0;w<blockDim.x/32;w++){s+=a[w];q+=b[w];} float m=s/(N*HW); mean[c]=m; var[c]=q/(N*HW)-m*m; }
}
__global__ void batchnorm_apply_nhwc(float* __restrict__ y, const float* __restrict__ x, const float* __restrict__ m, const float* __restrict__ r, long total, int C){
  for(long i=blockIdx.x*(long)blockDim.x+threadIdx.x;i<total;i+=(long)gridDim.x*blockDim.x){ int c=i%C; y[i]=(x[i]-m[c])*r[c]; }
}
__global__ void avgpool_global(float* __restrict__ out, const float* __restrict__ x, int C, int HW){
  int w=(blockIdx.x*blockDim.x+threadIdx.x)/32, lane=threadIdx.x%32; if(w>=C) return; float s=0; for(int i=lane;i<HW;i+=32) s+=x[(long)w*HW+i]; for(int o=16;o;o>>=1) s+=__shfl_down_sync(~0u,s,o); if(lane==0) out[w]=s/HW;
}
__global__ void cross_entropy(float* __restrict__ loss, const float* __restrict__ logits, const int* __restrict__ label, int V){
  long t=blockIdx.x; __shared__ float sm[32]; float m=-1e30f; for(int i=threadIdx.x;i<V;i+=blockDim.x) m=fmaxf(m,logits[t*V+i]);
  for(int o=16;o;o>>=1) m=fmaxf(m,__shfl_xor_sync(~0u,m,o)); if(threadIdx.x%32==0) sm[threadIdx.x/32]=m; __syncthreads(); m=sm[0]; for(int w=1;w<blockDim.x/32;w++) m=fmaxf(m,sm[w]); __syncthreads();
  float s=0; for(int i=threadIdx.x;i<V;i+=blockDim.x) s+=__expf(logits[t*V+i]-m); for(int o=16;o;o>>=1) s+=__shfl_xor_sync(~0u,s,o); if(threadIdx.x%32==0) sm[threadIdx.x/32]=s; __syncthreads();
  if(threadIdx.x==0){ s=0; for(int w=0;w<blockDim.x/32;w++) s+=sm[w]; loss[t]=logf(s)+m-logits[t*V+label[t]]; }
}
__global__ void adam_step(float* __restrict__ p, const float* __restrict__ g, float* __restrict__ m, float* __restrict__ v, float lr, float b1, float b2, long n){
  long i=(blockIdx.x*(long)blockDim.x+threadIdx.x)*4; if(i+3<n){ float4 G=*(float4*)(g+i), M=*(float4*)(m+i), V=*(float4*)(v+i), P=*(float4*)(p+i);
   #define S(c) M.c=b1*M.c+(1-b1)*G.c; V.c=b2*V.c+(1-b2)*G.c*G.c; P.c-=lr*M.c*rsqrtf(V.c+1e-8f);
   S(x) S(y) S(z) S(w) *(float4*)(m+i)=M; *(float4*)(v+i)=V; *(float4*)(p+i)=P; }
}
__global__ void dropout_philoxish(float* __restrict__ y, const float* __restrict__ x, unsigned seed, float keep, int n){
  int i=blockIdx.x*blockDim.x+threadIdx.x; if(i>=n) return; unsigned a=seed^i, b=i*0x9E3779B9u; for(int r=0;r<10;r++){ unsigned hi=__umulhi(a,0xD2511F53u), lo=a*0xD2511F53u; a=hi^b^seed; b=lo; } y[i]=(a*2.3283e-10f)<keep? x[i]/keep:0.f;
}
__global__ void embed_pos_bf16(bf* __restrict__ out, const bf* __restrict__ tok, const bf* __restrict__ pos, const int* __restrict__ ids, int T, int d){
  long t=blockIdx.x; int id=ids[t]; for(int i=threadIdx.x;i<d;i+=blockDim.x) out[t*d+i]=__hadd(tok[(long)id*d+i],pos[(t%T)*d+i]);
}
__global__ void softmax_temp_half(half* __restrict__ y, const half* __restrict__ x, int V, float inv){
  extern __shared__ float row[]; long t=blockIdx.x; float m=-1e30f; for(int i=threadIdx.x;i<V;i+=blockDim.x){ float v=__half2float(x[t*V+i])*inv; row[i]=v; m=fmaxf(m,v);} 
  __shared__ float sm[32]; for(int o=16;o;o>>=1) m=fmaxf(m,__shfl_xor_sync(~0u,m,o)); if(threadIdx.x%32==0) sm[threadIdx.x/32]=m; __syncthreads(); m=sm[0]; for(int w=1;w<blockDim.x/32;w++) m=fmaxf(m,sm[w]); __syncthreads();
  float s=0; for(int i=threadIdx.x;i<V;i+=blockDim.x){ float e=__expf(row[i]-m); row[i]=e; s+=e; } for(int o=16;o;o>>=1) s+=__shfl_xor_sync(~0u,s,o); if(threadIdx.x%32==0) sm[threadIdx.x/32]=s; __syncthreads(); s=0; for(int w=0;w<blockDim.x/32;w++) s+=sm[w];
  for(int i=threadIdx.x;i<V;i+=blockDim.x) y[t*V+i]=__float2half(row[i]/s);
}
}
