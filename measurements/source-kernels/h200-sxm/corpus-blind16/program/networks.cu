// Kernels of networks: attention, losses, optimisers, quantisation.

#include <cuda_fp16.h>

// The greatest or the sum of a value over a block of whole warps, for all its threads.
__device__ float over_block(float v, bool greatest, float* parts) {
  for (int d = 16; d > 0; d >>= 1) {
    float other = __shfl_xor_sync(0xffffffffu, v, d);
    v = greatest ? fmaxf(v, other) : v + other;
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
  __syncthreads();
  v = parts[0];
  for (int w = 1; w < blockDim.x / 32; ++w) v = greatest ? fmaxf(v, parts[w]) : v + parts[w];
  return v;
}

// Softmax of scores of attention in half precision with a bias by distance: a block a query, eight keys a thread.
extern "C" __global__ void scores_biased_softmax(const uint4* __restrict__ scores, const float* __restrict__ bias,
                                                 uint4* __restrict__ out, int queries, int heads, int reach,
                                                 float scale) {
  __shared__ float parts[32];
  int query = blockIdx.x, head = blockIdx.y % heads;
  size_t at = ((size_t)blockIdx.y * queries + query) * blockDim.x + threadIdx.x;
  const float* mine = bias + (size_t)head * (2 * reach + 1);
  uint4 packed = scores[at];
  __half2* pairs = (__half2*)&packed;
  float v[8];
  float most = -INFINITY;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    float2 two = __half22float2(pairs[k]);
    int away = 8 * (int)threadIdx.x + 2 * k - query;
    v[2 * k] = two.x * scale + mine[min(max(away, -reach), reach) + reach];
    v[2 * k + 1] = two.y * scale + mine[min(max(away + 1, -reach), reach) + reach];
    most = fmaxf(most, fmaxf(v[2 * k], v[2 * k + 1]));
  }
  most = over_block(most, true, parts);
  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    v[k] = __expf(v[k] - most);
    sum += v[k];
  }
  float over = 1.0f / over_block(sum, false, parts);
#pragma unroll
  for (int k = 0; k < 4; ++k) pairs[k] = __floats2half2_rn(v[2 * k] * over, v[2 * k + 1] * over);
  out[at] = packed;
}

// Losses with smoothed labels, a warp a row: the greatest, the sum of exponentials and the sum in one walk.
extern "C" __global__ void label_smoothing_rows(const float* __restrict__ logits, const int* __restrict__ labels,
                                                float* __restrict__ losses, int rows, int classes, float smoothing) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  const float* x = logits + (size_t)row * classes;
  float most = -INFINITY, sum = 0.0f, all = 0.0f;
  for (int k = lane; k < classes; k += 32) {
    float v = x[k];
    all += v;
    if (v > most) {
      sum = sum * expf(most - v) + 1.0f;
      most = v;
    } else {
      sum += expf(v - most);
    }
  }
  for (int d = 16; d > 0; d >>= 1) {
    float m = __shfl_xor_sync(0xffffffffu, most, d), s = __shfl_xor_sync(0xffffffffu, sum, d);
    all += __shfl_xor_sync(0xffffffffu, all, d);
    float higher = fmaxf(most, m);
    sum = sum * expf(most - higher) + s * expf(m - higher);
    most = higher;
  }
  if (lane == 0)
    losses[row] = most + logf(sum) - (1.0f - smoothing) * x[labels[row]] - smoothing * all / classes;
}

__device__ __forceinline__ void step(float& p, float g, float& square, float& mean, float rate, float decay,
                                     float least) {
  square = decay * square + (1.0f - decay) * g * g;
  mean = decay * mean + (1.0f - decay) * g;
  p -= rate * g / (sqrtf(fmaxf(square - mean * mean, 0.0f)) + least);
}

// A step of RMSprop whose squares are centred, four weights a thread; gradients in half precision.
extern "C" __global__ void rmsprop_centred(float4* __restrict__ weights, const uint2* __restrict__ grads,
                                           float4* __restrict__ squares, float4* __restrict__ means, int n, float rate,
                                           float decay, float least) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint2 packed = grads[i];
  float2 low = __half22float2(*(__half2*)&packed.x), high = __half22float2(*(__half2*)&packed.y);
  float4 p = weights[i], s = squares[i], m = means[i];
  step(p.x, low.x, s.x, m.x, rate, decay, least);
  step(p.y, low.y, s.y, m.y, rate, decay, least);
  step(p.z, high.x, s.z, m.z, rate, decay, least);
  step(p.w, high.y, s.w, m.w, rate, decay, least);
  weights[i] = p;
  squares[i] = s;
  means[i] = m;
}

#define COLUMNS 32
#define ABREAST 16

// Columns as bytes with a scale and a zero each: a block 32 columns, once for their ends, once to write.
extern "C" __global__ void __launch_bounds__(COLUMNS* ABREAST)
    quantise_columns_asymmetric(const float* __restrict__ in, unsigned char* __restrict__ out,
                                float* __restrict__ scales, unsigned char* __restrict__ zeros, int rows, int columns) {
  __shared__ float lows[ABREAST][COLUMNS], highs[ABREAST][COLUMNS];
  int tx = threadIdx.x, ty = threadIdx.y, column = blockIdx.x * COLUMNS + tx;
  float low = 0.0f, high = 0.0f;
  if (column < columns) {
    for (int row = ty; row < rows; row += ABREAST) {
      float v = in[(size_t)row * columns + column] - 0.5f;
      low = fminf(low, v);
      high = fmaxf(high, v);
    }
  }
  lows[ty][tx] = low;
  highs[ty][tx] = high;
  __syncthreads();
  for (int k = 0; k < ABREAST; ++k) {
    low = fminf(low, lows[k][tx]);
    high = fmaxf(high, highs[k][tx]);
  }
  if (column >= columns) return;
  float scale = fmaxf(high - low, 1e-8f) / 255.0f, over = 1.0f / scale;
  float zero = rintf(-low * over);
  if (ty == 0) {
    scales[column] = scale;
    zeros[column] = (unsigned char)zero;
  }
  for (int row = ty; row < rows; row += ABREAST) {
    float v = in[(size_t)row * columns + column] - 0.5f;
    out[(size_t)row * columns + column] = (unsigned char)fminf(fmaxf(rintf(v * over) + zero, 0.0f), 255.0f);
  }
}
