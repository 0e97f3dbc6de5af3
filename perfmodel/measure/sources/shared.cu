// Shared memory: atomics, privatised sums and histograms, bank conflicts.

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
#ifndef SPREAD
#define SPREAD 0
#endif
#ifndef WIDTH
#define WIDTH 4
#endif

__device__ __forceinline__ uint32 hashed(uint32 x) {
    x ^= x >> 16;
    x *= 0x85ebca6bu;
    x ^= x >> 13;
    x *= 0xc2b2ae35u;
    return x ^ (x >> 16);
}
__device__ __forceinline__ uint32 modulo(uint32 i, uint32 addresses) { return i % addresses; }
__device__ __forceinline__ uint32 warp(uint32 i, uint32 addresses) { return (i / 32) % addresses; }
__device__ __forceinline__ uint32 random(uint32 i, uint32 addresses) {
    return (uint32)(((uint64)hashed(i) * addresses) >> 32);
}

// Thread t adds to element PATTERN(t)*spacing of its block's array, `iterations` times.
extern "C" __global__ void shared_atomic(TYPE* out, long long* clocks, int iterations, int addresses,
                                         int spacing, int amount) {
    extern __shared__ char raw[];
    TYPE* sums = (TYPE*)raw;
    for (int k = threadIdx.x; k < addresses * spacing; k += blockDim.x) sums[k] = (TYPE)0;
    TYPE* at = sums + PATTERN(threadIdx.x, addresses) * spacing;
    TYPE value = (TYPE)amount;
    __syncthreads();
    long long start = clock64();
#pragma unroll 4
    for (int k = 0; k < iterations; ++k) atomicAdd(at, value);
    __syncthreads();
    long long stop = clock64();
    if (threadIdx.x == 0) {
        clocks[blockIdx.x] = stop - start;
        out[blockIdx.x] = sums[0];
    }
}

// As above with the old value as part of the next address, so that the atomics form a chain.
extern "C" __global__ void shared_atomic_chain(int32* out, long long* clocks, int iterations,
                                               int addresses, int spacing) {
    extern __shared__ char raw[];
    int32* sums = (int32*)raw;
    for (int k = threadIdx.x; k < addresses * spacing; k += blockDim.x) sums[k] = 0;
    int at = PATTERN(threadIdx.x, addresses) * spacing;
    __syncthreads();
    long long start = clock64();
    for (int k = 0; k < iterations; ++k) at += atomicAdd(sums + at, 1) >> 30;
    __syncthreads();
    long long stop = clock64();
    if (threadIdx.x == 0) {
        clocks[blockIdx.x] = stop - start;
        out[blockIdx.x] = sums[0] + at;
    }
}

// All threads add to one element whose address the compiler knows to be the same for the warp.
extern "C" __global__ void shared_atomic_uniform(TYPE* out, long long* clocks, int iterations, int amount) {
    __shared__ TYPE sum;
    TYPE value = (TYPE)amount;
    if (threadIdx.x == 0) sum = (TYPE)0;
    __syncthreads();
    long long start = clock64();
#pragma unroll 4
    for (int k = 0; k < iterations; ++k) atomicAdd(&sum, value);
    __syncthreads();
    long long stop = clock64();
    if (threadIdx.x == 0) {
        clocks[blockIdx.x] = stop - start;
        out[blockIdx.x] = sum;
    }
}

// A counter a block in shared memory, then one global atomic a block. With SPREAD the counter's
// address comes from an argument, so that the compiler cannot add up a warp's values before it.
extern "C" __global__ void atomic_privatized(TYPE* out, long long n, int addresses) {
#if SPREAD
    __shared__ TYPE sums[32];
    if (threadIdx.x < 32) sums[threadIdx.x] = (TYPE)0;
    TYPE* at = sums + threadIdx.x % addresses;
#else
    __shared__ TYPE sums[1];
    if (threadIdx.x == 0) sums[0] = (TYPE)0;
    TYPE* at = sums;
#endif
    __syncthreads();
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(at, (TYPE)1);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(out, sums[0]);
}

// A histogram of hashed bins: `copies` private histograms a block, added up at the end and put into
// the global one by one atomic a bin. Warp w uses copy w % copies.
extern "C" __global__ void private_histogram(TYPE* out, long long* clocks, long long n, int bins, int copies) {
    extern __shared__ char raw[];
    TYPE* sums = (TYPE*)raw;
    long long start = clock64();
    for (int k = threadIdx.x; k < bins * copies; k += blockDim.x) sums[k] = (TYPE)0;
    TYPE* mine = sums + (threadIdx.x / 32) % copies * bins;
    __syncthreads();
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        atomicAdd(mine + random((uint32)i, bins), (TYPE)1);
    __syncthreads();
    for (int k = threadIdx.x; k < bins; k += blockDim.x) {
        TYPE sum = (TYPE)0;
        for (int c = 0; c < copies; ++c) sum += sums[c * bins + k];
        atomicAdd(out + k, sum);
    }
    __syncthreads();
    if (threadIdx.x == 0) clocks[blockIdx.x] = clock64() - start;
}

__device__ __forceinline__ uint32 load(uint32 at) {
#if WIDTH == 16
    uint32 a, b, c, d;
    asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at));
    return a ^ b ^ c ^ d;
#elif WIDTH == 8
    uint32 a, b;
    asm volatile("ld.volatile.shared.v2.u32 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(at));
    return a ^ b;
#else
    uint32 a;
    asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(a) : "r"(at));
    return a;
#endif
}
__device__ __forceinline__ void store(uint32 at, uint32 v) {
#if WIDTH == 16
    asm volatile("st.volatile.shared.v4.u32 [%0], {%1, %1, %1, %1};" : : "r"(at), "r"(v));
#elif WIDTH == 8
    asm volatile("st.volatile.shared.v2.u32 [%0], {%1, %1};" : : "r"(at), "r"(v));
#else
    asm volatile("st.volatile.shared.u32 [%0], %1;" : : "r"(at), "r"(v));
#endif
}

// Where lane l accesses, in units of WIDTH bytes: at l*stride (0 is a broadcast), or, for a negative
// stride, at one of -stride slots drawn at random for each thread.
__device__ __forceinline__ uint32 slot(int stride) {
    uint32 lane = threadIdx.x % 32;
    return stride >= 0 ? lane * stride : hashed(threadIdx.x) % (uint32)(-stride);
}

extern "C" __global__ void shared_load(uint32* out, long long* clocks, int iterations, int stride) {
    extern __shared__ char raw[];
    uint32 base = (uint32)__cvta_generic_to_shared(raw);
    for (int k = threadIdx.x; k < 33 * 32 * WIDTH / 4; k += blockDim.x) ((uint32*)raw)[k] = hashed(k);
    uint32 at = base + slot(stride) * WIDTH, sum = 0;
    __syncthreads();
    long long start = clock64();
#pragma unroll 8
    for (int k = 0; k < iterations; ++k) sum ^= load(at);
    __syncthreads();
    long long stop = clock64();
    if (threadIdx.x == 0) clocks[blockIdx.x] = stop - start;
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void shared_store(uint32* out, long long* clocks, int iterations, int stride) {
    extern __shared__ char raw[];
    uint32 base = (uint32)__cvta_generic_to_shared(raw);
    uint32 at = base + slot(stride) * WIDTH;
    __syncthreads();
    long long start = clock64();
#pragma unroll 8
    for (int k = 0; k < iterations; ++k) store(at, k ^ threadIdx.x);
    __syncthreads();
    long long stop = clock64();
    if (threadIdx.x == 0) clocks[blockIdx.x] = stop - start;
    out[blockIdx.x * blockDim.x + threadIdx.x] = ((uint32*)raw)[threadIdx.x % 32];
}
