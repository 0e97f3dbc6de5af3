// Words of 1 to 8 bytes that a thread stores one after the other, at once or after a load.
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                              \
  do {                                                           \
    cudaError_t error = (call);                                  \
    if (error) {                                                 \
      printf("%s, line %d\n", cudaGetErrorString(error), __LINE__); \
      exit(3);                                                   \
    }                                                            \
  } while (0)

template <class T, int STORES, int LOADS>
__global__ void words(T* y, const T* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  T v = LOADS ? x[i] : (T)i;
#pragma unroll
  for (int k = 0; k < STORES; k++) *(volatile T*)&y[(size_t)i * STORES + k] = v + (T)k;
}

template <class T, int STORES, int LOADS>
void run(const char* type) {
  for (int n : {12288, 131072, 1 << 20, 1 << 22}) {
    T *x, *y;
    CHECK(cudaMalloc(&x, (size_t)n * 8 + 256));
    CHECK(cudaMalloc(&y, (size_t)n * STORES * sizeof(T) + 256));
    CHECK(cudaMemset(x, 1, (size_t)n * 8));
    CHECK(cudaDeviceSynchronize());
    cudaProfilerStart();
    words<T, STORES, LOADS><<<(n + 255) / 256, 256>>>(y, x, n);
    CHECK(cudaDeviceSynchronize());
    cudaProfilerStop();
    printf("ROW words %s %d %d %d\n", type, STORES, LOADS, n);
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
  }
}

template <class T>
void all(const char* type) {
  run<T, 2, 0>(type);
  run<T, 4, 0>(type);
  run<T, 8, 0>(type);
  run<T, 2, 1>(type);
  run<T, 4, 1>(type);
  run<T, 8, 1>(type);
}

int main() {
  all<uint8_t>("u8");
  all<uint16_t>("u16");
  all<uint32_t>("u32");
  all<unsigned long long>("u64");
}
