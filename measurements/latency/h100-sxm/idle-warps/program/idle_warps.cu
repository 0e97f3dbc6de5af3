// Launches of loops.cu: blocks of which the first warps run a loop, while the others leave.
#include <cuda_profiler_api.h>
#include <cstdio>
#include <cstdlib>
#include "loops.cu"

#define CHECK(call)                                                 \
  do {                                                              \
    cudaError_t error = (call);                                     \
    if (error) {                                                    \
      printf("%s, line %d\n", cudaGetErrorString(error), __LINE__); \
      exit(3);                                                      \
    }                                                               \
  } while (0)

int main() {
  const char* names[] = {"strided", "coalesced", "clocks"};
  for (int k = 0; k < 3; k++)
    for (int block : {128, 256})
      for (int warps : {1, 2, 4, 8})
        for (int blocks : {1, 33, 132, 528, 2112, 8448}) {
          if (warps * 32 > block) continue;
          int rows = k == 0 ? (blocks >= 2112 ? 64 : 256) : k == 1 ? 512 : 4096;
          size_t threads = (size_t)blocks * block;
          size_t bytes = k == 0 ? threads * rows * 32 : k == 1 ? threads * rows * 4 : 4096;
          float *a, *o;
          CHECK(cudaMalloc(&a, bytes));
          CHECK(cudaMalloc(&o, threads * 4));
          CHECK(cudaMemset(a, 0, bytes));
          CHECK(cudaDeviceSynchronize());
          cudaProfilerStart();
          if (k == 0) strided<<<blocks, block>>>(o, a, rows, warps);
          if (k == 1) coalesced<<<blocks, block>>>(o, a, rows, warps);
          if (k == 2) clocks<<<blocks, block>>>(o, a, rows, warps);
          CHECK(cudaDeviceSynchronize());
          cudaProfilerStop();
          printf("ROW %s %d %d %d %d\n", names[k], block, warps, blocks, rows);
          CHECK(cudaFree(a));
          CHECK(cudaFree(o));
        }
}
