// Kernels of linear algebra and arrays: products, convolutions, sparse diagonals, sums, transposes, gathers.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define ROWS 64
#define DEPTH 8

// C = alpha A B in double precision: tiles of 64 by 64 through shared memory, 4 by 4 a thread, 16 by 16 threads.
extern "C" __global__ void __launch_bounds__(256)
    gemm_double_tile(const double* __restrict__ a, const double* __restrict__ b, double* __restrict__ c, int m, int n,
                     int k, double alpha) {
  __shared__ double left[DEPTH][ROWS + 2], right[DEPTH][ROWS];
  int tx = threadIdx.x, ty = threadIdx.y, t = ty * 16 + tx;
  int row0 = blockIdx.y * ROWS, column0 = blockIdx.x * ROWS;
  double sums[4][4] = {};
  for (int k0 = 0; k0 < k; k0 += DEPTH) {
#pragma unroll
    for (int e = t; e < ROWS * DEPTH; e += 256) {
      int row = e / DEPTH, d = e % DEPTH;
      left[d][row] = row0 + row < m && k0 + d < k ? a[(long long)(row0 + row) * k + k0 + d] : 0.0;
      int deep = e / ROWS, column = e % ROWS;
      right[deep][column] =
          column0 + column < n && k0 + deep < k ? b[(long long)(k0 + deep) * n + column0 + column] : 0.0;
    }
    __syncthreads();
#pragma unroll
    for (int d = 0; d < DEPTH; ++d) {
      double p[4], q[4];
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        p[r] = left[d][ty + 16 * r];
        q[r] = right[d][tx + 16 * r];
      }
#pragma unroll
      for (int r = 0; r < 4; ++r)
#pragma unroll
        for (int s = 0; s < 4; ++s) sums[r][s] += p[r] * q[s];
    }
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < 4; ++r)
#pragma unroll
    for (int s = 0; s < 4; ++s) {
      int row = row0 + ty + 16 * r, column = column0 + tx + 16 * s;
      if (row < m && column < n) c[(long long)row * n + column] = alpha * sums[r][s];
    }
}

#define MOST_TAPS 64

// Lines of bfloat16 under one filter: taps and a tile with its halo in shared memory, four outputs a thread.
extern "C" __global__ void __launch_bounds__(256)
    conv_line_bf16(const __nv_bfloat16* __restrict__ in, const __nv_bfloat16* __restrict__ filter,
                   __nv_bfloat16* __restrict__ out, int length, int taps) {
  __shared__ __nv_bfloat16 tile[4 * 256 + MOST_TAPS];
  __shared__ float weights[MOST_TAPS];
  int width = 4 * blockDim.x, first = blockIdx.x * width, reach = taps / 2;
  const __nv_bfloat16* line = in + (long long)blockIdx.y * length;
  if (threadIdx.x < taps) weights[threadIdx.x] = __bfloat162float(filter[threadIdx.x]);
  for (int e = threadIdx.x; e < width + taps - 1; e += blockDim.x) {
    int at = first + e - reach;
    tile[e] = at >= 0 && at < length ? line[at] : __float2bfloat16(0.0f);
  }
  __syncthreads();
  float sums[4] = {};
  for (int k = 0; k < taps; ++k) {
    float weight = weights[k];
#pragma unroll
    for (int r = 0; r < 4; ++r) sums[r] += weight * __bfloat162float(tile[threadIdx.x + r * blockDim.x + k]);
  }
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    int at = first + threadIdx.x + r * blockDim.x;
    if (at < length) out[(long long)blockIdx.y * length + at] = __float2bfloat16(sums[r]);
  }
}

// Product of a matrix of diagonals with a vector: a thread a row, the values of a diagonal one after the other.
extern "C" __global__ void spmv_diagonals(const double* __restrict__ values, const int* __restrict__ offsets,
                                          const double* __restrict__ x, double* __restrict__ out, int n,
                                          int diagonals, int shift) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n) return;
  double sum = 0.0;
  for (int d = 0; d < diagonals; ++d) {
    int column = row + offsets[d] - shift;
    if (column >= 0 && column < n) sum += values[(long long)d * n + row] * x[column];
  }
  out[row] = sum;
}

// Inner product of halves, eight a load, added up in single precision: an atomic addition by every warp.
extern "C" __global__ void dot_half_atomics(const uint4* __restrict__ a, const uint4* __restrict__ b,
                                            float* __restrict__ out, int octets) {
  float sum = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < octets; i += gridDim.x * blockDim.x) {
    uint4 p = a[i], q = b[i];
    const __half2 *left = (const __half2*)&p, *right = (const __half2*)&q;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      float2 u = __half22float2(left[k]), v = __half22float2(right[k]);
      sum += u.x * v.x + u.y * v.y;
    }
  }
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) sum += __shfl_xor_sync(~0u, sum, apart);
  if (threadIdx.x % 32 == 0) atomicAdd(out, sum);
}

// A square matrix transposed where it stands: a block swaps a tile with its mirror; blocks above the diagonal leave.
extern "C" __global__ void transpose_in_place(int* __restrict__ y, int n) {
  __shared__ int low[32][33], high[32][33];
  int tile_x = blockIdx.x * 32, tile_y = blockIdx.y * 32;
  if (blockIdx.x > blockIdx.y) return;
  for (int r = threadIdx.y; r < 32; r += blockDim.y) {
    int c = threadIdx.x;
    if (tile_y + r < n && tile_x + c < n) low[r][c] = y[(long long)(tile_y + r) * n + tile_x + c];
    if (tile_x + r < n && tile_y + c < n) high[r][c] = y[(long long)(tile_x + r) * n + tile_y + c];
  }
  __syncthreads();
  for (int r = threadIdx.y; r < 32; r += blockDim.y) {
    int c = threadIdx.x;
    if (tile_y + r < n && tile_x + c < n) y[(long long)(tile_y + r) * n + tile_x + c] = high[c][r];
    if (blockIdx.x < blockIdx.y && tile_x + r < n && tile_y + c < n)
      y[(long long)(tile_x + r) * n + tile_y + c] = low[c][r];
  }
}

// Rows of four floats gathered by an index.
extern "C" __global__ void gather_rows_of_four(const int* __restrict__ index, const float4* __restrict__ table,
                                               float4* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = table[index[i]];
}

// A buffer that fits in L2 read over and over, shifted each time so that a thread never meets its own data again.
extern "C" __global__ void reread_resident(const float4* __restrict__ in, float* __restrict__ out, int n, int passes,
                                           int shift) {
  int thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
  float sum = 0.0f;
  for (int pass = 0, ahead = 0; pass < passes; ++pass) {
    for (int i = thread; i < n; i += threads) {
      int at = i + ahead;
      if (at >= n) at -= n;
      float4 v = in[at];
      sum += v.x + v.y + v.z + v.w;
    }
    ahead += shift;
    if (ahead >= n) ahead -= n;
  }
  out[thread] = sum;
}
