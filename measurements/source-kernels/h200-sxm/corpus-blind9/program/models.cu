// Kernels of language and recommendation models: element-wise ones, caches, gates, tables, scores.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

// Gradient through GELU (by tanh) in bfloat16, two a thread.
extern "C" __global__ void gelu_backward_bf16(const __nv_bfloat162* __restrict__ grad,
                                              const __nv_bfloat162* __restrict__ x, __nv_bfloat162* __restrict__ out,
                                              int pairs) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= pairs) return;
  float2 g = __bfloat1622float2(grad[i]), v = __bfloat1622float2(x[i]), r;
  auto slope = [](float u) {
    const float beta = 0.7978845608f, kappa = 0.044715f;
    float t = tanhf(beta * (u + kappa * u * u * u));
    return 0.5f * (1.0f + t) + 0.5f * u * (1.0f - t * t) * beta * (1.0f + 3.0f * kappa * u * u);
  };
  r.x = g.x * slope(v.x);
  r.y = g.y * slope(v.y);
  out[i] = __float22bfloat162_rn(r);
}

// Dropout by Philox 4x32-10 and the residual added, in half; four a thread.
extern "C" __global__ void dropout_residual(const uint2* __restrict__ x, const uint2* __restrict__ residual,
                                            uint2* __restrict__ out, unsigned seed, unsigned limit, float scale,
                                            int quads) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= quads) return;
  uint4 c = make_uint4(i, 0, 0, 0);
  unsigned k0 = seed, k1 = 0xCAFE1234u;
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    unsigned h0 = __umulhi(0xD2511F53u, c.x), l0 = 0xD2511F53u * c.x;
    unsigned h1 = __umulhi(0xCD9E8D57u, c.z), l1 = 0xCD9E8D57u * c.z;
    c = make_uint4(h1 ^ c.y ^ k0, l1, h0 ^ c.w ^ k1, l0);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  uint2 a = x[i], b = residual[i], r;
  float2 a0 = __half22float2(*(__half2*)&a.x), a1 = __half22float2(*(__half2*)&a.y);
  float2 b0 = __half22float2(*(__half2*)&b.x), b1 = __half22float2(*(__half2*)&b.y);
  b0.x += c.x < limit ? a0.x * scale : 0.0f;
  b0.y += c.y < limit ? a0.y * scale : 0.0f;
  b1.x += c.z < limit ? a1.x * scale : 0.0f;
  b1.y += c.w < limit ? a1.y * scale : 0.0f;
  __half2 r0 = __float22half2_rn(b0), r1 = __float22half2_rn(b1);
  r.x = *(unsigned*)&r0;
  r.y = *(unsigned*)&r1;
  out[i] = r;
}

// Keys and values of new tokens put into pages of 16 slots, [page][head][slot][dim]; a block a token.
extern "C" __global__ void kv_cache_scatter(const uint4* __restrict__ keys, const uint4* __restrict__ values,
                                            const int* __restrict__ slots, uint4* __restrict__ key_cache,
                                            uint4* __restrict__ value_cache, int heads, int vectors) {
  int token = blockIdx.x, slot = slots[token], page = slot / 16, at = slot % 16;
  for (int v = threadIdx.x; v < heads * vectors; v += blockDim.x) {
    int head = v / vectors, part = v - head * vectors;
    size_t to = ((size_t)(page * heads + head) * 16 + at) * vectors + part;
    size_t from = (size_t)token * heads * vectors + v;
    key_cache[to] = keys[from];
    value_cache[to] = values[from];
  }
}

// The two best of 64 experts, their weights, and how many tokens each expert got; a warp a token.
extern "C" __global__ void expert_top_two(const __half2* __restrict__ logits, int2* __restrict__ experts,
                                          float2* __restrict__ weights, int* __restrict__ loads, int tokens) {
  __shared__ int taken[64];
  for (int e = threadIdx.x; e < 64; e += blockDim.x) taken[e] = 0;
  __syncthreads();
  int lane = threadIdx.x % 32, warps = blockDim.x / 32;
  int token = blockIdx.x * warps + threadIdx.x / 32;
  if (token < tokens) {
    float2 own = __half22float2(logits[(size_t)token * 32 + lane]);
    float picked[2];
    int place[2];
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      float best = own.x >= own.y ? own.x : own.y;
      int where = own.x >= own.y ? 2 * lane : 2 * lane + 1;
#pragma unroll
      for (int apart = 16; apart > 0; apart /= 2) {
        float other = __shfl_xor_sync(~0u, best, apart);
        int its = __shfl_xor_sync(~0u, where, apart);
        if (other > best || (other == best && its < where)) {
          best = other;
          where = its;
        }
      }
      picked[k] = best;
      place[k] = where;
      if (where == 2 * lane) own.x = -1e30f;
      if (where == 2 * lane + 1) own.y = -1e30f;
    }
    if (lane == 0) {
      float second = __expf(picked[1] - picked[0]), all = 1.0f / (1.0f + second);
      experts[token] = make_int2(place[0], place[1]);
      weights[token] = make_float2(all, second * all);
      atomicAdd(&taken[place[0]], 1);
      atomicAdd(&taken[place[1]], 1);
    }
  }
  __syncthreads();
  for (int e = threadIdx.x; e < 64; e += blockDim.x)
    if (taken[e]) atomicAdd(&loads[e], taken[e]);
}

// Means of the rows of a table that each bag names; a warp a bag, float4 a lane.
extern "C" __global__ void embedding_bags(const float4* __restrict__ table, const int* __restrict__ items,
                                          const int* __restrict__ starts, float4* __restrict__ out, int bags,
                                          int quads) {
  int bag = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (bag >= bags) return;
  int first = starts[bag], last = starts[bag + 1];
  float part = last > first ? 1.0f / (last - first) : 0.0f;
  for (int q = lane; q < quads; q += 32) {
    float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll 4
    for (int k = first; k < last; ++k) {
      float4 v = __ldg(table + (size_t)__ldg(items + k) * quads + q);
      sum.x += v.x;
      sum.y += v.y;
      sum.z += v.z;
      sum.w += v.w;
    }
    out[(size_t)bag * quads + q] = make_float4(sum.x * part, sum.y * part, sum.z * part, sum.w * part);
  }
}

// Weights of 4 bits to half, groups of 128 rows with scales and zero points; a word of eight a thread.
extern "C" __global__ void nibbles_to_half(const unsigned* __restrict__ packed, const uint4* __restrict__ scales,
                                           const unsigned* __restrict__ zero_points, uint4* __restrict__ out,
                                           int rows, int words) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * 4, group = row / 128;
  if (column >= words) return;
  uint4 s = scales[(size_t)group * words + column];
  unsigned z = zero_points[(size_t)group * words + column];
  const unsigned* scale = &s.x;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if (row + k >= rows) break;
    unsigned w = __ldcs(packed + (size_t)(row + k) * words + column);
    uint4 r;
    unsigned* to = &r.x;
#pragma unroll
    for (int p = 0; p < 4; ++p) {
      unsigned q = ((w >> 4 * p) & 0x000F000Fu) | 0x64006400u, o = ((z >> 4 * p) & 0x000F000Fu) | 0x64006400u;
      __half2 value = __hmul2(__hsub2(*(__half2*)&q, *(__half2*)&o), *(const __half2*)&scale[p]);
      to[p] = *(unsigned*)&value;
    }
    __stcs(out + (size_t)(row + k) * words + column, r);
  }
}

// Scores of eight query heads that share a head of keys, 128 wide; a warp eight positions.
extern "C" __global__ void group_query_scores(const uint2* __restrict__ query, const uint2* __restrict__ keys,
                                              float* __restrict__ scores, int positions, float scale) {
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  int head = blockIdx.y, heads = gridDim.y;
  float4 q[8];
#pragma unroll
  for (int g = 0; g < 8; ++g) {
    uint2 raw = query[(head * 8 + g) * 32 + lane];
    float2 a = __half22float2(*(__half2*)&raw.x), b = __half22float2(*(__half2*)&raw.y);
    q[g] = make_float4(a.x * scale, a.y * scale, b.x * scale, b.y * scale);
  }
  int first = (blockIdx.x * warps + warp) * 8;
  for (int p = first; p < min(first + 8, positions); ++p) {
    uint2 raw = keys[((size_t)p * heads + head) * 32 + lane];
    float2 a = __half22float2(*(__half2*)&raw.x), b = __half22float2(*(__half2*)&raw.y);
    float mine = 0;
#pragma unroll
    for (int g = 0; g < 8; ++g) {
      float sum = q[g].x * a.x + q[g].y * a.y + q[g].z * b.x + q[g].w * b.y;
#pragma unroll
      for (int apart = 16; apart > 0; apart /= 2) sum += __shfl_xor_sync(~0u, sum, apart);
      if (lane == g) mine = sum;
    }
    if (lane < 8) scores[(size_t)(head * 8 + lane) * positions + p] = mine;
  }
}

// Causal convolution of four taps a channel and SiLU, channels last, half; a thread walks 32 steps of two channels.
extern "C" __global__ void conv_causal_silu(const __half2* __restrict__ x, const float4* __restrict__ taps,
                                            const float2* __restrict__ bias, __half2* __restrict__ out, int length,
                                            int pairs) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, begin = blockIdx.y * 32;
  if (c >= pairs) return;
  const __half2* from = x + (size_t)blockIdx.z * length * pairs + c;
  __half2* to = out + (size_t)blockIdx.z * length * pairs + c;
  float4 u = taps[2 * c], v = taps[2 * c + 1];
  float2 b = bias[c], p3 = make_float2(0, 0), p2 = p3, p1 = p3;
  if (begin >= 3) {
    p3 = __half22float2(from[(size_t)(begin - 3) * pairs]);
    p2 = __half22float2(from[(size_t)(begin - 2) * pairs]);
    p1 = __half22float2(from[(size_t)(begin - 1) * pairs]);
  }
  int end = min(begin + 32, length);
#pragma unroll 8
  for (int t = begin; t < end; ++t) {
    float2 now = __half22float2(from[(size_t)t * pairs]);
    float s = b.x + u.x * p3.x + u.y * p2.x + u.z * p1.x + u.w * now.x;
    float r = b.y + v.x * p3.y + v.y * p2.y + v.z * p1.y + v.w * now.y;
    s = s / (1.0f + __expf(-s));
    r = r / (1.0f + __expf(-r));
    to[(size_t)t * pairs] = __floats2half2_rn(s, r);
    p3 = p2;
    p2 = p1;
    p1 = now;
  }
}
