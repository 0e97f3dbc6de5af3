// Asynchronous and bulk copies, matrix loads, vector reductions.
#include <cuda.h>
#include <cuda_fp16.h>
#include <stdint.h>
__device__ __forceinline__ uint32_t at(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
template <int SIZE, bool L2ONLY> __device__ __forceinline__ void copy_async(void *to, const void *from) {
    if (L2ONLY) asm volatile("cp.async.cg.shared.global [%0], [%1], %2;" ::"r"(at(to)), "l"(from), "n"(SIZE) : "memory");
    else asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(at(to)), "l"(from), "n"(SIZE) : "memory");
}
__device__ __forceinline__ void wait_all() { asm volatile("cp.async.wait_all;" ::: "memory"); __syncthreads(); }
extern "C" {
#define COPY(NAME, TYPE, SIZE, L2ONLY)                                                              \
    __global__ void NAME(const TYPE *in, TYPE *out, int stride) {                                   \
        __shared__ TYPE tile[256];                                                                  \
        int t = threadIdx.x;                                                                        \
        long long i = (long long)blockIdx.x * blockDim.x + t;                                       \
        copy_async<SIZE, L2ONLY>(&tile[t], in + i * stride);                                        \
        wait_all();                                                                                 \
        out[i] = tile[t ^ 1];                                                                       \
    }
COPY(async_4, float, 4, false)
COPY(async_8, float2, 8, false)
COPY(async_16, float4, 16, false)
COPY(async_16_past, float4, 16, true)

// Each block reads the same 16 KiB four times: does .ca keep it in L1?
__global__ void async_again(const float4 *in, float4 *out) {
    __shared__ float4 tile[1024];
    int t = threadIdx.x;
    float4 sum = make_float4(0, 0, 0, 0);
    for (int r = 0; r < 4; r++) {
        for (int k = 0; k < 4; k++) copy_async<16, false>(&tile[t + 256 * k], in + (long long)blockIdx.x * 1024 + t + 256 * k);
        wait_all();
        float4 v = tile[(t * 5 + r) & 1023];
        sum.x += v.x; sum.y += v.y; sum.z += v.z; sum.w += v.w;
        __syncthreads();
    }
    out[(long long)blockIdx.x * 256 + t] = sum;
}

#define WAIT(bar, phase)                                                                            \
    asm volatile("{ .reg .pred P; again: mbarrier.try_wait.parity.shared::cta.b64 P, [%0], %1; @P bra done; bra again; done: }" ::"r"(at(&bar)), "r"(phase) : "memory")

__global__ void bulk_copy(const float *in, float *out, int words) {
    extern __shared__ __align__(128) float tile_b[];
    __shared__ __align__(8) uint64_t bar;
    int bytes = words * 4;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at(&bar)));
        asm volatile("fence.mbarrier_init.release.cluster;");
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(&bar)), "r"(bytes));
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(at(tile_b)), "l"(in + (long long)blockIdx.x * words), "r"(bytes), "r"(at(&bar)) : "memory");
    }
    WAIT(bar, 0);
    for (int i = threadIdx.x; i < words; i += blockDim.x) tile_b[i] *= 2.0f;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(out + (long long)blockIdx.x * words), "r"(at(tile_b)), "r"(bytes) : "memory");
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
    }
}

__global__ void tensor_copy(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to) {
    __shared__ __align__(128) float tile_t[64 * 32];
    __shared__ __align__(8) uint64_t bar;
    int x = blockIdx.x * 32, y = blockIdx.y * 64;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at(&bar)));
        asm volatile("fence.mbarrier_init.release.cluster;");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(&bar)), "r"(64 * 32 * 4));
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(at(tile_t)), "l"(&from), "r"(x), "r"(y), "r"(at(&bar)) : "memory");
    }
    __syncthreads();
    WAIT(bar, 0);
    for (int i = threadIdx.x; i < 64 * 32; i += blockDim.x) tile_t[i] += 1.0f;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&to), "r"(x), "r"(y), "r"(at(tile_t)) : "memory");
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
    }
}

// Rows `pitch` halves apart: 64 conflict, 72 do not.
#define MATRICES(NAME, HOW, LIST, REGS)                                                             \
    __global__ void NAME(const half *in, uint32_t *out, int pitch, int times) {                     \
        __shared__ __align__(16) half m[32 * 80];                                                   \
        int t = threadIdx.x;                                                                        \
        for (int i = t; i < 32 * 80; i += blockDim.x) m[i] = in[i];                                 \
        __syncthreads();                                                                            \
        uint32_t sum = 0;                                                                           \
        for (int k = 0; k < times; k++) {                                                           \
            uint32_t a = 0, b = 0, c = 0, d = 0;                                                    \
            uint32_t p = at(m + (t & 31) * pitch + ((k & 3) << 3));                                 \
            asm volatile("ldmatrix.sync.aligned.m8n8." HOW ".shared.b16 {" LIST "}, [%4];" : REGS : "r"(p)); \
            sum += a + b + c + d;                                                                   \
        }                                                                                           \
        out[blockIdx.x * blockDim.x + t] = sum;                                                     \
    }
#define ALL4 "=r"(a), "=r"(b), "=r"(c), "=r"(d)
MATRICES(matrix_x1, "x1", "%0", ALL4)
MATRICES(matrix_x2, "x2", "%0, %1", ALL4)
MATRICES(matrix_x4, "x4", "%0, %1, %2, %3", ALL4)
MATRICES(matrix_x4_trans, "x4.trans", "%0, %1, %2, %3", ALL4)

__global__ void matrix_store(const half *in, uint32_t *out, int pitch, int times) {
    __shared__ __align__(16) half m[32 * 80];
    int t = threadIdx.x;
    uint32_t a = t, b = t * 3, c = t * 5, d = t * 7;
    for (int k = 0; k < times; k++) {
        uint32_t p = at(m + (t & 31) * pitch + ((k & 3) << 3));
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(p), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
        a += k;
    }
    __syncthreads();
    out[blockIdx.x * blockDim.x + t] = *(uint32_t *)(m + 2 * t % 2048);
}

__global__ void reduce_quads(float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float f = (float)i;
    asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(out + 4ll * (i % n)), "f"(f), "f"(f), "f"(f), "f"(f) : "memory");
}
__global__ void reduce_pairs(float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float f = (float)i;
    asm volatile("red.global.add.v2.f32 [%0], {%1, %2};" ::"l"(out + 2ll * (i % n)), "f"(f), "f"(f) : "memory");
}
__global__ void read_only_quads(const float4 *__restrict__ in, float *__restrict__ out) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    float4 v = __ldg(in + i);
    out[i] = v.x + v.y + v.z + v.w;
}
// Products on tensor cores.
__global__ void products_mma(float *out, int times) {
    uint32_t a = threadIdx.x, b = a * 3, c = a * 5, d = a * 7, e = a ^ 9, f = a ^ 31;
    float acc[4][4] = {};
    for (int k = 0; k < times; k++) {
#pragma unroll
        for (int j = 0; j < 4; j++)
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                         : "+f"(acc[j][0]), "+f"(acc[j][1]), "+f"(acc[j][2]), "+f"(acc[j][3]) : "r"(a), "r"(b), "r"(c), "r"(d), "r"(e), "r"(f));
    }
    float sum = 0;
    for (int j = 0; j < 4; j++) for (int k = 0; k < 4; k++) sum += acc[j][k];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
}
