// Stores of many warps to few places, and stores that leave parts of sectors alone.
#include <cstdio>
#include <cuda_runtime.h>

// Each warp stores to one of `places` words, `apart` bytes from one another, `times` times; `lanes` lanes of it do.
__global__ void flags(int* out, int places, int apart, int times, int lanes) {
  int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  int* own = out + (long long)(warp % places) * (apart / 4);
  for (int t = 0; t < times; ++t) {
    if (threadIdx.x % 32 < lanes) *(volatile int*)own = t + warp;
  }
}
// The same where each warp has read 32 floats first: as graphs do.
__global__ void flags_reading(const float* in, int* out, int places, int apart) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (in[i] >= 0.0f) out[(long long)(i / 32 % places) * (apart / 4)] = 1;
}
// Every `step`-th of words of BYTES bytes is written; `reads` of the same first.
template <typename T>
__global__ void every(T* out, int n, int step) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[(long long)i * step] = (T)i;
}
// Two stores of one thread that make half a sector, one instruction after the other.
__global__ void fields(float* out, int n, int step, int many) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    for (int k = 0; k < many; ++k) out[(long long)i * step + k] = i + k;
}
int main() {
  char *out, *in;
  cudaMalloc(&out, 1 << 28);
  cudaMalloc(&in, 64 << 20);
  cudaMemset(in, 0, 64 << 20);
  cudaMemset(out, 0, 1 << 28);
  for (int blocks : {132, 2344})
    for (int places : {1, 4, 32, 256}) flags<<<blocks, 256>>>((int*)out, places, 4096, 1, 32);
  flags<<<2344, 256>>>((int*)out, 1, 4096, 1, 1);
  flags<<<2344, 256>>>((int*)out, 8, 4, 1, 32);
  flags<<<2344, 256>>>((int*)out, 8, 32, 1, 32);
  flags<<<2344, 256>>>((int*)out, 1, 4096, 4, 32);
  flags<<<528, 256>>>((int*)out, 1, 4096, 8, 32);
  flags<<<18752, 32>>>((int*)out, 1, 4096, 1, 32);
  flags_reading<<<2344, 256>>>((float*)in, (int*)out, 1, 4096);
  flags_reading<<<9376, 256>>>((float*)in, (int*)out, 1, 4096);
  flags_reading<<<9376, 256>>>((float*)in, (int*)out, 16, 4096);
  for (int step : {1, 2, 3, 5, 7, 8, 9, 16}) every<float><<<16384, 256>>>((float*)out, 1 << 22, step);
  for (int step : {2, 3, 4, 5}) every<double><<<16384, 256>>>((double*)out, 1 << 22, step);
  for (int step : {2, 3, 4}) every<float><<<2048, 256>>>((float*)out, 1 << 19, step);
  fields<<<16384, 256>>>((float*)out, 1 << 22, 8, 4);
  fields<<<16384, 256>>>((float*)out, 1 << 22, 5, 4);
  fields<<<16384, 256>>>((float*)out, 1 << 22, 5, 5);
  fields<<<16384, 256>>>((float*)out, 1 << 22, 3, 3);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
