// Instructions of one kind between those of another: clocks of an SM with 4 to 64 warps.
#include <cuda_runtime.h>

#include <cstdio>
enum {
  NONE,
  FFMA,
  LOP,
  IADD,
  SHF,
  IMAD,
  WIDE,
  HI,
  DFMA,
  DSETP,
  MULW,
  MUFU,
  F2I,
  I2D,
  HFMA,
  POPC,
  DP4A,
  PRMT,
  FCHK,
  LDS,
  SHFL,
  FMNMX,
  ISETP,
  KINDS
};
const char* NAMES[] = {"none", "ffma",  "lop3",     "iadd3", "shf",  "imad",    "imad.wide", "imad.hi",
                       "dfma", "dsetp", "mul.wide", "mufu",  "f2i",  "i2f.f64", "hfma2",     "popc",
                       "dp4a", "prmt",  "fchk",     "lds",   "shfl", "fmnmx",   "isetp"};
template <int A>
__device__ __forceinline__ void one(unsigned& x, float& f, double& d, unsigned long long& w, unsigned k, float m,
                                    double e, unsigned at) {
  if constexpr (A == FFMA) asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(f) : "f"(m));
  if constexpr (A == LOP) asm volatile("lop3.b32 %0, %0, %1, %1, 0x96;" : "+r"(x) : "r"(k));
  if constexpr (A == IADD) asm volatile("{.reg .u32 t; add.u32 t, %0, %1; add.u32 %0, t, %1;}" : "+r"(x) : "r"(k));
  if constexpr (A == SHF) asm volatile("shf.l.wrap.b32 %0, %0, %1, 7;" : "+r"(x) : "r"(k));
  if constexpr (A == IMAD) asm volatile("mad.lo.u32 %0, %0, %1, %1;" : "+r"(x) : "r"(k));
  if constexpr (A == WIDE)
    asm volatile("{.reg .b32 l, h; mov.b64 {l, h}, %0; mad.wide.u32 %0, l, %1, %0;}" : "+l"(w) : "r"(k));
  if constexpr (A == HI) asm volatile("mul.hi.u32 %0, %0, %1;" : "+r"(x) : "r"(k));
  if constexpr (A == DFMA) asm volatile("fma.rn.f64 %0, %0, %1, %1;" : "+d"(d) : "d"(e));
  if constexpr (A == DSETP)
    asm volatile("{.reg .pred p; setp.lt.f64 p, %1, %2; selp.u32 %0, %0, %3, p;}" : "+r"(x) : "d"(d), "d"(e), "r"(k));
  if constexpr (A == MULW)
    asm volatile("{.reg .b32 l, h; mov.b64 {l, h}, %0; mul.wide.u32 %0, l, %1;}" : "+l"(w) : "r"(k));
  if constexpr (A == MUFU) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(f));
  if constexpr (A == F2I) asm volatile("{.reg .f32 t; mov.b32 t, %0; cvt.rzi.u32.f32 %0, t;}" : "+r"(x));
  if constexpr (A == I2D)
    asm volatile("{.reg .b32 h; .reg .f64 t; cvt.rn.f64.u32 t, %0; mov.b64 {h, %0}, t;}" : "+r"(x));
  if constexpr (A == HFMA) asm volatile("fma.rn.f16x2 %0, %0, %1, %1;" : "+r"(x) : "r"(k));
  if constexpr (A == POPC) asm volatile("popc.b32 %0, %0;" : "+r"(x));
  if constexpr (A == DP4A) asm volatile("dp4a.u32.u32 %0, %0, %1, %0;" : "+r"(x) : "r"(k));
  if constexpr (A == PRMT) asm volatile("prmt.b32 %0, %0, %1, 0x2103;" : "+r"(x) : "r"(k));
  if constexpr (A == FCHK) asm volatile("div.rn.f32 %0, %0, %1;" : "+f"(f) : "f"(m));
  if constexpr (A == LDS) asm volatile("ld.shared.u32 %0, [%0];" : "+r"(x));
  if constexpr (A == SHFL) asm volatile("shfl.sync.bfly.b32 %0, %0, 1, 31, -1;" : "+r"(x));
  if constexpr (A == FMNMX) asm volatile("min.f32 %0, %0, %1;" : "+f"(f) : "f"(m));
  if constexpr (A == ISETP)
    asm volatile("{.reg .pred p; setp.lt.u32 p, %0, %1; selp.u32 %0, %0, %1, p;}" : "+r"(x) : "r"(k));
}
template <int A, int B, int NA, int NB>
__global__ void __launch_bounds__(1024) mixed(long long* clocks, unsigned* out, unsigned k, float m, double e, int n) {
  __shared__ unsigned bank[1024];
  unsigned x[4], y[4];
  float f[4], g[4];
  double d[4], h[4];
  unsigned long long w[4], v[4];
  for (int i = 0; i < 4; ++i) {
    x[i] = threadIdx.x + i;
    y[i] = x[i] * k;
    f[i] = g[i] = m + i;
    d[i] = h[i] = e + i;
    w[i] = v[i] = x[i];
  }
  unsigned at = (unsigned)__cvta_generic_to_shared(bank + threadIdx.x);
  bank[threadIdx.x] = at;
  if (A == LDS)
    for (int i = 0; i < 4; ++i) x[i] = at;
  __syncthreads();
  long long begin = clock64();
  asm volatile("" ::: "memory");
#pragma unroll 1
  for (int t = 0; t < n; ++t) {
    constexpr int MOST = NA > NB ? NA : NB;
#pragma unroll
    for (int j = 0; j < MOST; ++j) {
      if (j < NA) one<A>(x[j % 4], f[j % 4], d[j % 4], w[j % 4], k, m, e, at);
      if constexpr (NB > 0) {
        for (int q = j * NB / MOST; q < (j + 1) * NB / MOST; ++q)
          one<B>(y[q % 4], g[q % 4], h[q % 4], v[q % 4], k, m, e, at);
      }
    }
  }
  long long end = clock64();
  unsigned s = 0;
  for (int i = 0; i < 4; ++i)
    s += x[i] + y[i] + (unsigned)f[i] + (unsigned)g[i] + (unsigned)d[i] + (unsigned)h[i] + (unsigned)w[i] +
         (unsigned)v[i];
  out[threadIdx.x] = s;
  if (threadIdx.x % 32 == 0) {
    clocks[threadIdx.x / 32] = begin;
    clocks[32 + threadIdx.x / 32] = end;
  }
}
long long* clk;
unsigned* out;
template <int A, int B, int NA, int NB>
void run() {
  printf("%s,%s,%d,%d", NAMES[A], NAMES[B], NA, NB);
  for (int warps : {4, 16, 32}) {
    for (int r = 0; r < 2; ++r) mixed<A, B, NA, NB><<<1, 32 * warps>>>(clk, out, 3, 0.7f, 0.3, 128);
    long long h[64], first, last;
    cudaMemcpy(h, clk, sizeof h, cudaMemcpyDeviceToHost);
    first = h[0];
    last = h[32];
    for (int i = 1; i < warps; ++i) {
      if (h[i] < first) first = h[i];
      if (h[32 + i] > last) last = h[32 + i];
    }
    long long t = last - first;
    printf(",%.2f", t / 128.0 / (warps / 4));
  }
  printf("\n");
}
template <int A>
void all() {
  run<A, NONE, 16, 0>();
  run<A, FFMA, 16, 16>();
  run<A, LOP, 16, 16>();
  run<A, FFMA, 16, 48>();
  run<A, LOP, 16, 32>();
  run<A, IMAD, 16, 16>();
}
int main() {
  cudaMalloc(&clk, 512);
  cudaMalloc(&out, 4096);
  printf("a,b,a_each,b_each,clocks_1_warp_a_scheduler,clocks_4,clocks_8\n");
  run<FFMA, NONE, 32, 0>();
  run<LOP, NONE, 32, 0>();
  run<FFMA, LOP, 32, 32>();
  run<FFMA, LOP, 48, 16>();
  all<IADD>();
  all<SHF>();
  all<IMAD>();
  all<WIDE>();
  all<HI>();
  all<DFMA>();
  all<DSETP>();
  all<MUFU>();
  all<MULW>();
  all<F2I>();
  all<I2D>();
  all<HFMA>();
  all<POPC>();
  all<DP4A>();
  all<PRMT>();
  all<FCHK>();
  all<LDS>();
  all<SHFL>();
  all<FMNMX>();
  all<ISETP>();
  run<DFMA, WIDE, 16, 16>();
  run<MUFU, WIDE, 16, 16>();
  run<DFMA, MUFU, 16, 8>();
  run<HFMA, WIDE, 16, 16>();
  run<LDS, WIDE, 16, 16>();
  run<MUFU, F2I, 16, 16>();
  run<MUFU, F2I, 8, 8>();
  run<MUFU, I2D, 8, 8>();
  run<DFMA, I2D, 16, 4>();
  run<DFMA, FFMA, 16, 32>();
  run<DFMA, LOP, 16, 8>();
  run<DFMA, FFMA, 8, 32>();
  run<MUFU, FFMA, 4, 32>();
  run<MUFU, FFMA, 8, 32>();
  run<MULW, FFMA, 8, 32>();
  run<HI, FFMA, 8, 32>();
  fprintf(stderr, "%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
