// Operators on tensors, as networks' layers and optimisers need them.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

__device__ __forceinline__ float warp_total(float v) {
  for (int offset = 16; offset > 0; offset >>= 1) v += __shfl_xor_sync(0xffffffffu, v, offset);
  return v;
}

__device__ __forceinline__ float warp_largest(float v) {
  for (int offset = 16; offset > 0; offset >>= 1)
    v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, offset));
  return v;
}

__device__ float block_total(float v, float* scratch) {
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  v = warp_total(v);
  __syncthreads();
  if (lane == 0) scratch[warp] = v;
  __syncthreads();
  v = lane < (blockDim.x >> 5) ? scratch[lane] : 0.0f;
  return warp_total(v);
}

__device__ __forceinline__ uint32_t pcg(uint32_t v) {
  uint32_t state = v * 747796405u + 2891336453u;
  uint32_t word = ((state >> ((state >> 28) + 4u)) ^ state) * 277803737u;
  return (word >> 22) ^ word;
}

// Mean and inverse deviation of every group of channels; images may lie apart.
extern "C" __global__ void group_moments_strided(float* mean, float* inverse,
                                                 const float* __restrict__ x, int groups,
                                                 int channels_each, int pixels, int image_stride,
                                                 int channel_stride) {
  __shared__ float scratch[32];
  int group = blockIdx.x, image = blockIdx.y;
  const float* base =
      x + (size_t)image * image_stride + (size_t)group * channels_each * channel_stride;
  float sum = 0.0f, squares = 0.0f;
  for (int c = 0; c < channels_each; c++) {
    for (int p = threadIdx.x; p < pixels; p += blockDim.x) {
      float v = base[(size_t)c * channel_stride + p];
      sum += v;
      squares += v * v;
    }
  }
  sum = block_total(sum, scratch);
  squares = block_total(squares, scratch);
  if (threadIdx.x == 0) {
    float count = (float)channels_each * pixels;
    float m = sum / count;
    mean[image * groups + group] = m;
    inverse[image * groups + group] = rsqrtf(squares / count - m * m + 1e-5f);
  }
}

// Four elements a thread are kept or dropped by a hash of their place.
extern "C" __global__ void dropout_hashed4(float4* __restrict__ y, uint8_t* __restrict__ kept,
                                           const float4* __restrict__ x, int n4, uint32_t seed,
                                           float rate) {
  float scale = 1.0f / (1.0f - rate);
  uint32_t limit = (uint32_t)(rate * 4294967040.0f);
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n4; i += gridDim.x * blockDim.x) {
    float4 v = x[i];
    uint32_t bits = 0;
    uint32_t h = pcg(seed ^ (uint32_t)i);
    if (h >= limit) bits |= 1;
    h = pcg(h);
    if (h >= limit) bits |= 2;
    h = pcg(h);
    if (h >= limit) bits |= 4;
    h = pcg(h);
    if (h >= limit) bits |= 8;
    v.x = bits & 1 ? v.x * scale : 0.0f;
    v.y = bits & 2 ? v.y * scale : 0.0f;
    v.z = bits & 4 ? v.z * scale : 0.0f;
    v.w = bits & 8 ? v.w * scale : 0.0f;
    y[i] = v;
    kept[i] = (uint8_t)bits;
  }
}

// Weighted sum of a bag's rows of a table, a warp for each bag; bags are of unequal lengths.
extern "C" __global__ void bag_weighted_sum(float* __restrict__ out,
                                            const float* __restrict__ table,
                                            const int* __restrict__ rows,
                                            const float* __restrict__ weights,
                                            const int* __restrict__ start,
                                            const int* __restrict__ length, int bags, int width) {
  int bag = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  int lane = threadIdx.x & 31;
  if (bag >= bags) return;
  int first = start[bag], last = first + length[bag];
  for (int d = lane; d < width; d += 32) {
    float sum = 0.0f;
    for (int i = first; i < last; i++) sum += weights[i] * table[(size_t)rows[i] * width + d];
    out[(size_t)bag * width + d] = sum;
  }
}

// Turns neighbouring pairs of the first dimensions of queries and keys; the rest stays.
extern "C" __global__ void rotary_pairs_partial(__half2* q, __half2* k, const int* __restrict__ at,
                                                int tokens, int query_heads, int key_heads,
                                                int pairs, int turned) {
  int token = blockIdx.x;
  int heads = query_heads + key_heads;
  float place = (float)at[token];
  for (int i = threadIdx.x; i < heads * turned; i += blockDim.x) {
    int head = i / turned, pair = i % turned;
    __half2* row = head < query_heads
                       ? q + ((size_t)token * query_heads + head) * pairs
                       : k + ((size_t)token * key_heads + head - query_heads) * pairs;
    float angle = place * exp2f(-13.2877f * (float)pair / (float)turned);
    float s, c;
    __sincosf(angle, &s, &c);
    float2 v = __half22float2(row[pair]);
    row[pair] = __floats2half2_rn(v.x * c - v.y * s, v.x * s + v.y * c);
  }
}

// Writes new keys and values to their slots of a paged cache, 16 bytes at a time.
extern "C" __global__ void cache_slots_write(uint4* __restrict__ keys, uint4* __restrict__ values,
                                             const uint4* __restrict__ new_keys,
                                             const uint4* __restrict__ new_values,
                                             const int* __restrict__ slot, int pieces,
                                             int source_pieces) {
  int token = blockIdx.x;
  int to = slot[token];
  if (to < 0) return;
  for (int i = threadIdx.x; i < pieces; i += blockDim.x) {
    keys[(size_t)to * pieces + i] = new_keys[(size_t)token * source_pieces + i];
    values[(size_t)to * pieces + i] = new_values[(size_t)token * source_pieces + i];
  }
}

// Reads pages of bytes with a scale for each row into rows of bfloat16.
extern "C" __global__ void cache_pages_read(__nv_bfloat162* __restrict__ out,
                                            const char4* __restrict__ pool,
                                            const float* __restrict__ scale,
                                            const int* __restrict__ pages, int page_rows, int quads,
                                            int pages_each) {
  int sequence = blockIdx.y;
  int page = pages[sequence * pages_each + blockIdx.x];
  size_t from = (size_t)page * page_rows;
  size_t to = ((size_t)sequence * pages_each + blockIdx.x) * page_rows;
  for (int i = threadIdx.x; i < page_rows * quads; i += blockDim.x) {
    float s = __ldg(scale + from + i / quads);
    char4 v = pool[from * quads + i];
    out[(to * quads + i) * 2] = __floats2bfloat162_rn(v.x * s, v.y * s);
    out[(to * quads + i) * 2 + 1] = __floats2bfloat162_rn(v.z * s, v.w * s);
  }
}

// How many tokens go to each expert: counted by blocks in shared memory, then together.
extern "C" __global__ void experts_load(int* load, const int* __restrict__ chosen, int choices,
                                        int experts) {
  extern __shared__ int held[];
  for (int e = threadIdx.x; e < experts; e += blockDim.x) held[e] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < choices; i += gridDim.x * blockDim.x)
    atomicAdd(&held[chosen[i]], 1);
  __syncthreads();
  for (int e = threadIdx.x; e < experts; e += blockDim.x)
    if (held[e]) atomicAdd(&load[e], held[e]);
}

// Adds up each token's rows of its experts' results, by their weights.
extern "C" __global__ void experts_combine(float4* __restrict__ out,
                                           const float4* __restrict__ results,
                                           const int* __restrict__ place,
                                           const float* __restrict__ weight, int tokens, int ways,
                                           int quads) {
  int token = blockIdx.y * blockDim.y + threadIdx.y;
  int q = blockIdx.x * blockDim.x + threadIdx.x;
  if (token >= tokens || q >= quads) return;
  float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  for (int w = 0; w < ways; w++) {
    float by = weight[token * ways + w];
    float4 v = results[(size_t)place[token * ways + w] * quads + q];
    sum.x += by * v.x;
    sum.y += by * v.y;
    sum.z += by * v.z;
    sum.w += by * v.w;
  }
  out[(size_t)token * quads + q] = sum;
}

// The largest entries of a row: so many rounds over the row in shared memory.
extern "C" __global__ void row_winners(float* __restrict__ best, int* __restrict__ where,
                                       const float* __restrict__ x, int width, int k) {
  extern __shared__ float row[];
  __shared__ float top[32];
  __shared__ int top_at[32];
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  for (int i = threadIdx.x; i < width; i += blockDim.x)
    row[i] = x[(size_t)blockIdx.x * width + i];
  __syncthreads();
  for (int round = 0; round < k; round++) {
    float value = -3.0e38f;
    int at = 0;
    for (int i = threadIdx.x; i < width; i += blockDim.x)
      if (row[i] > value) {
        value = row[i];
        at = i;
      }
    for (int offset = 16; offset > 0; offset >>= 1) {
      float other = __shfl_down_sync(0xffffffffu, value, offset);
      int other_at = __shfl_down_sync(0xffffffffu, at, offset);
      if (other > value) {
        value = other;
        at = other_at;
      }
    }
    if (lane == 0) {
      top[warp] = value;
      top_at[warp] = at;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int w = 1; w < blockDim.x / 32; w++)
        if (top[w] > value) {
          value = top[w];
          at = top_at[w];
        }
      best[(size_t)blockIdx.x * k + round] = value;
      where[(size_t)blockIdx.x * k + round] = at;
      row[at] = -3.0e38f;
    }
    __syncthreads();
  }
}

// Floats to nibbles, a scale for every 64: a warp takes one group, two elements a lane.
extern "C" __global__ void nibbles_from_floats(uint8_t* __restrict__ packed,
                                               float* __restrict__ scale,
                                               const float2* __restrict__ x, int groups) {
  int group = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  int lane = threadIdx.x & 31;
  if (group >= groups) return;
  float2 v = x[(size_t)group * 32 + lane];
  float largest = warp_largest(fmaxf(fabsf(v.x), fabsf(v.y)));
  float by = largest > 0.0f ? 7.0f / largest : 0.0f;
  int low = __float2int_rn(v.x * by) & 15;
  int high = __float2int_rn(v.y * by) & 15;
  packed[(size_t)group * 32 + lane] = (uint8_t)(low | high << 4);
  if (lane == 0) scale[group] = largest / 7.0f;
}

// Loss of a row against a label, and the row's gradient, with a running maximum.
extern "C" __global__ void label_loss_online(float* __restrict__ loss,
                                             __nv_bfloat16* __restrict__ gradient,
                                             const __nv_bfloat16* __restrict__ logits,
                                             const int* __restrict__ label, int classes) {
  __shared__ float peaks[32], sums[32];
  size_t row = (size_t)blockIdx.x * classes;
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  float peak = -1.0e30f, sum = 0.0f;
  for (int c = threadIdx.x; c < classes; c += blockDim.x) {
    float v = __bfloat162float(logits[row + c]);
    float higher = fmaxf(peak, v);
    sum = sum * __expf(peak - higher) + __expf(v - higher);
    peak = higher;
  }
  float high = warp_largest(peak);
  sum = warp_total(sum * __expf(peak - high));
  if (lane == 0) {
    peaks[warp] = high;
    sums[warp] = sum;
  }
  __syncthreads();
  peak = lane < blockDim.x / 32 ? peaks[lane] : -1.0e30f;
  sum = lane < blockDim.x / 32 ? sums[lane] : 0.0f;
  high = warp_largest(peak);
  sum = warp_total(sum * __expf(peak - high));
  int right = label[blockIdx.x];
  if (threadIdx.x == 0)
    loss[blockIdx.x] = high + __logf(sum) - __bfloat162float(logits[row + right]);
  float inverse = 1.0f / sum;
  for (int c = threadIdx.x; c < classes; c += blockDim.x) {
    float p = __expf(__bfloat162float(logits[row + c]) - high) * inverse;
    gradient[row + c] = __float2bfloat16(p - (c == right ? 1.0f : 0.0f));
  }
}

// A step by the sign of the momentum, which is kept in bfloat16.
extern "C" __global__ void lion_step(float* __restrict__ weight, __nv_bfloat16* __restrict__ moment,
                                     const __half* __restrict__ gradient, int n, float rate,
                                     float decay) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float g = __half2float(gradient[i]), m = __bfloat162float(moment[i]), w = weight[i];
  float c = 0.9f * m + 0.1f * g;
  float direction = c > 0.0f ? 1.0f : (c < 0.0f ? -1.0f : 0.0f);
  weight[i] = w - rate * (direction + decay * w);
  moment[i] = __float2bfloat16(0.99f * m + 0.01f * g);
}

// Norms of a layer's weights and of its step, as LAMB needs them, with the moments renewed.
extern "C" __global__ void lamb_norms(float* norms, float* __restrict__ first,
                                      float* __restrict__ second, const float* __restrict__ weight,
                                      const float* __restrict__ gradient, int n, float decay) {
  __shared__ float scratch[32];
  float of_weight = 0.0f, of_step = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float g = gradient[i], w = weight[i];
    float m = 0.9f * first[i] + 0.1f * g;
    float v = 0.999f * second[i] + 0.001f * g * g;
    first[i] = m;
    second[i] = v;
    float step = m / (sqrtf(v) + 1e-6f) + decay * w;
    of_weight += w * w;
    of_step += step * step;
  }
  of_weight = block_total(of_weight, scratch);
  of_step = block_total(of_step, scratch);
  if (threadIdx.x == 0) {
    atomicAdd(&norms[0], of_weight);
    atomicAdd(&norms[1], of_step);
  }
}

// Depthwise 5x5 with the tile and its border in shared memory.
extern "C" __global__ void depthwise5_tiled(float* __restrict__ out, const float* __restrict__ in,
                                            const float* __restrict__ filter, int channels,
                                            int height, int width) {
  __shared__ float tile[20][37];
  int channel = blockIdx.z % channels;
  size_t plane = (size_t)blockIdx.z * height * width;
  int x0 = blockIdx.x * 32 - 2, y0 = blockIdx.y * 16 - 2;
  for (int i = threadIdx.y * 32 + threadIdx.x; i < 20 * 36; i += 32 * blockDim.y) {
    int y = i / 36, x = i % 36;
    bool inside = y0 + y >= 0 && y0 + y < height && x0 + x >= 0 && x0 + x < width;
    tile[y][x] = inside ? in[plane + (size_t)(y0 + y) * width + x0 + x] : 0.0f;
  }
  __syncthreads();
  int x = blockIdx.x * 32 + threadIdx.x;
  for (int row = threadIdx.y; row < 16; row += blockDim.y) {
    int y = blockIdx.y * 16 + row;
    if (x >= width || y >= height) continue;
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < 5; j++)
#pragma unroll
      for (int i = 0; i < 5; i++)
        sum += tile[row + j][threadIdx.x + i] * __ldg(filter + channel * 25 + j * 5 + i);
    out[plane + (size_t)y * width + x] = sum;
  }
}

// 1x1 convolution, four output channels of a pixel a thread.
extern "C" __global__ void pointwise_four(float* __restrict__ out, const float* __restrict__ in,
                                          const float4* __restrict__ weight, int pixels, int from,
                                          int to4) {
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  int o = blockIdx.y, image = blockIdx.z;
  if (p >= pixels) return;
  const float* plane = in + (size_t)image * from * pixels + p;
  float a = 0.0f, b = 0.0f, c = 0.0f, d = 0.0f;
  for (int i = 0; i < from; i++) {
    float v = plane[(size_t)i * pixels];
    float4 w = __ldg(weight + (size_t)i * to4 + o);
    a += v * w.x;
    b += v * w.y;
    c += v * w.z;
    d += v * w.w;
  }
  float* to = out + ((size_t)image * to4 + o) * 4 * pixels + p;
  to[0] = fmaxf(a, 0.0f);
  to[pixels] = fmaxf(b, 0.0f);
  to[2 * (size_t)pixels] = fmaxf(c, 0.0f);
  to[3 * (size_t)pixels] = fmaxf(d, 0.0f);
}

// Mean over windows that may hang over the edge: only what lies inside counts.
extern "C" __global__ void mean_pool_padded(float* __restrict__ out, const float* __restrict__ in,
                                            int height, int width, int out_height, int out_width,
                                            int side, int stride, int padding, int total) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= total) return;
  int x = i % out_width, y = i / out_width % out_height, plane = i / out_width / out_height;
  int left = x * stride - padding, upper = y * stride - padding;
  int right = min(left + side, width), lower = min(upper + side, height);
  left = max(left, 0);
  upper = max(upper, 0);
  float sum = 0.0f;
  for (int v = upper; v < lower; v++)
    for (int u = left; u < right; u++) sum += in[((size_t)plane * height + v) * width + u];
  out[i] = sum / (float)max((right - left) * (lower - upper), 1);
}

// (batch, sequence, head, dim) to (batch, head, sequence, dim), eight halves at a time.
extern "C" __global__ void heads_before_tokens(uint4* __restrict__ out,
                                               const uint4* __restrict__ in, int sequence,
                                               int heads, int pieces, int total) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x) {
    int piece = i % pieces;
    int head = i / pieces % heads;
    int token = i / pieces / heads % sequence;
    int batch = i / pieces / heads / sequence;
    out[(((size_t)batch * heads + head) * sequence + token) * pieces + piece] = in[i];
  }
}

// Splits rows of queries, keys and values, and adds the bias.
extern "C" __global__ void split_three_bias(__half* __restrict__ q, __half* __restrict__ k,
                                            __half* __restrict__ v, const __half* __restrict__ rows,
                                            const __half* __restrict__ bias, int width,
                                            int narrow) {
  size_t token = blockIdx.x;
  int all = width + 2 * narrow;
  for (int i = threadIdx.x; i < all; i += blockDim.x) {
    __half sum = __hadd(rows[token * all + i], bias[i]);
    if (i < width)
      q[token * width + i] = sum;
    else if (i < width + narrow)
      k[token * narrow + i - width] = sum;
    else
      v[token * narrow + i - width - narrow] = sum;
  }
}

// Softmax over the edges of each node, a warp a node.
extern "C" __global__ void edges_softmax(float* __restrict__ out, const float* __restrict__ score,
                                         const int* __restrict__ start,
                                         const int* __restrict__ length, int nodes) {
  int node = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
  int lane = threadIdx.x & 31;
  if (node >= nodes) return;
  int first = start[node], last = first + length[node];
  float high = -1.0e30f;
  for (int e = first + lane; e < last; e += 32) high = fmaxf(high, score[e]);
  high = warp_largest(high);
  float sum = 0.0f;
  for (int e = first + lane; e < last; e += 32) sum += __expf(score[e] - high);
  sum = warp_total(sum);
  for (int e = first + lane; e < last; e += 32) out[e] = __expf(score[e] - high) / sum;
}

// Sampled products of dense rows: a value for each nonzero, eight lanes each.
extern "C" __global__ void sampled_products(float* __restrict__ value, const int* __restrict__ row,
                                            const int* __restrict__ column,
                                            const float4* __restrict__ a,
                                            const float4* __restrict__ b, int nonzeros, int quads) {
  int e = (blockIdx.x * blockDim.x + threadIdx.x) >> 3;
  int lane = threadIdx.x & 7;
  float sum = 0.0f;
  if (e < nonzeros) {
    const float4* u = a + (size_t)row[e] * quads;
    const float4* v = b + (size_t)column[e] * quads;
    for (int i = lane; i < quads; i += 8) {
      float4 s = u[i], t = v[i];
      sum += s.x * t.x + s.y * t.y + s.z * t.z + s.w * t.w;
    }
  }
  sum += __shfl_xor_sync(0xffffffffu, sum, 4);
  sum += __shfl_xor_sync(0xffffffffu, sum, 2);
  sum += __shfl_xor_sync(0xffffffffu, sum, 1);
  if (e < nonzeros && lane == 0) value[e] = sum;
}

// Sparse matrix of dense 4x4 blocks times a vector: sixteen threads a row of blocks.
extern "C" __global__ void block_sparse_four(float* __restrict__ y, const float* __restrict__ block,
                                             const int* __restrict__ column,
                                             const int* __restrict__ start,
                                             const float* __restrict__ x, int block_rows) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  int row = t >> 4, within = t & 15;
  if (row >= block_rows) return;
  unsigned mates = 0xffffu << (threadIdx.x & 16);
  float sum = 0.0f;
  for (int b = start[row]; b < start[row + 1]; b++)
    sum += block[(size_t)b * 16 + within] * __ldg(x + column[b] * 4 + (within & 3));
  sum += __shfl_xor_sync(mates, sum, 1);
  sum += __shfl_xor_sync(mates, sum, 2);
  if ((within & 3) == 0) y[row * 4 + (within >> 2)] = sum;
}

// Scores of queries against keys where a byte mask allows, tiles of both in shared memory.
extern "C" __global__ void scores_where_allowed(float* __restrict__ score,
                                                const __half* __restrict__ q,
                                                const __half* __restrict__ k,
                                                const uint8_t* __restrict__ allowed, int queries,
                                                int keys, int dim, float scale) {
  __shared__ float tile_q[16][33];
  __shared__ float tile_k[16][33];
  int tx = threadIdx.x, ty = threadIdx.y;
  int i = blockIdx.y * 16 + ty, j = blockIdx.x * 16 + tx, jk = blockIdx.x * 16 + ty;
  const __half* head_q = q + (size_t)blockIdx.z * queries * dim;
  const __half* head_k = k + (size_t)blockIdx.z * keys * dim;
  float sum = 0.0f;
  for (int d = 0; d < dim; d += 32) {
    for (int c = tx; c < 32; c += 16) {
      bool in = d + c < dim;
      tile_q[ty][c] = in && i < queries ? __half2float(head_q[(size_t)i * dim + d + c]) : 0.0f;
      tile_k[ty][c] = in && jk < keys ? __half2float(head_k[(size_t)jk * dim + d + c]) : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int c = 0; c < 32; c++) sum += tile_q[ty][c] * tile_k[tx][c];
    __syncthreads();
  }
  if (i >= queries || j >= keys) return;
  bool keep = allowed[(size_t)i * keys + j] != 0;
  score[((size_t)blockIdx.z * queries + i) * keys + j] = keep ? sum * scale : -1.0e9f;
}
