// Columns gone through twice: what the second way finds, from the same end or from the other.
#include <cstdio>
template <bool WRITES, bool BACK>
__device__ __forceinline__ void columns(float* x, float* __restrict__ out, int rows, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0.0f;
#pragma unroll 4
  for (int r = 0; r < rows; ++r) {
    if (WRITES) x[(size_t)r * n + i] = r; else s += x[(size_t)r * n + i];
  }
  __syncthreads();
#pragma unroll 4
  for (int r = 0; r < rows; ++r) s = s * 0.5f + x[(size_t)(BACK ? rows - 1 - r : r) * n + i];
  out[i] = s;
}
extern "C" __global__ void __launch_bounds__(256) read_forward(float* x, float* __restrict__ out, int rows, int n) { columns<false, false>(x, out, rows, n); }
extern "C" __global__ void __launch_bounds__(256) read_back(float* x, float* __restrict__ out, int rows, int n) { columns<false, true>(x, out, rows, n); }
extern "C" __global__ void __launch_bounds__(256) write_forward(float* x, float* __restrict__ out, int rows, int n) { columns<true, false>(x, out, rows, n); }
extern "C" __global__ void __launch_bounds__(256) write_back(float* x, float* __restrict__ out, int rows, int n) { columns<true, true>(x, out, rows, n); }
int main() {
  int n = 132 * 256;
  float *x, *out;
  cudaMalloc(&x, 2048ull * n * 4);
  cudaMalloc(&out, n * 4);
  cudaMemset(x, 0, 2048ull * n * 4);
  for (int rows : {64, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640, 768, 1024, 1536, 2048}) {
    read_forward<<<132, 256>>>(x, out, rows, n);
    read_back<<<132, 256>>>(x, out, rows, n);
    write_forward<<<132, 256>>>(x, out, rows, n);
    write_back<<<132, 256>>>(x, out, rows, n);
  }
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
