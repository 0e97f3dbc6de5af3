// Indices from memory: gathers, scatters, sparse rows, searches.
extern "C" __global__ void gather(const float* __restrict__ table, const int* __restrict__ index, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = table[index[i]];
}

extern "C" __global__ void scatter(const float* __restrict__ in, const int* __restrict__ index, float* __restrict__ table, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) table[index[i]] = in[i];
}

extern "C" __global__ void sparse_rows_thread(const int* __restrict__ starts, const int* __restrict__ columns, const float* __restrict__ values, const float* __restrict__ x, float* __restrict__ y, int rows) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int k = starts[row]; k < starts[row + 1]; ++k) sum += values[k] * x[columns[k]];
  y[row] = sum;
}

extern "C" __global__ void sparse_rows_warp(const int* __restrict__ starts, const int* __restrict__ columns, const float* __restrict__ values, const float* __restrict__ x, float* __restrict__ y, int rows) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int k = starts[row] + lane; k < starts[row + 1]; k += 32) sum += values[k] * x[columns[k]];
  for (int step = 16; step > 0; step >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, step);
  if (lane == 0) y[row] = sum;
}

extern "C" __global__ void copy_table_rows(const float4* __restrict__ table, const int* __restrict__ index, float4* __restrict__ out, int width) {
  int row = blockIdx.x;
  const float4* from = table + (long long)index[row] * width;
  for (int c = threadIdx.x; c < width; c += blockDim.x) out[(long long)row * width + c] = from[c];
}

extern "C" __global__ void search_sorted(const int* __restrict__ sorted, const int* __restrict__ wanted, int* __restrict__ place, int size, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int low = 0, high = size, key = wanted[i];
  while (low < high) {
    int middle = (low + high) >> 1;
    if (sorted[middle] < key) low = middle + 1;
    else high = middle;
  }
  place[i] = low;
}

extern "C" __global__ void follow_links(const int* __restrict__ next, int* __restrict__ end, int steps, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int at = i;
  for (int s = 0; s < steps; ++s) at = next[at];
  end[i] = at;
}
