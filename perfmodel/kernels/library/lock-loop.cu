// Thread i takes the lock PATTERN(i) * spacing, adds 1 to the word behind it, and frees the lock.
// Locks are at a stride of two words or more. A lane that has the lock finishes before its warp tries again.
//
// Launch: grid ceil(n / block).
using uint32 = unsigned;
using uint64 = unsigned long long;

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

extern "C" __global__ void lock_loop(int* data, long long n, int addresses, int spacing) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    int* at = data + (long long)PATTERN((uint32)i, (uint32)addresses) * spacing;
    bool done = false;
    while (!done) {
      if (atomicExch(at, 1) == 0) {
        ((volatile int*)at)[1] = ((volatile int*)at)[1] + 1;
        __threadfence();
        atomicExch(at, 0);
        done = true;
      }
    }
  }
}
