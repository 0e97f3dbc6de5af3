// Products of matrices and vectors, dense and sparse.
#include <cuda_fp16.h>

// out = alpha a b + beta c for matrices that 16 divides: tiles of 16 by 16 in shared memory.
extern "C" __global__ void product_scaled(const float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ c, float* __restrict__ out, int columns, int inner, float alpha, float beta) {
  __shared__ float left[16][16], right[16][16];
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx;
  float sum = 0.0f;
  for (int first = 0; first < inner; first += 16) {
    left[ty][tx] = a[row * inner + first + tx];
    right[ty][tx] = b[(first + ty) * columns + column];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 16; ++k) sum += left[ty][k] * right[k][tx];
    __syncthreads();
  }
  out[row * columns + column] = alpha * sum + beta * c[row * columns + column];
}

// Halves times a vector of halves: a warp a row, 16 bytes a lane, sums in single precision.
extern "C" __global__ void matvec_half(const uint4* __restrict__ a, const uint4* __restrict__ x, __half* __restrict__ out, int rows, int eights) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int k = lane; k < eights; k += 32) {
    uint4 m = a[(long long)row * eights + k], v = x[k];
    const __half2 *mh = reinterpret_cast<const __half2*>(&m), *vh = reinterpret_cast<const __half2*>(&v);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      float2 f = __half22float2(mh[j]), g = __half22float2(vh[j]);
      sum += f.x * g.x + f.y * g.y;
    }
  }
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (lane == 0) out[row] = __float2half(sum);
}

// Sparse rows padded to one length, stored slot by slot: a thread a row.
extern "C" __global__ void sparse_slots(const int* __restrict__ columns, const float* __restrict__ values, const float* __restrict__ x, float* __restrict__ out, int rows, int slots) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int k = 0; k < slots; ++k) sum += values[k * rows + row] * x[columns[k * rows + row]];
  out[row] = sum;
}
