// maximum_by_compare of the corpus, launched again and again on the same data: do its counts repeat?
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>
extern "C" __global__ void maximum_by_compare(const int* __restrict__ in, int* __restrict__ best, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int value = in[i], seen = best[i & 4095];
  while (value > seen) {
    int old = atomicCAS(&best[i & 4095], seen, value);
    if (old == seen) break;
    seen = old;
  }
}
extern "C" __global__ void staircase(const float* __restrict__ in, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0.0f;
  for (int k = 0; k <= (i & 63); ++k) sum += in[(i & ~63) + k];
  out[i] = sum;
}
int main() {
  const int n = 4194304;
  std::vector<int> host(n);
  unsigned s = 12345;
  for (int i = 0; i < n; ++i) { s ^= s << 13; s ^= s >> 17; s ^= s << 5; host[i] = s % 1000000; }
  int *in, *best; float *f, *o;
  cudaMalloc(&in, n * 4); cudaMalloc(&best, 4096 * 4); cudaMalloc(&f, n * 4); cudaMalloc(&o, n * 4);
  cudaMemcpy(in, host.data(), n * 4, cudaMemcpyHostToDevice);
  cudaMemset(f, 0, n * 4);
  for (int r = 0; r < 6; ++r) {
    cudaMemset(best, 0, 4096 * 4);
    maximum_by_compare<<<n / 256, 256>>>(in, best, n);
    cudaDeviceSynchronize();
  }
  for (int r = 0; r < 3; ++r) { staircase<<<8192, 256>>>(f, o, 2097152); cudaDeviceSynchronize(); }
  printf("%s\n", cudaGetErrorString(cudaGetLastError()));
}
