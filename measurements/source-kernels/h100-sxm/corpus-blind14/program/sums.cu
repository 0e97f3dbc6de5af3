// Sums, scans of tiles and rows, and chains of arithmetic.

extern "C" __global__ void sum_ints_first_add(const int* __restrict__ in, unsigned long long* __restrict__ total, int n) {
  __shared__ int part[512];
  int t = threadIdx.x;
  int i = blockIdx.x * (2 * blockDim.x) + t;
  int sum = 0;
  if (i < n) sum = in[i];
  if (i + blockDim.x < n) sum += in[i + blockDim.x];
  part[t] = sum;
  __syncthreads();
  for (int half = blockDim.x / 2; half >= 32; half >>= 1) {
    if (t < half) part[t] = sum = sum + part[t + half];
    __syncthreads();
  }
  if (t < 32) {
    for (int step = 16; step > 0; step >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, step);
    if (t == 0) atomicAdd(total, (unsigned long long)sum);
  }
}

extern "C" __global__ void rms_error_pairs(const float4* __restrict__ a, const float4* __restrict__ b, double* __restrict__ partial, int n4) {
  __shared__ double warps[32];
  double sum = 0.0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n4; i += gridDim.x * blockDim.x) {
    float4 p = a[i], q = b[i];
    float x = p.x - q.x, y = p.y - q.y, z = p.z - q.z, w = p.w - q.w;
    sum += (double)(x * x + y * y) + (double)(z * z + w * w);
  }
  for (int step = 16; step > 0; step >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < blockDim.x / 32; ++w) sum += warps[w];
    partial[blockIdx.x] = sum;
  }
}

#define PER_THREAD 8
#define RAKERS 128
#define TILE (PER_THREAD * RAKERS)

// Inclusive scan of tiles of 1024: loaded side by side, summed by each thread over its own eight.
extern "C" __global__ void scan_block_raking(const int* __restrict__ in, int* __restrict__ out, int* __restrict__ sums, int n) {
  __shared__ int tile[TILE + TILE / 32];
  __shared__ int warp_sums[RAKERS / 32];
  int t = threadIdx.x, lane = t & 31, warp = t >> 5;
  int base = blockIdx.x * TILE;
#pragma unroll
  for (int k = 0; k < PER_THREAD; ++k) {
    int at = k * RAKERS + t;
    tile[at + (at >> 5)] = base + at < n ? in[base + at] : 0;
  }
  __syncthreads();
  int mine[PER_THREAD];
  int running = 0;
#pragma unroll
  for (int k = 0; k < PER_THREAD; ++k) {
    int at = t * PER_THREAD + k;
    running += tile[at + (at >> 5)];
    mine[k] = running;
  }
  int scanned = running;
  for (int step = 1; step < 32; step <<= 1) {
    int other = __shfl_up_sync(0xffffffffu, scanned, step);
    if (lane >= step) scanned += other;
  }
  if (lane == 31) warp_sums[warp] = scanned;
  __syncthreads();
  int before = scanned - running;
  for (int w = 0; w < warp; ++w) before += warp_sums[w];
#pragma unroll
  for (int k = 0; k < PER_THREAD; ++k) {
    int at = t * PER_THREAD + k;
    tile[at + (at >> 5)] = mine[k] + before;
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < PER_THREAD; ++k) {
    int at = k * RAKERS + t;
    if (base + at < n) out[base + at] = tile[at + (at >> 5)];
  }
  if (t == RAKERS - 1) sums[blockIdx.x] = before + running;
}

// Running sums along the rows of an image, a block a row.
extern "C" __global__ void integral_rows(const unsigned char* __restrict__ in, unsigned* __restrict__ out, int width) {
  __shared__ unsigned warp_sums[8];
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  long long row = (long long)blockIdx.x * width;
  unsigned carry = 0;
  for (int start = 0; start < width; start += 256) {
    int x = start + threadIdx.x;
    unsigned sum = x < width ? in[row + x] : 0;
    for (int step = 1; step < 32; step <<= 1) {
      unsigned other = __shfl_up_sync(0xffffffffu, sum, step);
      if (lane >= step) sum += other;
    }
    if (lane == 31) warp_sums[warp] = sum;
    __syncthreads();
    unsigned before = carry, all = 0;
    for (int w = 0; w < 8; ++w) {
      unsigned s = warp_sums[w];
      if (w < warp) before += s;
      all += s;
    }
    if (x < width) out[row + x] = sum + before;
    carry += all;
    __syncthreads();
  }
}

// Four chains of multiply-adds a thread that do not wait for one another.
extern "C" __global__ void chains_of_four(const float* __restrict__ in, float* __restrict__ out, float scale, int rounds, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  float a = x, b = x + 1.0f, c = x + 2.0f, d = x + 3.0f;
  for (int r = 0; r < rounds; ++r) {
    a = fmaf(a, scale, 0.25f);
    b = fmaf(b, scale, 0.5f);
    c = fmaf(c, scale, 0.75f);
    d = fmaf(d, scale, 1.0f);
  }
  out[i] = (a + b) + (c + d);
}
