// Lists: paths, factors, running sums, searches, layouts.
// Inner part of a blocked factorisation: each tile loses the product of its strip and its column block.
extern "C" __global__ void eliminate_block(float* y, int n, int offset) {
  __shared__ float strip[16][16], column[16][16];
  int tx = threadIdx.x, ty = threadIdx.y;
  int i = offset + 16 * (blockIdx.y + 1) + ty, j = offset + 16 * (blockIdx.x + 1) + tx;
  strip[ty][tx] = y[(offset + ty) * n + j];
  column[ty][tx] = y[i * n + offset + tx];
  __syncthreads();
  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k < 16; ++k) sum += column[ty][k] * strip[k][tx];
  y[i * n + j] -= sum;
}

// Keeps the values above a limit: places by ballots, one atomic a block.
extern "C" __global__ void keep_by_ballot(const float* __restrict__ in, float* __restrict__ out, unsigned* __restrict__ count, float limit, int n) {
  __shared__ unsigned starts[32];
  __shared__ unsigned base;
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  float value = i < n ? in[i] : 0.0f;
  bool keep = i < n && value > limit;
  unsigned mask = __ballot_sync(0xffffffffu, keep);
  if (lane == 0) starts[warp] = __popc(mask);
  __syncthreads();
  if (warp == 0) {
    unsigned mine = lane < blockDim.x / 32 ? starts[lane] : 0, sum = mine;
#pragma unroll
    for (int step = 1; step < 32; step <<= 1) {
      unsigned other = __shfl_up_sync(0xffffffffu, sum, step);
      if (lane >= step) sum += other;
    }
    starts[lane] = sum - mine;
    if (lane == 31) base = atomicAdd(count, sum);
  }
  __syncthreads();
  if (keep) out[base + starts[warp] + __popc(mask & ((1u << lane) - 1))] = value;
}

// Where each of many 64-bit keys would go in a sorted list.
extern "C" __global__ void lower_bounds(const unsigned long long* __restrict__ sorted, const unsigned long long* __restrict__ keys, int* __restrict__ place, int length, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    unsigned long long key = keys[i];
    int low = 0, count = length;
    while (count > 0) {
      int half = count >> 1;
      bool right = sorted[low + half] < key;
      low = right ? low + half + 1 : low;
      count = right ? count - half - 1 : half;
    }
    place[i] = low;
  }
}

// Records of five 64-bit fields to an array for each field.
extern "C" __global__ void fields_of_records(const unsigned long long* __restrict__ records, unsigned long long* __restrict__ fields, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
#pragma unroll
  for (int k = 0; k < 5; ++k) fields[(long long)k * n + i] = records[5ll * i + k];
}
