// Reductions: trees in shared memory, shuffles, atomics; by block, by row, by column.
extern "C" __global__ void block_sums(const float* __restrict__ in, float* __restrict__ out, int n) {
  __shared__ float part[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  part[threadIdx.x] = i < n ? in[i] : 0.0f;
  __syncthreads();
  for (int half = 128; half > 0; half >>= 1) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

extern "C" __global__ void block_sums_modulo(const float* __restrict__ in, float* __restrict__ out, int n) {
  __shared__ float part[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  part[threadIdx.x] = i < n ? in[i] : 0.0f;
  __syncthreads();
  for (int step = 1; step < 256; step <<= 1) {
    int at = 2 * step * threadIdx.x;
    if (at < 256) part[at] += part[at + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) value += __shfl_down_sync(0xffffffffu, value, step);
  return value;
}

extern "C" __global__ void total_sum(const float* __restrict__ in, float* __restrict__ total, int n) {
  __shared__ float part[32];
  float sum = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = warp_sum(threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0.0f);
    if (threadIdx.x == 0) atomicAdd(total, sum);
  }
}

extern "C" __global__ void dot_double(const double* __restrict__ x, const double* __restrict__ y, double* __restrict__ out, int n) {
  __shared__ double part[128];
  double sum = 0.0;
  for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128) sum += x[i] * y[i];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 64; half > 0; half >>= 1) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

extern "C" __global__ void row_sums(const float* __restrict__ in, float* __restrict__ out, int rows, int columns) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int c = lane; c < columns; c += 32) sum += in[(long long)row * columns + c];
  sum = warp_sum(sum);
  if (lane == 0) out[row] = sum;
}

extern "C" __global__ void column_sums(const float* __restrict__ in, float* __restrict__ out, int rows, int columns) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= columns) return;
  float sum = 0.0f;
  for (int r = 0; r < rows; ++r) sum += in[(long long)r * columns + c];
  out[c] = sum;
}

extern "C" __global__ void row_maxima(const float* __restrict__ in, int* __restrict__ where, int columns) {
  __shared__ float values[128];
  __shared__ int places[128];
  const float* row = in + (long long)blockIdx.x * columns;
  float best = -1e30f;
  int place = 0;
  for (int c = threadIdx.x; c < columns; c += 128)
    if (row[c] > best) {
      best = row[c];
      place = c;
    }
  values[threadIdx.x] = best;
  places[threadIdx.x] = place;
  __syncthreads();
  for (int half = 64; half > 0; half >>= 1) {
    if (threadIdx.x < half && values[threadIdx.x + half] > values[threadIdx.x]) {
      values[threadIdx.x] = values[threadIdx.x + half];
      places[threadIdx.x] = places[threadIdx.x + half];
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) where[blockIdx.x] = places[0];
}
