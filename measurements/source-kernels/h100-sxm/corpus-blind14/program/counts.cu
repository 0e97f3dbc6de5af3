// Counters and votes: atomics on shared and global memory.

extern "C" __global__ void shared_counters_few(const unsigned* __restrict__ keys, unsigned* __restrict__ totals, int counters, int n) {
  __shared__ unsigned counts[64];
  if (threadIdx.x < counters) counts[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&counts[keys[i] % counters], 1u);
  __syncthreads();
  if (threadIdx.x < counters) atomicAdd(&totals[threadIdx.x], counts[threadIdx.x]);
}

extern "C" __global__ void histogram_pairs_2d(const float* __restrict__ x, const float* __restrict__ z, unsigned* __restrict__ counts, int bins, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int column = min(max((int)(x[i] * bins), 0), bins - 1);
  int row = min(max((int)(z[i] * bins), 0), bins - 1);
  atomicAdd(&counts[row * bins + column], 1u);
}

extern "C" __global__ void bigram_counts(const unsigned short* __restrict__ tokens, unsigned* __restrict__ counts, int words, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n - 1; i += gridDim.x * blockDim.x)
    atomicAdd(&counts[tokens[i] * words + tokens[i + 1]], 1u);
}

extern "C" __global__ void scatter_add_floats(const float* __restrict__ values, const int* __restrict__ index, float* __restrict__ table, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&table[index[i]], values[i]);
}

// Votes of points for lines: a block has one angle and every so many of the points.
extern "C" __global__ void hough_votes(const float2* __restrict__ points, const float2* __restrict__ directions, unsigned* __restrict__ votes, int count, int cells) {
  extern __shared__ unsigned line[];
  for (int c = threadIdx.x; c < cells; c += blockDim.x) line[c] = 0;
  __syncthreads();
  float2 along = directions[blockIdx.x];
  float half = 0.5f * cells;
  for (int p = blockIdx.y * blockDim.x + threadIdx.x; p < count; p += gridDim.y * blockDim.x) {
    float2 at = points[p];
    float distance = (at.x * along.x + at.y * along.y) * 0.7f;
    int cell = (int)(distance * half + half * 0.01f);
    if (cell >= 0 && cell < cells) atomicAdd(&line[cell], 1u);
  }
  __syncthreads();
  for (int c = threadIdx.x; c < cells; c += blockDim.x)
    if (line[c]) atomicAdd(&votes[blockIdx.x * cells + c], line[c]);
}
