// Straight code whose loads wait one after the other, or not: what each wait costs.
#include <cstdio>
#include <cstdlib>
#include <string>
// G groups of a load and a division. IEEE: its odd values go behind a call, which loads do not cross.
// far: each group reads its own array; near: the same lines as the first, a float on.
template <int G, bool IEEE, bool NEAR>
__device__ __forceinline__ void body(const float* __restrict__ in, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 1.0f;
#pragma unroll
  for (int g = 0; g < G; ++g) {
    float v = NEAR ? in[i + g] : in[g * n + i];
    s = IEEE ? (s + v) / (v + 2.0f) : __fdividef(s + v, v + 2.0f);
  }
  out[i] = s;
}
#define K(NAME, G, I, F) \
  extern "C" __global__ void __launch_bounds__(256) NAME##_##G(const float* __restrict__ in, float* __restrict__ out, int n) { body<G, I, F>(in, out, n); }
#define FOUR(NAME, I, F) K(NAME, 1, I, F) K(NAME, 2, I, F) K(NAME, 4, I, F) K(NAME, 8, I, F)
FOUR(ieee_far, true, false) FOUR(fast_far, false, false) FOUR(ieee_near, true, true) FOUR(fast_near, false, true)
// B loads with a barrier between each two: of data that nobody writes, and of data that somebody may.
template <int B, class P>
__device__ __forceinline__ void fenced(P in, float* out, int n) {
  __shared__ float at[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
  float s = 0.0f;
#pragma unroll
  for (int b = 0; b < B; ++b) {
    at[t] = in[b * n + i] + s;
    __syncthreads();
    s += at[t ^ 32];
    __syncthreads();
  }
  out[i] = s;
}
#define F(B) \
  extern "C" __global__ void __launch_bounds__(256) barrier_const_##B(const float* __restrict__ in, float* __restrict__ out, int n) { fenced<B>(in, out, n); } \
  extern "C" __global__ void __launch_bounds__(256) barrier_plain_##B(float* in, float* out, int n) { fenced<B>(in, out, n); }
F(1) F(2) F(4) F(8)
// Shuffles behind every load of a loop: all warps run it equally often as far as ptxas knows, or not.
template <bool VARIES>
__device__ __forceinline__ void shuffled(const float* __restrict__ in, float* __restrict__ out, int n, int turns) {
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const float* mine = in + (blockIdx.x * 8 + warp) * 32;
  float s = 0.0f;
#pragma unroll 4
  for (int k = VARIES ? warp : 0; k < (VARIES ? turns * 8 : turns); k += VARIES ? 8 : 1) {
    float v = mine[(VARIES ? k / 8 : k) * n + lane];
    for (int apart = 16; apart > 0; apart /= 2) v += __shfl_xor_sync(~0u, v, apart);
    s = fmaxf(s, v);
  }
  if (lane == 0) out[blockIdx.x * 8 + warp] = s;
}
extern "C" __global__ void __launch_bounds__(256) shuffled_even(const float* __restrict__ in, float* __restrict__ out, int n, int turns) { shuffled<false>(in, out, n, turns); }
extern "C" __global__ void __launch_bounds__(256) shuffled_varies(const float* __restrict__ in, float* __restrict__ out, int n, int turns) { shuffled<true>(in, out, n, turns); }
// Cells around a place, fewer at the edges: steps of unequal blocks.
extern "C" __global__ void __launch_bounds__(128) cells(const float* __restrict__ in, float* __restrict__ out, int less) {
  __shared__ float held[32];
  int t = threadIdx.x;
  float s = 0.0f;
  for (int c = 0; c < 32; ++c) {
    if (c >= 32 - less * (int)(blockIdx.x % 4)) continue;
    __syncthreads();
    if (t < 32) held[t] = in[(blockIdx.x * 32 + c) * 32 + t];
    __syncthreads();
    for (int a = 0; a < 32; ++a) s = s * 0.999f + rsqrtf(held[a] + s * s + 1.0f);
  }
  out[blockIdx.x * 128 + t] = s;
}
int main() {
  size_t most = 132ull * 64 * 256;
  float *in, *out;
  cudaMalloc(&in, (most * 8 + 4096) * 4);
  cudaMalloc(&out, most * 4);
  cudaMemset(in, 0, (most * 8 + 4096) * 4);
  cudaMemset(out, 0, most * 4);
  cudaDeviceSynchronize();
  int grids[] = {132, 132 * 8, 132 * 64};
  for (int r = 0; r < 2; ++r)
    for (int grid : grids) {
      int n = grid * 256;
#define L(NAME) NAME##_1<<<grid, 256>>>(in, out, n), NAME##_2<<<grid, 256>>>(in, out, n), NAME##_4<<<grid, 256>>>(in, out, n), NAME##_8<<<grid, 256>>>(in, out, n);
      L(ieee_far) L(fast_far) L(ieee_near) L(fast_near) L(barrier_const) L(barrier_plain)
    }
  for (int r = 0; r < 2; ++r)
    for (int grid : {32, 132, 528}) {
      shuffled_even<<<grid, 256>>>(in, out, grid * 256, 32);
      shuffled_varies<<<grid, 256>>>(in, out, grid * 256, 32);
    }
  for (int r = 0; r < 2; ++r)
    for (int grid : {96, 132, 1056, 4224})
      for (int less : {0, 4, 8}) cells<<<grid, 128>>>(in, out, less);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
