// For the profiler: additions to neighbouring pieces of 256 B, a word in each, at some places; how many the busiest slice has.
#include <cstdio>
#include <cstdint>
#include <cuda_runtime.h>
typedef unsigned int u32;
typedef unsigned long long u64;
__global__ void same(u32* data, int pieces, int turns) {
  const u32 w = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  u32* at = data + (u64)(w % pieces) * 64;
  for (int t = 0; t < turns; ++t) atomicAdd(at, 3u);
}
int main() {
  char* data; cudaMalloc(&data, 512u << 20); cudaMemset(data, 0, 512u << 20);
  for (u64 offset : {0ull, 61800448ull, 145620992ull, 305135616ull})
    for (int pieces : {3, 4, 8, 12, 16, 20, 24, 28, 32, 48, 64, 80, 96, 112, 128, 160, 192, 256, 320, 384, 512, 640, 1024, 1536, 2048})
      same<<<528, 512>>>((u32*)(data + offset), pieces, 1);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
