// Reductions, scans and histograms.

// Least value and its place of each block's part of an array: a grid-stride loop, then a tree in shared memory.
extern "C" __global__ void argmin_blocks(const float* __restrict__ in, float* values, int* places, int n) {
  __shared__ float least[512];
  __shared__ int where[512];
  int t = threadIdx.x;
  float best = 3.4e38f;
  int place = -1;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x)
    if (in[i] < best) {
      best = in[i];
      place = i;
    }
  least[t] = best;
  where[t] = place;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half && least[t + half] < least[t]) {
      least[t] = least[t + half];
      where[t] = where[t + half];
    }
    __syncthreads();
  }
  if (t == 0) {
    values[blockIdx.x] = least[0];
    places[blockIdx.x] = where[0];
  }
}

// Largest distance from a centre: shuffles in each warp, then an atomic maximum of the bits by its first lane.
extern "C" __global__ void max_abs(const float* __restrict__ in, int* result, float centre, int n) {
  float most = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    most = fmaxf(most, fabsf(in[i] - centre));
  for (int by = 16; by > 0; by /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, by));
  if (threadIdx.x % 32 == 0) atomicMax(result, __float_as_int(most));
}

// Least and largest of each column: 32 columns a block, the rows shared out among eight warps.
extern "C" __global__ void columns_min_max(const float* in, float* low, float* high, int rows, int columns) {
  __shared__ float lows[8][32], highs[8][32];
  int x = threadIdx.x, w = threadIdx.y, column = blockIdx.x * 32 + x;
  float least = 3.4e38f, most = -3.4e38f;
  if (column < columns)
    for (int row = w; row < rows; row += 8) {
      float v = in[(size_t)row * columns + column];
      least = fminf(least, v);
      most = fmaxf(most, v);
    }
  lows[w][x] = least;
  highs[w][x] = most;
  __syncthreads();
  if (w == 0 && column < columns) {
    for (int k = 1; k < 8; ++k) {
      least = fminf(least, lows[k][x]);
      most = fmaxf(most, highs[k][x]);
    }
    low[column] = least;
    high[column] = most;
  }
}

// Running sums that begin anew at each head (a flag of zero) and at each block: doubling in two shared buffers.
extern "C" __global__ void segmented_scan(const float* __restrict__ in, const unsigned char* __restrict__ flags,
                                          float* __restrict__ out, int n) {
  __shared__ float sums[2][512];
  __shared__ int heads[2][512];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, now = 0;
  sums[0][t] = i < n ? in[i] : 0.0f;
  heads[0][t] = i >= n || flags[i] == 0;
  __syncthreads();
  for (int by = 1; by < blockDim.x; by *= 2) {
    float sum = sums[now][t];
    int head = heads[now][t];
    if (t >= by) {
      if (!head) sum += sums[now][t - by];
      head |= heads[now][t - by];
    }
    now ^= 1;
    sums[now][t] = sum;
    heads[now][t] = head;
    __syncthreads();
  }
  if (i < n) out[i] = sums[now][t];
}

// How far each entry of a row lies below the largest so far: a warp a row, scans of 32 with a carry.
extern "C" __global__ void drawdown_rows(const float* __restrict__ in, float* __restrict__ out, int rows,
                                         int columns) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float carry = 1e-6f;
  for (int first = 0; first < columns; first += 32) {
    int column = first + lane;
    float v = column < columns ? in[row * columns + column] : 0.0f, most = fmaxf(v, carry);
#pragma unroll
    for (int by = 1; by < 32; by *= 2) {
      float before = __shfl_up_sync(0xffffffff, most, by);
      if (lane >= by) most = fmaxf(most, before);
    }
    if (column < columns) out[row * columns + column] = 1.0f - v / most;
    carry = __shfl_sync(0xffffffff, most, 31);
  }
}

// Histogram of the upper four bits of bytes: 16 counts a thread, added up in shared memory, then in the result.
extern "C" __global__ void bins_per_thread(const unsigned char* __restrict__ in, unsigned* bins, int n) {
  __shared__ unsigned total[16];
  unsigned counts[16] = {0};
  if (threadIdx.x < 16) total[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) counts[in[i] >> 4]++;
  for (int k = 0; k < 16; ++k) atomicAdd(&total[k], counts[k]);
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], total[threadIdx.x]);
}

// Sums of the weights of each key, by atomics of floats on the result.
extern "C" __global__ void weighted_histogram(const int* keys, const float* weights, float* bins, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bins[keys[i]], weights[i]);
}
