// Operators of neural networks, in halves and in bytes.
#include <cuda_fp16.h>

// Logarithm of the softmax of rows of halves, a block a row.
extern "C" __global__ void log_softmax_half(const __half2* __restrict__ in, __half2* __restrict__ out, int pairs) {
  __shared__ float part[32];
  const __half2* row = in + (long long)blockIdx.x * pairs;
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  float most = -1e30f, sum = 0.0f;
  for (int k = threadIdx.x; k < pairs; k += blockDim.x) {
    float2 v = __half22float2(row[k]);
    float higher = fmaxf(most, fmaxf(v.x, v.y));
    sum = sum * __expf(most - higher) + __expf(v.x - higher) + __expf(v.y - higher);
    most = higher;
  }
  float local = most;
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, step));
  if (lane == 0) part[warp] = most;
  __syncthreads();
  most = lane < warps ? part[lane] : -1e30f;
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, step));
  sum *= __expf(local - most);
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  __syncthreads();
  if (lane == 0) part[warp] = sum;
  __syncthreads();
  sum = lane < warps ? part[lane] : 0.0f;
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  float less = most + __logf(sum);
  for (int k = threadIdx.x; k < pairs; k += blockDim.x) {
    float2 v = __half22float2(row[k]);
    out[(long long)blockIdx.x * pairs + k] = __floats2half2_rn(v.x - less, v.y - less);
  }
}

// Positions turned into queries: element d of a head with d + half of it, angles worked out on the spot.
extern "C" __global__ void turn_halves(const __half* __restrict__ in, __half* __restrict__ out, int heads, int half, float slope) {
  int d = threadIdx.x, head = blockIdx.y * blockDim.y + threadIdx.y, token = blockIdx.x;
  float sine, cosine;
  sincosf(token * exp2f(-slope * d), &sine, &cosine);
  long long at = ((long long)token * heads + head) * 2 * half + d;
  float u = __half2float(in[at]), v = __half2float(in[at + half]);
  out[at] = __float2half(u * cosine - v * sine);
  out[at + half] = __float2half(v * cosine + u * sine);
}

// Rows to signed bytes, each with a scale of its own: the largest size of the row first.
extern "C" __global__ void quantise_rows(const float4* __restrict__ in, char4* __restrict__ out, float* __restrict__ scales, int fours) {
  __shared__ float part[32];
  const float4* row = in + (long long)blockIdx.x * fours;
  float most = 0.0f;
  for (int k = threadIdx.x; k < fours; k += blockDim.x) {
    float4 v = row[k];
    most = fmaxf(most, fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w))));
  }
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, step));
  if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = most;
  __syncthreads();
  most = part[0];
  for (int w = 1; w < blockDim.x >> 5; ++w) most = fmaxf(most, part[w]);
  float scale = 127.0f / most;
  if (threadIdx.x == 0) scales[blockIdx.x] = most / 127.0f;
  for (int k = threadIdx.x; k < fours; k += blockDim.x) {
    float4 v = row[k];
    out[(long long)blockIdx.x * fours + k] = make_char4(__float2int_rn(v.x * scale), __float2int_rn(v.y * scale), __float2int_rn(v.z * scale), __float2int_rn(v.w * scale));
  }
}
