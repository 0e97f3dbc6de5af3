// Rows that a block goes through three times, then writes another or not: in one round of blocks, and in several.
#include <cstdio>
template <bool WRITES>
__device__ __forceinline__ void rows(const float* __restrict__ in, float* __restrict__ out, int columns) {
  __shared__ float held;
  const float* row = in + (size_t)blockIdx.x * columns;
  float s = 0.0f;
  for (int c = threadIdx.x; c < columns; c += 1024) s += row[c];
  __syncthreads();
  if (threadIdx.x == 0) held = s;
  __syncthreads();
  float u = 0.0f;
  for (int c = threadIdx.x; c < columns; c += 1024) u += __expf(row[c] - held);
  __syncthreads();
  if (threadIdx.x == 0) held = u;
  __syncthreads();
  if (WRITES) {
    for (int c = threadIdx.x; c < columns; c += 1024) out[(size_t)blockIdx.x * columns + c] = row[c] * held;
  } else {
    float v = 0.0f;
    for (int c = threadIdx.x; c < columns; c += 1024) v += row[c] * held;
    if (v != 0.0f) out[threadIdx.x] = v;
  }
}
extern "C" __global__ void __launch_bounds__(1024) rows_read(const float* __restrict__ in, float* __restrict__ out, int columns) { rows<false>(in, out, columns); }
extern "C" __global__ void __launch_bounds__(1024) rows_write(const float* __restrict__ in, float* __restrict__ out, int columns) { rows<true>(in, out, columns); }
int main() {
  size_t most = 1056ull * 65536;
  float *in, *out;
  cudaMalloc(&in, most * 4), cudaMalloc(&out, most * 4);
  cudaMemset(in, 0, most * 4), cudaMemset(out, 0, most * 4);
  for (int blocks : {264, 1056})
    for (int columns : {16384, 24576, 32768, 40960, 49152, 65536}) {
      rows_read<<<blocks, 1024>>>(in, out, columns);
      rows_write<<<blocks, 1024>>>(in, out, columns);
    }
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
