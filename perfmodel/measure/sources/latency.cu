// Latency: pointer chases, chains of loads by few or many warps, barriers, empty kernels, clocks.

#ifndef LOAD
#define LOAD ca
#endif
#define TEXT(x) #x
#define AS_TEXT(x) TEXT(x)
#ifndef UNROLL
#define UNROLL 1
#endif

__device__ __forceinline__ unsigned next(const unsigned* p) {
  unsigned v;
  asm volatile("ld.global." AS_TEXT(LOAD) ".u32 %0, [%1];" : "=r"(v) : "l"(p));
  return v;
}

// One thread, one chain, `turns` times; thousandths of a clock a hop, of the last time.
extern "C" __global__ void chase(const unsigned* chain, int hops, int turns, long long* clocks, unsigned* out) {
  unsigned at = 0;
  for (int turn = 0; turn < turns; ++turn) {
    const long long start = clock64();
    for (int i = 0; i < hops; ++i) at = next(chain + at);
    clocks[0] = (clock64() - start) * 1000 / hops;
  }
  out[0] = at;
}

// Every warp follows UNROLL chains of its own, lane by lane next to each other: dependent loads.
// Element i of `chain` holds where to go from i; a warp reads 32 neighbours at a time.
extern "C" __global__ void chains(const unsigned* chain, unsigned* out, int hops, int places) {
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  unsigned at[UNROLL];
#pragma unroll
  for (int u = 0; u < UNROLL; ++u) at[u] = (unsigned)((warp * UNROLL + u) * 97ll % places) * 32;
  for (int i = 0; i < hops; ++i) {
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) at[u] = next(chain + at[u]);
  }
  unsigned s = 0;
#pragma unroll
  for (int u = 0; u < UNROLL; ++u) s ^= at[u];
  if (s == 0x12345679u) out[0] = s;
}

extern "C" __global__ void empty_kernel() {}

// The sum of each column: one thread a column, consecutive threads next to each other.
extern "C" __global__ void column_sum(const float* in, float* out, int rows, int columns) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c < columns) {
    float s = 0;
    for (int r = 0; r < rows; ++r) s += in[(long long)r * columns + c];
    out[c] = s;
  }
}

// y = A x, one warp a row; the warp's sum by shuffles.
extern "C" __global__ void matrix_vector(const float* A, const float* x, float* y, int rows, int columns) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float s = 0;
  for (int c = lane; c < columns; c += 32) s += A[(long long)row * columns + c] * x[c];
  for (int d = 16; d > 0; d /= 2) s += __shfl_down_sync(0xffffffffu, s, d);
  if (lane == 0) y[row] = s;
}

// The sum of n floats by one block: grid stride, then a tree in shared memory.
extern "C" __global__ void block_sum(const float* in, float* out, int n) {
  __shared__ float partial[1024];
  float s = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) s += in[i];
  partial[threadIdx.x] = s;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[0] = partial[0];
}

// Tiles of a vector through shared memory, with a barrier on either side of each.
extern "C" __global__ void tiled_scale(const float* in, float* out, int tiles) {
  __shared__ float tile[1024];
  const long long base = (long long)blockIdx.x * tiles * blockDim.x;
  for (int t = 0; t < tiles; ++t) {
    tile[threadIdx.x] = in[base + t * blockDim.x + threadIdx.x];
    __syncthreads();
    out[base + t * blockDim.x + threadIdx.x] = 2.0f * tile[blockDim.x - 1 - threadIdx.x];
    __syncthreads();
  }
}
