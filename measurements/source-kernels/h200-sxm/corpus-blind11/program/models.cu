// Kernels of language models, trained and run: optimisers, gradients of biases, losses, positions, attention, sampling.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

// A step of AdamW: weights, first and second moments in single precision one after the other in y, gradients and the
// weights that the next pass reads in bfloat16; two a thread.
extern "C" __global__ void adamw_masters_bf16(const __nv_bfloat162* __restrict__ grads, float2* __restrict__ y,
                                              __nv_bfloat162* __restrict__ weights, int pairs, float rate, float beta1,
                                              float beta2, float tiny, float decay, float scale1, float scale2) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= pairs) return;
  float2 g = __bfloat1622float2(grads[i]), w = y[i], m = y[pairs + i], v = y[2 * pairs + i];
  m.x = beta1 * m.x + (1.0f - beta1) * g.x;
  m.y = beta1 * m.y + (1.0f - beta1) * g.y;
  v.x = beta2 * v.x + (1.0f - beta2) * g.x * g.x;
  v.y = beta2 * v.y + (1.0f - beta2) * g.y * g.y;
  w.x -= rate * (m.x * scale1 / (sqrtf(v.x * scale2) + tiny) + decay * w.x);
  w.y -= rate * (m.y * scale1 / (sqrtf(v.y * scale2) + tiny) + decay * w.y);
  y[i] = w;
  y[pairs + i] = m;
  y[2 * pairs + i] = v;
  weights[i] = __float22bfloat162_rn(w);
}

// Gradients of a bias: columns of bfloat16 added up, two a thread; warps take turns at the rows of a slab, shared
// memory adds up the block's warps, atomics the slabs.
extern "C" __global__ void __launch_bounds__(1024)
    bias_grads_bf16(const __nv_bfloat162* __restrict__ grads, float* __restrict__ out, int rows, int pairs, int slab) {
  __shared__ float2 parts[32][33];
  int lane = threadIdx.x, warp = threadIdx.y, column = blockIdx.x * 32 + lane;
  int end = min(rows, (blockIdx.y + 1) * slab);
  float2 sum = make_float2(0.0f, 0.0f);
  if (column < pairs)
    for (int row = blockIdx.y * slab + warp; row < end; row += blockDim.y) {
      float2 v = __bfloat1622float2(grads[(long long)row * pairs + column]);
      sum.x += v.x;
      sum.y += v.y;
    }
  parts[warp][lane] = sum;
  __syncthreads();
  if (warp > 0 || column >= pairs) return;
  for (int w = 1; w < blockDim.y; ++w) {
    sum.x += parts[w][lane].x;
    sum.y += parts[w][lane].y;
  }
  atomicAdd(&out[2 * column], sum.x);
  atomicAdd(&out[2 * column + 1], sum.y);
}

// Cross entropy of bfloat16 logits, forwards: a block a row, largest and sum in one pass, then merged.
extern "C" __global__ void __launch_bounds__(1024)
    xent_forward_bf16(const __nv_bfloat162* __restrict__ logits, const int* __restrict__ targets,
                      float* __restrict__ losses, float* __restrict__ norms, int pairs) {
  __shared__ float tops[32], sums[32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  const __nv_bfloat162* line = logits + (long long)blockIdx.x * pairs;
  float top = -1e30f, sum = 0.0f;
  for (int c = threadIdx.x; c < pairs; c += blockDim.x) {
    float2 v = __bfloat1622float2(line[c]);
    float higher = fmaxf(top, fmaxf(v.x, v.y));
    sum = sum * __expf(top - higher) + __expf(v.x - higher) + __expf(v.y - higher);
    top = higher;
  }
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) {
    float other = __shfl_xor_sync(~0u, top, apart), part = __shfl_xor_sync(~0u, sum, apart);
    float higher = fmaxf(top, other);
    sum = sum * __expf(top - higher) + part * __expf(other - higher);
    top = higher;
  }
  if (lane == 0) {
    tops[warp] = top;
    sums[warp] = sum;
  }
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int w = 1; w < warps; ++w) {
    float higher = fmaxf(top, tops[w]);
    sum = sum * __expf(top - higher) + sums[w] * __expf(tops[w] - higher);
    top = higher;
  }
  float norm = top + __logf(sum);
  norms[blockIdx.x] = norm;
  losses[blockIdx.x] = norm - __bfloat162float(((const __nv_bfloat16*)line)[targets[blockIdx.x]]);
}

// Heads of 128 normalised by their root mean square, then turned by their token's position: a warp a head, a lane two
// neighbours of each half.
extern "C" __global__ void norm_rope_bf16(const __nv_bfloat162* __restrict__ in,
                                          const __nv_bfloat162* __restrict__ gain, const float2* __restrict__ cosines,
                                          const float2* __restrict__ sines, const int* __restrict__ positions,
                                          __nv_bfloat162* __restrict__ out, int heads, int total, float tiny) {
  int head = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (head >= total) return;
  const __nv_bfloat162* line = in + (long long)head * 64;
  float2 p = __bfloat1622float2(line[lane]), q = __bfloat1622float2(line[32 + lane]);
  float sum = p.x * p.x + p.y * p.y + q.x * q.x + q.y * q.y;
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) sum += __shfl_xor_sync(~0u, sum, apart);
  float scale = rsqrtf(sum / 128.0f + tiny);
  float2 g = __bfloat1622float2(gain[lane]), h = __bfloat1622float2(gain[32 + lane]);
  p = make_float2(p.x * scale * g.x, p.y * scale * g.y);
  q = make_float2(q.x * scale * h.x, q.y * scale * h.y);
  int position = positions[head / heads];
  float2 c = cosines[position * 32 + lane], s = sines[position * 32 + lane];
  __nv_bfloat162* to = out + (long long)head * 64;
  to[lane] = __float22bfloat162_rn(make_float2(p.x * c.x - q.x * s.x, p.y * c.y - q.y * s.y));
  to[32 + lane] = __float22bfloat162_rn(make_float2(q.x * c.x + p.x * s.x, q.y * c.y + p.y * s.y));
}

// Softmax of attention's scores under a causal mask and a slope by distance that each head has its own of: a warp a
// row, three passes over what the mask leaves, zeros beyond.
extern "C" __global__ void alibi_softmax(const __half* __restrict__ scores, __half* __restrict__ out, int heads,
                                         int tokens, float scale) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= heads * tokens) return;
  int head = row / tokens, query = row % tokens;
  float slope = exp2f(-8.0f * (head + 1) / heads), top = -INFINITY, sum = 0.0f;
  const __half* line = scores + (long long)row * tokens;
  __half* to = out + (long long)row * tokens;
  for (int k = lane; k <= query; k += 32) top = fmaxf(top, __half2float(line[k]) * scale + slope * (k - query));
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, apart));
  for (int k = lane; k <= query; k += 32) sum += __expf(__half2float(line[k]) * scale + slope * (k - query) - top);
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) sum += __shfl_xor_sync(~0u, sum, apart);
  float part = 1.0f / sum;
  for (int k = lane; k < tokens; k += 32) {
    float weight = 0.0f;
    if (k <= query) weight = __expf(__half2float(line[k]) * scale + slope * (k - query) - top) * part;
    to[k] = __float2half(weight);
  }
}

__device__ __forceinline__ float block_sum(float value, float* parts) {
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) value += __shfl_xor_sync(~0u, value, apart);
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  float sum = 0.0f;
  for (int w = 0; w < blockDim.x / 32; ++w) sum += parts[w];
  return sum;
}

// A token drawn from the most likely ones that together have a share p: a block a row of logits; what a token must
// weigh is halved in on, then the kept weights are added up in order until the random number is passed.
extern "C" __global__ void __launch_bounds__(1024)
    top_p_sample(const __half* __restrict__ logits, const float* __restrict__ random, int* __restrict__ tokens,
                 float* __restrict__ least, int width, float scale, float p, int rounds) {
  __shared__ float parts[32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const __half* line = logits + (long long)blockIdx.x * width;
  float top = -INFINITY;
  for (int c = threadIdx.x; c < width; c += blockDim.x) top = fmaxf(top, __half2float(line[c]));
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, apart));
  if (lane == 0) parts[warp] = top;
  __syncthreads();
  for (int w = 0; w < blockDim.x / 32; ++w) top = fmaxf(top, parts[w]);
  float sum = 0.0f;
  for (int c = threadIdx.x; c < width; c += blockDim.x) sum += __expf((__half2float(line[c]) - top) * scale);
  float wanted = p * block_sum(sum, parts), low = 0.0f, high = 1.0f;
  for (int round = 0; round < rounds; ++round) {
    float middle = 0.5f * (low + high), kept = 0.0f;
    for (int c = threadIdx.x; c < width; c += blockDim.x) {
      float weight = __expf((__half2float(line[c]) - top) * scale);
      if (weight >= middle) kept += weight;
    }
    if (block_sum(kept, parts) >= wanted)
      low = middle;
    else
      high = middle;
  }
  int chunk = (width + blockDim.x - 1) / blockDim.x, begin = threadIdx.x * chunk, end = min(begin + chunk, width);
  float own = 0.0f;
  for (int c = begin; c < end; ++c) {
    float weight = __expf((__half2float(line[c]) - top) * scale);
    if (weight >= low) own += weight;
  }
  float upto = own;
#pragma unroll
  for (int apart = 1; apart < 32; apart *= 2) {
    float other = __shfl_up_sync(~0u, upto, apart);
    if (lane >= apart) upto += other;
  }
  __syncthreads();
  if (lane == 31) parts[warp] = upto;
  __syncthreads();
  float before = 0.0f, all = 0.0f;
  for (int w = 0; w < blockDim.x / 32; ++w) {
    if (w < warp) before += parts[w];
    all += parts[w];
  }
  float after = before + upto, previous = __shfl_up_sync(~0u, after, 1), target = random[blockIdx.x] * all;
  if (lane > 0) before = previous;
  if (threadIdx.x == 0) least[blockIdx.x] = low;
  if (target < before || target >= after) return;
  int token = -1;
  for (int c = begin; c < end; ++c) {
    float weight = __expf((__half2float(line[c]) - top) * scale);
    if (weight < low) continue;
    token = c;
    before += weight;
    if (before > target) break;
  }
  tokens[blockIdx.x] = token;
}
