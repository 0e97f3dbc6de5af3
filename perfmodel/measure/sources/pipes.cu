// Throughput of the arithmetic pipes, alone and in pairs, and the cost of a barrier.
//
// A thread holds `ILP` independent pairs (a, b). A step replaces a by f(a, b), then b by f(b, a):
// both are needed later, so that the compiler can neither drop nor merge an instruction.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

typedef unsigned int uint32;
typedef unsigned long long uint64;

#ifndef PIPE
#define PIPE ffma
#endif
#ifndef WITH
#define WITH none
#endif
#ifndef ILP
#define ILP 4
#endif

struct none {
    typedef uint32 T;
    static __device__ __forceinline__ void step(T&, T, T) {}
    static __device__ __forceinline__ T first(uint32 seed) { return seed; }
};
struct ffma {
    typedef float T;
    static __device__ __forceinline__ void step(T& a, T b, T c) { asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(a) : "f"(b), "f"(c)); }
    static __device__ __forceinline__ T first(uint32 seed) { return 1.0f + seed * 1e-7f; }
};
struct fadd : ffma {
    static __device__ __forceinline__ void step(T& a, T b, T) { asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(a) : "f"(b)); }
};
struct fmul : ffma {
    static __device__ __forceinline__ void step(T& a, T b, T) { asm volatile("mul.rn.f32 %0, %0, %1;" : "+f"(a) : "f"(b)); }
};
struct fmnmx : ffma {
    static __device__ __forceinline__ void step(T& a, T b, T) { asm volatile("min.f32 %0, %0, %1;" : "+f"(a) : "f"(b)); }
};
struct dfma {
    typedef double T;
    static __device__ __forceinline__ void step(T& a, T b, T c) { asm volatile("fma.rn.f64 %0, %0, %1, %2;" : "+d"(a) : "d"(b), "d"(c)); }
    static __device__ __forceinline__ T first(uint32 seed) { return 1.0 + seed * 1e-9; }
};
struct integer {
    typedef uint32 T;
    static __device__ __forceinline__ T first(uint32 seed) { return seed * 2654435761u + 1u; }
};
struct iadd : integer {
    static __device__ __forceinline__ void step(T& a, T b, T) { asm volatile("add.u32 %0, %0, %1;" : "+r"(a) : "r"(b)); }
};
struct imad : integer {
    static __device__ __forceinline__ void step(T& a, T b, T c) { asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(a) : "r"(b), "r"(c)); }
};
struct lop3 : integer {
    static __device__ __forceinline__ void step(T& a, T b, T c) { asm volatile("lop3.b32 %0, %0, %1, %2, 0x96;" : "+r"(a) : "r"(b), "r"(c)); }
};
struct shf : integer {
    static __device__ __forceinline__ void step(T& a, T b, T) { asm volatile("shf.l.wrap.b32 %0, %0, %1, 7;" : "+r"(a) : "r"(b)); }
};
struct imnmx : integer {
    static __device__ __forceinline__ void step(T& a, T b, T) { asm volatile("min.u32 %0, %0, %1;" : "+r"(a) : "r"(b)); }
};
struct prmt : integer {
    static __device__ __forceinline__ void step(T& a, T b, T) { asm volatile("prmt.b32 %0, %0, %1, 0x3650;" : "+r"(a) : "r"(b)); }
};
struct popc : integer {
    static __device__ __forceinline__ void step(T& a, T, T) { asm volatile("popc.b32 %0, %0;" : "+r"(a)); }
};
struct brev : integer {
    static __device__ __forceinline__ void step(T& a, T, T) { asm volatile("bfind.u32 %0, %0;" : "+r"(a)); }
};
struct hfma2 : integer {
    static __device__ __forceinline__ void step(T& a, T b, T c) { asm volatile("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(a) : "r"(b), "r"(c)); }
};
struct f2i : integer {
    static __device__ __forceinline__ void step(T& a, T, T) { asm volatile("cvt.rni.s32.f32 %0, %1;" : "=r"(a) : "f"(__uint_as_float(a))); }
};
struct i2f : integer {
    static __device__ __forceinline__ void step(T& a, T, T) {
        float f;
        asm volatile("cvt.rn.f32.s32 %0, %1;" : "=f"(f) : "r"(a));
        a = __float_as_uint(f);
    }
};
struct f2h : integer {
    static __device__ __forceinline__ void step(T& a, T b, T) {
        asm volatile("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(a) : "f"(__uint_as_float(a)), "f"(__uint_as_float(b)));
    }
};
struct mufu_rsq : ffma {
    static __device__ __forceinline__ void step(T& a, T, T) { asm volatile("rsqrt.approx.ftz.f32 %0, %0;" : "+f"(a)); }
};
struct mufu_ex2 : ffma {
    static __device__ __forceinline__ void step(T& a, T, T) { asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(a)); }
};
struct mufu_tanh : ffma {
    static __device__ __forceinline__ void step(T& a, T, T) { asm volatile("tanh.approx.f32 %0, %0;" : "+f"(a)); }
};
struct shuffle : integer {
    static __device__ __forceinline__ void step(T& a, T, T) { asm volatile("shfl.sync.bfly.b32 %0, %0, 5, 31, 0xffffffff;" : "+r"(a)); }
};
struct redux : integer {
    static __device__ __forceinline__ void step(T& a, T, T) { asm volatile("redux.sync.add.u32 %0, %0, 0xffffffff;" : "+r"(a)); }
};

// `pairs` * 2 * ILP instructions of PIPE an iteration of each thread, and as many of WITH.
extern "C" __global__ void pipe(uint32* out, long long* clocks, int iterations, uint32 seed) {
    PIPE::T a[ILP], b[ILP];
    WITH::T p[ILP], q[ILP];
#pragma unroll
    for (int k = 0; k < ILP; ++k) {
        a[k] = PIPE::first(seed + threadIdx.x + k);
        b[k] = PIPE::first(seed + threadIdx.x * 3 + k);
        p[k] = WITH::first(seed + threadIdx.x + k);
        q[k] = WITH::first(seed + threadIdx.x * 5 + k);
    }
    PIPE::T c = PIPE::first(seed + 7);
    WITH::T r = WITH::first(seed + 9);
    __syncthreads();
    long long start = clock64();
#pragma unroll 8
    for (int i = 0; i < iterations; ++i) {
#pragma unroll
        for (int k = 0; k < ILP; ++k) {
            PIPE::step(a[k], b[k], c);
            WITH::step(p[k], q[k], r);
        }
#pragma unroll
        for (int k = 0; k < ILP; ++k) {
            PIPE::step(b[k], a[k], c);
            WITH::step(q[k], p[k], r);
        }
    }
    __syncthreads();
    long long stop = clock64();
    if (threadIdx.x == 0) clocks[blockIdx.x] = stop - start;
    uint32 all = 0;
#pragma unroll
    for (int k = 0; k < ILP; ++k) all ^= (uint32)a[k] ^ (uint32)b[k] ^ (uint32)p[k] ^ (uint32)q[k];
    out[blockIdx.x * blockDim.x + threadIdx.x] = all;
}

// 16 x 8 x 16 bf16 matrix products into FP32, 2 * ILP of them an iteration of each warp.
extern "C" __global__ void tensor(float* out, long long* clocks, int iterations, uint32 seed) {
    float d[2 * ILP][4];
    uint32 x[4], y[2];
    for (int k = 0; k < 4; ++k) x[k] = 0x3f803f80u + ((seed * 7 + threadIdx.x + k) & 0x000f000fu);
    for (int k = 0; k < 2; ++k) y[k] = 0x3f803f80u + ((seed * 5 + threadIdx.x + k) & 0x000f000fu);
#pragma unroll
    for (int k = 0; k < 2 * ILP; ++k)
        for (int j = 0; j < 4; ++j) d[k][j] = 0.0f;
    __syncthreads();
    long long start = clock64();
#pragma unroll 4
    for (int i = 0; i < iterations; ++i)
#pragma unroll
        for (int k = 0; k < 2 * ILP; ++k)
            asm volatile(
                "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                : "+f"(d[k][0]), "+f"(d[k][1]), "+f"(d[k][2]), "+f"(d[k][3])
                : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
    __syncthreads();
    long long stop = clock64();
    if (threadIdx.x == 0) clocks[blockIdx.x] = stop - start;
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 2 * ILP; ++k)
        for (int j = 0; j < 4; ++j) sum += d[k][j];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Barriers of the block, `iterations` of them, with `work` dependent FP32 operations before each.
extern "C" __global__ void barrier(float* out, long long* clocks, int iterations, int work, float x) {
    float y = x + threadIdx.x;
    __syncthreads();
    long long start = clock64();
    for (int i = 0; i < iterations; ++i) {
        for (int k = 0; k < work; ++k) y = y * x + 1.0f;
        __syncthreads();
    }
    long long stop = clock64();
    if (threadIdx.x == 0) clocks[blockIdx.x] = stop - start;
    out[blockIdx.x * blockDim.x + threadIdx.x] = y;
}
