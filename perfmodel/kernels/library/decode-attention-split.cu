// One query a head against the cache, a block a part of the context: a row of keys lies across the
// WIDTH/8 lanes of a group, 16 B per lane, and a group takes UNROLL rows at a time. Scores, their
// exponentials (rescaled by the largest so far) and the sums stay in registers; groups add theirs up in
// shared memory. Each block leaves a partial sum and its scale for decode-combine. A cache is
// [batch * kv_heads][context][WIDTH] in halves.
//
// Launch: grid (parts, heads / kv_heads, batch * kv_heads), block (WIDTH / 8, 128 / blockDim.x).
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

#ifndef WIDTH
#define WIDTH 128
#endif
#ifndef UNROLL
#define UNROLL 4
#endif

extern "C" __global__ void __launch_bounds__(128)
    decode_attention_split(const __half* __restrict__ q, const __half* __restrict__ k,
                           const __half* __restrict__ v, float* __restrict__ partial,
                           float* __restrict__ scales, int context, int part) {
  constexpr int LANES = WIDTH / 8, GROUPS = 128 / LANES;
  const int head = blockIdx.z * gridDim.y + blockIdx.y, lane = threadIdx.x, group = threadIdx.y;
  const uint4* keys = reinterpret_cast<const uint4*>(k) + (size_t)blockIdx.z * context * LANES + lane;
  const uint4* values = reinterpret_cast<const uint4*>(v) + (size_t)blockIdx.z * context * LANES + lane;
  float query[8], out[8] = {}, largest = -1e30f, sum = 0.0f;
  unpack(reinterpret_cast<const uint4*>(q)[head * LANES + lane], query);
  const int end = min(context, (int)(blockIdx.x + 1) * part);
  for (int first = blockIdx.x * part; first < end; first += GROUPS * UNROLL) {  // all lanes together
    const int row = first + group;
    uint4 key[UNROLL], value[UNROLL];
    float score[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      const int r = min(row + u * GROUPS, end - 1);
      key[u] = keys[(size_t)r * LANES];
      value[u] = values[(size_t)r * LANES];
    }
    float top = largest;
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      float f[8], dot = 0.0f;
      unpack(key[u], f);
#pragma unroll
      for (int i = 0; i < 8; ++i) dot += f[i] * query[i];
#pragma unroll
      for (int x = LANES / 2; x > 0; x /= 2) dot += __shfl_xor_sync(~0u, dot, x);
      score[u] = row + u * GROUPS < end ? dot : -1e30f;
      top = fmaxf(top, score[u]);
    }
    const float scale = __expf(largest - top);
    largest = top;
    sum *= scale;
#pragma unroll
    for (int i = 0; i < 8; ++i) out[i] *= scale;
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      float f[8];
      const float p = row + u * GROUPS < end ? __expf(score[u] - top) : 0.0f;
      unpack(value[u], f);
      sum += p;
#pragma unroll
      for (int i = 0; i < 8; ++i) out[i] += p * f[i];
    }
  }
  __shared__ float tops[GROUPS], totals[GROUPS], sums[GROUPS][WIDTH];
  if (lane == 0) { tops[group] = largest; totals[group] = sum; }
#pragma unroll
  for (int i = 0; i < 8; ++i) sums[group][lane * 8 + i] = out[i];
  __syncthreads();
  const int thread = group * LANES + lane;
  const size_t to = (size_t)head * gridDim.x + blockIdx.x;
  for (int column = thread; column < WIDTH; column += 128) {
    float top = -1e30f, total = 0.0f, result = 0.0f;
    for (int g = 0; g < GROUPS; ++g) top = fmaxf(top, tops[g]);
    for (int g = 0; g < GROUPS; ++g) {
      const float weight = __expf(tops[g] - top);
      total += weight * totals[g];
      result += weight * sums[g][column];
    }
    partial[to * WIDTH + column] = result;
    if (thread == 0 && column == 0) {
      scales[to * 2] = top;
      scales[to * 2 + 1] = total;
    }
  }
}
