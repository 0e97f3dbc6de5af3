// Global atomics. The index of a thread is a function of PATTERN, the addition one of TYPE and
// OPERATION, and RETURNS says whether the old value is used.
#include <cuda_fp16.h>

typedef int int32;
typedef unsigned int uint32;
typedef unsigned long long uint64;
typedef float float32;
typedef double float64;

#ifndef TYPE
#define TYPE int32
#endif
#ifndef PATTERN
#define PATTERN modulo
#endif
#ifndef OPERATION
#define OPERATION add
#endif
#ifndef RETURNS
#define RETURNS 0
#endif

// The finaliser of MurmurHash3: a bijection of 32-bit integers that looks random.
__device__ __forceinline__ uint32 hashed(uint32 x) {
    x ^= x >> 16;
    x *= 0x85ebca6bu;
    x ^= x >> 13;
    x *= 0xc2b2ae35u;
    return x ^ (x >> 16);
}

__device__ __forceinline__ uint32 uniform_bin(uint32 h, uint32 addresses) {
    return (uint32)(((uint64)h * addresses) >> 32);
}

// `extra` is what a pattern needs besides: percent of skew, 256ths that go to one bin, run length.
__device__ __forceinline__ uint32 modulo(uint32 i, uint32 addresses, uint32) { return i % addresses; }
__device__ __forceinline__ uint32 warp(uint32 i, uint32 addresses, uint32) { return (i / 32) % addresses; }
__device__ __forceinline__ uint32 runs(uint32 i, uint32 addresses, uint32 run) { return (i / run) % addresses; }
__device__ __forceinline__ uint32 random(uint32 i, uint32 addresses, uint32) {
    return uniform_bin(hashed(i), addresses);
}
__device__ __forceinline__ uint32 hot(uint32 i, uint32 addresses, uint32 share) {
    uint32 h = hashed(i);
    return (h & 255u) < share ? 0u : uniform_bin(hashed(h), addresses);
}
// Bin k with a probability close to that of Zipf's law, (k + 1)^(-skew/100): the inverse of the
// integral of x^(-skew/100) from 1 to addresses + 1, at a uniform number, rounded down.
__device__ __forceinline__ uint32 zipf(uint32 i, uint32 addresses, uint32 skew) {
    float u = (hashed(i) >> 8) * (1.0f / 16777216.0f);
    float top = __log2f((float)addresses + 1.0f);
    float x;
    if (skew == 100) {
        x = exp2f(u * top);
    } else {
        float power = 1.0f - skew / 100.0f;
        x = exp2f(__log2f(u * (exp2f(power * top) - 1.0f) + 1.0f) / power);
    }
    uint32 bin = (uint32)x - 1u;
    return bin < addresses ? bin : addresses - 1u;
}
// Consecutive bins of `zipf` share sectors; here the likely ones lie apart.
__device__ __forceinline__ uint32 zipf_apart(uint32 i, uint32 addresses, uint32 skew) {
    return (uint32)((zipf(i, addresses, skew) * 2654435761ull) % addresses);
}

__device__ __forceinline__ int32 one(int32*) { return 1; }
__device__ __forceinline__ uint64 one(uint64*) { return 1ull; }
__device__ __forceinline__ float32 one(float32*) { return 1.0f; }
__device__ __forceinline__ float64 one(float64*) { return 1.0; }
__device__ __forceinline__ half2 one(half2*) { return __halves2half2(__float2half(1.0f), __float2half(0.5f)); }

template <class T>
__device__ __forceinline__ T some(int v, T*) { return (T)v; }
__device__ __forceinline__ half2 some(int v, half2*) { return __half2half2(__int2half_rn(v)); }

__device__ __forceinline__ bool never(int32 v) { return v == -7; }
__device__ __forceinline__ bool never(uint64 v) { return v == 0xfffffffffffffff7ull; }
__device__ __forceinline__ bool never(float32 v) { return v == -7.0f; }
__device__ __forceinline__ bool never(float64 v) { return v == -7.0; }
__device__ __forceinline__ bool never(half2 v) { return __half2float(__low2half(v)) == -7.0f; }

template <class T>
__device__ __forceinline__ T add(T* at, T value) {
    return atomicAdd(at, value);
}

// Exchange: no arithmetic.
template <class T>
__device__ __forceinline__ T exchange(T* at, T value) {
    return atomicExch(at, value);
}

// One compare-and-swap, which fails almost always.
__device__ __forceinline__ int32 swap_once(int32* at, int32 value) { return atomicCAS(at, 0, value); }
__device__ __forceinline__ uint64 swap_once(uint64* at, uint64 value) { return atomicCAS(at, 0ull, value); }

// An addition as a loop of compare-and-swap.
__device__ __forceinline__ int32 cas_loop(int32* at, int32 value) {
    int32 old = *(volatile int32*)at, seen;
    while ((seen = atomicCAS(at, old, old + value)) != old) old = seen;
    return old;
}
__device__ __forceinline__ float32 cas_loop(float32* at, float32 value) {
    int32* bits = (int32*)at;
    int32 old = *(volatile int32*)bits, seen;
    while ((seen = atomicCAS(bits, old, __float_as_int(__int_as_float(old) + value))) != old) old = seen;
    return __int_as_float(old);
}
__device__ __forceinline__ uint64 cas_loop(uint64* at, uint64 value) {
    uint64 old = *(volatile uint64*)at, seen;
    while ((seen = atomicCAS(at, old, old + value)) != old) old = seen;
    return old;
}

// A lock a word; the word after it is what the lock guards. Elements lie two words apart or more.
__device__ __forceinline__ int32 lock_loop(int32* at, int32 value) {
    bool done = false;
    int32 old = 0;
    while (!done) {
        if (atomicExch(at, 1) == 0) {
            old = ((volatile int32*)at)[1];
            ((volatile int32*)at)[1] = old + value;
            __threadfence();
            atomicExch(at, 0);
            done = true;
        }
    }
    return old;
}

__device__ __forceinline__ void apply(TYPE* at, TYPE value, TYPE* sink) {
    TYPE old = OPERATION(at, value);
#if RETURNS
    if (never(old)) *sink = value;
#endif
}

// Thread i adds to element PATTERN(i)*spacing.
extern "C" __global__ void atomic_add(TYPE* data, long long n, int addresses, int spacing, int extra) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        long long at = (long long)PATTERN((uint32)i, (uint32)addresses, (uint32)extra) * spacing;
        apply(data + at, one(data), data + at + 1);
    }
}

// All threads add to one element whose address the compiler knows to be the same for the warp.
extern "C" __global__ void atomic_uniform(TYPE* data, long long n) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) apply(data, one(data), data + 1);
}

// As above, but each thread has a value of its own.
extern "C" __global__ void atomic_uniform_values(TYPE* data, long long n) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) apply(data, some((int)(i & 7), data), data + 1);
}

// Each warp has a region of its own, `pitch` elements from the next, `regions` of them; lane l adds
// to element (l % distinct)*spacing of it, `iterations` times.
extern "C" __global__ void atomic_shape(TYPE* data, long long* clocks, int regions, int pitch,
                                        int distinct, int spacing, int iterations) {
    int warp_index = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    TYPE* at = data + (long long)(warp_index % regions) * pitch + (threadIdx.x % 32 % distinct) * spacing;
    TYPE value = one(data);
    long long start = clock64();
#pragma unroll 4
    for (int k = 0; k < iterations; ++k) apply(at, value, at + 1);
    __syncthreads();
    if (threadIdx.x == 0) clocks[blockIdx.x] = clock64() - start;
}

// Each thread's atomics depend on each other: the next address needs the old value.
extern "C" __global__ void atomic_chain(int32* data, long long* clocks, int pitch, int distinct,
                                        int spacing, int iterations) {
    int warp_index = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    long long at = (long long)warp_index * pitch + (threadIdx.x % 32 % distinct) * spacing;
    long long start = clock64();
    for (int k = 0; k < iterations; ++k) at += atomicAdd(data + at, 1) >> 30;
    if (never((int32)at)) data[at] = 0;
    __syncthreads();
    if (threadIdx.x == 0) clocks[blockIdx.x] = clock64() - start;
}

// Thread i adds to `count` elements, each in a line of its own and far from the others.
extern "C" __global__ void atomic_several(TYPE* data, long long n, int count, long long apart, int spacing) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        for (int k = 0; k < count; ++k) {
            TYPE* at = data + k * apart + i * spacing % apart;
            apply(at, one(data), at + 1);
        }
    }
}

// A load of the same element, then an atomic on it: what a histogram of an input does.
extern "C" __global__ void atomic_histogram(const uint32* in, TYPE* data, long long n, int spacing) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        TYPE* at = data + (long long)in[i] * spacing;
        apply(at, one(data), at + 1);
    }
}
