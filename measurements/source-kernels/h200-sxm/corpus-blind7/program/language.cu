// Kernels of language models: normalisation, positions, four-bit weights, the choice of tokens.
#include <cuda_fp16.h>

__device__ __forceinline__ float block_sum(float v, float* parts) {
  for (int apart = 16; apart > 0; apart /= 2) v += __shfl_xor_sync(~0u, v, apart);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
  __syncthreads();
  int warps = (blockDim.x + 31) / 32;
  v = threadIdx.x % 32 < warps ? parts[threadIdx.x % 32] : 0.0f;
  for (int apart = 16; apart > 0; apart /= 2) v += __shfl_xor_sync(~0u, v, apart);
  return v;
}

// Adds the residual, keeps the sum, and scales it by its root mean square: a block a token, eight halves a load.
extern "C" __global__ void rms_norm_residual(const uint4* __restrict__ x, const uint4* __restrict__ residual,
                                             const uint4* __restrict__ weight, uint4* __restrict__ carried,
                                             uint4* __restrict__ out, int vectors, float eps) {
  __shared__ float parts[32];
  size_t row = (size_t)blockIdx.x * vectors;
  float sum = 0.0f;
  for (int v = threadIdx.x; v < vectors; v += blockDim.x) {
    uint4 a = x[row + v], b = residual[row + v];
    __half2* p = (__half2*)&a;
    const __half2* q = (const __half2*)&b;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      p[k] = __hadd2(p[k], q[k]);
      float2 f = __half22float2(p[k]);
      sum += f.x * f.x + f.y * f.y;
    }
    carried[row + v] = a;
  }
  float scale = rsqrtf(block_sum(sum, parts) / (vectors * 8) + eps);
  for (int v = threadIdx.x; v < vectors; v += blockDim.x) {
    uint4 a = carried[row + v], w = weight[v];
    __half2* p = (__half2*)&a;
    const __half2* q = (const __half2*)&w;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      float2 f = __half22float2(p[k]), g = __half22float2(q[k]);
      p[k] = __floats2half2_rn(f.x * scale * g.x, f.y * scale * g.y);
    }
    out[row + v] = a;
  }
}

// Rotary positions of queries and keys, halves apart: a block a token; values behind them in the row are passed over.
extern "C" __global__ void rope_rotate(const __half* __restrict__ qkv, const int* __restrict__ positions,
                                       const float* __restrict__ table, __half* __restrict__ q,
                                       __half* __restrict__ k, int heads, int kv_heads, int half_dim) {
  int token = blockIdx.x, dim = 2 * half_dim, all = (heads + kv_heads) * half_dim;
  const float* cosines = table + (size_t)positions[token] * dim;
  const float* sines = cosines + half_dim;
  const __half* row = qkv + (size_t)token * (heads + 2 * kv_heads) * dim;
  for (int i = threadIdx.x; i < all; i += blockDim.x) {
    int head = i / half_dim, d = i % half_dim;
    float c = cosines[d], s = sines[d];
    float a = __half2float(row[head * dim + d]), b = __half2float(row[head * dim + half_dim + d]);
    __half* to = head < heads ? q + ((size_t)token * heads + head) * dim
                              : k + ((size_t)token * kv_heads + head - heads) * dim;
    to[d] = __float2half(a * c - b * s);
    to[half_dim + d] = __float2half(b * c + a * s);
  }
}

// Matrix of four-bit weights times a vector: a warp a row, 32 weights a load, scale and zero of each 128 weights.
extern "C" __global__ void gemv_int4(const uint4* __restrict__ weights, const __half* __restrict__ scales,
                                     const unsigned char* __restrict__ zeros, const uint4* __restrict__ x,
                                     __half* __restrict__ out, int rows, int columns) {
  int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  if (row >= rows) return;
  int loads = columns / 32, groups = columns / 128;
  float sum = 0.0f;
  for (int i = lane; i < loads; i += 32) {
    uint4 packed = weights[(size_t)row * loads + i];
    unsigned words[4] = {packed.x, packed.y, packed.z, packed.w};
    float scale = __half2float(scales[row * groups + i / 4]);
    float zero = (float)zeros[row * groups + i / 4], part = 0.0f;
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      uint4 raw = x[i * 4 + w];
      const __half2* pairs = (const __half2*)&raw;
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        float2 v = __half22float2(pairs[k]);
        part += ((float)(words[w] >> 8 * k & 15u) - zero) * v.x;
        part += ((float)(words[w] >> (8 * k + 4) & 15u) - zero) * v.y;
      }
    }
    sum += part * scale;
  }
  for (int apart = 16; apart > 0; apart /= 2) sum += __shfl_down_sync(~0u, sum, apart);
  if (lane == 0) out[row] = __float2half(sum);
}

#define BEAM 8

// The eight greatest logits of a row: each thread keeps eight of its own in order, then a block takes the best in turn.
extern "C" __global__ void __launch_bounds__(256) topk_logits(const float* __restrict__ logits,
                                                              float* __restrict__ values, int* __restrict__ places,
                                                              int vocabulary) {
  __shared__ float best[256 * BEAM], tops[8];
  __shared__ int where[256 * BEAM], owners[8];
  const float* row = logits + (size_t)blockIdx.x * vocabulary;
  int t = threadIdx.x, warps = blockDim.x / 32;
  float mine[BEAM];
  int at[BEAM];
#pragma unroll
  for (int k = 0; k < BEAM; ++k) mine[k] = -3e38f, at[k] = -1;
  for (int i = t; i < vocabulary; i += blockDim.x) {
    float v = row[i];
    if (v > mine[BEAM - 1]) {
      int place = i;
#pragma unroll
      for (int k = 0; k < BEAM; ++k)
        if (v > mine[k]) {
          float other = mine[k];
          int elsewhere = at[k];
          mine[k] = v;
          at[k] = place;
          v = other;
          place = elsewhere;
        }
    }
  }
#pragma unroll
  for (int k = 0; k < BEAM; ++k) {
    best[k * blockDim.x + t] = mine[k];
    where[k * blockDim.x + t] = at[k];
  }
  int next = 0;
  for (int k = 0; k < BEAM; ++k) {
    float v = next < BEAM ? best[next * blockDim.x + t] : -3e38f;
    int owner = t;
    for (int apart = 16; apart > 0; apart /= 2) {
      float other = __shfl_xor_sync(~0u, v, apart);
      int its = __shfl_xor_sync(~0u, owner, apart);
      if (other > v || (other == v && its < owner)) {
        v = other;
        owner = its;
      }
    }
    if (t % 32 == 0) {
      tops[t / 32] = v;
      owners[t / 32] = owner;
    }
    __syncthreads();
    v = tops[0];
    owner = owners[0];
    for (int w = 1; w < warps; ++w)
      if (tops[w] > v) {
        v = tops[w];
        owner = owners[w];
      }
    if (t == owner) {
      values[blockIdx.x * BEAM + k] = v;
      places[blockIdx.x * BEAM + k] = where[next * blockDim.x + t];
      ++next;
    }
    __syncthreads();
  }
}
