// Clocks of an SM for instructions of one pipe and of several: shuffles beside L1, products beside other integers.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <algorithm>
#include <vector>
#include <cuda_runtime.h>
constexpr int TRIPS = 128;
__device__ __forceinline__ void meet(long long* out, int end) {
  __syncthreads();
  if (threadIdx.x == 0) out[2 * blockIdx.x + end] = clock64();
}
template <int SHUFFLES, int LOADS, int FMAS, int XORS, int HITS>
__global__ void __launch_bounds__(1024) mixed(long long* clocks, float* out, const float* in, float m, int n, int k) {
  __shared__ float bank[2048];
  int t = threadIdx.x;
  bank[t] = m * t; bank[t + 1024] = m;
  float s[4], f[4], l[4] = {0, 0, 0, 0}; unsigned x[4];
  for (int i = 0; i < 4; ++i) { s[i] = t * 0.1f + i; f[i] = m + i; x[i] = t * k + i; }
  meet(clocks, 0);
#pragma unroll 1
  for (int trip = 0; trip < n; ++trip) {
    volatile float* b = bank + (t ^ (trip & 31));
#pragma unroll
    for (int j = 0; j < 32; ++j) {
      if (j < SHUFFLES) s[j % 4] = __shfl_xor_sync(~0u, s[j % 4], 1 + j % 16);
      if (j < LOADS) l[j % 4] += b[j * 32 % 1024];
      if (j < HITS) l[j % 4] += __ldca(in + (t ^ (trip & 31)) + j * 32);
      if (j < FMAS) f[j % 4] = f[j % 4] * m + 0.5f;
      if (j < XORS) x[j % 4] = (x[j % 4] ^ k) & (x[(j + 1) % 4] | n);
    }
  }
  meet(clocks, 1);
  float y = 0;
  for (int i = 0; i < 4; ++i) y += s[i] + f[i] + l[i] + x[i];
  if (y == 1.2345f) out[t] = y;
}
template <int WHICH, int XORS, int SUMS, int FMAS>
__global__ void __launch_bounds__(1024) products(long long* clocks, float* out, unsigned m, unsigned long long w, float a, int n) {
  int t = threadIdx.x;
  unsigned u[4], x[4]; unsigned long long q[4]; float f[4];
  for (int i = 0; i < 4; ++i) { u[i] = t * m + i; x[i] = t + i; q[i] = w * t + i; f[i] = t + a; }
  meet(clocks, 0);
#pragma unroll 1
  for (int trip = 0; trip < n; ++trip) {
#pragma unroll
    for (int j = 0; j < 16; ++j) {
      int i = j % 4;
      if (WHICH == 0) asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(u[i]) : "r"(m), "r"(t));
      if (WHICH == 1) asm volatile("{.reg .u32 a, b; mov.b64 {a, b}, %0; mad.wide.u32 %0, b, %1, %2;}" : "+l"(q[i]) : "r"(m), "l"(q[(i + 1) % 4]));
      if (WHICH == 2) asm volatile("mul.hi.u32 %0, %0, %1;" : "+r"(u[i]) : "r"(m));
      if (WHICH == 3) asm volatile("mul.lo.u64 %0, %0, %1;" : "+l"(q[i]) : "l"(w));
      if (WHICH == 4) asm volatile("mul.hi.u64 %0, %0, %1;" : "+l"(q[i]) : "l"(w));
      if (WHICH == 5) asm volatile("add.u64 %0, %0, %1;" : "+l"(q[i]) : "l"(w));
      if (WHICH == 6) asm volatile("{.reg .u32 a, b; mov.b64 {a, b}, %0; mul.wide.u32 %0, b, %1;}" : "+l"(q[i]) : "r"(m));
      if (j < XORS) x[i] = (x[i] ^ m) & (x[(i + 1) % 4] | n);
      if (j < SUMS) asm volatile("add.u32 %0, %0, %1;" : "+r"(x[i]) : "r"(t));
      if (j < FMAS) f[i] = f[i] * a + 0.5f;
    }
  }
  meet(clocks, 1);
  float y = 0;
  for (int i = 0; i < 4; ++i) y += u[i] + x[i] + (float)q[i] + f[i];
  if (y == 1.2345f) out[t] = y;
}
static long long* clocks; static float* out; static char* in;
static void say(const char* kind, const char* what) {
  cudaError_t e = cudaDeviceSynchronize();
  if (e != cudaSuccess) { printf("%s,%s,error %s\n", kind, what, cudaGetErrorString(e)); exit(1); }
  std::vector<long long> c(264); cudaMemcpy(c.data(), clocks, 264 * 8, cudaMemcpyDeviceToHost);
  std::vector<double> d; for (int b = 0; b < 132; ++b) d.push_back(double(c[2 * b + 1] - c[2 * b]) / TRIPS / 32);
  std::sort(d.begin(), d.end());
  printf("%s,%s,%.3f,%.3f,%.3f\n", kind, what, d[66], d[0], d[131]);
}
#define MIX(S, L, F, X, H) for (int r = 0; r < 2; ++r) mixed<S, L, F, X, H><<<132, 1024>>>(clocks, out, (const float*)in, 0.5f, TRIPS, 7); say("mixed", #S " " #L " " #F " " #X " " #H);
#define MUL(W, X, S, F) for (int r = 0; r < 2; ++r) products<W, X, S, F><<<132, 1024>>>(clocks, out, 77u, 0x123456789ABCDEFull, 0.7f, TRIPS); say("products", #W " " #X " " #S " " #F);
int main() {
  cudaMalloc(&clocks, 264 * 8); cudaMalloc(&out, 8192); cudaMalloc(&in, 1 << 20); cudaMemset(in, 0, 1 << 20);
  printf("kind,what,clocks,least,most\n");
  MIX(8, 0, 0, 0, 0) MIX(16, 0, 0, 0, 0) MIX(32, 0, 0, 0, 0) MIX(0, 16, 0, 0, 0) MIX(0, 32, 0, 0, 0) MIX(16, 16, 0, 0, 0) MIX(8, 24, 0, 0, 0)
  MIX(16, 0, 16, 0, 0) MIX(16, 0, 32, 0, 0) MIX(8, 0, 32, 0, 0) MIX(16, 0, 0, 16, 0) MIX(8, 0, 0, 32, 0) MIX(0, 16, 32, 0, 0) MIX(8, 8, 32, 0, 0) MIX(0, 0, 32, 0, 0) MIX(0, 0, 0, 32, 0) MIX(16, 0, 32, 16, 0)
  MIX(0, 0, 0, 0, 16) MIX(16, 0, 0, 0, 16) MIX(0, 16, 0, 0, 16)
  MUL(0, 0, 0, 0) MUL(1, 0, 0, 0) MUL(2, 0, 0, 0) MUL(3, 0, 0, 0) MUL(4, 0, 0, 0) MUL(5, 0, 0, 0) MUL(6, 0, 0, 0)
  MUL(0, 16, 0, 0) MUL(1, 16, 0, 0) MUL(2, 16, 0, 0) MUL(4, 16, 0, 0) MUL(1, 8, 0, 0) MUL(0, 0, 0, 16) MUL(1, 0, 0, 16) MUL(1, 16, 0, 16) MUL(0, 16, 0, 16)
  MUL(1, 4, 0, 0) MUL(2, 0, 0, 16) MUL(0, 0, 16, 0) MUL(1, 0, 16, 0) MUL(6, 16, 0, 0) MUL(6, 8, 0, 0) MUL(6, 4, 0, 0) MUL(6, 0, 0, 16) MUL(6, 0, 16, 0) MUL(6, 16, 0, 16) MUL(7, 16, 0, 0) MUL(7, 0, 0, 16) MUL(7, 0, 16, 0) MUL(7, 16, 16, 0)
}
