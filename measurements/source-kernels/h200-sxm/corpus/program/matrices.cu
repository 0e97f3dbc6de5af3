// Matrix-vector and matrix-matrix products.
extern "C" __global__ void matvec_thread(const float* __restrict__ a, const float* __restrict__ x, float* __restrict__ y, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int c = 0; c < columns; ++c) sum += a[(long long)row * columns + c] * x[c];
  y[row] = sum;
}

extern "C" __global__ void matvec_warp(const float* __restrict__ a, const float* __restrict__ x, float* __restrict__ y, int rows, int columns) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
  if (row >= rows) return;
  const float4* line = (const float4*)(a + (long long)row * columns);
  const float4* vector = (const float4*)x;
  float sum = 0.0f;
  for (int c = lane; c < columns / 4; c += 32) {
    float4 p = line[c], q = vector[c];
    sum += p.x * q.x + p.y * q.y + p.z * q.z + p.w * q.w;
  }
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (lane == 0) y[row] = sum;
}

extern "C" __global__ void matvec_transposed(const float* __restrict__ a, const float* __restrict__ x, float* __restrict__ y, int rows, int columns) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, first = blockIdx.y * 256;
  float sum = 0.0f;
  for (int r = first; r < min(first + 256, rows); ++r) sum += a[(long long)r * columns + c] * x[r];
  atomicAdd(&y[c], sum);
}

extern "C" __global__ void matmul_plain(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= n || column >= n) return;
  float sum = 0.0f;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}

extern "C" __global__ void matmul_tile(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
  __shared__ float ta[16][16], tb[16][16];
  int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
  float sum = 0.0f;
  for (int k = 0; k < n; k += 16) {
    ta[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
    tb[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
    __syncthreads();
#pragma unroll
    for (int j = 0; j < 16; ++j) sum += ta[threadIdx.y][j] * tb[j][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

// 64 x 64 of c a block of 256 threads, 4 x 4 a thread.
extern "C" __global__ void matmul_registers(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
  __shared__ float ta[16][64 + 4], tb[16][64];
  int t = threadIdx.x, tx = t % 16, ty = t / 16;
  const float* pa = a + (long long)blockIdx.y * 64 * n;
  const float* pb = b + blockIdx.x * 64;
  float sum[4][4] = {};
  for (int k = 0; k < n; k += 16) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      int e = t + i * 256;
      ta[e % 16][e / 16] = pa[(e / 16) * n + k + e % 16];
      tb[e / 64][e % 64] = pb[(long long)(k + e / 64) * n + e % 64];
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < 16; ++j) {
      float va[4], vb[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        va[i] = ta[j][ty * 4 + i];
        vb[i] = tb[j][tx * 4 + i];
      }
#pragma unroll
      for (int p = 0; p < 4; ++p)
#pragma unroll
        for (int q = 0; q < 4; ++q) sum[p][q] += va[p] * vb[q];
    }
    __syncthreads();
  }
#pragma unroll
  for (int p = 0; p < 4; ++p)
#pragma unroll
    for (int q = 0; q < 4; ++q) c[(long long)(blockIdx.y * 64 + ty * 4 + p) * n + blockIdx.x * 64 + tx * 4 + q] = sum[p][q];
}

// c = a * transposed b: both rows along k.
extern "C" __global__ void matmul_rows(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  float sum = 0.0f;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[column * n + k];
  c[row * n + column] = sum;
}

extern "C" __global__ void outer_product(const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ c, int columns) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
  c[(long long)row * columns + column] = x[row] * y[column];
}
