// Reads of the same data by several SMs at about the same time: how many of the sectors that come
// into L1 did L2 see? One block an SM (its shared memory fills it); blocks on other SMs leave.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>
__device__ __forceinline__ unsigned sm() { unsigned r; asm volatile("mov.u32 %0, %%smid;" : "=r"(r)); return r; }
template <int BATCH>
__global__ void __launch_bounds__(128) merged(const uint4* __restrict__ in, unsigned* out, const unsigned char* taken,
                                             int steps, int spin, int skew) {
  extern __shared__ unsigned held[];
  unsigned me = sm();
  if (!taken[me]) return;
  long long start = clock64();
  while (clock64() - start < (long long)skew * me) {}
  unsigned sum = 0;
  for (int s = 0; s < steps; ++s) {
    uint4 v[BATCH];
#pragma unroll
    for (int b = 0; b < BATCH; ++b) v[b] = in[(s * BATCH + b) * 128 + threadIdx.x];
#pragma unroll
    for (int b = 0; b < BATCH; ++b) sum += v[b].x ^ v[b].y ^ v[b].z ^ v[b].w;
    if (sum == 0x12345678u) held[threadIdx.x] = sum;
    __syncthreads();
    long long t = clock64();
    while (clock64() - t < spin) {}
  }
  if (sum == 0x12345678u) out[0] = sum + held[0];
}
int main() {
  uint4* in; unsigned* out; unsigned char* taken;
  size_t bytes = 64 << 20;
  cudaMalloc(&in, bytes); cudaMemset(in, 1, bytes); cudaMalloc(&out, 4); cudaMalloc(&taken, 256);
  cudaFuncSetAttribute(merged<1>, cudaFuncAttributeMaxDynamicSharedMemorySize, 120 << 10);
  cudaFuncSetAttribute(merged<4>, cudaFuncAttributeMaxDynamicSharedMemorySize, 120 << 10);
  auto run = [&](const char* what, std::vector<int> sms, int batch, int kib, int spin, int skew) {
    std::vector<unsigned char> t(256, 0);
    for (int s : sms) t[s] = 1;
    cudaMemcpy(taken, t.data(), 256, cudaMemcpyHostToDevice);
    int steps = kib * 1024 / 2048 / batch;
    if (batch == 1) merged<1><<<132, 128, 120 << 10>>>(in, out, taken, steps, spin, skew);
    else merged<4><<<132, 128, 120 << 10>>>(in, out, taken, steps, spin, skew);
    cudaDeviceSynchronize();
    printf("%s,%d,%d,%d,%d,%d,%d\n", what, (int)sms.size(), sms.back(), batch, kib, spin, skew);
  };
  auto first = [](int n) { std::vector<int> v; for (int i = 0; i < n; ++i) v.push_back(i); return v; };
  run("one", {0}, 1, 64, 0, 0);
  for (int j = 1; j < 132; ++j) run("pair", {0, j}, 1, 64, 0, 0);
  for (int n : {2, 4, 6, 8, 16, 32, 64, 132}) run("first", first(n), 1, 1024, 0, 0);
  for (int n : {16, 132}) run("batch", first(n), 4, 1024, 0, 0);
  for (int c : {100, 300, 1000, 3000, 10000}) run("spin", first(132), 1, 256, c, 0);
  for (int d : {1, 3, 10, 30, 100, 300}) run("skew", first(132), 1, 256, 0, d);
  for (int d : {1, 3, 10, 30, 100, 300}) run("skew-spin", first(132), 1, 256, 1000, d);
  for (int k : {64, 256, 4096, 16384}) run("size", first(132), 1, k, 0, 0);
  fprintf(stderr, "%s\n", cudaGetErrorString(cudaGetLastError()));
}
