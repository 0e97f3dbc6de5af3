// Branches at which lanes part, asynchronous copies, and straight code of some length.
#include <cstdio>
#include <cstdint>
#include <vector>
#include <cuda_runtime.h>
#define TEN(x, y) asm volatile("fma.rn.f32 %0,%0,%1,%1;fma.rn.f32 %0,%0,%1,%1;fma.rn.f32 %0,%0,%1,%1;fma.rn.f32 %0,%0,%1,%1;fma.rn.f32 %0,%0,%1,%1;fma.rn.f32 %0,%0,%1,%1;fma.rn.f32 %0,%0,%1,%1;fma.rn.f32 %0,%0,%1,%1;fma.rn.f32 %0,%0,%1,%1;fma.rn.f32 %0,%0,%1,%1;fma.rn.f32 %0,%0,%1,%1;fma.rn.f32 %0,%0,%1,%1;" : "+f"(x) : "f"(y));
extern "C" __global__ void straight(float* out, const int* sel, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, s = sel[i & 1023]; float x = i * 1e-6f, y = 1.0f + x;
  for (int r = 0; r < rounds; ++r) { TEN(x, y) s = s * 5 + 1; }
  out[i] = x + s;
}
extern "C" __global__ void one_sided(float* out, const int* sel, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, s = sel[i & 1023]; float x = i * 1e-6f, y = 1.0f + x;
  for (int r = 0; r < rounds; ++r) { if ((s >> (r & 15)) & 1) { TEN(x, y) } }
  out[i] = x + s;
}
extern "C" __global__ void two_sided(float* out, const int* sel, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, s = sel[i & 1023]; float x = i * 1e-6f, y = 1.0f + x, z = 2.0f + x;
  for (int r = 0; r < rounds; ++r) { if ((s >> (r & 15)) & 1) { TEN(x, y) } else { TEN(x, z) } }
  out[i] = x + s;
}
extern "C" __global__ void four_ways(float* out, const int* sel, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, s = sel[i & 1023]; float x = i * 1e-6f, y = 1.0f + x, z = 2.0f + x, a = 3.0f + x, b = x - 1.0f;
  for (int r = 0; r < rounds; ++r) { switch ((s + r) & 3) { case 0: TEN(x, y) break; case 1: TEN(x, z) break; case 2: TEN(x, a) break; default: TEN(x, b) } }
  out[i] = x + s;
}
extern "C" __global__ void eight_ways(float* out, const int* sel, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, s = sel[i & 1023]; float x = i * 1e-6f, y = 1.0f + x, z = 2.0f + x, a = 3.0f + x, b = x - 1.0f;
  for (int r = 0; r < rounds; ++r) { switch ((s + r) & 7) { case 0: TEN(x, y) break; case 1: TEN(x, z) break; case 2: TEN(x, a) break; case 3: TEN(x, b) break; case 4: TEN(y, x) break; case 5: TEN(y, z) break; case 6: TEN(y, a) break; default: TEN(y, b) } }
  out[i] = x + s + y;
}
extern "C" __global__ void nested(float* out, const int* sel, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, s = sel[i & 1023]; float x = i * 1e-6f, y = 1.0f + x, z = 2.0f + x;
  for (int r = 0; r < rounds; ++r) { if (s & 1) { TEN(x, y) if (s & 2) { TEN(x, z) } else { TEN(x, y) } } TEN(x, z) }
  out[i] = x + s;
}
// trips differ between lanes
extern "C" __global__ void trips(float* out, const int* sel, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, s = sel[i & 1023]; float x = i * 1e-6f, y = 1.0f + x;
  int n = rounds - (s & 31);
  for (int r = 0; r < n; ++r) { TEN(x, y) }
  out[i] = x + s;
}
// copies to shared memory, each from 128 B that stay in L1
template <int BYTES, int PLAIN> __device__ void copies(const char* in, float* out, int rounds) {
  extern __shared__ char s[];
  int t = threadIdx.x;
  unsigned to = (unsigned)__cvta_generic_to_shared(s + t * BYTES);
  const char* from = in + (size_t)t * BYTES;
  for (int r = 0; r < rounds; ++r) {
    if (PLAIN) {
      unsigned a[8][4];
#pragma unroll
      for (int k = 0; k < 8; ++k) {
        if (BYTES == 4) asm volatile("ld.global.b32 %0,[%1];" : "=r"(a[k][0]) : "l"(from + k * 4096));
        if (BYTES == 8) asm volatile("ld.global.v2.b32 {%0,%1},[%2];" : "=r"(a[k][0]), "=r"(a[k][1]) : "l"(from + k * 4096));
        if (BYTES == 16) asm volatile("ld.global.v4.b32 {%0,%1,%2,%3},[%4];" : "=r"(a[k][0]), "=r"(a[k][1]), "=r"(a[k][2]), "=r"(a[k][3]) : "l"(from + k * 4096));
      }
#pragma unroll
      for (int k = 0; k < 8; ++k) {
        if (BYTES == 4) asm volatile("st.shared.b32 [%0],%1;" :: "r"(to), "r"(a[k][0]));
        if (BYTES == 8) asm volatile("st.shared.v2.b32 [%0],{%1,%2};" :: "r"(to), "r"(a[k][0]), "r"(a[k][1]));
        if (BYTES == 16) asm volatile("st.shared.v4.b32 [%0],{%1,%2,%3,%4};" :: "r"(to), "r"(a[k][0]), "r"(a[k][1]), "r"(a[k][2]), "r"(a[k][3]));
      }
    } else {
#pragma unroll
      for (int k = 0; k < 8; ++k) asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" :: "r"(to), "l"(from + k * 4096), "n"(BYTES));
      asm volatile("cp.async.commit_group; cp.async.wait_group 0;");
    }
  }
  __syncthreads();
  out[blockIdx.x * blockDim.x + t] = s[t];
}
#define C(B) extern "C" __global__ void async_##B(const char* in, float* out, int rounds) { copies<B, 0>(in, out, rounds); } \
             extern "C" __global__ void plain_##B(const char* in, float* out, int rounds) { copies<B, 1>(in, out, rounds); }
C(4) C(8) C(16)
// straight code of N products, once: what fetching it takes
template <int N> struct Rep { static __device__ __forceinline__ void go(float& x, float y) { TEN(x, y) Rep<N - 1>::go(x, y); } };
template <> struct Rep<0> { static __device__ __forceinline__ void go(float&, float) {} };
#define S(N) extern "C" __global__ void code_##N(float* out) { int i = blockIdx.x * blockDim.x + threadIdx.x; float x = i * 1e-6f, y = 1.0f + x; Rep<N>::go(x, y); out[i] = x; }
S(1) S(4) S(8) S(16) S(32) S(64) S(128)
#define OK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) printf("ERR %s: %s\n", #x, cudaGetErrorString(e_)); } while (0)
int main() {
  char* in; float* out; int* sel; size_t big = 64u << 20;
  OK(cudaMalloc(&in, big)); OK(cudaMalloc(&out, big)); OK(cudaMalloc(&sel, 3 * 4096));
  std::vector<uint32_t> h(big / 4); uint32_t x = 12345;
  for (auto& v : h) { x ^= x << 13; x ^= x >> 17; x ^= x << 5; v = (x & 0x007fffff) | 0x3f800000; }
  OK(cudaMemcpy(in, h.data(), big, cudaMemcpyHostToDevice));
  std::vector<int> hs(3072);
  for (int i = 0; i < 1024; ++i) { x ^= x << 13; x ^= x >> 17; x ^= x << 5; hs[i] = x >> 3; hs[1024 + i] = 0x7fffffff; hs[2048 + i] = 0; }
  OK(cudaMemcpy(sel, hs.data(), 3 * 4096, cudaMemcpyHostToDevice));
  int R = 64;
  struct { int blocks, threads; } shapes[] = {{132, 32}, {132, 512}, {528, 512}};
  for (auto s : shapes) {
    straight<<<s.blocks, s.threads>>>(out, sel, R);
    for (int m = 0; m < 3; ++m) {
      const int* p = sel + 1024 * m;
      one_sided<<<s.blocks, s.threads>>>(out, p, R); two_sided<<<s.blocks, s.threads>>>(out, p, R);
      if (m < 2) { four_ways<<<s.blocks, s.threads>>>(out, p, R); eight_ways<<<s.blocks, s.threads>>>(out, p, R); nested<<<s.blocks, s.threads>>>(out, p, R); }
      if (m != 1) trips<<<s.blocks, s.threads>>>(out, p, R);
    }
  }
  for (auto s : {128, 1024}) {
#define L(B) async_##B<<<132, s, s * B>>>(in, out, R); plain_##B<<<132, s, s * B>>>(in, out, R);
    L(4) L(8) L(16)
  }
#define Q(N) code_##N<<<132, 32>>>(out); code_##N<<<132, 1024>>>(out);
  Q(1) Q(4) Q(8) Q(16) Q(32) Q(64) Q(128)
  OK(cudaDeviceSynchronize());
  printf("done\n");
}
