// Kernels of matrices, distances and statistics.

#define TILE 32
#define DEPTH 16

// C = alpha A A^T, the lower triangle only: blocks of 16 x 16 threads, 2 x 2 results each.
extern "C" __global__ void __launch_bounds__(256)
    syrk_lower_tile(const float* __restrict__ a, float* __restrict__ c, int n, int depth, float alpha) {
  if (blockIdx.x > blockIdx.y) return;
  __shared__ float rows[DEPTH][TILE + 1], columns[DEPTH][TILE + 1];
  int tx = threadIdx.x, ty = threadIdx.y, t = ty * 16 + tx;
  int top = blockIdx.y * TILE, left = blockIdx.x * TILE;
  float sum[2][2] = {};
  for (int first = 0; first < depth; first += DEPTH) {
    for (int e = t; e < TILE * DEPTH; e += 256) {
      int r = e / DEPTH, k = e % DEPTH;
      bool inside = first + k < depth;
      rows[k][r] = inside && top + r < n ? a[(size_t)(top + r) * depth + first + k] : 0.0f;
      columns[k][r] = inside && left + r < n ? a[(size_t)(left + r) * depth + first + k] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < DEPTH; ++k) {
      float p = rows[k][ty], q = rows[k][ty + 16], u = columns[k][tx], v = columns[k][tx + 16];
      sum[0][0] += p * u;
      sum[0][1] += p * v;
      sum[1][0] += q * u;
      sum[1][1] += q * v;
    }
    __syncthreads();
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) {
      int y = top + ty + 16 * i, x = left + tx + 16 * j;
      if (y < n && x <= y) c[(size_t)y * n + x] = alpha * sum[i][j];
    }
}

#define POINTS 16

// Distances of all pairs of points of two sets; a thread a pair, 16 of each set and of the coordinates a tile.
extern "C" __global__ void __launch_bounds__(256)
    pair_distances_tile(const float* __restrict__ p, const float* __restrict__ q, float* __restrict__ out, int n, int m,
                        int width) {
  __shared__ float ours[POINTS][POINTS + 1], theirs[POINTS][POINTS + 1];
  int tx = threadIdx.x, ty = threadIdx.y, i = blockIdx.y * POINTS + ty, j = blockIdx.x * POINTS + tx;
  int other = blockIdx.x * POINTS + ty;
  float sum = 0.0f;
  for (int first = 0; first < width; first += POINTS) {
    int k = first + tx;
    ours[ty][tx] = i < n && k < width ? p[(size_t)i * width + k] : 0.0f;
    theirs[ty][tx] = other < m && k < width ? q[(size_t)other * width + k] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int d = 0; d < POINTS; ++d) {
      float apart = ours[ty][d] - theirs[tx][d];
      sum += apart * apart;
    }
    __syncthreads();
  }
  if (i < n && j < m) out[(size_t)i * m + j] = sqrtf(sum);
}

// The sum of a value over a block of whole warps, for all its threads.
__device__ float block_sum(float v) {
  __shared__ float parts[32];
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d);
  __syncthreads();
  if (lane == 0) parts[warp] = v;
  __syncthreads();
  v = lane < warps ? parts[lane] : 0.0f;
  for (int d = 16; d > 0; d >>= 1) v += __shfl_xor_sync(0xffffffffu, v, d);
  return v;
}

// Group normalisation of images (channels outside pixels): a block a group of channels of an image.
extern "C" __global__ void group_norm_channels(const float* __restrict__ in, const float* __restrict__ gain,
                                               const float* __restrict__ bias, float* __restrict__ out, int each,
                                               int pixels, int groups, float least) {
  int group = blockIdx.x % groups, many = each * pixels;
  const float* x = in + (size_t)blockIdx.x * many;
  float* y = out + (size_t)blockIdx.x * many;
  float sum = 0.0f;
  for (int e = threadIdx.x; e < many; e += blockDim.x) sum += x[e];
  float mean = block_sum(sum) / many;
  float squares = 0.0f;
  for (int e = threadIdx.x; e < many; e += blockDim.x) {
    float d = x[e] - mean;
    squares += d * d;
  }
  float scale = rsqrtf(block_sum(squares) / many + least);
  for (int e = threadIdx.x; e < many; e += blockDim.x) {
    int channel = group * each + e / pixels;
    y[e] = (x[e] - mean) * scale * gain[channel] + bias[channel];
  }
}

struct Moments {
  double count, mean, squares;
};

__device__ Moments merged(Moments a, Moments b) {
  double count = a.count + b.count;
  if (count == 0.0) return a;
  double apart = b.mean - a.mean, part = b.count / count;
  return {count, a.mean + apart * part, a.squares + b.squares + apart * apart * a.count * part};
}

__device__ Moments merged_in_warp(Moments m) {
  for (int d = 16; d > 0; d >>= 1) {
    Moments other = {__shfl_down_sync(0xffffffffu, m.count, d), __shfl_down_sync(0xffffffffu, m.mean, d),
                     __shfl_down_sync(0xffffffffu, m.squares, d)};
    m = merged(m, other);
  }
  return m;
}

// Count, mean and sum of squared deviations in one pass, by Welford's update and Chan's merge; three numbers a block.
extern "C" __global__ void __launch_bounds__(256)
    mean_variance_double(const double* __restrict__ in, double* __restrict__ out, int n) {
  __shared__ Moments parts[8];
  Moments mine = {0.0, 0.0, 0.0};
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    double v = in[i], apart = v - mine.mean;
    mine.count += 1.0;
    mine.mean += apart / mine.count;
    mine.squares += apart * (v - mine.mean);
  }
  mine = merged_in_warp(mine);
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  if (lane == 0) parts[warp] = mine;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < blockDim.x / 32; ++w) mine = merged(mine, parts[w]);
    out[3 * blockIdx.x] = mine.count;
    out[3 * blockIdx.x + 1] = mine.mean;
    out[3 * blockIdx.x + 2] = mine.squares;
  }
}
