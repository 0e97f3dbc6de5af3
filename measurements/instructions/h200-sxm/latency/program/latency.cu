// Latency and throughput of instructions: ILP chains a thread, each instruction waits for the last.
// Prints: op,ilp,warps,blocks,clocks   (clocks of a block for each instruction of a chain, of all chains)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <algorithm>
#include <cstdio>
#include <vector>
typedef unsigned int u32;
typedef unsigned long long u64;
#define COPIES 32
template <class T> __device__ T first(u32 s);
template <> __device__ float first<float>(u32 s) { return 1.0f + (s * 2654435761u >> 9) * 1e-7f; }
template <> __device__ double first<double>(u32 s) { return 1.0 + (s * 2654435761u >> 9) * 1e-9; }
template <> __device__ u32 first<u32>(u32 s) { return s * 2654435761u + 12345u; }
template <> __device__ u64 first<u64>(u32 s) { return s * 0x9e3779b97f4a7c15ull + 12345u; }
__device__ inline u32 word(float x) { return __float_as_uint(x); }
__device__ inline u32 word(double x) { return (u32)__double_as_longlong(x); }
__device__ inline u32 word(u32 x) { return x; }
__device__ inline u32 word(u64 x) { return (u32)x ^ (u32)(x >> 32); }
#define OP(NAME, T, ...)                                                                              \
  struct op_##NAME { typedef T type; static __device__ __forceinline__ void step(T& a, T b, T c) { __VA_ARGS__; } };
#define F1(NAME, TEXT) OP(NAME, float, asm volatile(TEXT : "+f"(a) : "f"(b), "f"(c)))
#define D1(NAME, TEXT) OP(NAME, double, asm volatile(TEXT : "+d"(a) : "d"(b), "d"(c)))
#define U1(NAME, TEXT) OP(NAME, u32, asm volatile(TEXT : "+r"(a) : "r"(b), "r"(c)))
#define L1(NAME, TEXT) OP(NAME, u64, asm volatile(TEXT : "+l"(a) : "l"(b), "l"(c)))
F1(fadd, "add.f32 %0, %0, %1;")
F1(fmul, "mul.f32 %0, %0, %1;")
F1(ffma, "fma.rn.f32 %0, %0, %1, %2;")
F1(fmin_, "min.f32 %0, %0, %1;")
F1(fselect, "{.reg .pred p; setp.lt.f32 p, %0, %1; selp.f32 %0, %1, %2, p;}")
F1(predicated, "{.reg .pred p; setp.lt.f32 p, %0, %1; @p mul.f32 %0, %0, %2;}")
F1(ex2, "ex2.approx.ftz.f32 %0, %0;")
F1(lg2, "lg2.approx.ftz.f32 %0, %0;")
F1(rsqrt_, "rsqrt.approx.ftz.f32 %0, %0;")
F1(rcp, "rcp.approx.ftz.f32 %0, %0;")
F1(sqrt_approx, "sqrt.approx.ftz.f32 %0, %0;")
F1(sin_, "sin.approx.ftz.f32 %0, %0;")
F1(tanh_, "tanh.approx.f32 %0, %0;")
F1(rsqrt_scaled, "rsqrt.approx.f32 %0, %0;")
F1(ex2_scaled, "ex2.approx.f32 %0, %0;")
F1(lg2_scaled, "lg2.approx.f32 %0, %0;")
F1(div_rn, "div.rn.f32 %0, %0, %1;")
F1(div_full, "div.full.f32 %0, %0, %1;")
F1(sqrt_rn, "sqrt.rn.f32 %0, %0;")
F1(rcp_rn, "rcp.rn.f32 %0, %0;")
F1(round_, "cvt.rni.f32.f32 %0, %0;")
F1(floor_, "cvt.rmi.f32.f32 %0, %0;")
U1(lop3_, "lop3.b32 %0, %0, %1, %2, 0x96;")
U1(shift, "shf.l.wrap.b32 %0, %0, %1, 7;")
U1(add_xor, "add.u32 %0, %0, %1; xor.b32 %0, %0, %2;")
U1(imad, "mad.lo.u32 %0, %0, %1, %2;")
U1(imulhi, "mul.hi.u32 %0, %0, %1;")
U1(imin, "min.s32 %0, %0, %1; add.u32 %0, %0, %2;")
U1(iselect, "{.reg .pred p; setp.lt.s32 p, %0, %1; selp.b32 %0, %1, %2, p;}")
U1(prmt_, "prmt.b32 %0, %0, %1, 0x3650;")
U1(popc_, "popc.b32 %0, %0;")
U1(clz_, "clz.b32 %0, %0;")
U1(brev_, "brev.b32 %0, %0;")
U1(bfind_, "bfind.u32 %0, %0;")
U1(bfe_, "bfe.u32 %0, %0, %1, 7;")
U1(dp4a_, "dp4a.u32.u32 %0, %0, %1, %2;")
U1(div_u32, "div.u32 %0, %0, %1; or.b32 %0, %0, %2;")
U1(rem_u32, "rem.u32 %0, %0, %1; or.b32 %0, %0, %2;")
U1(div_s32, "div.s32 %0, %0, %1; or.b32 %0, %0, %2;")
U1(shfl_bfly, "shfl.sync.bfly.b32 %0, %0, 5, 31, 0xffffffff;")
U1(shfl_idx, "shfl.sync.idx.b32 %0, %0, %1, 31, 0xffffffff;")
U1(shfl_down, "shfl.sync.down.b32 %0, %0, 3, 31, 0xffffffff;")
U1(ballot, "{.reg .pred p; setp.lt.u32 p, %0, %1; vote.sync.ballot.b32 %0, p, 0xffffffff;}")
U1(any_, "{.reg .pred p; setp.lt.u32 p, %0, %1; vote.sync.any.pred p, p, 0xffffffff; selp.b32 %0, %1, %2, p;}")
U1(match_, "match.any.sync.b32 %0, %0, 0xffffffff;")
U1(redux_, "redux.sync.add.u32 %0, %0, 0xffffffff;")
U1(i2f_f2i, "{.reg .f32 f; cvt.rn.f32.s32 f, %0; cvt.rzi.s32.f32 %0, f;}")
U1(f2i_only, "{.reg .f32 f; mov.b32 f, %0; cvt.rzi.s32.f32 %0, f;}")
U1(i2f_only, "{.reg .f32 f; cvt.rn.f32.s32 f, %0; mov.b32 %0, f;}")
U1(hfma2_, "fma.rn.f16x2 %0, %0, %1, %2;")
U1(hmin2_, "min.f16x2 %0, %0, %1;")
U1(bfma2_, "fma.rn.bf16x2 %0, %0, %1, %2;")
U1(hex2, "ex2.approx.f16x2 %0, %0;")
U1(f2h_h2f, "{.reg .f32 f; .reg .b16 h, g; mov.b32 {h, g}, %0; cvt.f32.f16 f, h; cvt.rn.f16.f32 h, f; mov.b32 %0, {h, g};}")
L1(add64, "add.u64 %0, %0, %1; xor.b64 %0, %0, %2;")
L1(mul64, "mul.lo.u64 %0, %0, %1;")
L1(mad_wide, "{.reg .u32 l, h, m, n; mov.b64 {l, h}, %0; mov.b64 {m, n}, %1; mad.wide.u32 %0, l, m, %2;}")
L1(mulhi64, "mul.hi.u64 %0, %0, %1;")
L1(shift64, "shl.b64 %0, %0, 3; xor.b64 %0, %0, %2;")
L1(div_u64, "div.u64 %0, %0, %1; or.b64 %0, %0, %2;")
D1(dadd, "add.f64 %0, %0, %1;")
D1(dmul, "mul.f64 %0, %0, %1;")
D1(dfma, "fma.rn.f64 %0, %0, %1, %2;")
D1(div_d, "div.rn.f64 %0, %0, %1;")
D1(sqrt_d, "sqrt.rn.f64 %0, %0;")
D1(dselect, "{.reg .pred p; setp.lt.f64 p, %0, %1; selp.f64 %0, %1, %2, p;}")
D1(d2f_f2d, "{.reg .f32 f; cvt.rn.f32.f64 f, %0; cvt.f64.f32 %0, f;}")
D1(d2i_i2d, "{.reg .s32 f; cvt.rzi.s32.f64 f, %0; cvt.rn.f64.s32 %0, f;}")

template <class P, int ILP> __global__ void chain(u32* out, long long* clocks, int iterations, u32 seed) {
  typedef typename P::type T;
  T a[ILP];
  for (int k = 0; k < ILP; ++k) a[k] = first<T>(seed + threadIdx.x * 7 + k);
  T b = first<T>(seed + 3), c = first<T>(seed + 11);
  __syncthreads();
  long long start = clock64();
#pragma unroll 1
  for (int i = 0; i < iterations; ++i) {
#pragma unroll
    for (int j = 0; j < COPIES; ++j)
#pragma unroll
      for (int k = 0; k < ILP; ++k) P::step(a[k], b, c);
  }
  __syncthreads();
  long long stop = clock64();
  if (threadIdx.x == 0) clocks[blockIdx.x] = stop - start;
  u32 all = 0;
  for (int k = 0; k < ILP; ++k) all ^= word(a[k]);
  out[blockIdx.x * blockDim.x + threadIdx.x] = all;
}
// Memory of an SM and control: MODE picks what a step is.
enum { LDS4, LDS8, LDS16, LDS_SPREAD, STS_LDS, LDG_L1, LDG_CONST, ATOMS, BAR, LDSM, MMA, BRANCH, SPLIT, SPLIT_DATA, SREG, LOOP, SYNCWARP, ATOMS_CAS, REDS };
template <int MODE> __global__ void special(u32* out, long long* clocks, int iterations, u32 seed, const u32* links) {
  __shared__ __align__(16) u32 box[4096];
  for (int k = threadIdx.x; k < 4096; k += blockDim.x) box[k] = MODE == LDSM ? 0 : (k * 4 + 512) & 16383 & ~511;
  __syncthreads();
  u32 a = (threadIdx.x & 31) * (MODE == LDS16 ? 16 : MODE == LDS8 ? 8 : 4), b = seed, c = seed * 3;
  u32 base = (u32)__cvta_generic_to_shared(box);
  const u32* at = links + 2 * (threadIdx.x & 31);
  float d[4] = {0, 0, 0, 0};
  if (MODE == LDSM) a = (threadIdx.x & 31) * 16;
  __syncthreads();
  long long start = clock64();
#pragma unroll 1
  for (int i = 0; i < iterations; ++i) {
#pragma unroll
    for (int j = 0; j < (MODE == LOOP ? 1 : COPIES); ++j) {
      if (MODE == LDS4) { asm volatile("ld.shared.u32 %0, [%1];" : "=r"(a) : "r"(a + base)); }
      if (MODE == LDS8) { asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(a + base)); }
      if (MODE == LDS16) { u32 e, f; asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(e), "=r"(f) : "r"(a + base)); c ^= e ^ f; }
      if (MODE == STS_LDS) { asm volatile("st.shared.u32 [%1], %0; ld.shared.u32 %0, [%2];" : "+r"(a) : "r"(base + (threadIdx.x & 31) * 4), "r"(base + ((threadIdx.x ^ 1) & 31) * 4) : "memory"); }
      if (MODE == LDG_L1) { u64 v; asm volatile("ld.global.ca.u64 %0, [%1];" : "=l"(v) : "l"(at)); at = (const u32*)v; }
      if (MODE == LDG_CONST) { u64 v; asm volatile("ld.global.nc.u64 %0, [%1];" : "=l"(v) : "l"(at)); at = (const u32*)v; }
      if (MODE == ATOMS) { asm volatile("atom.shared.add.u32 %0, [%1], %2;" : "=r"(a) : "r"(base + ((threadIdx.x * 4 + (a & 128)) & 255)), "r"(b) : "memory"); }
      if (MODE == ATOMS_CAS) { asm volatile("atom.shared.cas.b32 %0, [%1], %2, %3;" : "=r"(a) : "r"(base + ((threadIdx.x * 4) & 127)), "r"(a), "r"(b) : "memory"); }
      if (MODE == REDS) { asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(base + ((threadIdx.x * 4) & 127)), "r"(b) : "memory"); }
      if (MODE == BAR) { __syncthreads(); }
      if (MODE == SYNCWARP) { __syncwarp(); }
      if (MODE == LDSM) { u32 r; asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r) : "r"(a + base)); a = r + (threadIdx.x & 31) * 16; }
      if (MODE == MMA) asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%4,%5}, {%4,%5}, {%0,%1,%2,%3};" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(b), "r"(c));
      if (MODE == BRANCH) { asm volatile("{.reg .pred p; setp.eq.u32 p, %1, 0; @!p bra.uni skip%=; st.global.u32 [%2], %0; trap; skip%=: xor.b32 %0, %0, %1;}" : "+r"(a) : "r"(seed), "l"(out)); }
      if (MODE == SPLIT) { if (threadIdx.x & 1) asm volatile("popc.b32 %0, %0; popc.b32 %0, %0; add.u32 %0, %0, 77;" : "+r"(a)); else asm volatile("clz.b32 %0, %0; clz.b32 %0, %0; add.u32 %0, %0, 99;" : "+r"(a)); }
      if (MODE == SPLIT_DATA) { if (a & 1) asm volatile("popc.b32 %0, %0; popc.b32 %0, %0; add.u32 %0, %0, 77;" : "+r"(a)); else asm volatile("clz.b32 %0, %0; clz.b32 %0, %0; add.u32 %0, %0, 99;" : "+r"(a)); }
      if (MODE == SREG) { u32 s; asm volatile("mov.u32 %0, %%smid;" : "=r"(s)); a ^= s; asm volatile("" : "+r"(a)); }
      if (MODE == LOOP) { asm volatile("lop3.b32 %0, %0, %1, %2, 0x96;" : "+r"(a) : "r"(b), "r"(c)); }
    }
  }
  __syncthreads();
  long long stop = clock64();
  if (threadIdx.x == 0) clocks[blockIdx.x] = stop - start;
  out[blockIdx.x * blockDim.x + threadIdx.x] = a ^ b ^ c ^ (u32)(u64)at ^ word(d[0] + d[1] + d[2] + d[3]);
}
u32* out; long long* clocks; u64* links; int sms;
template <class F> double each(F launch, int blocks, int copies) {
  double best[2];
  for (int side = 0; side < 2; ++side) {
    std::vector<double> found;
    for (int r = 0; r < 5; ++r) {
      launch(side ? 24 : 8);
      std::vector<long long> c(blocks);
      if (cudaMemcpy(c.data(), clocks, blocks * 8, cudaMemcpyDeviceToHost) != cudaSuccess) { printf("failed %s\n", cudaGetErrorString(cudaGetLastError())); exit(1); }
      std::sort(c.begin(), c.end());
      if (r) found.push_back((double)c[blocks / 2]);
    }
    std::sort(found.begin(), found.end());
    best[side] = found[found.size() / 2];
  }
  return (best[1] - best[0]) / (16.0 * copies);
}
template <class P, int ILP> void one(const char* name, int warps, int blocks) {
  double c = each([&](int n) { chain<P, ILP><<<blocks, warps * 32>>>(out, clocks, n, 3); }, blocks, COPIES);
  printf("%s,%d,%d,%d,%.3f\n", name, ILP, warps, blocks, c);
}
template <class P> void all(const char* name) {
  one<P, 1>(name, 1, 1); one<P, 1>(name, 4, sms); one<P, 1>(name, 8, sms); one<P, 1>(name, 16, sms); one<P, 4>(name, 1, 1); one<P, 4>(name, 4, sms); one<P, 4>(name, 32, sms);
  fflush(stdout);
}
template <int MODE> void other(const char* name) {
  for (int warps : {1, 2, 4, 8, 16, 32}) {
    int blocks = warps == 1 ? 1 : sms;
    double c = each([&](int n) { special<MODE><<<blocks, warps * 32>>>(out, clocks, n, 3, (const u32*)links); }, blocks, MODE == LOOP ? 1 : COPIES);
    printf("%s,1,%d,%d,%.3f\n", name, warps, blocks, c);
  }
  fflush(stdout);
}
#define ALL(x) all<op_##x>(#x);
#define OTHER(x) other<x>(#x);
int main() {
  cudaDeviceProp p; cudaGetDeviceProperties(&p, 0); sms = p.multiProcessorCount;
  cudaMalloc(&out, sms * 1024 * 4); cudaMalloc(&clocks, sms * 8); cudaMalloc(&links, 8 * 64 * 1024);
  std::vector<u64> h(1024);
  for (int k = 0; k < 1024; ++k) h[k] = (u64)links + 8 * ((k + 32) % 1024);
  cudaMemcpy(links, h.data(), 8192, cudaMemcpyHostToDevice);
  printf("op,ilp,warps,blocks,clocks\n");
  ALL(fadd) ALL(fmul) ALL(ffma) ALL(fmin_) ALL(fselect) ALL(predicated) ALL(ex2) ALL(lg2) ALL(rsqrt_) ALL(rcp) ALL(sqrt_approx) ALL(sin_) ALL(tanh_)
  ALL(rsqrt_scaled) ALL(ex2_scaled) ALL(lg2_scaled) ALL(div_rn) ALL(div_full) ALL(sqrt_rn) ALL(rcp_rn) ALL(round_) ALL(floor_)
  ALL(lop3_) ALL(shift) ALL(add_xor) ALL(imad) ALL(imulhi) ALL(imin) ALL(iselect) ALL(prmt_) ALL(popc_) ALL(clz_) ALL(brev_) ALL(bfind_) ALL(bfe_) ALL(dp4a_)
  ALL(div_u32) ALL(rem_u32) ALL(div_s32) ALL(shfl_bfly) ALL(shfl_idx) ALL(shfl_down) ALL(ballot) ALL(any_) ALL(match_) ALL(redux_)
  ALL(i2f_f2i) ALL(f2i_only) ALL(i2f_only) ALL(hfma2_) ALL(hmin2_) ALL(bfma2_) ALL(hex2) ALL(f2h_h2f)
  ALL(add64) ALL(mul64) ALL(mad_wide) ALL(mulhi64) ALL(shift64) ALL(div_u64)
  ALL(dadd) ALL(dmul) ALL(dfma) ALL(div_d) ALL(sqrt_d) ALL(dselect) ALL(d2f_f2d) ALL(d2i_i2d)
  OTHER(LDS4) OTHER(LDS8) OTHER(LDS16) OTHER(STS_LDS) OTHER(LDG_L1) OTHER(LDG_CONST) OTHER(ATOMS) OTHER(ATOMS_CAS) OTHER(REDS) OTHER(BAR) OTHER(SYNCWARP) OTHER(LDSM) OTHER(MMA) OTHER(BRANCH) OTHER(SPLIT) OTHER(SPLIT_DATA) OTHER(SREG) OTHER(LOOP)
}
