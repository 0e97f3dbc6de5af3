// y = W x in FP16 with sums in FP32: a warp per row of W, 16 B per lane, four loads of W in flight.
// `columns` is a multiple of 8.
//
// Launch: grid ceil(rows / 4), block 128.
#include <cuda_fp16.h>

__device__ __forceinline__ void unpack(uint4 raw, float (&f)[8]) {
  const __half2* h = reinterpret_cast<const __half2*>(&raw);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 v = __half22float2(h[i]);
    f[2 * i] = v.x;
    f[2 * i + 1] = v.y;
  }
}

extern "C" __global__ void __launch_bounds__(128)
    ffn_gemv_warp(const __half* __restrict__ W, const __half* __restrict__ x, __half* __restrict__ y,
                  int rows, int columns) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  const uint4* wv = reinterpret_cast<const uint4*>(W + (long long)row * columns);
  const uint4* xv = reinterpret_cast<const uint4*>(x);
  float sum = 0.0f;
#pragma unroll 4
  for (int c = lane; c < columns / 8; c += 32) {
    float a[8], b[8];
    unpack(wv[c], a);
    unpack(xv[c], b);
#pragma unroll
    for (int i = 0; i < 8; ++i) sum += a[i] * b[i];
  }
#pragma unroll
  for (int s = 16; s > 0; s /= 2) sum += __shfl_xor_sync(~0u, sum, s);
  if (lane == 0) y[row] = __float2half(sum);
}
