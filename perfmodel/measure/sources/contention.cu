// Retries of compare-and-swap and lock loops, latency of each L2 slice, windows of two kernels at
// once, and a table that is read and written beside a stream.

typedef int int32;
typedef unsigned int uint32;
typedef unsigned long long uint64;
typedef float float32;

#ifndef TYPE
#define TYPE int32
#endif
#ifndef PATTERN
#define PATTERN modulo
#endif
#ifndef OPERATION
#define OPERATION cas_loop
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

// Each adds 1 and returns how often it tried.
__device__ __forceinline__ int cas_loop(int32* at) {
    int tries = 1;
    int32 old = *(volatile int32*)at, seen;
    while ((seen = atomicCAS(at, old, old + 1)) != old) { old = seen; ++tries; }
    return tries;
}
__device__ __forceinline__ int cas_loop(uint64* at) {
    int tries = 1;
    uint64 old = *(volatile uint64*)at, seen;
    while ((seen = atomicCAS(at, old, old + 1)) != old) { old = seen; ++tries; }
    return tries;
}
__device__ __forceinline__ int cas_loop(float32* at) {
    int tries = 1;
    int32* bits = (int32*)at;
    int32 old = *(volatile int32*)bits, seen;
    while ((seen = atomicCAS(bits, old, __float_as_int(__int_as_float(old) + 1.0f))) != old) { old = seen; ++tries; }
    return tries;
}
// Starts from a guess instead of a load: the first try fetches the value.
__device__ __forceinline__ int cas_guess(int32* at) {
    int tries = 1;
    int32 old = 0, seen;
    while ((seen = atomicCAS(at, old, old + 1)) != old) { old = seen; ++tries; }
    return tries;
}
// A lock a word, which guards the word after it; elements lie two words apart or more.
__device__ __forceinline__ int lock_loop(int32* at) {
    bool done = false;
    int tries = 0;
    while (!done) {
        ++tries;
        if (atomicExch(at, 1) == 0) {
            ((volatile int32*)at)[1] = ((volatile int32*)at)[1] + 1;
            __threadfence();
            atomicExch(at, 0);
            done = true;
        }
    }
    return tries;
}

// The first `lanes` lanes of each warp: lane by lane, thread i adds to element PATTERN(i)*spacing.
// `tries` gets the sum over lanes and, in its second half, over warps of the longest.
extern "C" __global__ void retries(TYPE* data, uint64* tries, int n, int addresses, int spacing, int lanes) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * lanes + threadIdx.x % 32;
    int mine = 0;
    if (threadIdx.x % 32 < lanes && i < n)
        mine = OPERATION(data + (long long)PATTERN((uint32)i, (uint32)addresses) * spacing);
    int sum = mine, most = mine;
    for (int d = 16; d > 0; d /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, d);
        most = max(most, __shfl_xor_sync(0xffffffffu, most, d));
    }
    if (threadIdx.x % 32 == 0 && most > 0) {
        int place = blockIdx.x % 1024;
        atomicAdd(tries + place, (uint64)sum);
        atomicAdd(tries + 1024 + place, (uint64)most);
    }
}

// The least of some latencies of one word every `step` bytes, for each SM: out[block][place].
extern "C" __global__ void slice_latency(const char* data, unsigned short* out, int places, int step, int turns) {
    if (threadIdx.x > 0) return;
    uint32 sum = 0;
    for (int k = 0; k < places; ++k) {
        int at = (k + blockIdx.x * 37) % places;
        const uint32* p = (const uint32*)(data + (long long)at * step);
        uint32 least = 65535;
        for (int t = 0; t < turns; ++t) {
            uint32 v;
            long long start = clock64();
            // The address waits for the clock, whose highest bit is never set.
            asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v) : "l"(p + (start >> 62)) : "memory");
            sum += v;
            asm volatile("" : "+r"(sum) : : "memory");
            long long stop = clock64() + (sum == 0x7fffffffu);
            uint32 spent = (uint32)(stop - start);
            if (t > 0) least = min(least, spent);
        }
        out[(long long)blockIdx.x * places + at] = (unsigned short)least;
    }
}

// One lane of each warp reads a table at random, each read after the one before; how long they took,
// in bins of 32 clocks, over the second half. `done` counts the blocks that ended.
extern "C" __global__ void watch(const uint32* table, uint32 lines, int hops, uint32* bins, int* done) {
    __shared__ uint32 own[128];
    if (threadIdx.x < 128) own[threadIdx.x] = 0;
    __syncthreads();
    uint32 at = hashed(blockIdx.x * blockDim.x + threadIdx.x + 1);
    for (int h = 0; h < hops && threadIdx.x % 32 == 0; ++h) {
        uint32 line = (uint32)(((uint64)hashed(at + h) * lines) >> 32), v;
        long long start = clock64();
        asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v) : "l"(table + (long long)line * 32 + (start >> 62)) : "memory");
        at += v;
        asm volatile("" : "+r"(at) : : "memory");
        long long stop = clock64() + (at == 0x7fffffffu);
        if (h >= hops / 2) atomicAdd(own + min(127u, (uint32)(stop - start) / 32), 1u);
    }
    __syncthreads();
    if (threadIdx.x < 128) atomicAdd(bins + threadIdx.x, own[threadIdx.x]);
    if (threadIdx.x == 0) { __threadfence(); atomicAdd(done, 1); }
}

// Reads a stream again and again until `done` reaches `enough`, `most` times at most.
extern "C" __global__ void flood(const float4* in, long long n, float* out, const int* done, int enough, int most) {
    float s = 0;
    for (int r = 0; r < most; ++r) {
        for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) {
            float4 v = __ldcg(in + i);
            s += v.x + v.y + v.z + v.w;
            if ((i & 0xffff) == 0 && *(volatile const int*)done >= enough) { r = most; break; }
        }
        if (*(volatile const int*)done >= enough) break;
    }
    if (s == 12345.678f) out[0] = s;
}

// The kernel of NVIDIA's best-practices guide in what it does: each thread doubles one int of a
// table and one of a stream.
extern "C" __global__ void sliding_window(int* table, int* stream, uint32 n, uint32 m) {
    uint32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        table[i % m] = 2 * table[i % m];
        stream[i] = 2 * stream[i];
    }
}

// `embedding`, with parts left out: bit 0 rows read, bit 1 the table, bit 2 the stream.
extern "C" __global__ void embedding_parts(const float* __restrict__ table, const uint32* __restrict__ rows,
                                           const float* __restrict__ stream, float* out, uint32 lookups,
                                           uint32 share, uint32 count) {
    const uint32 lookup = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (lookup < lookups) {
        float s = 0;
#ifdef ROWS
        uint32 row = rows[lookup];
#else
        uint32 row = (uint32)(((uint64)hashed(lookup) * count) >> 32);
#endif
#ifdef TABLE
        s += table[(size_t)row * 32 + lane];
#else
        s += (float)row;
#endif
#ifdef STREAM
        for (uint32 i = lane; i < share; i += 32) s += stream[(size_t)lookup * share + i];
#endif
        if (s == 12345.678f) out[0] = s;
    }
}

// A tile of 32 x 32 floats is transposed through shared memory, rows padded by PAD, or swizzled.
#ifndef PAD
#define PAD 0
#endif
#ifndef SWIZZLE
#define SWIZZLE 0
#endif
extern "C" __global__ void tile_transpose(const float* in, float* out, int n) {
    __shared__ float tile[32 * (32 + PAD)];
    int x = threadIdx.x, y = threadIdx.y;
    for (int k = 0; k < 4; ++k) {
        int row = y + 8 * k;
        int column = SWIZZLE ? x ^ row : x;
        tile[row * (32 + PAD) + column] = in[(long long)(blockIdx.y * 32 + row) * n + blockIdx.x * 32 + x];
    }
    __syncthreads();
    for (int k = 0; k < 4; ++k) {
        int row = y + 8 * k;
        int column = SWIZZLE ? row ^ x : row;
        out[(long long)(blockIdx.x * 32 + row) * n + blockIdx.y * 32 + x] = tile[x * (32 + PAD) + column];
    }
}

// Each thread reads `reads` floats of a table at random places, each index ready in time.
extern "C" __global__ void random_reads(const float* __restrict__ table, float* out, uint32 length, int reads) {
    uint32 i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
#pragma unroll 4
    for (int k = 0; k < reads; ++k) s += table[(uint32)(((uint64)hashed(i * 64 + k) * length) >> 32)];
    if (s == 12345.678f) out[0] = s;
}
