// Lists: paths, factors, running sums, searches, layouts.
// Cheapest way down a wall, several rows a launch: neighbours meet in shared memory, rims computed twice.
extern "C" __global__ void cheapest_path(const int* __restrict__ wall, const int* __restrict__ from, int* __restrict__ to, int columns, int steps) {
  __shared__ int last[256];
  int t = threadIdx.x, x = (int)blockIdx.x * (256 - 2 * steps) - steps + t;
  bool inside = x >= 0 && x < columns;
  last[t] = inside ? from[x] : 1 << 30;
  __syncthreads();
  for (int k = 0; k < steps; ++k) {
    int best = 1 << 30;
    if (inside) {
      best = last[t];
      if (t > 0) best = min(best, last[t - 1]);
      if (t < 255) best = min(best, last[t + 1]);
      best += wall[k * columns + x];
    }
    __syncthreads();
    last[t] = best;
    __syncthreads();
  }
  if (inside && t >= steps && t < 256 - steps) to[x] = last[t];
}

// Running sums of 64-bit integers within a block: two a thread, shuffles in a warp, then over the warps.
extern "C" __global__ void scan_pairs_wide(const ulonglong2* __restrict__ in, ulonglong2* __restrict__ out, unsigned long long* __restrict__ totals) {
  __shared__ unsigned long long sums[32];
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  ulonglong2 v = in[i];
  unsigned long long both = v.x + v.y, run = both;
#pragma unroll
  for (int step = 1; step < 32; step <<= 1) {
    unsigned long long other = __shfl_up_sync(0xffffffffu, run, step);
    if (lane >= step) run += other;
  }
  if (lane == 31) sums[warp] = run;
  __syncthreads();
  if (warp == 0) {
    unsigned long long s = lane < warps ? sums[lane] : 0;
#pragma unroll
    for (int step = 1; step < 32; step <<= 1) {
      unsigned long long other = __shfl_up_sync(0xffffffffu, s, step);
      if (lane >= step) s += other;
    }
    if (lane < warps) sums[lane] = s;
  }
  __syncthreads();
  if (warp > 0) run += sums[warp - 1];
  ulonglong2 result;
  result.x = run - v.y;
  result.y = run;
  out[i] = result;
  if (threadIdx.x == blockDim.x - 1) totals[blockIdx.x] = run;
}

// The four largest of each row, largest first: each lane keeps its own four, then the warp draws four times.
extern "C" __global__ void top_four(const float* __restrict__ in, float* __restrict__ out, int rows, int columns) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
  if (row >= rows) return;
  float a = -1e30f, b = -1e30f, c = -1e30f, d = -1e30f;
  for (int k = lane; k < columns; k += 32) {
    float v = in[(long long)row * columns + k];
    if (v > d) {
      d = v;
      if (d > c) { float t = c; c = d; d = t; }
      if (c > b) { float t = b; b = c; c = t; }
      if (b > a) { float t = a; a = b; b = t; }
    }
  }
  for (int k = 0; k < 4; ++k) {
    float best = a;
    int who = lane;
#pragma unroll
    for (int step = 16; step > 0; step >>= 1) {
      float other = __shfl_xor_sync(0xffffffffu, best, step);
      int whose = __shfl_xor_sync(0xffffffffu, who, step);
      if (other > best || (other == best && whose < who)) {
        best = other;
        who = whose;
      }
    }
    if (lane == who) {
      a = b;
      b = c;
      c = d;
      d = -1e30f;
    }
    if (lane == 0) out[row * 4 + k] = best;
  }
}

// Doubles of any height and width across the diagonal, by padded tiles of 16.
extern "C" __global__ void transpose_odd_double(const double* __restrict__ in, double* __restrict__ out, int width, int height) {
  __shared__ double tile[16][17];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x < width && y < height) tile[threadIdx.y][threadIdx.x] = in[(long long)y * width + x];
  __syncthreads();
  x = blockIdx.y * 16 + threadIdx.x;
  y = blockIdx.x * 16 + threadIdx.y;
  if (x < height && y < width) out[(long long)y * height + x] = tile[threadIdx.x][threadIdx.y];
}
