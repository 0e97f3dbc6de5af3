// Products of matrices and vectors, dense and sparse.
// Covariance of columns, in double: each pair once, written twice.
extern "C" __global__ void covariance_double(const double* __restrict__ data, const double* __restrict__ mean, double* __restrict__ out, int points, int features) {
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (j >= features || i > j) return;
  double mi = mean[i], mj = mean[j], sum = 0.0;
  for (int k = 0; k < points; ++k) sum += (data[k * features + i] - mi) * (data[k * features + j] - mj);
  sum /= points - 1.0;
  out[i * features + j] = sum;
  out[j * features + i] = sum;
}

// q = A p and s = r A in one pass over A: a thread a column of 64 rows, sums of rows by shuffles, atomics for both.
extern "C" __global__ void both_products(const float* __restrict__ a, const float* __restrict__ p, const float* __restrict__ r, float* q, float* s, int columns) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, first = blockIdx.y * 64;
  float mine = p[c], down = 0.0f;
  for (int k = first; k < first + 64; ++k) {
    float value = a[(long long)k * columns + c], across = value * mine;
    down += value * r[k];
#pragma unroll
    for (int step = 16; step > 0; step >>= 1) across += __shfl_down_sync(0xffffffffu, across, step);
    if ((threadIdx.x & 31) == 0) atomicAdd(&q[k], across);
  }
  atomicAdd(&s[c], down);
}

// Sparse rows in double times a vector: eight lanes a row.
extern "C" __global__ void sparse_eight_lanes(const int* __restrict__ starts, const int* __restrict__ columns, const double* __restrict__ values, const double* __restrict__ x, double* __restrict__ out, int rows) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, row = t >> 3, lane = t & 7;
  if (row >= rows) return;
  double sum = 0.0;
  int end = starts[row + 1];
  for (int k = starts[row] + lane; k < end; k += 8) sum += values[k] * x[columns[k]];
  sum += __shfl_down_sync(0xffffffffu, sum, 4, 8);
  sum += __shfl_down_sync(0xffffffffu, sum, 2, 8);
  sum += __shfl_down_sync(0xffffffffu, sum, 1, 8);
  if (lane == 0) out[row] = sum;
}
