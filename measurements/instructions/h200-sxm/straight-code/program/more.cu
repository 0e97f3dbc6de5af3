// The same as straight.cu and ways.cu, for validation: half of the waits for what is there, more blocks an SM, doubles.
#include <cstdio>
template <int G, bool IEEE>
__device__ __forceinline__ void body(const float* __restrict__ in, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 1.0f;
#pragma unroll
  for (int g = 0; g < G; ++g) {
    float v = in[g / 2 * n + i + g % 2];
    s = IEEE ? (s + v) / (v + 2.0f) : __fdividef(s + v, v + 2.0f);
  }
  out[i] = s;
}
#define K(NAME, G, I) \
  extern "C" __global__ void __launch_bounds__(256) NAME##_##G(const float* __restrict__ in, float* __restrict__ out, int n) { body<G, I>(in, out, n); }
K(ieee_half, 2, true) K(ieee_half, 4, true) K(ieee_half, 8, true) K(fast_half, 2, false) K(fast_half, 4, false) K(fast_half, 8, false)
template <class T, bool WRITES, bool BACK>
__device__ __forceinline__ void columns(T* x, T* __restrict__ out, int rows, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  T s = 0;
#pragma unroll 4
  for (int r = 0; r < rows; ++r) {
    if (WRITES) x[(size_t)r * n + i] = r; else s += x[(size_t)r * n + i];
  }
  __syncthreads();
#pragma unroll 4
  for (int r = 0; r < rows; ++r) s = s * T(0.5) + x[(size_t)(BACK ? rows - 1 - r : r) * n + i];
  out[i] = s;
}
#define W(NAME, T, WR, B) \
  extern "C" __global__ void __launch_bounds__(256) NAME(T* x, T* __restrict__ out, int rows, int n) { columns<T, WR, B>(x, out, rows, n); }
W(read_forward, float, false, false) W(read_back, float, false, true) W(write_forward, float, true, false) W(write_back, float, true, true)
W(doubles_forward, double, false, false) W(doubles_back, double, false, true)
int main() {
  size_t most = 132ull * 64 * 256, cells = 80 << 20;
  float *in, *out;
  cudaMalloc(&in, cells * 4);
  cudaMalloc(&out, most * 8);
  cudaMemset(in, 0, cells * 4);
  cudaMemset(out, 0, most * 8);
  cudaDeviceSynchronize();
  for (int r = 0; r < 2; ++r)
    for (int grid : {132, 132 * 8, 132 * 32}) {
      int n = grid * 256;
      ieee_half_2<<<grid, 256>>>(in, out, n), ieee_half_4<<<grid, 256>>>(in, out, n), ieee_half_8<<<grid, 256>>>(in, out, n);
      fast_half_2<<<grid, 256>>>(in, out, n), fast_half_4<<<grid, 256>>>(in, out, n), fast_half_8<<<grid, 256>>>(in, out, n);
    }
  for (int grid : {66, 264, 528})
    for (int kib : {48, 112, 176, 240, 288, 400, 560, 900}) {
      int n = grid * 256, each = grid < 132 ? 1 : grid / 132, rows = kib / each;
      read_forward<<<grid, 256>>>(in, out, rows, n), read_back<<<grid, 256>>>(in, out, rows, n);
      write_forward<<<grid, 256>>>(in, out, rows, n), write_back<<<grid, 256>>>(in, out, rows, n);
      doubles_forward<<<grid, 256>>>((double*)in, (double*)out, rows / 2, n), doubles_back<<<grid, 256>>>((double*)in, (double*)out, rows / 2, n);
    }
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
