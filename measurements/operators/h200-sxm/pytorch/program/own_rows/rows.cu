// Random places inside a block's own row or ahead of its own, and rows in random and in permuted order. Not measured yet.

// A row a block; places of it from memory, the same ones in every row.
extern "C" __global__ void row_draws(const float* __restrict__ in, const int* __restrict__ index, float* __restrict__ out, int columns, int draws) {
  const float* row = in + (long long)blockIdx.x * columns;
  float sum = 0.0f;
  for (int k = threadIdx.x; k < draws; k += blockDim.x) sum += row[index[k]];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// A row a block; places of it by a hash, other ones in every row.
extern "C" __global__ void row_draws_hashed(const float* __restrict__ in, float* __restrict__ out, int columns, int draws) {
  const float* row = in + (long long)blockIdx.x * columns;
  float sum = 0.0f;
  for (int k = threadIdx.x; k < draws; k += blockDim.x) {
    unsigned h = (unsigned)(blockIdx.x * draws + k) * 2654435761u;
    h ^= h >> 15;
    h *= 0x846ca68bu;
    h ^= h >> 16;
    sum += row[h & (columns - 1)];
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// A place so far ahead of a thread's own.
extern "C" __global__ void draws_ahead(const float* __restrict__ in, const int* __restrict__ ahead, float* __restrict__ out, int lengths, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int at = min(i + ahead[i & (lengths - 1)], n - 1);
  float sum = in[at];
  for (int step = 16; step > 0; step >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if ((i & 31) == 0) out[i / 32] = sum;
}

// Rows of 2**shift words in an order from memory.
extern "C" __global__ void rows_in_order(const float* __restrict__ in, const int* __restrict__ order, float* __restrict__ out, int shift) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int row = i >> shift, column = i & ((1 << shift) - 1);
  float sum = in[(order[row] << shift) + column];
  for (int step = 16; step > 0; step >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if ((i & 31) == 0) out[i / 32] = sum;
}
