// Words that few lanes still have to raise: a guard reads, then an atomic changes; how often, by lanes a word.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
#include <cuda_runtime.h>
__device__ __forceinline__ unsigned mixed(unsigned x) { x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu; x ^= x >> 16; return x; }
__global__ void highest(const int* __restrict__ values, const int* __restrict__ words, int* best, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int value = values[i], at = words[i];
  if (value > best[at]) atomicMax(&best[at], value);
}
__global__ void lowest(const int* __restrict__ values, const int* __restrict__ words, int* best, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int value = values[i], at = words[i];
  if (value < best[at]) atomicMin(&best[at], value);
}
__global__ void by_compare(const int* __restrict__ values, const int* __restrict__ words, int* best, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int value = values[i], *at = best + words[i], seen = *at;
  while (value > seen) {
    int old = atomicCAS(at, seen, value);
    if (old == seen) break;
    seen = old;
  }
}
__global__ void claimed(const int* __restrict__ values, const int* __restrict__ words, int* best, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int value = values[i], at = words[i];
  if (best[at] == 0) atomicCAS(&best[at], 0, value + 1);
}
__global__ void always(const int* __restrict__ values, const int* __restrict__ words, int* best, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicMax(&best[words[i]], values[i]);
}
__global__ void fill(int* p, size_t n, unsigned below, unsigned seed, int how) { for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) p[i] = how == 1 ? (int)(i % below) : how == 2 ? (int)below : (int)(mixed((unsigned)i * 2654435761u + seed) % below); }
__global__ void spin(int clocks) { long long t = clock64(); while (clock64() - t < clocks); }
int main(int argc, char** argv) {
  bool quick = argc > 1;
  FILE* f = fopen((std::string(getenv("OUT")) + (quick ? "/quick.csv" : "/raise.csv")).c_str(), "w");
  fprintf(f, "kernel,n,addresses,pattern,time_us,error\n");
  int *values, *words, *best; size_t most = 1 << 23;
  cudaMalloc(&values, most * 4); cudaMalloc(&words, most * 4); cudaMalloc(&best, 64 << 20);
  const char* names[] = {"highest", "lowest", "by-compare", "claimed", "always"};
  cudaEvent_t a, b; cudaEventCreate(&a); cudaEventCreate(&b);
  fill<<<1024, 256>>>(values, most, 1000000, 3, 0);
  for (int n : {1 << 20, 1 << 23}) for (int m : {2, 8, 64, 1024}) for (int pattern : {0, 1}) {
    int addresses = n / m;
    fill<<<1024, 256>>>(words, n, addresses, 7, pattern);
    for (int k = 0; k < 5; k++) {
      std::vector<float> us;
      for (int r = 0; r < (quick ? 1 : 5); r++) {
        fill<<<1024, 256>>>(best, addresses, k == 1 ? 1000000 : 0, 0, 2);
        spin<<<1, 1>>>(60000); cudaEventRecord(a);
        int g = (n + 255) / 256;
        if (k == 0) highest<<<g, 256>>>(values, words, best, n);
        if (k == 1) lowest<<<g, 256>>>(values, words, best, n);
        if (k == 2) by_compare<<<g, 256>>>(values, words, best, n);
        if (k == 3) claimed<<<g, 256>>>(values, words, best, n);
        if (k == 4) always<<<g, 256>>>(values, words, best, n);
        cudaEventRecord(b); cudaEventSynchronize(b); float ms; cudaEventElapsedTime(&ms, a, b); us.push_back(ms * 1000);
      }
      std::sort(us.begin(), us.end());
      fprintf(f, "%s,%d,%d,%s,%.2f,%s\n", names[k], n, addresses, pattern ? "modulo" : "random", us[us.size() / 2], cudaGetErrorString(cudaGetLastError()));
    }
  }
  fclose(f); printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
