// Kernels of linear algebra: a product split along its depth, bands, small factorisations.

#define SIDE 64
#define DEPTH 16

// C += A B where the depth is far larger than the sides: a block takes a tile of 64 by 64 and a slab of the depth,
// 4 by 4 a thread, 16 by 16 threads; the slabs meet in atomic additions.
extern "C" __global__ void __launch_bounds__(256)
    gemm_split_depth(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int n,
                     int k, int slab) {
  __shared__ __align__(16) float left[DEPTH][SIDE + 4], right[DEPTH][SIDE];
  int tx = threadIdx.x, ty = threadIdx.y, t = ty * 16 + tx;
  int row0 = blockIdx.y * SIDE, column0 = blockIdx.x * SIDE;
  int begin = blockIdx.z * slab, end = min(begin + slab, k);
  float sums[4][4] = {};
  for (int k0 = begin; k0 < end; k0 += DEPTH) {
#pragma unroll
    for (int e = t; e < SIDE * DEPTH; e += 256) {
      int row = e / DEPTH, d = e % DEPTH;
      left[d][row] = row0 + row < m && k0 + d < end ? a[(long long)(row0 + row) * k + k0 + d] : 0.0f;
      int deep = e / SIDE, column = e % SIDE;
      right[deep][column] =
          column0 + column < n && k0 + deep < end ? b[(long long)(k0 + deep) * n + column0 + column] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int d = 0; d < DEPTH; ++d) {
      float4 p = *(const float4*)&left[d][4 * ty], q = *(const float4*)&right[d][4 * tx];
      float ps[4] = {p.x, p.y, p.z, p.w}, qs[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
      for (int r = 0; r < 4; ++r)
#pragma unroll
        for (int s = 0; s < 4; ++s) sums[r][s] += ps[r] * qs[s];
    }
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < 4; ++r)
#pragma unroll
    for (int s = 0; s < 4; ++s) {
      int row = row0 + 4 * ty + r, column = column0 + 4 * tx + s;
      if (row < m && column < n) atomicAdd(&c[row * n + column], sums[r][s]);
    }
}

// Product of a band matrix with a vector: a warp a row, whose entries left and right of the diagonal stand together.
extern "C" __global__ void matvec_banded(const float* __restrict__ band, const float* __restrict__ x,
                                         float* __restrict__ out, int n, int half) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= n) return;
  int width = 2 * half + 1, first = row - half;
  const float* entries = band + (long long)row * width;
  float sum = 0.0f;
  for (int d = lane; d < width; d += 32) {
    int column = first + d;
    if (column >= 0 && column < n) sum += entries[d] * x[column];
  }
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) sum += __shfl_xor_sync(~0u, sum, apart);
  if (lane == 0) out[row] = sum;
}

// Matrices of 32 by 32 factorised with pivots, a warp each: a lane holds a row in registers and keeps it, what is
// exchanged is only the place that it is written to.
extern "C" __global__ void __launch_bounds__(128)
    lu_pivot_warp(const float4* __restrict__ in, float4* __restrict__ out, int* __restrict__ pivots, int many) {
  int matrix = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (matrix >= many) return;
  float row[32];
#pragma unroll
  for (int q = 0; q < 8; ++q) {
    float4 v = in[(matrix * 32ll + lane) * 8 + q];
    row[4 * q] = v.x;
    row[4 * q + 1] = v.y;
    row[4 * q + 2] = v.z;
    row[4 * q + 3] = v.w;
  }
  int place = -1, chosen = 0;
#pragma unroll
  for (int k = 0; k < 32; ++k) {
    float best = place < 0 ? fabsf(row[k]) : -1.0f;
    int who = lane;
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
      float other = __shfl_xor_sync(~0u, best, apart);
      int its = __shfl_xor_sync(~0u, who, apart);
      if (other > best || (other == best && its < who)) {
        best = other;
        who = its;
      }
    }
    if (lane == who) place = k;
    if (lane == k) chosen = who;
    float factor = row[k] / __shfl_sync(~0u, row[k], who);
    bool below = place < 0;
    if (below) row[k] = factor;
#pragma unroll
    for (int j = k + 1; j < 32; ++j) {
      float above = __shfl_sync(~0u, row[j], who);
      if (below) row[j] -= factor * above;
    }
  }
#pragma unroll
  for (int q = 0; q < 8; ++q)
    out[(matrix * 32ll + place) * 8 + q] =
        make_float4(row[4 * q], row[4 * q + 1], row[4 * q + 2], row[4 * q + 3]);
  pivots[matrix * 32 + lane] = chosen;
}
