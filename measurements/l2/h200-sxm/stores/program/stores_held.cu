// What stays dirty in L2, and what tables beside stores lose, by how fast the launch goes:
// the same accesses with fewer blocks on an SM (shared memory that nothing uses keeps others away).
// nvcc -O2 -arch=sm_90 -o held stores_held.cu; ncu --clock-control none --cache-control all ./held first|then
#include <cstdio>
#include <cuda_runtime.h>
template <typename T> __global__ void copy_kernel(const T* in, T* out, long n) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}
template <typename T> __global__ void reset_kernel(const T* in, T* out, long n, long m) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i % m];
}
template <typename T> __global__ void write_kernel(T* out, long n, T value) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i < n) out[i] = value;
}
// The same with several elements a thread, a grid apart: more stores under way.
template <typename T, int U> __global__ void copy_several(const T* in, T* out, long n) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x, all = n / U;
  T held[U];
#pragma unroll
  for (int u = 0; u < U; u++) held[u] = in[i + u * all];
#pragma unroll
  for (int u = 0; u < U; u++) out[i + u * all] = held[u];
}
template <typename T, int U> __global__ void reset_several(const T* in, T* out, long n, long m) {
  long i = (blockIdx.x * (long)blockDim.x * U) + threadIdx.x;
  T held[U];
#pragma unroll
  for (int u = 0; u < U; u++) held[u] = in[(i + u * 256) % m];
#pragma unroll
  for (int u = 0; u < U; u++) out[i + u * 256] = held[u];
}
static int number = 0;
template <typename K> int shared(K kernel, int blocks) {
  if (blocks >= 8) return 0;
  int bytes = 227 * 1024 / blocks - 2048;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 100);
  return bytes;
}
static void say(const char* f, long in, long out, int v, int blocks) {
  printf("ROW %d,%s,%ld,%ld,%d,%d\n", number++, f, in, out, v, blocks);
}
template <typename T> void copies(char* a, char* b, long bytes, int blocks) {
  long n = bytes / sizeof(T);
  say("copy", bytes, bytes, sizeof(T), blocks);
  copy_kernel<T><<<(n + 255) / 256, 256, shared(copy_kernel<T>, blocks)>>>((T*)a, (T*)b, n);
}
template <typename T> void resets(char* a, char* b, long in, long out, int blocks) {
  long n = out / sizeof(T), m = in / sizeof(T);
  say("data_reset", in, out, sizeof(T), blocks);
  reset_kernel<T><<<(n + 255) / 256, 256, shared(reset_kernel<T>, blocks)>>>((T*)a, (T*)b, n, m);
}
template <typename T> void writes(char* b, long bytes, int blocks) {
  long n = bytes / sizeof(T);
  say("write", 0, bytes, sizeof(T), blocks);
  write_kernel<T><<<(n + 255) / 256, 256, shared(write_kernel<T>, blocks)>>>((T*)b, n, T{});
}
template <typename T, int U> void several(char* a, char* b, int blocks) {
  const long MIB = 1 << 20;
  long n = 64 * MIB / sizeof(T);
  say("copy", 64 * MIB, 64 * MIB, sizeof(T) * U, blocks);
  copy_several<T, U><<<n / U / 256, 256, shared(copy_several<T, U>, blocks)>>>((T*)a, (T*)b, n);
  for (long mib : {8L, 16L}) {
    say("data_reset", mib * MIB, 128 * MIB, sizeof(T) * U, blocks);
    reset_several<T, U><<<2 * n / U / 256, 256, shared(reset_several<T, U>, blocks)>>>(
        (T*)a, (T*)b, 2 * n, mib * MIB / sizeof(T));
  }
}
int main(int count, char** given) {
  const long MIB = 1 << 20;
  bool first = count > 1 && given[1][0] == 'f';
  char *a, *b;
  cudaMalloc(&a, 256 * MIB);
  cudaMalloc(&b, 256 * MIB);
  if (first) {
    for (int blocks : {8, 4, 2, 1}) {
      for (long mib : {24L, 64L}) {
        copies<float4>(a, b, mib * MIB, blocks);
        copies<float>(a, b, mib * MIB, blocks);
      }
      copies<float2>(a, b, 64 * MIB, blocks);
      for (long mib : {6L, 8L, 16L, 24L}) {
        resets<float4>(a, b, mib * MIB, 128 * MIB, blocks);
        if (mib != 6) resets<float>(a, b, mib * MIB, 128 * MIB, blocks);
      }
      writes<float4>(b, 64 * MIB, blocks);
      writes<float>(b, 64 * MIB, blocks);
    }
  } else {
    for (int blocks : {8, 7, 6, 5, 3}) {
      copies<float4>(a, b, 64 * MIB, blocks);
      copies<float4>(a, b, 128 * MIB, blocks);
      resets<float4>(a, b, 8 * MIB, 128 * MIB, blocks);
      resets<float4>(a, b, 16 * MIB, 128 * MIB, blocks);
    }
    for (int blocks : {8, 4, 2, 1}) {
      several<float4, 2>(a, b, blocks);
      several<float4, 4>(a, b, blocks);
      several<float, 4>(a, b, blocks);
    }
  }
  cudaError_t e = cudaDeviceSynchronize();
  printf("%s\n", cudaGetErrorString(e));
  return e != cudaSuccess;
}
