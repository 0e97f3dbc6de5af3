// Kernels around language and vision models, none on tensor cores.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_pipeline.h>
#include <stdint.h>

typedef __nv_bfloat16 bf16;
typedef __nv_bfloat162 bf162;

#define FULL 0xffffffffu

__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
  for (int m = 16; m; m >>= 1) v += __shfl_xor_sync(FULL, v, m);
  return v;
}

__device__ __forceinline__ float warp_max(float v) {
#pragma unroll
  for (int m = 16; m; m >>= 1) v = fmaxf(v, __shfl_xor_sync(FULL, v, m));
  return v;
}

// All threads get the sum; blocks are whole warps.
__device__ float block_sum(float v, float* room) {
  v = warp_sum(v);
  int warps = (blockDim.x * blockDim.y + 31) / 32;
  int t = threadIdx.y * blockDim.x + threadIdx.x;
  __syncthreads();
  if ((t & 31) == 0) room[t >> 5] = v;
  __syncthreads();
  float s = 0.f;
  for (int w = 0; w < warps; w++) s += room[w];
  return s;
}

__device__ float block_max(float v, float* room) {
  v = warp_max(v);
  int warps = blockDim.x / 32;
  __syncthreads();
  if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = v;
  __syncthreads();
  float s = room[0];
  for (int w = 1; w < warps; w++) s = fmaxf(s, room[w]);
  return s;
}

__device__ __forceinline__ uint32_t scramble(uint32_t a, uint32_t b) {
  uint32_t h = a * 0x9e3779b1u ^ (b + 0x7f4a7c15u) * 0x85ebca6bu;
  h ^= h >> 15;
  h *= 0xc2b2ae35u;
  return h ^ h >> 13;
}

__device__ __forceinline__ int dot4(int a, int b, int c) {
  return __dp4a(a, b, c);
}

// Weights and activations of eight bits: a warp a row, sixteen products a load.
extern "C" __global__ void matvec_w8a8(bf16* __restrict__ y, const int4* __restrict__ w,
                                       const int4* __restrict__ x, const float* __restrict__ row_scale,
                                       const float* __restrict__ x_scale, int rows, int pieces) {
  int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  const int4* from = w + (size_t)row * pieces;
  int total = 0;
  for (int p = threadIdx.x; p < pieces; p += 32) {
    int4 a = from[p];
    int4 b = __ldg(x + p);
    total = dot4(a.x, b.x, total);
    total = dot4(a.y, b.y, total);
    total = dot4(a.z, b.z, total);
    total = dot4(a.w, b.w, total);
  }
#pragma unroll
  for (int m = 16; m; m >>= 1) total += __shfl_xor_sync(FULL, total, m);
  if (threadIdx.x == 0) y[row] = __float2bfloat16((float)total * row_scale[row] * x_scale[0]);
}

template <int TOKENS>
__device__ __forceinline__ void nibble_rows(float* y, const uint4* w, const half2* scale_zero,
                                            const float* x, int rows, int groups) {
  // a group is 32 weights: one uint4 and one pair of scale and zero
  extern __shared__ float xs[];
  int inner = groups * 32;
  for (int i = threadIdx.x; i < inner * TOKENS; i += blockDim.x) xs[i] = x[i];
  __syncthreads();
  int lane = threadIdx.x & 31, warps = blockDim.x >> 5;
  for (int row = blockIdx.x * warps + (threadIdx.x >> 5); row < rows; row += gridDim.x * warps) {
    float sum[TOKENS];
#pragma unroll
    for (int t = 0; t < TOKENS; t++) sum[t] = 0.f;
    for (int g = lane; g < groups; g += 32) {
      uint4 q = w[(size_t)row * groups + g];
      float2 sz = __half22float2(scale_zero[(size_t)row * groups + g]);
      uint32_t part[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
      for (int p = 0; p < 4; p++)
#pragma unroll
        for (int e = 0; e < 8; e++) {
          float v = ((float)(part[p] >> (4 * e) & 15u) - sz.y) * sz.x;
#pragma unroll
          for (int t = 0; t < TOKENS; t++) sum[t] += v * xs[t * inner + g * 32 + p * 8 + e];
        }
    }
#pragma unroll
    for (int t = 0; t < TOKENS; t++) {
      float s = warp_sum(sum[t]);
      if (lane == 0) y[(size_t)t * rows + row] = s;
    }
  }
}

// Weights of four bits in groups of 32, one token.
extern "C" __global__ void matvec_w4_one(float* __restrict__ y, const uint4* __restrict__ w,
                                         const half2* __restrict__ scale_zero,
                                         const float* __restrict__ x, int rows, int groups) {
  nibble_rows<1>(y, w, scale_zero, x, rows, groups);
}

// The same for three tokens at once.
extern "C" __global__ void matvec_w4_three(float* __restrict__ y, const uint4* __restrict__ w,
                                           const half2* __restrict__ scale_zero,
                                           const float* __restrict__ x, int rows, int groups) {
  nibble_rows<3>(y, w, scale_zero, x, rows, groups);
}

// Two bits a weight, four levels for each row; a block takes a row, halves for activations.
extern "C" __global__ void matvec_w2_levels(float* __restrict__ y, const uint32_t* __restrict__ w,
                                            const float4* __restrict__ levels,
                                            const uint4* __restrict__ x, int words) {
  __shared__ float room[32];
  int row = blockIdx.x;
  float4 level = levels[row];
  float sum = 0.f;
  for (int i = threadIdx.x; i < words; i += blockDim.x) {
    uint32_t q = w[(size_t)row * words + i];
#pragma unroll
    for (int h = 0; h < 2; h++) {
      uint4 packed = x[2 * i + h];
      const half2* v = reinterpret_cast<const half2*>(&packed);
#pragma unroll
      for (int e = 0; e < 4; e++) {
        float2 f = __half22float2(v[e]);
        uint32_t a = q & 3u, b = q >> 2 & 3u;
        q >>= 4;
        float wa = a & 2 ? (a & 1 ? level.w : level.z) : (a & 1 ? level.y : level.x);
        float wb = b & 2 ? (b & 1 ? level.w : level.z) : (b & 1 ? level.y : level.x);
        sum += wa * f.x + wb * f.y;
      }
    }
  }
  sum = block_sum(sum, room);
  if (threadIdx.x == 0) y[row] = sum;
}

// E4M3 with a scale for every block of 128 by 128 to bfloat16, by hand on the bits.
extern "C" __global__ void fp8_blocks_to_bf16(uint2* __restrict__ out, const uint32_t* __restrict__ in,
                                              const float* __restrict__ scale, int rows, int words) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (c >= words || r >= rows) return;
  int across = (words + 31) / 32;
  float s = scale[(r >> 7) * across + (c >> 5)] * 1.3292279957849159e36f;
  uint32_t q = in[(size_t)r * words + c];
  uint32_t half_out[4];
#pragma unroll
  for (int b = 0; b < 4; b++) {
    uint32_t byte = q >> 8 * b & 255u;
    uint32_t bits = (byte & 0x80u) << 24 | (byte & 0x7fu) << 20;
    float v = __uint_as_float(bits) * s;
    half_out[b] = __bfloat16_as_ushort(__float2bfloat16(v));
  }
  out[(size_t)r * words + c] = make_uint2(half_out[0] | half_out[1] << 16, half_out[2] | half_out[3] << 16);
}

// Rows of bfloat16 to E4M3 with a scale each; the row stays in registers between the passes.
extern "C" __global__ void rows_to_fp8(uint16_t* __restrict__ out, float* __restrict__ scale,
                                       const bf162* __restrict__ x, int pairs) {
  __shared__ float room[32];
  const int KEEP = 8;
  float2 mine[KEEP];
  const bf162* row = x + (size_t)blockIdx.x * pairs;
  float high = 1e-12f;
#pragma unroll
  for (int k = 0; k < KEEP; k++) {
    int i = k * blockDim.x + threadIdx.x;
    mine[k] = make_float2(0.f, 0.f);
    if (i < pairs) mine[k] = __bfloat1622float2(row[i]);
    high = fmaxf(high, fmaxf(fabsf(mine[k].x), fabsf(mine[k].y)));
  }
  high = block_max(high, room);
  float by = 448.f / high;
#pragma unroll
  for (int k = 0; k < KEEP; k++) {
    int i = k * blockDim.x + threadIdx.x;
    if (i < pairs)
      out[(size_t)blockIdx.x * pairs + i] = __nv_cvt_float2_to_fp8x2(
          make_float2(mine[k].x * by, mine[k].y * by), __NV_SATFINITE, __NV_E4M3);
  }
  if (threadIdx.x == 0) scale[blockIdx.x] = high / 448.f;
}

// Adds to the residual stream and takes the root-mean-square norm of the sum.
extern "C" __global__ void residual_rms_norm(uint4* __restrict__ normed, uint4* __restrict__ residual,
                                             const uint4* __restrict__ delta,
                                             const uint4* __restrict__ gain, int pieces, float epsilon) {
  extern __shared__ uint4 kept[];
  __shared__ float room[32];
  size_t base = (size_t)blockIdx.x * pieces;
  float squares = 0.f;
  for (int p = threadIdx.x; p < pieces; p += blockDim.x) {
    uint4 a = residual[base + p], d = delta[base + p];
    bf162* u = (bf162*)&a;
    const bf162* v = (const bf162*)&d;
#pragma unroll
    for (int e = 0; e < 4; e++) {
      u[e] = __hadd2(u[e], v[e]);
      float2 f = __bfloat1622float2(u[e]);
      squares += f.x * f.x + f.y * f.y;
    }
    residual[base + p] = a;
    kept[p] = a;
  }
  float inverse = rsqrtf(block_sum(squares, room) / (8.f * pieces) + epsilon);
  for (int p = threadIdx.x; p < pieces; p += blockDim.x) {
    uint4 a = kept[p], g = gain[p];
    bf162* u = (bf162*)&a;
    const bf162* v = (const bf162*)&g;
#pragma unroll
    for (int e = 0; e < 4; e++) {
      float2 f = __bfloat1622float2(u[e]), h = __bfloat1622float2(v[e]);
      u[e] = __floats2bfloat162_rn(f.x * inverse * h.x, f.y * inverse * h.y);
    }
    normed[base + p] = a;
  }
}

// Gradients of gain and shift of a layer norm: sums down columns, one chunk of rows a block.
extern "C" __global__ void layer_norm_gain_gradient(float* __restrict__ d_gain,
                                                    float* __restrict__ d_shift,
                                                    const float* __restrict__ dy,
                                                    const float* __restrict__ x,
                                                    const float* __restrict__ mean,
                                                    const float* __restrict__ inverse, int rows,
                                                    int width, int chunk) {
  __shared__ float g[8][33], s[8][33];
  int c = blockIdx.x * 32 + threadIdx.x;
  int first = blockIdx.y * chunk, last = min(first + chunk, rows);
  float dg = 0.f, ds = 0.f;
  if (c < width)
    for (int r = first + threadIdx.y; r < last; r += 8) {
      float d = dy[(size_t)r * width + c];
      dg += d * (x[(size_t)r * width + c] - mean[r]) * inverse[r];
      ds += d;
    }
  g[threadIdx.y][threadIdx.x] = dg;
  s[threadIdx.y][threadIdx.x] = ds;
  __syncthreads();
  for (int half = 4; half > 0; half >>= 1) {
    if (threadIdx.y < half) {
      g[threadIdx.y][threadIdx.x] += g[threadIdx.y + half][threadIdx.x];
      s[threadIdx.y][threadIdx.x] += s[threadIdx.y + half][threadIdx.x];
    }
    __syncthreads();
  }
  if (threadIdx.y == 0 && c < width) {
    atomicAdd(d_gain + c, g[0][threadIdx.x]);
    atomicAdd(d_shift + c, s[0][threadIdx.x]);
  }
}

// Gate and value side by side in a pair; clipped gate, halves out.
extern "C" __global__ void swiglu_pairs(half2* __restrict__ out, const float4* __restrict__ in,
                                        const float4* __restrict__ bias, int tokens, int quads,
                                        float alpha, float limit) {
  long long total = (long long)tokens * quads;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < total;
       i += (long long)gridDim.x * blockDim.x) {
    int q = (int)(i % quads);
    float4 v = in[i], b = bias[q];
    float g0 = fminf(v.x + b.x, limit), u0 = fminf(fmaxf(v.y + b.y, -limit), limit);
    float g1 = fminf(v.z + b.z, limit), u1 = fminf(fmaxf(v.w + b.w, -limit), limit);
    float a = g0 / (1.f + __expf(-alpha * g0)) * (u0 + 1.f);
    float c = g1 / (1.f + __expf(-alpha * g1)) * (u1 + 1.f);
    out[i] = __floats2half2_rn(a, c);
  }
}

// Backward of bias and tanh-GELU: the gradient in place, the bias's gradient by atomics.
extern "C" __global__ void gelu_bias_backward(bf16* __restrict__ dy, float* __restrict__ d_bias,
                                              const bf16* __restrict__ x, const bf16* __restrict__ bias,
                                              int rows, int width) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= width) return;
  float shift = __bfloat162float(bias[c]), total = 0.f;
  for (int r = blockIdx.y; r < rows; r += gridDim.y) {
    size_t i = (size_t)r * width + c;
    float v = __bfloat162float(x[i]) + shift;
    float u = 0.79788456f * (v + 0.044715f * v * v * v);
    float t = tanhf(u);
    float slope = 0.5f * (1.f + t) + 0.5f * v * (1.f - t * t) * 0.79788456f * (1.f + 0.134145f * v * v);
    float d = __bfloat162float(dy[i]) * slope;
    dy[i] = __float2bfloat16(d);
    total += d;
  }
  atomicAdd(&d_bias[c], total);
}

// Nucleus sampling: halves an interval for the threshold that leaves the mass wanted.
extern "C" __global__ void nucleus_threshold(float* __restrict__ threshold, float* __restrict__ left,
                                             const float* __restrict__ logits, int vocabulary,
                                             float temperature, float mass, int rounds) {
  __shared__ float room[32];
  const float* row = logits + (size_t)blockIdx.x * vocabulary;
  float high = -1e30f;
  for (int i = threadIdx.x; i < vocabulary; i += blockDim.x) high = fmaxf(high, row[i]);
  high = block_max(high, room);
  float by = 1.f / temperature, all = 0.f;
  for (int i = threadIdx.x; i < vocabulary; i += blockDim.x) all += __expf((row[i] - high) * by);
  all = block_sum(all, room);
  float low = 0.f, top = 1.f, kept = all;
  for (int k = 0; k < rounds; k++) {
    float cut = 0.5f * (low + top), sum = 0.f;
    for (int i = threadIdx.x; i < vocabulary; i += blockDim.x) {
      float p = __expf((row[i] - high) * by);
      if (p >= cut) sum += p;
    }
    sum = block_sum(sum, room);
    if (sum >= mass * all) {
      low = cut;
      kept = sum;
    } else {
      top = cut;
    }
  }
  if (threadIdx.x == 0) {
    threshold[blockIdx.x] = low / all;
    left[blockIdx.x] = kept / all;
  }
}

// Argmax of logits with Gumbel noise, after a penalty for the tokens that a bit map marks.
extern "C" __global__ void gumbel_pick(int* __restrict__ token, const half2* __restrict__ logits,
                                       const unsigned* __restrict__ used, int pairs, int used_words,
                                       float penalty, unsigned seed) {
  __shared__ float values[32];
  __shared__ int places[32];
  int b = blockIdx.x;
  float best = -1e30f;
  int where = 0;
  for (int p = threadIdx.x; p < pairs; p += blockDim.x) {
    float2 v = __half22float2(logits[(size_t)b * pairs + p]);
    unsigned word = used[(size_t)b * used_words + (p >> 4)] >> (p & 15) * 2;
    if (word & 1u) v.x = v.x > 0.f ? v.x / penalty : v.x * penalty;
    if (word & 2u) v.y = v.y > 0.f ? v.y / penalty : v.y * penalty;
    unsigned r = scramble(p + seed, b);
    float u0 = ((r & 0xffffu) + 0.5f) * (1.f / 65536.f), u1 = ((r >> 16) + 0.5f) * (1.f / 65536.f);
    v.x -= __logf(-__logf(u0));
    v.y -= __logf(-__logf(u1));
    if (v.x > best) {
      best = v.x;
      where = 2 * p;
    }
    if (v.y > best) {
      best = v.y;
      where = 2 * p + 1;
    }
  }
#pragma unroll
  for (int d = 16; d; d >>= 1) {
    float o = __shfl_down_sync(FULL, best, d);
    int w = __shfl_down_sync(FULL, where, d);
    if (o > best) {
      best = o;
      where = w;
    }
  }
  if (threadIdx.x % 32 == 0) {
    values[threadIdx.x / 32] = best;
    places[threadIdx.x / 32] = where;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < blockDim.x / 32; w++)
      if (values[w] > best) {
        best = values[w];
        where = places[w];
      }
    token[b] = where;
  }
}

// New keys and values to a paged cache of bytes, each head with its own scale: a warp a head.
extern "C" __global__ void cache_append_int8(uint32_t* __restrict__ pool, float* __restrict__ scale,
                                             const float4* __restrict__ fresh,
                                             const int* __restrict__ slot, int tokens, int heads,
                                             int quads) {
  int unit = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  int lane = threadIdx.x & 31;
  if (unit >= tokens * heads) return;
  int token = unit / heads, head = unit - token * heads;
  const float4* from = fresh + (size_t)unit * quads;
  float high = 0.f;
  for (int q = lane; q < quads; q += 32) {
    float4 v = from[q];
    high = fmaxf(fmaxf(high, fmaxf(fabsf(v.x), fabsf(v.y))), fmaxf(fabsf(v.z), fabsf(v.w)));
  }
  high = warp_max(high);
  float by = high > 0.f ? 127.f / high : 0.f;
  size_t to = (size_t)slot[token] * heads + head;
  for (int q = lane; q < quads; q += 32) {
    float4 v = from[q];
    uint32_t a = (uint32_t)__float2int_rn(v.x * by) & 255u, b = (uint32_t)__float2int_rn(v.y * by) & 255u;
    uint32_t c = (uint32_t)__float2int_rn(v.z * by) & 255u, d = (uint32_t)__float2int_rn(v.w * by) & 255u;
    pool[to * quads + q] = a | b << 8 | c << 16 | d << 24;
  }
  if (lane == 0) scale[to] = high / 127.f;
}

template <int PER>
__device__ void decode_chunk(float* partial, float* log_sum, const half* q, const half* k,
                             const half* v, int keys, int chunk, float scale) {
  // dim = 32 * PER; a warp takes every fourth key of the chunk
  const int DIM = 32 * PER;
  __shared__ float outs[4][32 * PER];
  __shared__ float peaks[4], sums[4];
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  int head = blockIdx.y;
  float query[PER], acc[PER];
#pragma unroll
  for (int i = 0; i < PER; i++) {
    query[i] = __half2float(q[(size_t)head * DIM + i * 32 + lane]) * scale;
    acc[i] = 0.f;
  }
  float peak = -1e30f, sum = 0.f;
  int first = blockIdx.x * chunk, last = min(first + chunk, keys);
  for (int j = first + warp; j < last; j += 4) {
    size_t at = ((size_t)head * keys + j) * DIM + lane;
    float s = 0.f;
#pragma unroll
    for (int i = 0; i < PER; i++) s += query[i] * __half2float(k[at + i * 32]);
    s = warp_sum(s);
    float higher = fmaxf(peak, s);
    float keep = __expf(peak - higher), p = __expf(s - higher);
    sum = sum * keep + p;
    peak = higher;
#pragma unroll
    for (int i = 0; i < PER; i++) acc[i] = acc[i] * keep + p * __half2float(v[at + i * 32]);
  }
#pragma unroll
  for (int i = 0; i < PER; i++) outs[warp][i * 32 + lane] = acc[i];
  if (lane == 0) {
    peaks[warp] = peak;
    sums[warp] = sum;
  }
  __syncthreads();
  float top = fmaxf(fmaxf(peaks[0], peaks[1]), fmaxf(peaks[2], peaks[3]));
  float all = 0.f;
#pragma unroll
  for (int w = 0; w < 4; w++) all += sums[w] * __expf(peaks[w] - top);
  size_t to = (size_t)head * gridDim.x + blockIdx.x;
  for (int c = threadIdx.x; c < DIM; c += 128) {
    float o = 0.f;
    for (int w = 0; w < 4; w++) o += outs[w][c] * __expf(peaks[w] - top);
    partial[to * DIM + c] = o / fmaxf(all, 1e-20f);
  }
  if (threadIdx.x == 0) log_sum[to] = top + __logf(fmaxf(all, 1e-20f));
}

// One query a head against a chunk of its cache, of 128 dimensions; blocks of 128 threads.
extern "C" __global__ void decode_chunk_128(float* __restrict__ partial, float* __restrict__ log_sum,
                                            const half* __restrict__ q, const half* __restrict__ k,
                                            const half* __restrict__ v, int keys, int chunk,
                                            float scale) {
  decode_chunk<4>(partial, log_sum, q, k, v, keys, chunk, scale);
}

// The parts of a query's answer put together by their weights.
extern "C" __global__ void merge_chunks(bf16* __restrict__ out, const float* __restrict__ partial,
                                        const float* __restrict__ log_sum, int chunks, int dim,
                                        int units) {
  extern __shared__ float weight[];
  int unit = blockIdx.x;
  if (unit >= units) return;
  const float* l = log_sum + (size_t)unit * chunks;
  float high = -1e30f;
  for (int c = 0; c < chunks; c++) high = fmaxf(high, l[c]);
  for (int c = threadIdx.x; c < chunks; c += blockDim.x) weight[c] = __expf(l[c] - high);
  __syncthreads();
  float all = 0.f;
  for (int c = 0; c < chunks; c++) all += weight[c];
  for (int d = threadIdx.x; d < dim; d += blockDim.x) {
    float s = 0.f;
    for (int c = 0; c < chunks; c++) s += weight[c] * partial[((size_t)unit * chunks + c) * dim + d];
    out[(size_t)unit * dim + d] = __float2bfloat16(s / all);
  }
}

// Short causal convolution along time before a state-space layer, channels last.
extern "C" __global__ void short_causal_conv(half* __restrict__ y, half* __restrict__ state,
                                             const half* __restrict__ x, const float4* __restrict__ tap,
                                             const float* __restrict__ bias, int length, int channels,
                                             int run) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= channels) return;
  int first = blockIdx.y * run, last = min(first + run, length);
  size_t base = (size_t)blockIdx.z * length * channels + c;
  float4 w = tap[c];
  float b = bias[c];
  float p[3];
#pragma unroll
  for (int i = 0; i < 3; i++) {
    int t = first - 3 + i;
    p[i] = t >= 0 ? __half2float(x[base + (size_t)t * channels]) : 0.f;
  }
  for (int t = first; t < last; t++) {
    float now = __half2float(x[base + (size_t)t * channels]);
    float s = b + w.x * p[0] + w.y * p[1] + w.z * p[2] + w.w * now;
    y[base + (size_t)t * channels] = __float2half(s / (1.f + __expf(-s)));
    p[0] = p[1];
    p[1] = p[2];
    p[2] = now;
  }
  if (last == length) {
    half* to = state + ((size_t)blockIdx.z * channels + c) * 3;
    to[0] = __float2half(p[0]);
    to[1] = __float2half(p[1]);
    to[2] = __float2half(p[2]);
  }
}

// Selective scan over time: a thread has a channel and sixteen states in registers.
extern "C" __global__ void selective_scan(float* __restrict__ y, const float* __restrict__ x,
                                          const float* __restrict__ delta,
                                          const float* __restrict__ rate,
                                          const float* __restrict__ into,
                                          const float* __restrict__ from, int length, int channels) {
  __shared__ float bs[16], cs[16];
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  bool live = c < channels;
  size_t batch = blockIdx.y;
  float a[16], h[16];
#pragma unroll
  for (int n = 0; n < 16; n++) {
    a[n] = live ? -rate[(size_t)c * 16 + n] : 0.f;
    h[n] = 0.f;
  }
  for (int t = 0; t < length; t++) {
    size_t step = batch * length + t;
    if (threadIdx.x < 16)
      bs[threadIdx.x] = into[step * 16 + threadIdx.x];
    else if (threadIdx.x < 32)
      cs[threadIdx.x - 16] = from[step * 16 + threadIdx.x - 16];
    __syncthreads();
    if (live) {
      float d = delta[step * channels + c], u = x[step * channels + c] * d, s = 0.f;
#pragma unroll
      for (int n = 0; n < 16; n++) {
        h[n] = h[n] * __expf(d * a[n]) + u * bs[n];
        s += h[n] * cs[n];
      }
      y[step * channels + c] = s;
    }
    __syncthreads();
  }
}

// Transposed convolution, 4x4 filters at stride two: gathers what falls on each output pixel.
extern "C" __global__ void conv_up_two(float* __restrict__ out, const float* __restrict__ in,
                                       const float* __restrict__ weight, int from, int to, int height,
                                       int width) {
  extern __shared__ float taps[];
  int o = blockIdx.z % to, image = blockIdx.z / to;
  int tid = threadIdx.y * blockDim.x + threadIdx.x;
  for (int i = tid; i < from * 16; i += blockDim.x * blockDim.y)
    taps[i] = weight[((size_t)(i >> 4) * to + o) * 16 + (i & 15)];
  __syncthreads();
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= 2 * width || y >= 2 * height) return;
  int ky = (y + 1) & 1, kx = (x + 1) & 1;
  int y1 = (y + 1 - ky) >> 1, x1 = (x + 1 - kx) >> 1;
  float sum = 0.f;
  for (int i = 0; i < from; i++) {
    const float* plane = in + ((size_t)image * from + i) * height * width;
#pragma unroll
    for (int j = 0; j < 2; j++) {
      int v = y1 - j;
      if (v < 0 || v >= height) continue;
#pragma unroll
      for (int k = 0; k < 2; k++) {
        int u = x1 - k;
        if (u < 0 || u >= width) continue;
        sum += plane[v * width + u] * taps[i * 16 + (ky + 2 * j) * 4 + kx + 2 * k];
      }
    }
  }
  out[(((size_t)image * to + o) * 2 * height + y) * 2 * width + x] = sum;
}

// Max pooling of 3x3 at stride two, channels last in halves, with which of the nine it was.
extern "C" __global__ void pool_max_nhwc(half2* __restrict__ out, uchar2* __restrict__ which,
                                         const half2* __restrict__ in, int height, int width,
                                         int pairs) {
  int c = threadIdx.x + blockIdx.x * blockDim.x;
  int ow = (width + 1) / 2, oh = (height + 1) / 2;
  int x = blockIdx.y % ow, y = blockIdx.y / ow;
  size_t image = blockIdx.z;
  if (c >= pairs) return;
  float a = -1e30f, b = -1e30f;
  unsigned char wa = 0, wb = 0;
#pragma unroll
  for (int k = 0; k < 9; k++) {
    int v = 2 * y - 1 + k / 3, u = 2 * x - 1 + k % 3;
    if (v < 0 || u < 0 || v >= height || u >= width) continue;
    float2 f = __half22float2(in[((image * height + v) * width + u) * pairs + c]);
    if (f.x > a) {
      a = f.x;
      wa = k;
    }
    if (f.y > b) {
      b = f.y;
      wb = k;
    }
  }
  size_t to = ((image * oh + y) * ow + x) * pairs + c;
  out[to] = __floats2half2_rn(a, b);
  which[to] = make_uchar2(wa, wb);
}

__device__ __forceinline__ void cubic_weights(float t, float* w) {
  float a = -0.75f;
  w[0] = ((a * (t + 1.f) - 5.f * a) * (t + 1.f) + 8.f * a) * (t + 1.f) - 4.f * a;
  w[1] = ((a + 2.f) * t - (a + 3.f)) * t * t + 1.f;
  float s = 1.f - t;
  w[2] = ((a + 2.f) * s - (a + 3.f)) * s * s + 1.f;
  w[3] = 1.f - w[0] - w[1] - w[2];
}

// Position embeddings or maps resized by cubic weights; a thread does all planes of a pixel.
extern "C" __global__ void resize_cubic_planes(float* __restrict__ out, const float* __restrict__ in,
                                               int planes, int ih, int iw, int oh, int ow) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= ow || y >= oh) return;
  float fx = (x + 0.5f) * iw / ow - 0.5f, fy = (y + 0.5f) * ih / oh - 0.5f;
  int x0 = (int)floorf(fx), y0 = (int)floorf(fy);
  float wx[4], wy[4];
  cubic_weights(fx - x0, wx);
  cubic_weights(fy - y0, wy);
  for (int p = blockIdx.z; p < planes; p += gridDim.z) {
    const float* plane = in + (size_t)p * ih * iw;
    float sum = 0.f;
#pragma unroll
    for (int j = 0; j < 4; j++) {
      const float* row = plane + (size_t)min(max(y0 - 1 + j, 0), ih - 1) * iw;
      float r = 0.f;
#pragma unroll
      for (int i = 0; i < 4; i++) r += wx[i] * row[min(max(x0 - 1 + i, 0), iw - 1)];
      sum += wy[j] * r;
    }
    out[((size_t)p * oh + y) * ow + x] = sum;
  }
}

// Gradient of an embedding table by pairs of bfloat16 added atomically.
extern "C" __global__ void embedding_scatter_add(bf162* __restrict__ table,
                                                 const float2* __restrict__ gradient,
                                                 const int* __restrict__ token, int tokens, int pairs,
                                                 int padding) {
  int t = blockIdx.x * blockDim.y + threadIdx.y;
  if (t >= tokens) return;
  int row = token[t];
  if (row == padding) return;
  for (int p = threadIdx.x; p < pairs; p += blockDim.x) {
    float2 g = gradient[(size_t)t * pairs + p];
    atomicAdd(table + (size_t)row * pairs + p, __floats2bfloat162_rn(g.x, g.y));
  }
}

// Adam whose moments are bytes, through a table of 256 levels, in blocks of 256 weights.
extern "C" __global__ void adam_byte_moments(float* __restrict__ weight, uint8_t* __restrict__ first,
                                             uint8_t* __restrict__ second, float* __restrict__ top,
                                             const bf16* __restrict__ gradient,
                                             const float* __restrict__ levels, int n, float rate) {
  __shared__ float level[256];
  __shared__ float room[32];
  int i = blockIdx.x * 256 + threadIdx.x;
  level[threadIdx.x] = levels[threadIdx.x];
  float top1 = top[2 * blockIdx.x], top2 = top[2 * blockIdx.x + 1];
  __syncthreads();
  float g = 0.f, m = 0.f, v = 0.f;
  if (i < n) {
    g = __bfloat162float(gradient[i]);
    m = 0.9f * level[first[i]] * top1 + 0.1f * g;
    v = 0.999f * level[second[i]] * top2 + 0.001f * g * g;
    weight[i] -= rate * m / (sqrtf(v) + 1e-8f);
  }
  float n1 = block_max(fabsf(m), room);
  float n2 = block_max(v, room);
  float want[2] = {m / fmaxf(n1, 1e-20f), v / fmaxf(n2, 1e-20f)};
  int code[2];
#pragma unroll
  for (int s = 0; s < 2; s++) {
    int low = 0;
#pragma unroll
    for (int bit = 128; bit; bit >>= 1)
      if (level[low + bit - 1] < want[s]) low += bit;
    code[s] = min(low, 255);
  }
  if (i < n) {
    first[i] = (uint8_t)code[0];
    second[i] = (uint8_t)code[1];
  }
  if (threadIdx.x == 0) {
    top[2 * blockIdx.x] = n1;
    top[2 * blockIdx.x + 1] = n2;
  }
}

// (batch, rows, columns) to (batch, columns, rows) in 16 bits, tiles of 64 by 64 in shared memory.
extern "C" __global__ void transpose_batch_16(uint16_t* __restrict__ out,
                                              const uint16_t* __restrict__ in, int rows, int columns) {
  __shared__ uint16_t tile[64][66];
  size_t base = (size_t)blockIdx.z * rows * columns;
  int c0 = blockIdx.x * 64, r0 = blockIdx.y * 64;
  for (int j = threadIdx.y; j < 64; j += blockDim.y)
#pragma unroll
    for (int i = 0; i < 2; i++) {
      int r = r0 + j, c = c0 + i * 32 + threadIdx.x;
      if (r < rows && c < columns) tile[j][i * 32 + threadIdx.x] = in[base + (size_t)r * columns + c];
    }
  __syncthreads();
  for (int j = threadIdx.y; j < 64; j += blockDim.y)
#pragma unroll
    for (int i = 0; i < 2; i++) {
      int c = c0 + j, r = r0 + i * 32 + threadIdx.x;
      if (r < rows && c < columns) out[base + (size_t)c * rows + r] = tile[i * 32 + threadIdx.x][j];
    }
}

// Any order of four axes: sizes and strides of the output's axes as arguments.
extern "C" __global__ void permute_four_axes(float* __restrict__ out, const float* __restrict__ in,
                                             int d1, int d2, int d3, long long s0, long long s1,
                                             long long s2, long long s3, long long total) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= total) return;
  long long rest = i;
  int c = (int)(rest % d3);
  rest /= d3;
  int b = (int)(rest % d2);
  rest /= d2;
  int a = (int)(rest % d1);
  rest /= d1;
  out[i] = in[rest * s0 + a * s1 + b * s2 + c * s3];
}

// Windows of a feature map after a cyclic shift, as shifted-window attention wants them.
extern "C" __global__ void shifted_windows(float4* __restrict__ out, const float4* __restrict__ in,
                                           int height, int width, int side, int shift, int quads) {
  int wx = width / side;
  int window = blockIdx.x;
  int within = blockIdx.y * blockDim.y + threadIdx.y;
  if (within >= side * side) return;
  int y = window / wx * side + within / side + shift;
  int x = window % wx * side + within % side + shift;
  if (y >= height) y -= height;
  if (x >= width) x -= width;
  size_t image = blockIdx.z;
  const float4* from = in + ((image * height + y) * width + x) * quads;
  float4* to = out + ((image * gridDim.x + window) * side * side + within) * quads;
  for (int q = threadIdx.x; q < quads; q += blockDim.x) to[q] = from[q];
}

// Divergence of a student's row from a teacher's at a temperature, and its gradient.
extern "C" __global__ void distil_rows(float* __restrict__ loss, float* __restrict__ gradient,
                                       const float* __restrict__ student,
                                       const half* __restrict__ teacher, int classes,
                                       float temperature) {
  __shared__ float room[32];
  size_t base = (size_t)blockIdx.x * classes;
  float by = 1.f / temperature, hs = -1e30f, ht = -1e30f;
  for (int c = threadIdx.x; c < classes; c += blockDim.x) {
    hs = fmaxf(hs, student[base + c] * by);
    ht = fmaxf(ht, __half2float(teacher[base + c]) * by);
  }
  hs = block_max(hs, room);
  ht = block_max(ht, room);
  float ss = 0.f, st = 0.f;
  for (int c = threadIdx.x; c < classes; c += blockDim.x) {
    ss += __expf(student[base + c] * by - hs);
    st += __expf(__half2float(teacher[base + c]) * by - ht);
  }
  ss = block_sum(ss, room);
  st = block_sum(st, room);
  float ls = hs + __logf(ss), lt = ht + __logf(st), total = 0.f;
  for (int c = threadIdx.x; c < classes; c += blockDim.x) {
    float a = student[base + c] * by - ls, b = __half2float(teacher[base + c]) * by - lt;
    float p = __expf(b);
    total += p * (b - a);
    gradient[base + c] = temperature * (__expf(a) - p);
  }
  total = block_sum(total, room);
  if (threadIdx.x == 0) loss[blockIdx.x] = total * temperature * temperature;
}

// Softmax in place of causal scores with a slope by distance: a warp a row, rows in registers.
extern "C" __global__ void sloped_softmax_causal(half* __restrict__ score, int queries, int keys,
                                                 float slope_base, int rows) {
  int row = blockIdx.x * blockDim.y + threadIdx.y;
  int lane = threadIdx.x;
  if (row >= rows) return;
  int query = row % queries, head = row / queries;
  int reach = min(keys, query + 1 + keys - queries);
  float slope = exp2f(-slope_base * (head + 1));
  half* at = score + (size_t)row * keys;
  float v[16];
  float high = -1e30f;
#pragma unroll
  for (int i = 0; i < 16; i++) {
    int c = i * 32 + lane;
    v[i] = c < reach ? __half2float(at[c]) - slope * (reach - 1 - c) : -1e30f;
    high = fmaxf(high, v[i]);
  }
  high = warp_max(high);
  float sum = 0.f;
#pragma unroll
  for (int i = 0; i < 16; i++) {
    v[i] = __expf(v[i] - high);
    sum += v[i];
  }
  float inverse = 1.f / warp_sum(sum);
#pragma unroll
  for (int i = 0; i < 16; i++)
    if (i * 32 + lane < keys) at[i * 32 + lane] = __float2half(v[i] * inverse);
}

// Patches of an image of bytes to rows of normalised halves.
extern "C" __global__ void patches_from_bytes(half* __restrict__ out, const uint8_t* __restrict__ image,
                                              int height, int width, int side, float mean,
                                              float inverse) {
  int across = width / side;
  int patch = blockIdx.x;
  int py = patch / across * side, px = patch % across * side;
  size_t length = (size_t)side * side * 3;
  half* to = out + ((size_t)blockIdx.y * gridDim.x + patch) * length;
  const uint8_t* from = image + (size_t)blockIdx.y * height * width * 3;
  for (int y = threadIdx.z; y < side; y += blockDim.z)
    for (int x = threadIdx.y; x < side; x += blockDim.y) {
      int c = threadIdx.x;
      float v = from[((size_t)(py + y) * width + px + x) * 3 + c];
      to[(c * side + y) * side + x] = __float2half((v - mean) * inverse);
    }
}

// Best experts of each token, after a sigmoid and a bias: a warp a token, up to 256 experts.
extern "C" __global__ void choose_experts(float* __restrict__ weight, int* __restrict__ expert,
                                          const float* __restrict__ logits,
                                          const float* __restrict__ bias, int tokens, int experts,
                                          int ways) {
  int token = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  int lane = threadIdx.x & 31;
  if (token >= tokens) return;
  float p[8], key[8];
#pragma unroll
  for (int i = 0; i < 8; i++) {
    int e = i * 32 + lane;
    p[i] = e < experts ? 1.f / (1.f + __expf(-logits[(size_t)token * experts + e])) : 0.f;
    key[i] = e < experts ? p[i] + bias[e] : -1e30f;
  }
  float total = 0.f, mine = 0.f;
  for (int w = 0; w < ways; w++) {
    float best = -2e30f, of = 0.f;
    int at = 0;
#pragma unroll
    for (int i = 0; i < 8; i++)
      if (key[i] > best) {
        best = key[i];
        at = i * 32 + lane;
        of = p[i];
      }
#pragma unroll
    for (int d = 16; d; d >>= 1) {
      float ob = __shfl_xor_sync(FULL, best, d), oo = __shfl_xor_sync(FULL, of, d);
      int oa = __shfl_xor_sync(FULL, at, d);
      if (ob > best || (ob == best && oa < at)) {
        best = ob;
        at = oa;
        of = oo;
      }
    }
    total += of;
    if (lane == w) {
      mine = of;
      expert[(size_t)token * ways + w] = at;
    }
#pragma unroll
    for (int i = 0; i < 8; i++)
      if (at == i * 32 + lane) key[i] = -1e30f;
  }
  if (lane < ways) weight[(size_t)token * ways + lane] = mine / (total + 1e-20f);
}

// A thin product for few tokens: the weights' rows are copied ahead into shared memory.
extern "C" __global__ void thin_product_ahead(float* __restrict__ y, const float4* __restrict__ w,
                                              const float4* __restrict__ x, int outputs, int quads,
                                              int tokens) {
  __shared__ float4 ring[2][8][32];
  int lane = threadIdx.x, warp = threadIdx.y;
  int o = blockIdx.x * 8 + warp;
  const float4* row = w + (size_t)min(o, outputs - 1) * quads;
  float sum[4] = {0.f, 0.f, 0.f, 0.f};
  int t0 = blockIdx.y * 4;
  int steps = (quads + 31) / 32;
  if (lane < quads) __pipeline_memcpy_async(&ring[0][warp][lane], row + lane, 16);
  __pipeline_commit();
  for (int s = 0; s < steps; s++) {
    int next = (s + 1) * 32 + lane;
    if (next < quads) __pipeline_memcpy_async(&ring[(s + 1) & 1][warp][lane], row + next, 16);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    int q = s * 32 + lane;
    if (q < quads) {
      float4 a = ring[s & 1][warp][lane];
#pragma unroll
      for (int t = 0; t < 4; t++)
        if (t0 + t < tokens) {
          float4 b = __ldg(x + (size_t)(t0 + t) * quads + q);
          sum[t] += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
        }
    }
  }
#pragma unroll
  for (int t = 0; t < 4; t++) {
    float v = warp_sum(sum[t]);
    if (lane == 0 && o < outputs && t0 + t < tokens) y[(size_t)(t0 + t) * outputs + o] = v;
  }
}
