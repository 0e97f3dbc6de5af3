// Kernels of weights in eight bits of floating point: making them by blocks, multiplying with them.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

// Numbers of bfloat16 to e4m3 with a scale for each 128 of them: a warp a group, four numbers a lane.
extern "C" __global__ void quantise_fp8_blocks(const uint2* __restrict__ in, unsigned* __restrict__ codes,
                                               float* __restrict__ scales, int groups) {
  int group = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (group >= groups) return;
  long long at = group * 32ll + lane;
  uint2 four = in[at];
  float2 p = __bfloat1622float2(*(const __nv_bfloat162*)&four.x);
  float2 q = __bfloat1622float2(*(const __nv_bfloat162*)&four.y);
  float most = fmaxf(fmaxf(fabsf(p.x), fabsf(p.y)), fmaxf(fabsf(q.x), fabsf(q.y)));
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, apart));
  most = fmaxf(most, 1e-12f);
  float up = 448.0f / most;
  unsigned low = __nv_cvt_float2_to_fp8x2(make_float2(p.x * up, p.y * up), __NV_SATFINITE, __NV_E4M3);
  unsigned high = __nv_cvt_float2_to_fp8x2(make_float2(q.x * up, q.y * up), __NV_SATFINITE, __NV_E4M3);
  codes[at] = low | high << 16;
  if (lane == 0) scales[group] = most / 448.0f;
}

// Product of a matrix of e4m3, a scale a row, with a vector of halves: a warp a row, sixteen weights a load.
extern "C" __global__ void matvec_fp8(const uint4* __restrict__ weights, const float* __restrict__ scales,
                                      const uint4* __restrict__ x, float* __restrict__ out, int rows, int sixteens) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  const uint4* line = weights + (long long)row * sixteens;
  float sum = 0.0f;
  for (int c = lane; c < sixteens; c += 32) {
    uint4 codes = line[c], first = x[2 * c], second = x[2 * c + 1];
    const __nv_fp8x2_storage_t* pairs = (const __nv_fp8x2_storage_t*)&codes;
    const __half2 *low = (const __half2*)&first, *high = (const __half2*)&second;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      float2 w = __half22float2(__half2(__nv_cvt_fp8x2_to_halfraw2(pairs[k], __NV_E4M3)));
      float2 v = __half22float2(k < 4 ? low[k] : high[k - 4]);
      sum += w.x * v.x + w.y * v.y;
    }
  }
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) sum += __shfl_xor_sync(~0u, sum, apart);
  if (lane == 0) out[row] = sum * scales[row];
}
