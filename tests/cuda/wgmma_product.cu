typedef unsigned short bf16;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;

// C = A B^T: bf16 in, float out; A is M x K, B is N x K, both along K.
// Blocks of two warp groups make 128 x 256 of C, each 64 x 256, 64 of K a step, four stages deep.
constexpr int BM = 128, BN = 256, BK = 64, STAGES = 4, THREADS = 256;
constexpr int STAGE = (BM + BN) * BK;

// Rows of 128 bytes, their eight pieces of 16 swizzled (128-byte swizzle): 8 rows are a kilobyte.
__device__ __forceinline__ uint64_t descriptor(const bf16* at) {
  uint64_t address = (uint32_t)__cvta_generic_to_shared(at);
  return (address & 0x3FFFF) >> 4 | (uint64_t)1 << 16 | (uint64_t)(1024 >> 4) << 32 | (uint64_t)1 << 62;
}

template <int ROWS>
__device__ __forceinline__ void load(bf16* to, const bf16* from, int k) {
#pragma unroll
  for (int i = 0; i < ROWS * (BK / 8) / THREADS; i++) {
    int row = (i * THREADS + threadIdx.x) / (BK / 8), piece = threadIdx.x % (BK / 8);
    uint32_t at = (uint32_t)__cvta_generic_to_shared(to + row * BK + (piece ^ row % 8) * 8);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from + (uint64_t)row * k + piece * 8));
  }
}

__device__ __forceinline__ void product(float (&d)[128], uint64_t a, uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
#define R8(n) "%" #n "0,%" #n "1,%" #n "2,%" #n "3,%" #n "4,%" #n "5,%" #n "6,%" #n "7,%" #n "8,%" #n "9,"
      "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9," R8(1) R8(2) R8(3) R8(4) R8(5) R8(6) R8(7) R8(8) R8(9) R8(10) R8(11)
      "%120,%121,%122,%123,%124,%125,%126,%127}, %128, %129, 1, 1, 1, 0, 0;"
      :
#define D4(n) "+f"(d[n]), "+f"(d[n + 1]), "+f"(d[n + 2]), "+f"(d[n + 3])
#define D16(n) D4(n), D4(n + 4), D4(n + 8), D4(n + 12)
      D16(0), D16(16), D16(32), D16(48), D16(64), D16(80), D16(96), D16(112)
      : "l"(a), "l"(b));
}

extern "C" __global__ void __launch_bounds__(256, 1)
wgmma_product(const bf16* __restrict__ a, const bf16* __restrict__ b,
              float* __restrict__ c, int n, int k) {
  extern __shared__ __align__(128) bf16 tiles[];
  int group = threadIdx.x / 128, steps = k / BK;
  const bf16* from_a = a + (uint64_t)blockIdx.y * BM * k;
  const bf16* from_b = b + (uint64_t)blockIdx.x * BN * k;
  float d[128];
#pragma unroll
  for (int i = 0; i < 128; i++) d[i] = 0.0f;
#pragma unroll
  for (int s = 0; s < STAGES - 1; s++) {
    load<BM>(tiles + s * STAGE, from_a + s * BK, k);
    load<BN>(tiles + s * STAGE + BM * BK, from_b + s * BK, k);
    asm volatile("cp.async.commit_group;");
  }
#pragma unroll 1
  for (int step = 0; step < steps; step++) {
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
    __syncthreads();
    asm volatile("fence.proxy.async;");
    const bf16* stage = tiles + step % STAGES * STAGE;
    asm volatile("wgmma.fence.sync.aligned;");
    uint64_t at_a = descriptor(stage + group * 64 * BK), at_b = descriptor(stage + BM * BK);
#pragma unroll
    for (int i = 0; i < BK / 16; i++) product(d, at_a + i * 2, at_b + i * 2);
    asm volatile("wgmma.commit_group.sync.aligned;");
    int next = step + STAGES - 1;
    if (next < steps) {
      bf16* into = tiles + next % STAGES * STAGE;
      load<BM>(into, from_a + next * BK, k);
      load<BN>(into + BM * BK, from_b + next * BK, k);
    }
    asm volatile("cp.async.commit_group;");
    asm volatile("wgmma.wait_group.sync.aligned 0;");
  }
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
  int row = blockIdx.y * BM + group * 64 + warp * 16 + lane / 4;
  float* to = c + (uint64_t)row * n + blockIdx.x * BN + lane % 4 * 2;
#pragma unroll
  for (int j = 0; j < 32; j++) {
    *(float2*)(to + j * 8) = make_float2(d[j * 4], d[j * 4 + 1]);
    *(float2*)(to + 8 * n + j * 8) = make_float2(d[j * 4 + 2], d[j * 4 + 3]);
  }
}
