// Divisions, roots and reciprocals by their operands: which take the long way, its instructions and clocks.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
typedef unsigned long long word;
enum { NONE32, DIV32, RCP32, SQRT32, FULL32, NONE64, DIV64, RCP64, SQRT64, RSQRT64, UDIV, SDIV, UREM, SREM, OPS };
const char* NAMES[] = {"none32",  "div.rn.f32", "rcp.rn.f32", "sqrt.rn.f32", "div.full.f32",
                       "none64",  "div.rn.f64", "rcp.rn.f64", "sqrt.rn.f64", "rsqrt.approx.f64",
                       "div.u64", "div.s64",    "rem.u64",    "rem.s64"};
template <int OP>
__device__ __forceinline__ word once(word a, word b) {
  if constexpr (OP == NONE32) return a;
  if constexpr (OP >= DIV32 && OP <= FULL32) {
    float x = __int_as_float((int)a), y = __int_as_float((int)b), r;
    if constexpr (OP == DIV32) asm volatile("div.rn.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
    if constexpr (OP == RCP32) asm volatile("rcp.rn.f32 %0, %1;" : "=f"(r) : "f"(x));
    if constexpr (OP == SQRT32) asm volatile("sqrt.rn.f32 %0, %1;" : "=f"(r) : "f"(x));
    if constexpr (OP == FULL32) asm volatile("div.full.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
    return (unsigned)__float_as_int(r);
  }
  if constexpr (OP == NONE64) return a;
  if constexpr (OP >= DIV64 && OP <= RSQRT64) {
    double x = __longlong_as_double((long long)a), y = __longlong_as_double((long long)b), r;
    if constexpr (OP == DIV64) asm volatile("div.rn.f64 %0, %1, %2;" : "=d"(r) : "d"(x), "d"(y));
    if constexpr (OP == RCP64) asm volatile("rcp.rn.f64 %0, %1;" : "=d"(r) : "d"(x));
    if constexpr (OP == SQRT64) asm volatile("sqrt.rn.f64 %0, %1;" : "=d"(r) : "d"(x));
    if constexpr (OP == RSQRT64) asm volatile("rsqrt.approx.f64 %0, %1;" : "=d"(r) : "d"(x));
    return (word)__double_as_longlong(r);
  }
  word r = 0;
  if constexpr (OP == UDIV) asm volatile("div.u64 %0, %1, %2;" : "=l"(r) : "l"(a), "l"(b));
  if constexpr (OP == SDIV) asm volatile("div.s64 %0, %1, %2;" : "=l"(r) : "l"(a), "l"(b));
  if constexpr (OP == UREM) asm volatile("rem.u64 %0, %1, %2;" : "=l"(r) : "l"(a), "l"(b));
  if constexpr (OP == SREM) asm volatile("rem.s64 %0, %1, %2;" : "=l"(r) : "l"(a), "l"(b));
  return r;
}
// n in turn, each with the same operands, which the one before is made to decide
template <int OP>
__device__ __forceinline__ word chain(word a, word b, word nothing, int n) {
  word x = a, r = 0;
#pragma unroll 1
  for (int k = 0; k < n; ++k) {
    r = once<OP>(x, b);
    if constexpr (OP <= FULL32)
      x = (unsigned)(((unsigned)r & (unsigned)nothing) | (unsigned)a);
    else
      x = (r & nothing) | a;
  }
  return r;
}
template <int OP>
__global__ void chains(const word* a, const word* b, word* out, long long* clocks, word nothing, int n) {
  word x = a[threadIdx.x & 31], y = b[threadIdx.x & 31];
  __syncthreads();
  long long begin = clock64();
  word r = chain<OP>(x, y, nothing, n);
  __syncthreads();
  long long end = clock64();
  out[blockIdx.x * blockDim.x + threadIdx.x] = r;
  if (threadIdx.x == 0) clocks[blockIdx.x] = end - begin;
}
// clocks of a few for each pair of operands: a row of b for each a
template <int OP>
__global__ void map(const word* a, const word* b, unsigned short* clocks, word* out, word nothing, int many) {
  word sum = 0;
  for (int j = threadIdx.x / 32; j < many; j += blockDim.x / 32) {
    word x = a[blockIdx.x], y = b[j];
    asm volatile("" : "+l"(x), "+l"(y));
    long long begin = clock64();
    word r = chain<OP>(x, y, nothing, 4);
    asm volatile("" : "+l"(r) : : "memory");
    if (r == 0x123456789abcdefull) sum += 1;
    long long end = clock64();
    sum += r;
    if (threadIdx.x % 32 == 0) clocks[blockIdx.x * many + j] = (unsigned short)min(end - begin, 65535ll);
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
struct Case {
  const char* name;
  word a, b;
};
word F(float x) {
  unsigned u;
  memcpy(&u, &x, 4);
  return u;
}
word D(double x) {
  word u;
  memcpy(&u, &x, 8);
  return u;
}
word *da, *db, *out;
long long* clk;
unsigned short* grid;
template <int OP>
void measure(std::vector<Case> cases, bool counting) {
  int n = 256;
  for (auto& c : cases)
    for (int lanes : {32, 1}) {
      if (&c == &cases[0] && lanes == 1) continue;
      word ha[32], hb[32];
      for (int i = 0; i < 32; ++i) {
        bool odd = lanes == 32 || i == 5;
        ha[i] = odd ? c.a : cases[0].a;
        hb[i] = odd ? c.b : cases[0].b;
      }
      cudaMemcpy(da, ha, 256, cudaMemcpyHostToDevice);
      cudaMemcpy(db, hb, 256, cudaMemcpyHostToDevice);
      if (counting) {
        chains<OP><<<1, 32>>>(da, db, out, clk, 0, n);
        cudaDeviceSynchronize();
        fprintf(stderr, "CASE,%s,%s,%d\n", NAMES[OP], c.name, lanes);
        continue;
      }
      double per[3];
      int k = 0;
      word first = 0;
      for (int warps : {1, 8, 32}) {
        for (int r = 0; r < 2; ++r) chains<OP><<<warps == 1 ? 1 : 132, 32 * warps>>>(da, db, out, clk, 0, n);
        long long t;
        cudaMemcpy(&t, clk, 8, cudaMemcpyDeviceToHost);
        cudaMemcpy(&first, out + 5, 8, cudaMemcpyDeviceToHost);
        per[k++] = double(t) / n;
      }
      printf("%s,%s,%d,%.2f,%.2f,%.2f,%llx\n", NAMES[OP], c.name, lanes, per[0], per[1], per[2], first);
    }
}
template <int OP>
void mapped(const std::vector<word>& a, const std::vector<word>& b, FILE* f) {
  cudaMemcpy(da, a.data(), 8 * a.size(), cudaMemcpyHostToDevice);
  cudaMemcpy(db, b.data(), 8 * b.size(), cudaMemcpyHostToDevice);
  for (int r = 0; r < 2; ++r) map<OP><<<a.size(), 128>>>(da, db, grid, out, 0, b.size());
  std::vector<unsigned short> h(a.size() * b.size());
  cudaMemcpy(h.data(), grid, 2 * h.size(), cudaMemcpyDeviceToHost);
  // runs of about equal clocks along b
  for (size_t i = 0; i < a.size(); ++i) {
    fprintf(f, "%s,%llx", NAMES[OP], a[i]);
    size_t j = 0;
    while (j < b.size()) {
      size_t e = j;
      unsigned long long s = 0;
      while (e < b.size() && abs((int)h[i * b.size() + e] - (int)h[i * b.size() + j]) < 60) s += h[i * b.size() + e++];
      fprintf(f, ",%zu-%zu:%llu", j, e - 1, s / (e - j));
      j = e;
    }
    fprintf(f, "\n");
  }
}
int main(int argc, char** argv) {
  bool counting = argc > 1 && !strcmp(argv[1], "count");
  cudaMalloc(&da, 8 * 8192);
  cudaMalloc(&db, 8 * 8192);
  cudaMalloc(&out, 8 << 20);
  cudaMalloc(&clk, 8 * 1024);
  cudaMalloc(&grid, 2 * 4096 * 4096);
  if (!counting) printf("op,case,lanes,clocks_1_warp,clocks_8_warps,clocks_32_warps,result\n");
  float den = 1e-40f, inf = INFINITY;
  double dden = 1e-310;
  std::vector<Case> one32 = {{"usual", F(1.7f), F(1.3f)}};
  measure<NONE32>(one32, counting);
  std::vector<Case> div32 = {{"usual", F(1.7f), F(1.3f)},
                             {"zero_above", F(0.f), F(1.3f)},
                             {"minus_zero_above", F(-0.f), F(1.3f)},
                             {"subnormal_above", F(den), F(1.3f)},
                             {"small_above", F(1e-37f), F(1.3f)},
                             {"1e-30_above", F(1e-30f), F(1.3f)},
                             {"1e-20_above", F(1e-20f), F(1.3f)},
                             {"1e30_above", F(1e30f), F(1.3f)},
                             {"3e38_above", F(3e38f), F(1.3f)},
                             {"zero_below", F(1.7f), F(0.f)},
                             {"subnormal_below", F(1.7f), F(den)},
                             {"1e-30_below", F(1.7f), F(1e-30f)},
                             {"1e-37_below", F(1.7f), F(1e-37f)},
                             {"1e30_below", F(1.7f), F(1e30f)},
                             {"1e37_below", F(1.7f), F(1e37f)},
                             {"1e38_below", F(1.7f), F(1e38f)},
                             {"3e38_below", F(1.7f), F(3e38f)},
                             {"result_subnormal", F(1e-30f), F(1e10f)},
                             {"result_zero", F(1e-30f), F(1e30f)},
                             {"result_inf", F(1e30f), F(1e-30f)},
                             {"result_1e37", F(1e20f), F(1e-17f)},
                             {"both_zero", F(0.f), F(0.f)},
                             {"inf_above", F(inf), F(1.3f)},
                             {"inf_below", F(1.7f), F(inf)},
                             {"nan_above", F(NAN), F(1.3f)},
                             {"both_small", F(1e-38f), F(1.3e-38f)},
                             {"both_subnormal", F(1e-39f), F(1.3e-39f)},
                             {"both_1e-30", F(1.7e-30f), F(1.3e-30f)},
                             {"both_large", F(2e38f), F(3e38f)}};
  measure<DIV32>(div32, counting);
  measure<FULL32>(div32, counting);
  std::vector<Case> r32 = {{"usual", F(1.7f), 0},     {"zero", F(0.f), 0},     {"subnormal", F(den), 0},
                           {"1e-37", F(1e-37f), 0},   {"1e-30", F(1e-30f), 0}, {"1e30", F(1e30f), 0},
                           {"1e37", F(1e37f), 0},     {"1e38", F(1e38f), 0},   {"3e38", F(3e38f), 0},
                           {"inf", F(inf), 0},        {"nan", F(NAN), 0},      {"minus", F(-1.7f), 0},
                           {"minus_zero", F(-0.f), 0}};
  measure<RCP32>(r32, counting);
  measure<SQRT32>(r32, counting);
  std::vector<Case> one64 = {{"usual", D(1.7), D(1.3)}};
  measure<NONE64>(one64, counting);
  std::vector<Case> div64 = {{"usual", D(1.7), D(1.3)},
                             {"zero_above", D(0.), D(1.3)},
                             {"subnormal_above", D(dden), D(1.3)},
                             {"1e-307_above", D(1e-307), D(1.3)},
                             {"1e-300_above", D(1e-300), D(1.3)},
                             {"1e-290_above", D(1e-290), D(1.3)},
                             {"1e-280_above", D(1e-280), D(1.3)},
                             {"1e-200_above", D(1e-200), D(1.3)},
                             {"1e300_above", D(1e300), D(1.3)},
                             {"zero_below", D(1.7), D(0.)},
                             {"subnormal_below", D(1.7), D(dden)},
                             {"1e-307_below", D(1.7), D(1e-307)},
                             {"1e300_below", D(1.7), D(1e300)},
                             {"1e308_below", D(1.7), D(1.5e308)},
                             {"result_subnormal", D(1e-200), D(1e110)},
                             {"result_zero", D(1e-200), D(1e200)},
                             {"result_inf", D(1e200), D(1e-200)},
                             {"result_1e-295", D(1e-200), D(1e95)},
                             {"both_zero", D(0.), D(0.)},
                             {"inf_above", D(INFINITY), D(1.3)},
                             {"inf_below", D(1.7), D(INFINITY)},
                             {"nan_above", D(NAN), D(1.3)},
                             {"both_small", D(1e-300), D(1.3e-300)}};
  measure<DIV64>(div64, counting);
  std::vector<Case> r64 = {{"usual", D(1.7), 0},     {"zero", D(0.), 0},       {"subnormal", D(dden), 0},
                           {"1e-307", D(1e-307), 0}, {"1e-300", D(1e-300), 0}, {"1e-290", D(1e-290), 0},
                           {"1e-280", D(1e-280), 0}, {"1e300", D(1e300), 0},   {"1e308", D(1.5e308), 0},
                           {"inf", D(INFINITY), 0},  {"nan", D(NAN), 0},       {"minus", D(-1.7), 0}};
  measure<RCP64>(r64, counting);
  measure<SQRT64>(r64, counting);
  measure<RSQRT64>(r64, counting);
  std::vector<Case> whole = {{"usual", 0x123456789abcdef0ull, 0x987654321ull},
                             {"both_32_bits", 1000003, 1237},
                             {"above_32_bits", 1000003, 0x987654321ull},
                             {"below_32_bits", 0x123456789abcdef0ull, 1237},
                             {"both_31_bits", 0x7fffffff, 7},
                             {"unsigned_32_bits", 0xfffffff1, 0x80000001},
                             {"minus_small", (word)-1000003ll, 1237},
                             {"zero_above", 0, 1237}};
  measure<UDIV>(whole, counting);
  measure<SDIV>(whole, counting);
  measure<UREM>(whole, counting);
  measure<SREM>(whole, counting);
  if (counting) return 0;
  FILE* f = fopen(argv[1], "w");
  fprintf(f, "op,a,runs of b: clocks of four\n");
  std::vector<word> e32, m32, e64, few64, bits;
  for (int e = 0; e < 256; ++e) {
    e32.push_back((word)e << 23 | 0x2aaaab);
    m32.push_back((word)e << 23);
  }
  for (int e = 0; e < 2048; ++e) e64.push_back((word)e << 52 | 0x5555512345678ull);
  for (int e = 0; e < 2048; e += (e < 128 || e > 1920) ? 4 : 64) few64.push_back((word)e << 52 | 0x3333312345678ull);
  for (int e = 0; e < 64; ++e) bits.push_back((1ull << e) | (e > 5 ? 5 : 0));
  std::vector<word> nothing = {0};
  mapped<DIV32>(e32, e32, f);
  mapped<DIV32>(m32, m32, f);
  mapped<RCP32>(nothing, e32, f);
  // unary: operands along b
  fclose(f);
  f = fopen(argv[2], "w");
  fprintf(f, "op,a,runs of b: clocks of four\n");
  mapped<DIV64>(few64, e64, f);
  mapped<UDIV>(bits, bits, f);
  mapped<SDIV>(bits, bits, f);
  // unary ones: a column each
  mapped<RCP32>(e32, nothing, f);
  mapped<RCP32>(m32, nothing, f);
  mapped<SQRT32>(e32, nothing, f);
  mapped<SQRT32>(m32, nothing, f);
  mapped<RCP64>(e64, nothing, f);
  mapped<SQRT64>(e64, nothing, f);
  mapped<RSQRT64>(e64, nothing, f);
  fclose(f);
  printf("# %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
