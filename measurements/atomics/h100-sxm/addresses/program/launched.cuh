// What places.cu and near.cu launch: additions of six kinds and loops of compare-and-swap, at i % m, by warps or hashed.
#pragma once
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
