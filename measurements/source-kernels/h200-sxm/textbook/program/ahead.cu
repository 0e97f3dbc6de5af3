// Blocks that read the same in the same turns, and trees of barriers in rounds of blocks.

extern "C" __global__ void tiles_of_product(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                                            int m, int n, int k) {
  __shared__ float left[16][16], right[16][16];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0.0f;
  for (int k0 = 0; k0 < k; k0 += 16) {
    left[y][x] = row < m && k0 + x < k ? a[row * k + k0 + x] : 0.0f;
    right[y][x] = column < n && k0 + y < k ? b[(k0 + y) * n + column] : 0.0f;
    __syncthreads();
    for (int d = 0; d < 16; ++d) sum += left[y][d] * right[d][x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

// A warp reads lines one after the other, each when the last is there; all blocks the same, or each its own.
extern "C" __global__ void lines_in_turn(const int* __restrict__ in, int* __restrict__ out, int lines, int stride, int apart) {
  int at = blockIdx.x * apart + threadIdx.x, sum = 0;
#pragma unroll 1
  for (int k = 0; k < lines; ++k) {
    int v = in[at];
    sum += v;
    at += stride + (v == -7);
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// The same with a barrier in each turn.
extern "C" __global__ void lines_in_step(const int* __restrict__ in, int* __restrict__ out, int lines, int stride, int apart) {
  __shared__ int seen[256];
  int at = blockIdx.x * apart + threadIdx.x, sum = 0;
#pragma unroll 1
  for (int k = 0; k < lines; ++k) {
    seen[threadIdx.x] = in[at];
    __syncthreads();
    sum += seen[threadIdx.x ^ 33];
    __syncthreads();
    at += stride;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void tree_in_rounds(const float* __restrict__ in, float* __restrict__ out, int n) {
  extern __shared__ float part[];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  part[t] = i < n ? in[i] : 0.0f;
  __syncthreads();
  for (int k = blockDim.x / 2; k > 0; k >>= 1) {
    if (t < k) part[t] += part[t + k];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = part[0];
}

// A sum over a row by a block, whose warps put theirs together by shuffles: softmax's and norms' first part.
extern "C" __global__ void row_sums(const float* __restrict__ in, float* __restrict__ out, int columns) {
  __shared__ float parts[32];
  float s = 0.0f;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) s += in[(size_t)blockIdx.x * columns + c];
  for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    float all = 0.0f;
    for (int w = 0; w < blockDim.x / 32; ++w) all += parts[w];
    out[blockIdx.x] = all;
  }
}
