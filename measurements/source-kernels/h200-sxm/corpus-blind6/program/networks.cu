// Kernels of neural networks.
#include <cuda_fp16.h>

// Gradient of the cross entropy by the logits: a block a row, greatest and sum in one pass, then the row again.
extern "C" __global__ void cross_entropy_grads(const float* __restrict__ logits, const int* __restrict__ labels,
                                               float* __restrict__ grads, float* __restrict__ losses, int classes,
                                               float scale) {
  __shared__ float tops[32], sums[32];
  const float* row = logits + (size_t)blockIdx.x * classes;
  float top = -1e30f, sum = 0.0f;
  for (int i = threadIdx.x; i < classes; i += blockDim.x) {
    float v = row[i];
    if (v > top) {
      sum *= expf(top - v);
      top = v;
    }
    sum += expf(v - top);
  }
  for (int apart = 16; apart > 0; apart /= 2) {
    float other = __shfl_xor_sync(~0u, top, apart), others = __shfl_xor_sync(~0u, sum, apart);
    float both = fmaxf(top, other);
    sum = sum * expf(top - both) + others * expf(other - both);
    top = both;
  }
  if (threadIdx.x % 32 == 0) {
    tops[threadIdx.x / 32] = top;
    sums[threadIdx.x / 32] = sum;
  }
  __syncthreads();
  top = tops[0];
  for (int w = 1; w < blockDim.x / 32; ++w) top = fmaxf(top, tops[w]);
  sum = 0.0f;
  for (int w = 0; w < blockDim.x / 32; ++w) sum += sums[w] * expf(tops[w] - top);
  int label = labels[blockIdx.x];
  if (threadIdx.x == 0) losses[blockIdx.x] = logf(sum) + top - row[label];
  float part = 1.0f / sum;
  for (int i = threadIdx.x; i < classes; i += blockDim.x) {
    float probability = expf(row[i] - top) * part;
    grads[(size_t)blockIdx.x * classes + i] = (probability - (i == label ? 1.0f : 0.0f)) * scale;
  }
}

// Convolution of 3 x 3: 16 x 16 pixels of eight filters a block, four channels at a time through shared memory.
extern "C" __global__ void __launch_bounds__(256) conv_direct(const float* __restrict__ in,
                                                              const float* __restrict__ weights,
                                                              float* __restrict__ out, int channels, int filters,
                                                              int height, int width) {
  __shared__ float tile[4][18][18], taps[8][4][9];
  int groups = filters / 8, image = blockIdx.z / groups, group = blockIdx.z % groups;
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y, t = threadIdx.y * 16 + threadIdx.x;
  float sum[8] = {};
  for (int c0 = 0; c0 < channels; c0 += 4) {
    for (int i = t; i < 4 * 18 * 18; i += 256) {
      int c = i / 324, r = i % 324 / 18, s = i % 18;
      int py = blockIdx.y * 16 + r - 1, px = blockIdx.x * 16 + s - 1;
      bool within = py >= 0 && py < height && px >= 0 && px < width;
      tile[c][r][s] = within ? in[((image * channels + c0 + c) * height + py) * width + px] : 0.0f;
    }
    for (int i = t; i < 8 * 4 * 9; i += 256) {
      int f = i / 36, rest = i % 36;
      taps[f][rest / 9][rest % 9] = weights[((group * 8 + f) * channels + c0) * 9 + rest];
    }
    __syncthreads();
#pragma unroll
    for (int c = 0; c < 4; ++c)
#pragma unroll
      for (int k = 0; k < 9; ++k) {
        float v = tile[c][threadIdx.y + k / 3][threadIdx.x + k % 3];
#pragma unroll
        for (int f = 0; f < 8; ++f) sum[f] += v * taps[f][c][k];
      }
    __syncthreads();
  }
  if (x < width && y < height)
#pragma unroll
    for (int f = 0; f < 8; ++f)
      out[((image * filters + group * 8 + f) * height + y) * width + x] = fmaxf(sum[f], 0.0f);
}

// Product of signed bytes, both along their rows, by dp4a: 64 x 64 a block, scaled by row and column.
extern "C" __global__ void __launch_bounds__(256) matmul_dp4a(const int* __restrict__ a, const int* __restrict__ b,
                                                              const float* __restrict__ rows,
                                                              const float* __restrict__ columns,
                                                              float* __restrict__ out, int n, int words) {
  __shared__ int as[8][65], bs[8][65];
  int t = threadIdx.x, tx = t % 16, ty = t / 16;
  int m0 = blockIdx.y * 64, n0 = blockIdx.x * 64;
  int sum[4][4] = {};
  for (int w = 0; w < words; w += 8) {
#pragma unroll
    for (int each = 0; each < 2; ++each) {
      int row = t / 8 + each * 32, word = t % 8;
      as[word][row] = a[(m0 + row) * words + w + word];
      bs[word][row] = b[(n0 + row) * words + w + word];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      int left[4], right[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        left[i] = as[k][ty + 16 * i];
        right[i] = bs[k][tx + 16 * i];
      }
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) sum[i][j] = __dp4a(left[i], right[j], sum[i][j]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float scale = rows[m0 + ty + 16 * i];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      int column = n0 + tx + 16 * j;
      out[(m0 + ty + 16 * i) * n + column] = (float)sum[i][j] * scale * columns[column];
    }
  }
}

// Attention of one new token over pages of 16 keys and values, four heads to a pair: a block a head and sequence.
extern "C" __global__ void __launch_bounds__(128) paged_decode(const __half* __restrict__ queries,
                                                               const __half* __restrict__ keys,
                                                               const __half* __restrict__ values,
                                                               const int* __restrict__ pages,
                                                               const int* __restrict__ more, float* __restrict__ out,
                                                               int heads, int most, int least, float scale) {
  __shared__ float scores[1024], across[4];
  int head = blockIdx.x, sequence = blockIdx.y, pair = head / 4, pairs = heads / 4;
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int tokens = least + more[sequence];
  const int* table = pages + sequence * most;
  const __half2* q2 = (const __half2*)(queries + (sequence * heads + head) * 128) + lane * 2;
  float2 qa = __half22float2(q2[0]), qb = __half22float2(q2[1]);
  float top = -1e30f;
  for (int token = warp; token < tokens; token += 4) {
    size_t at = (((size_t)table[token / 16] * pairs + pair) * 16 + token % 16) * 128;
    uint2 raw = ((const uint2*)(keys + at))[lane];
    float2 ka = __half22float2(*(__half2*)&raw.x), kb = __half22float2(*(__half2*)&raw.y);
    float dot = qa.x * ka.x + qa.y * ka.y + qb.x * kb.x + qb.y * kb.y;
    for (int apart = 16; apart > 0; apart /= 2) dot += __shfl_xor_sync(~0u, dot, apart);
    dot *= scale;
    if (lane == 0) scores[token] = dot;
    top = fmaxf(top, dot);
  }
  if (lane == 0) across[warp] = top;
  __syncthreads();
  top = fmaxf(fmaxf(across[0], across[1]), fmaxf(across[2], across[3]));
  __syncthreads();
  float sum = 0.0f;
  for (int token = threadIdx.x; token < tokens; token += 128) {
    float weight = __expf(scores[token] - top);
    scores[token] = weight;
    sum += weight;
  }
  for (int apart = 16; apart > 0; apart /= 2) sum += __shfl_xor_sync(~0u, sum, apart);
  if (lane == 0) across[warp] = sum;
  __syncthreads();
  sum = across[0] + across[1] + across[2] + across[3];
  float kept = 0.0f;
  for (int token = 0; token < tokens; ++token) {
    size_t at = (((size_t)table[token / 16] * pairs + pair) * 16 + token % 16) * 128;
    kept += scores[token] * __half2float(values[at + threadIdx.x]);
  }
  out[(sequence * heads + head) * 128 + threadIdx.x] = kept / sum;
}
