// Prefix sums within blocks and warps.
extern "C" __global__ void scan_doubling(const int* __restrict__ in, int* __restrict__ out, int n) {
  __shared__ int line[2][256];
  int i = blockIdx.x * 256 + threadIdx.x, from = 0;
  line[0][threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  for (int step = 1; step < 256; step <<= 1) {
    int value = line[from][threadIdx.x];
    if (threadIdx.x >= step) value += line[from][threadIdx.x - step];
    line[1 - from][threadIdx.x] = value;
    from = 1 - from;
    __syncthreads();
  }
  if (i < n) out[i] = line[from][threadIdx.x];
}

// Exclusive, by sweeps up and down a tree; strides that grow conflict in the banks.
extern "C" __global__ void scan_tree(const int* __restrict__ in, int* __restrict__ out) {
  __shared__ int tree[512];
  int t = threadIdx.x, base = blockIdx.x * 512;
  tree[2 * t] = in[base + 2 * t];
  tree[2 * t + 1] = in[base + 2 * t + 1];
  int offset = 1;
  for (int d = 256; d > 0; d >>= 1) {
    __syncthreads();
    if (t < d) tree[offset * (2 * t + 2) - 1] += tree[offset * (2 * t + 1) - 1];
    offset *= 2;
  }
  if (t == 0) tree[511] = 0;
  for (int d = 1; d < 512; d *= 2) {
    offset >>= 1;
    __syncthreads();
    if (t < d) {
      int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1, kept = tree[a];
      tree[a] = tree[b];
      tree[b] += kept;
    }
  }
  __syncthreads();
  out[base + 2 * t] = tree[2 * t];
  out[base + 2 * t + 1] = tree[2 * t + 1];
}

extern "C" __global__ void scan_shuffle(const int* __restrict__ in, int* __restrict__ out, int n) {
  __shared__ int sums[32];
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  int value = i < n ? in[i] : 0;
#pragma unroll
  for (int step = 1; step < 32; step <<= 1) {
    int other = __shfl_up_sync(0xffffffffu, value, step);
    if (lane >= step) value += other;
  }
  if (lane == 31) sums[warp] = value;
  __syncthreads();
  if (warp == 0) {
    int sum = lane < (blockDim.x >> 5) ? sums[lane] : 0;
#pragma unroll
    for (int step = 1; step < 32; step <<= 1) {
      int other = __shfl_up_sync(0xffffffffu, sum, step);
      if (lane >= step) sum += other;
    }
    sums[lane] = sum;
  }
  __syncthreads();
  if (warp > 0) value += sums[warp - 1];
  if (i < n) out[i] = value;
}
