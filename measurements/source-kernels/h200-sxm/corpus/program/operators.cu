// Operators of neural networks.
#include <cuda_fp16.h>

__device__ __forceinline__ float over_block(float value, bool maximum, float* part) {
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) {
    float other = __shfl_xor_sync(0xffffffffu, value, step);
    value = maximum ? fmaxf(value, other) : value + other;
  }
  __syncthreads();
  if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = value;
  __syncthreads();
  value = part[0];
  for (int w = 1; w < blockDim.x >> 5; ++w) value = maximum ? fmaxf(value, part[w]) : value + part[w];
  return value;
}

extern "C" __global__ void softmax_rows(const float* __restrict__ in, float* __restrict__ out, int columns) {
  __shared__ float part[32];
  const float* row = in + (long long)blockIdx.x * columns;
  float highest = -1e30f, sum = 0.0f;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) highest = fmaxf(highest, row[c]);
  highest = over_block(highest, true, part);
  for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += __expf(row[c] - highest);
  sum = over_block(sum, false, part);
  for (int c = threadIdx.x; c < columns; c += blockDim.x) out[(long long)blockIdx.x * columns + c] = __expf(row[c] - highest) / sum;
}

extern "C" __global__ void softmax_warp(const float* __restrict__ in, float* __restrict__ out, int rows) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
  if (row >= rows) return;
  float value[4], highest = -1e30f, sum = 0.0f;
#pragma unroll
  for (int k = 0; k < 4; ++k) highest = fmaxf(highest, value[k] = in[row * 128 + k * 32 + lane]);
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) highest = fmaxf(highest, __shfl_xor_sync(0xffffffffu, highest, step));
#pragma unroll
  for (int k = 0; k < 4; ++k) sum += value[k] = __expf(value[k] - highest);
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, step);
#pragma unroll
  for (int k = 0; k < 4; ++k) out[row * 128 + k * 32 + lane] = value[k] / sum;
}

extern "C" __global__ void layer_norm(const float* __restrict__ in, const float* __restrict__ gain, const float* __restrict__ bias, float* __restrict__ out, int columns) {
  __shared__ float part[32];
  const float* row = in + (long long)blockIdx.x * columns;
  float sum = 0.0f, squares = 0.0f;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) {
    sum += row[c];
    squares += row[c] * row[c];
  }
  float mean = over_block(sum, false, part) / columns;
  float variance = over_block(squares, false, part) / columns - mean * mean;
  float scale = rsqrtf(variance + 1e-5f);
  for (int c = threadIdx.x; c < columns; c += blockDim.x)
    out[(long long)blockIdx.x * columns + c] = (row[c] - mean) * scale * gain[c] + bias[c];
}

extern "C" __global__ void rms_norm_half(const __half2* __restrict__ in, const __half2* __restrict__ gain, __half2* __restrict__ out, int pairs) {
  __shared__ float part[32];
  const __half2* row = in + (long long)blockIdx.x * pairs;
  float squares = 0.0f;
  for (int c = threadIdx.x; c < pairs; c += blockDim.x) {
    float2 v = __half22float2(row[c]);
    squares += v.x * v.x + v.y * v.y;
  }
  float scale = rsqrtf(over_block(squares, false, part) / (2 * pairs) + 1e-5f);
  for (int c = threadIdx.x; c < pairs; c += blockDim.x) {
    float2 v = __half22float2(row[c]), g = __half22float2(gain[c]);
    out[(long long)blockIdx.x * pairs + c] = __floats2half2_rn(v.x * scale * g.x, v.y * scale * g.y);
  }
}

extern "C" __global__ void gelu_bias(const float* __restrict__ in, const float* __restrict__ bias, float* __restrict__ out, int columns, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i] + bias[i % columns];
  out[i] = 0.5f * x * (1.0f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
}

extern "C" __global__ void rotary(const float2* __restrict__ in, const float2* __restrict__ turns, float2* __restrict__ out, int heads, int half) {
  int token = blockIdx.x, head = threadIdx.y, d = threadIdx.x;
  float2 turn = turns[token * half + d], v = in[((long long)token * heads + head) * half + d];
  out[((long long)token * heads + head) * half + d] = make_float2(v.x * turn.x - v.y * turn.y, v.x * turn.y + v.y * turn.x);
}
