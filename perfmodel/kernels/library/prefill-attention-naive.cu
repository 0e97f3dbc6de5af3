// Attention of a prompt as it is first written, not causal: a block of WIDTH threads a query. Thread t
// takes keys t, t + WIDTH and so on, and writes their scores to memory; then it reads all scores of the
// query again, and takes column t of the values. Caches are [batch * kv_heads][tokens][WIDTH] in halves.
//
// Launch: grid (tokens, heads / kv_heads, batch * kv_heads), block WIDTH.
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

extern "C" __global__ void __launch_bounds__(WIDTH)
    prefill_attention_naive(const __half* __restrict__ q, const __half* __restrict__ k,
                            const __half* __restrict__ v, float* __restrict__ scores,
                            __half* __restrict__ out, int tokens) {
  const long long head = blockIdx.z * gridDim.y + blockIdx.y, row = head * tokens + blockIdx.x;
  const long long keys = (long long)blockIdx.z * tokens;
  const uint4* query = reinterpret_cast<const uint4*>(q + row * WIDTH);
  float* own = scores + row * tokens;
  float top = -1e30f;
  for (int j = threadIdx.x; j < tokens; j += WIDTH) {
    const uint4* key = reinterpret_cast<const uint4*>(k + (keys + j) * WIDTH);
    float dot = 0.0f;
#pragma unroll 4
    for (int c = 0; c < WIDTH / 8; ++c) {
      float a[8], b[8];
      unpack(key[c], a);
      unpack(query[c], b);
#pragma unroll
      for (int i = 0; i < 8; ++i) dot += a[i] * b[i];
    }
    own[j] = dot;
    top = fmaxf(top, dot);
  }
  __shared__ float part[WIDTH / 32];
#pragma unroll
  for (int s = 16; s > 0; s /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, s));
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = top;
  __syncthreads();
#pragma unroll
  for (int w = 0; w < WIDTH / 32; ++w) top = fmaxf(top, part[w]);
  float sum = 0.0f, result = 0.0f;
#pragma unroll 4
  for (int j = 0; j < tokens; ++j) {
    const float p = __expf(own[j] - top);
    sum += p;
    result += p * __half2float(v[(keys + j) * WIDTH + threadIdx.x]);
  }
  out[row * WIDTH + threadIdx.x] = __float2half(result / sum);
}
