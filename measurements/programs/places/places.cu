// Additions, and loops of compare-and-swap, to words some bytes apart that start at known places of an allocation.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#include <cuda_runtime.h>
typedef unsigned int u32;
typedef unsigned long long u64;
__device__ __forceinline__ u32 hashed(u32 x) { x ^= x >> 16; x *= 0x85ebca6bu; x ^= x >> 13; x *= 0xc2b2ae35u; return x ^ (x >> 16); }
// 0: i % m, 1: (i / 32) % m, 2: a hashed one
template <int P> __device__ __forceinline__ u32 element(u32 i, u32 m) { return P == 0 ? i % m : P == 1 ? (i / 32) % m : (u32)(((u64)hashed(i) * m) >> 32); }
template <class T, int P, bool R> __global__ void add(char* data, u32 n, u32 m, u32 pitch, u32* sink) {
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  T* at = (T*)(data + (u64)element<P>(i, m) * pitch);
  if (R) { T seen = atomicAdd(at, (T)1); if (seen == (T)12345679) *sink = 1; } else atomicAdd(at, (T)1);
}
template <int P> __global__ void cas(char* data, u32 n, u32 m, u32 pitch, u64* tries) {
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  int mine = 0;
  if (i < n) {
    int* at = (int*)(data + (u64)element<P>(i, m) * pitch);
    mine = 1; int old = *(volatile int*)at, seen;
    while ((seen = atomicCAS(at, old, old + 1)) != old) { old = seen; ++mine; }
  }
  int sum = mine, most = mine;
  for (int d = 16; d > 0; d /= 2) { sum += __shfl_xor_sync(~0u, sum, d); most = max(most, __shfl_xor_sync(~0u, most, d)); }
  if (threadIdx.x % 32 == 0 && most > 0) { atomicAdd(tries + blockIdx.x % 1024, (u64)sum); atomicAdd(tries + 1024 + blockIdx.x % 1024, (u64)most); }
}
__global__ void wait(long long clocks) { long long s = clock64(); while (clock64() - s < clocks) {} }
template <class T> __global__ void clear(T* p, u64 n) { for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x) p[i] = 0; }
char* data; u32* sink; u64* tries;
template <class T, bool R> void adds(int p, char* at, u32 n, u32 m, u32 pitch) {
  if (p == 0) add<T, 0, R><<<(n + 255) / 256, 256>>>(at, n, m, pitch, sink);
  if (p == 1) add<T, 1, R><<<(n + 255) / 256, 256>>>(at, n, m, pitch, sink);
  if (p == 2) add<T, 2, R><<<(n + 255) / 256, 256>>>(at, n, m, pitch, sink);
}
void go(int op, int p, char* at, u32 n, u32 m, u32 pitch) {
  if (op == 0) adds<int, false>(p, at, n, m, pitch);
  if (op == 1) adds<float, false>(p, at, n, m, pitch);
  if (op == 2) adds<u64, false>(p, at, n, m, pitch);
  if (op == 3) adds<double, false>(p, at, n, m, pitch);
  if (op == 4) adds<int, true>(p, at, n, m, pitch);
  if (op == 5) adds<u64, true>(p, at, n, m, pitch);
  if (op == 6) {
    if (p == 0) cas<0><<<(n + 255) / 256, 256>>>(at, n, m, pitch, tries);
    if (p == 1) cas<1><<<(n + 255) / 256, 256>>>(at, n, m, pitch, tries);
    if (p == 2) cas<2><<<(n + 255) / 256, 256>>>(at, n, m, pitch, tries);
  }
}
const char* ops[] = {"int32", "float32", "uint64", "float64", "int32_returns", "uint64_returns", "cas"};
const char* patterns[] = {"modulo", "warp", "random"};
int main() {
  const u64 room = 64ull << 20;
  cudaMalloc(&data, room); cudaMalloc(&sink, 64); cudaMalloc(&tries, 16384);
  cudaEvent_t a, b; cudaEventCreate(&a); cudaEventCreate(&b);
  FILE* f = fopen((std::string(getenv("OUT")) + "/places.csv").c_str(), "w");
  fprintf(f, "op,pattern,addresses,pitch,offset,n,tries,warp_tries,time_us\n");
  static u64 counted[2048];
  auto one = [&](int op, int p, u32 m, u32 pitch, u64 offset, u32 n, int repeats) {
    if (offset + (u64)m * pitch + 16 > room) return;
    clear<<<64, 256>>>((u32*)(data + offset), ((u64)m * pitch + 8) / 4);
    go(op, p, data + offset, n, m, pitch);
    std::vector<float> us;
    for (int r = 0; r < repeats; ++r) {
      if (op == 6) clear<<<8, 256>>>(tries, 2048);
      wait<<<1, 1>>>(60000); cudaEventRecord(a); go(op, p, data + offset, n, m, pitch); cudaEventRecord(b); cudaEventSynchronize(b);
      float ms; cudaEventElapsedTime(&ms, a, b); us.push_back(ms * 1000);
    }
    std::sort(us.begin(), us.end());
    u64 sum = 0, most = 0;
    if (op == 6) { cudaMemcpy(counted, tries, 16384, cudaMemcpyDeviceToHost); for (int k = 0; k < 1024; ++k) { sum += counted[k]; most += counted[1024 + k]; } }
    fprintf(f, "%s,%s,%u,%u,%llu,%u,%llu,%llu,%.3f\n", ops[op], patterns[p], m, pitch, (unsigned long long)offset, n, (unsigned long long)sum, (unsigned long long)most, us[us.size() / 2]);
  };
  const u64 offsets[] = {0, 512, 3 * 4096 + 1536, 5 * 32768};
  for (int op = 0; op < 6; ++op) for (int p = 0; p < 3; ++p)
    for (u32 m : {1u, 2u, 3u, 4u, 5u, 6u, 8u, 12u, 16u, 24u, 32u, 33u, 48u, 64u, 100u, 128u, 200u, 256u, 500u, 512u, 1000u, 1024u, 2048u, 4096u, 16384u, 65536u})
      for (u32 pitch : {4u, 8u, 16u, 32u, 64u, 128u, 256u, 512u}) {
        const u32 width = op == 2 || op == 3 || op == 5 ? 8 : 4;
        if (pitch < width || pitch > 128 * width / 2) continue;
        for (u64 offset : offsets) { if (offset > 512 && (op == 3 || op == 5 || m > 1024)) continue; one(op, p, m, pitch, offset, m < 8 ? 1 << 18 : 1 << 20, 3); }
      }
  for (int p = 0; p < 3; ++p) for (u32 m : {1u, 4u, 8u, 16u, 24u, 32u, 64u, 128u, 256u, 1024u, 4096u, 16384u, 100000u})
    for (u32 pitch : {4u, 8u, 16u, 32u, 64u, 128u}) for (u32 n : {512u, 4096u, 32768u, 131072u, 786432u}) {
      if (n > 1000 * m || n * 8 < m || n / m * std::max(1.0, n / 500.0 / std::min(m, 64u)) > 3000) continue;
      for (u64 offset : {0ull, 512ull}) one(6, p, m, pitch, offset, n, 2);
    }
  fclose(f); printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
