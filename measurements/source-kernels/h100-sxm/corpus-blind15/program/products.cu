// Products of matrices and of rows.

#include <cuda_fp16.h>

#define SIDE 16

// Tiles of halves in shared memory, sums in single precision.
extern "C" __global__ void gemm_half_to_float(const __half* __restrict__ a, const __half* __restrict__ b, float* __restrict__ c, int m, int n, int k) {
  __shared__ __half as[SIDE][SIDE];
  __shared__ __half bs[SIDE][SIDE];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * SIDE + ty, column = blockIdx.x * SIDE + tx;
  float sum = 0.0f;
  for (int at = 0; at < k; at += SIDE) {
    as[ty][tx] = row < m && at + tx < k ? a[row * k + at + tx] : __float2half(0.0f);
    bs[ty][tx] = column < n && at + ty < k ? b[(at + ty) * n + column] : __float2half(0.0f);
    __syncthreads();
#pragma unroll
    for (int p = 0; p < SIDE; ++p) sum += __half2float(as[ty][p]) * __half2float(bs[p][tx]);
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

// One row and four columns a thread; n is a multiple of 64 and k of 16.
extern "C" __global__ void gemm_one_by_four(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int n, int k) {
  __shared__ float as[16][17];
  __shared__ float4 bs[16][16];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * 16 + ty, column = blockIdx.x * 64 + 4 * tx;
  float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  for (int at = 0; at < k; at += 16) {
    as[ty][tx] = row < m ? a[row * k + at + tx] : 0.0f;
    bs[ty][tx] = *(const float4*)(b + (at + ty) * n + column);
    __syncthreads();
#pragma unroll
    for (int p = 0; p < 16; ++p) {
      float left = as[ty][p];
      float4 right = bs[p][tx];
      sum.x += left * right.x;
      sum.y += left * right.y;
      sum.z += left * right.z;
      sum.w += left * right.w;
    }
    __syncthreads();
  }
  if (row < m) *(float4*)(c + row * n + column) = sum;
}

// The sum of squares, four loads a turn, and a tree whose last steps are written out.
extern "C" __global__ void norm_squared_unrolled(const float* __restrict__ in, float* __restrict__ partial, int n) {
  __shared__ float s[256];
  int t = threadIdx.x;
  int stride = gridDim.x * 256;
  float sum = 0.0f;
  int i = blockIdx.x * 256 + t;
  for (; i + 3 * stride < n; i += 4 * stride) {
    float p = in[i], q = in[i + stride], r = in[i + 2 * stride], u = in[i + 3 * stride];
    sum += p * p + q * q + r * r + u * u;
  }
  for (; i < n; i += stride) sum += in[i] * in[i];
  s[t] = sum;
  __syncthreads();
  if (t < 128) s[t] = sum = sum + s[t + 128];
  __syncthreads();
  if (t < 64) s[t] = sum = sum + s[t + 64];
  __syncthreads();
  if (t < 32) {
    sum += s[t + 32];
    sum += __shfl_down_sync(0xffffffffu, sum, 16);
    sum += __shfl_down_sync(0xffffffffu, sum, 8);
    sum += __shfl_down_sync(0xffffffffu, sum, 4);
    sum += __shfl_down_sync(0xffffffffu, sum, 2);
    sum += __shfl_down_sync(0xffffffffu, sum, 1);
    if (t == 0) partial[blockIdx.x] = sum;
  }
}

// Pairs of rows that should be alike or not, a warp a pair.
extern "C" __global__ void cosine_embedding_loss(const float* __restrict__ first, const float* __restrict__ second, const int* __restrict__ alike, float* __restrict__ loss, float margin, int columns, int rows) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  const float* p = first + (long long)row * columns;
  const float* q = second + (long long)row * columns;
  float pq = 0.0f, pp = 0.0f, qq = 0.0f;
  for (int c = lane; c < columns; c += 32) {
    float x = p[c] - 0.5f, y = q[c] - 0.5f;
    pq += x * y;
    pp += x * x;
    qq += y * y;
  }
  for (int step = 16; step > 0; step >>= 1) {
    pq += __shfl_xor_sync(0xffffffffu, pq, step);
    pp += __shfl_xor_sync(0xffffffffu, pp, step);
    qq += __shfl_xor_sync(0xffffffffu, qq, step);
  }
  if (lane == 0) {
    float cosine = pq * rsqrtf(pp * qq + 1e-12f);
    loss[row] = alike[row] ? 1.0f - cosine : fmaxf(cosine - margin, 0.0f);
  }
}
