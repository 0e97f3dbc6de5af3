// Operators of neural networks, in halves and in bytes.
#include <cuda_fp16.h>

// Rows of 512 halves to mean nought and variance one, then gain and bias: a warp a row, the row in registers.
extern "C" __global__ void layer_norm_warp_half(const __half2* __restrict__ in, const __half2* __restrict__ gain, const __half2* __restrict__ bias, __half2* __restrict__ out, int rows) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
  if (row >= rows) return;
  float2 v[8];
  float sum = 0.0f, squares = 0.0f;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    v[k] = __half22float2(in[row * 256 + k * 32 + lane]);
    sum += v[k].x + v[k].y;
  }
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  float mean = sum / 512.0f;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    v[k].x -= mean;
    v[k].y -= mean;
    squares += v[k].x * v[k].x + v[k].y * v[k].y;
  }
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) squares += __shfl_xor_sync(0xffffffffu, squares, step);
  float scale = rsqrtf(squares / 512.0f + 1e-5f);
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    float2 g = __half22float2(gain[k * 32 + lane]), b = __half22float2(bias[k * 32 + lane]);
    out[row * 256 + k * 32 + lane] = __floats2half2_rn(v[k].x * scale * g.x + b.x, v[k].y * scale * g.y + b.y);
  }
}

// x sigmoid(x) times a gate, halves: both stand side by side in a token's row.
extern "C" __global__ void gated_silu_half(const __half2* __restrict__ in, __half2* __restrict__ out, int pairs) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= pairs) return;
  const __half2* row = in + 2ll * blockIdx.y * pairs;
  float2 x = __half22float2(row[k]), gate = __half22float2(row[pairs + k]);
  x.x = x.x / (1.0f + __expf(-x.x)) * gate.x;
  x.y = x.y / (1.0f + __expf(-x.y)) * gate.y;
  out[(long long)blockIdx.y * pairs + k] = __float22half2_rn(x);
}

// Bags of words: the entries of a table that a bag names, added up, a warp a bag and 16 bytes a lane.
extern "C" __global__ void sum_of_entries(const float4* __restrict__ table, const int* __restrict__ names, float4* __restrict__ out, int bags, int many) {
  int bag = blockIdx.x * blockDim.y + threadIdx.y;
  if (bag >= bags) return;
  float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  for (int k = 0; k < many; ++k) {
    float4 v = table[(long long)names[bag * many + k] * 32 + threadIdx.x];
    sum.x += v.x;
    sum.y += v.y;
    sum.z += v.z;
    sum.w += v.w;
  }
  out[bag * 32 + threadIdx.x] = sum;
}
