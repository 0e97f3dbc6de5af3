// Thread i adds 1 to element PATTERN(i) * spacing: i % addresses (modulo), a hashed element (random),
// or the same one for the whole warp (warp). With RETURNS the old value is used. `addresses` is known
// at run time only, so that the compiler cannot add up the values of a warp before the atomic.
//
// Launch: grid ceil(n / 256), block 256.
#include <cuda_fp16.h>

using int32 = int;
using uint32 = unsigned;
using uint64 = unsigned long long;
using float32 = float;
using float64 = double;

#ifndef TYPE
#define TYPE int32
#endif
#ifndef PATTERN
#define PATTERN modulo
#endif
#ifndef RETURNS
#define RETURNS 0
#endif

// The finaliser of MurmurHash3, a bijection of 32-bit integers that looks random.
__device__ __forceinline__ uint32 hashed(uint32 x) {
  x ^= x >> 16;
  x *= 0x85ebca6bu;
  x ^= x >> 13;
  x *= 0xc2b2ae35u;
  return x ^ (x >> 16);
}

__device__ __forceinline__ uint32 modulo(uint32 i, uint32 addresses) { return i % addresses; }
__device__ __forceinline__ uint32 warp(uint32 i, uint32 addresses) { return i / 32 % addresses; }
__device__ __forceinline__ uint32 random(uint32 i, uint32 addresses) {
  return (uint32)(((uint64)hashed(i) * addresses) >> 32);
}

__device__ __forceinline__ int32 one(int32*) { return 1; }
__device__ __forceinline__ uint32 one(uint32*) { return 1u; }
__device__ __forceinline__ uint64 one(uint64*) { return 1ull; }
__device__ __forceinline__ float32 one(float32*) { return 1.0f; }
__device__ __forceinline__ float64 one(float64*) { return 1.0; }
__device__ __forceinline__ half2 one(half2*) { return __floats2half2_rn(1.0f, 0.5f); }

template <class T>
__device__ __forceinline__ bool never(T v) { return v == (T)-7; }
__device__ __forceinline__ bool never(half2 v) { return __low2float(v) == -7.0f; }

extern "C" __global__ void atomic_add(TYPE* data, long long n, int addresses, int spacing) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    TYPE* at = data + (long long)PATTERN((uint32)i, (uint32)addresses) * spacing;
    const TYPE old = atomicAdd(at, one(data));
#if RETURNS
    if (never(old)) *at = one(data);  // it is never -7, but the compiler cannot know
#endif
  }
}
