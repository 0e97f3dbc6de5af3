// Products of matrices and of signals, and rows of networks.

// Symmetric matrix times vector, the upper half packed by rows: a warp a row, the part below read down a column.
extern "C" __global__ void matvec_packed(const float* __restrict__ packed, const float* __restrict__ x,
                                         float* __restrict__ out, int n) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= n) return;
  float sum = 0.0f;
  for (int j = lane; j < n; j += 32) {
    int top = min(row, j), right = max(row, j);
    sum += packed[top * n - top * (top - 1) / 2 + right - top] * x[j];
  }
  for (int by = 16; by > 0; by /= 2) sum += __shfl_down_sync(0xffffffff, sum, by);
  if (lane == 0) out[row] = sum;
}

// C = A^T B in tiles of 16 x 16, for any sizes: A has k rows of m, B k rows of n.
extern "C" __global__ void gemm_atb(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                                    int m, int n, int k) {
  __shared__ float as[16][16], bs[16][16];
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx;
  int a_column = blockIdx.y * 16 + tx;
  float sum = 0.0f;
  for (int first = 0; first < k; first += 16) {
    int at = first + ty;
    as[ty][tx] = at < k && a_column < m ? a[at * m + a_column] : 0.0f;
    bs[ty][tx] = at < k && column < n ? b[at * n + column] : 0.0f;
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += as[i][ty] * bs[i][tx];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

// Many products of 8 x 8 matrices of doubles, four a block, an entry a thread.
extern "C" __global__ void batched_eights(const double* a, const double* b, double* c, int count) {
  __shared__ double as[4][8][8], bs[4][8][8];
  int tx = threadIdx.x, ty = threadIdx.y, tz = threadIdx.z, matrix = blockIdx.x * 4 + tz;
  int at = matrix * 64 + ty * 8 + tx;
  if (matrix < count) {
    as[tz][ty][tx] = a[at];
    bs[tz][ty][tx] = b[at];
  }
  __syncthreads();
  if (matrix >= count) return;
  double sum = 0.0;
#pragma unroll
  for (int k = 0; k < 8; ++k) sum += as[tz][ty][k] * bs[tz][k][tx];
  c[at] = sum;
}

// Logarithm of the sum of exponentials of each row: a block a row, two passes, trees in shared memory.
extern "C" __global__ void logsumexp_rows(const float* __restrict__ in, float* __restrict__ out, int columns,
                                          float scale) {
  __shared__ float part[256];
  const float* row = in + (size_t)blockIdx.x * columns;
  int t = threadIdx.x;
  float most = -3.4e38f, sum = 0.0f;
  for (int i = t; i < columns; i += blockDim.x) most = fmaxf(most, scale * row[i]);
  part[t] = most;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) part[t] = fmaxf(part[t], part[t + half]);
    __syncthreads();
  }
  most = part[0];
  __syncthreads();
  for (int i = t; i < columns; i += blockDim.x) sum += expf(scale * row[i] - most);
  part[t] = sum;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) part[t] += part[t + half];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = most + logf(part[0]);
}

__device__ float sum_of_block(float v, float* part) {
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  for (int by = 16; by > 0; by /= 2) v += __shfl_xor_sync(0xffffffff, v, by);
  if (lane == 0) part[warp] = v;
  __syncthreads();
  v = lane < warps ? part[lane] : 0.0f;
  for (int by = 16; by > 0; by /= 2) v += __shfl_xor_sync(0xffffffff, v, by);
  __syncthreads();
  return v;
}

// Gradient of layer norm by its input, from the means and inverse deviations kept: a block a row.
extern "C" __global__ void layer_norm_backward(const float* __restrict__ in, const float* __restrict__ grad,
                                               const float* __restrict__ gain, const float* __restrict__ means,
                                               const float* __restrict__ inverses, float* __restrict__ out,
                                               int columns) {
  __shared__ float part[32];
  size_t first = (size_t)blockIdx.x * columns;
  float mean = means[blockIdx.x], inverse = inverses[blockIdx.x], plain = 0.0f, weighted = 0.0f;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    float g = grad[first + i] * gain[i];
    plain += g;
    weighted += g * (in[first + i] - mean) * inverse;
  }
  plain = sum_of_block(plain, part) / columns;
  weighted = sum_of_block(weighted, part) / columns;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    float normal = (in[first + i] - mean) * inverse;
    out[first + i] = inverse * (grad[first + i] * gain[i] - plain - normal * weighted);
  }
}

// Cross correlation of two signals: a block a lag.
extern "C" __global__ void cross_correlation(const float* __restrict__ first, const float* __restrict__ second,
                                             float* __restrict__ out, int n) {
  __shared__ float part[32];
  int lag = blockIdx.x;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < n - lag; i += blockDim.x) sum += first[i] * second[i + lag];
  sum = sum_of_block(sum, part);
  if (threadIdx.x == 0) out[lag] = sum;
}
