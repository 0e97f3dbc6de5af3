// Thread i adds 1 to element PATTERN(i) * spacing by a loop of compare-and-swaps, as an addition of a
// type without an atomic instruction does: it reads the element, and tries until nobody has changed it
// in between.
//
// Launch: grid ceil(n / block).
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

__device__ __forceinline__ int32 bits(int32 v) { return v; }
__device__ __forceinline__ uint32 bits(uint32 v) { return v; }
__device__ __forceinline__ uint64 bits(uint64 v) { return v; }
__device__ __forceinline__ int32 bits(float32 v) { return __float_as_int(v); }
__device__ __forceinline__ uint64 bits(float64 v) { return __double_as_longlong(v); }
__device__ __forceinline__ int32 sum(int32 word, int32) { return word + 1; }
__device__ __forceinline__ uint32 sum(uint32 word, uint32) { return word + 1; }
__device__ __forceinline__ uint64 sum(uint64 word, uint64) { return word + 1; }
__device__ __forceinline__ int32 sum(int32 word, float32) { return bits(__int_as_float(word) + 1.0f); }
__device__ __forceinline__ uint64 sum(uint64 word, float64) { return bits(__longlong_as_double(word) + 1.0); }

extern "C" __global__ void cas_loop(TYPE* data, long long n, int addresses, int spacing) {
  using Word = decltype(bits(TYPE{}));
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    Word* at = (Word*)(data + (long long)PATTERN((uint32)i, (uint32)addresses) * spacing);
    Word old = *(volatile Word*)at, seen;
    while ((seen = atomicCAS(at, old, sum(old, TYPE{}))) != old) old = seen;
  }
}
