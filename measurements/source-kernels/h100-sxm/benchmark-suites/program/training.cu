// Training and inference of language models (and some vision) in plain CUDA.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

typedef __nv_bfloat16 bf16;

__device__ __forceinline__ float warpReduceSum(float val) {
  for (int offset = 16; offset > 0; offset /= 2) val += __shfl_xor_sync(0xFFFFFFFFu, val, offset);
  return val;
}

__device__ __forceinline__ float warpReduceMax(float val) {
  for (int offset = 16; offset > 0; offset /= 2) val = fmaxf(val, __shfl_xor_sync(0xFFFFFFFFu, val, offset));
  return val;
}

// First warp reduces the warps' results, and all threads read it back.
__device__ float blockReduce(float v, bool largest) {
  __shared__ float shared_val[32];
  __shared__ float total;
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = (blockDim.x + 31) / 32;
  v = largest ? warpReduceMax(v) : warpReduceSum(v);
  if (lane == 0) shared_val[warp] = v;
  __syncthreads();
  if (warp == 0) {
    float w = lane < warps ? shared_val[lane] : (largest ? -3.4e38f : 0.f);
    w = largest ? warpReduceMax(w) : warpReduceSum(w);
    if (lane == 0) total = w;
  }
  __syncthreads();
  float r = total;
  __syncthreads();
  return r;
}

__device__ __forceinline__ unsigned squirrel(unsigned x, unsigned seed) {
  unsigned m = x * 0xB5297A4Du;
  m += seed;
  m ^= m >> 8;
  m += 0x68E31DA4u;
  m ^= m << 8;
  m *= 0x1B56C4E9u;
  return m ^ (m >> 8);
}

// ---------------------------------------------------------------- embeddings and positions

extern "C" __global__ void encoder_forward(float4* out, const int* inp, const float4* wte, const float4* wpe, int B,
                                           int T, int C4) {
  int idx = blockIdx.x * blockDim.x + threadIdx.x;
  int N = B * T * C4;
  if (idx < N) {
    int bt = idx / C4;
    int b = bt / T;
    int t = bt % T;
    int c = idx % C4;
    int ix = inp[b * T + t];
    float4 a = wte[(long long)ix * C4 + c];
    float4 p = wpe[t * C4 + c];
    out[idx] = make_float4(a.x + p.x, a.y + p.y, a.z + p.z, a.w + p.w);
  }
}

// Rotations of the halves of each head, as GPT-NeoX lays them out; cosines computed in place.
extern "C" __global__ void rope_neox_half(half* q, const int* positions, int tokens, int heads, int head_dim,
                                          float log2_base) {
  int t = blockIdx.x;
  int half_dim = head_dim / 2;
  int pos = positions[t];
  half* row = q + (long long)t * heads * head_dim;
  for (int i = threadIdx.x; i < heads * half_dim; i += blockDim.x) {
    int h = i / half_dim, d = i % half_dim;
    float freq = exp2f(-log2_base * (2.0f * d) / head_dim);
    float s, c;
    sincosf(pos * freq, &s, &c);
    half* a = row + h * head_dim + d;
    float x0 = __half2float(a[0]), x1 = __half2float(a[half_dim]);
    a[0] = __float2half(x0 * c - x1 * s);
    a[half_dim] = __float2half(x0 * s + x1 * c);
  }
}

// ---------------------------------------------------------------- norms

extern "C" __global__ void layernorm_forward_warp(float* out, float* mean, float* rstd, const float* inp,
                                                  const float* weight, const float* bias, int N, int C) {
  int lane = threadIdx.x % 32;
  int idx = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  if (idx >= N) return;
  const float* x = inp + (long long)idx * C;
  float sum = 0.0f;
  for (int i = lane; i < C; i += 32) sum += x[i];
  float m = warpReduceSum(sum) / C;
  sum = 0.0f;
  for (int i = lane; i < C; i += 32) {
    float diff = x[i] - m;
    sum += diff * diff;
  }
  float s = rsqrtf(warpReduceSum(sum) / C + 1e-5f);
  if (lane == 0) {
    __stcs(mean + idx, m);
    __stcs(rstd + idx, s);
  }
  float* o = out + (long long)idx * C;
  for (int c = lane; c < C; c += 32) {
    float n = s * (__ldcs(x + c) - m);
    __stcs(o + c, n * weight[c] + bias[c]);
  }
}

extern "C" __global__ void layernorm_backward_shared(float* dinp, float* dweight, float* dbias, const float* dout,
                                                     const float* inp, const float* weight, const float* mean,
                                                     const float* rstd, int N, int C) {
  extern __shared__ float acc[];
  float* dbias_shared = acc;
  float* dweight_shared = acc + C;
  for (int i = threadIdx.x; i < 2 * C; i += blockDim.x) acc[i] = 0.0f;
  __syncthreads();
  int lane = threadIdx.x % 32;
  int warps = gridDim.x * (blockDim.x / 32);
  for (int idx = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; idx < N; idx += warps) {
    const float* dout_bt = dout + (long long)idx * C;
    const float* inp_bt = inp + (long long)idx * C;
    float* dinp_bt = dinp + (long long)idx * C;
    float mean_bt = mean[idx], rstd_bt = rstd[idx];
    float dnorm_mean = 0.0f, dnorm_norm_mean = 0.0f;
    for (int i = lane; i < C; i += 32) {
      float norm = (inp_bt[i] - mean_bt) * rstd_bt;
      float dnorm = weight[i] * dout_bt[i];
      dnorm_mean += dnorm;
      dnorm_norm_mean += dnorm * norm;
    }
    dnorm_mean = warpReduceSum(dnorm_mean) / C;
    dnorm_norm_mean = warpReduceSum(dnorm_norm_mean) / C;
    for (int i = lane; i < C; i += 32) {
      float norm = (inp_bt[i] - mean_bt) * rstd_bt;
      float dnorm = weight[i] * dout_bt[i];
      atomicAdd(&dbias_shared[i], dout_bt[i]);
      atomicAdd(&dweight_shared[i], norm * dout_bt[i]);
      dinp_bt[i] += (dnorm - dnorm_mean - norm * dnorm_norm_mean) * rstd_bt;
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < C; i += blockDim.x) {
    atomicAdd(&dbias[i], dbias_shared[i]);
    atomicAdd(&dweight[i], dweight_shared[i]);
  }
}

extern "C" __global__ void rmsnorm_backward_input(bf16* dx, const bf16* dy, const bf16* x, const float* gain,
                                                  const float* rrms, int C) {
  long long row = (long long)blockIdx.x * C;
  float r = rrms[blockIdx.x];
  float dot = 0.f;
  for (int i = threadIdx.x; i < C; i += blockDim.x)
    dot += __bfloat162float(dy[row + i]) * gain[i] * __bfloat162float(x[row + i]);
  dot = blockReduce(dot, false) * r * r / C;
  for (int i = threadIdx.x; i < C; i += blockDim.x) {
    float g = __bfloat162float(dy[row + i]) * gain[i];
    dx[row + i] = __float2bfloat16(r * (g - __bfloat162float(x[row + i]) * dot));
  }
}

// A block a group of channels of one image; planes in order.
extern "C" __global__ void groupnorm_nchw(float* out, const float* x, const float* weight, const float* bias,
                                          int group_channels, int HW, int groups, float eps) {
  long long base = (long long)blockIdx.x * group_channels * HW;
  int n = group_channels * HW;
  float s = 0.f, s2 = 0.f;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    float v = x[base + i];
    s += v;
    s2 += v * v;
  }
  s = blockReduce(s, false) / n;
  s2 = blockReduce(s2, false) / n - s * s;
  float inv = rsqrtf(fmaxf(s2, 0.f) + eps);
  int c0 = (blockIdx.x % groups) * group_channels;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    int c = c0 + i / HW;
    out[base + i] = (x[base + i] - s) * inv * weight[c] + bias[c];
  }
}

// ---------------------------------------------------------------- pointwise

struct __align__(16) Pack8 {
  bf16 v[8];
};

extern "C" __global__ void gelu_forward_packed(bf16* out, const bf16* inp, int packs) {
  int idx = blockIdx.x * blockDim.x + threadIdx.x;
  if (idx >= packs) return;
  Pack8 in = ((const Pack8*)inp)[idx];
  Pack8 o;
#pragma unroll
  for (int k = 0; k < 8; k++) {
    float xi = __bfloat162float(in.v[k]);
    float cube = 0.044715f * xi * xi * xi;
    o.v[k] = __float2bfloat16(0.5f * xi * (1.0f + tanhf(0.7978845608f * (xi + cube))));
  }
  ((Pack8*)out)[idx] = o;
}

extern "C" __global__ void swiglu_backward_half2(half2* dgate, half2* dup, const half2* dh, const half2* gate,
                                                 const half2* up, int n2) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n2; i += gridDim.x * blockDim.x) {
    float2 g = __half22float2(gate[i]), u = __half22float2(up[i]), d = __half22float2(dh[i]);
    float sx = 1.f / (1.f + __expf(-g.x)), sy = 1.f / (1.f + __expf(-g.y));
    dup[i] = __floats2half2_rn(d.x * g.x * sx, d.y * g.y * sy);
    dgate[i] = __floats2half2_rn(d.x * u.x * sx * (1.f + g.x * (1.f - sx)), d.y * u.y * sy * (1.f + g.y * (1.f - sy)));
  }
}

extern "C" __global__ void bias_dropout_residual(float* out, unsigned char* mask, const float* x, const float* bias,
                                                 const float* residual, int rows, int cols, float p, unsigned seed) {
  long long n = (long long)rows * cols;
  float scale = 1.0f / (1.0f - p);
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) {
    float u = (squirrel((unsigned)i, seed) >> 8) * (1.0f / 16777216.0f);
    unsigned char keep = u >= p;
    float v = x[i] + bias[i % cols];
    out[i] = residual[i] + (keep ? v * scale : 0.f);
    mask[i] = keep;
  }
}

// ---------------------------------------------------------------- losses and softmaxes

// Loss and gradient of the logits in one pass after a block's softmax statistics.
extern "C" __global__ void fused_classifier(float* logits, float* losses, const int* targets, int V, int P,
                                            float dloss) {
  long long row = (long long)blockIdx.x * P;
  int ix = targets[blockIdx.x];
  float thread_max = -3.4e38f, thread_sum = 0.0f;
  for (int i = threadIdx.x; i < V; i += blockDim.x) {
    float v = logits[row + i];
    float old = thread_max;
    thread_max = fmaxf(thread_max, v);
    thread_sum *= expf(old - thread_max);
    thread_sum += expf(v - thread_max);
  }
  float block_max = blockReduce(thread_max, true);
  float block_sum = blockReduce(thread_sum * expf(thread_max - block_max), false);
  float scale = 1.0f / block_sum;
  if (threadIdx.x == 0) losses[blockIdx.x] -= logf(expf(logits[row + ix] - block_max) * scale);
  __syncthreads();
  for (int i = threadIdx.x; i < P; i += blockDim.x) {
    float prob = i < V ? expf(logits[row + i] - block_max) * scale : 0.f;
    float indicator = (i == ix) ? 1.0f : 0.0f;
    logits[row + i] = (prob - indicator) * dloss;
  }
}

// Causal softmax over a T by T square, a warp a row, running maximum and sum.
extern "C" __global__ void softmax_causal_online(float* out, const float* inp, float inv_temperature, int N, int T) {
  int lane = threadIdx.x % 32;
  int idx = (gridDim.x - blockIdx.x - 1) * (blockDim.x / 32) + threadIdx.x / 32;
  if (idx >= N * T) return;
  int own_pos = idx % T;
  const float* x = inp + (long long)idx * T;
  float maxval = -3.4e38f, sumval = 0.0f;
  for (int i = lane; i <= own_pos; i += 32) {
    float v = x[i];
    float old = maxval;
    maxval = fmaxf(maxval, v);
    sumval *= expf(inv_temperature * (old - maxval));
    sumval += expf(inv_temperature * (v - maxval));
  }
  float global_max = warpReduceMax(maxval);
  sumval *= expf(inv_temperature * (maxval - global_max));
  float norm = 1.f / warpReduceSum(sumval);
  for (int i = lane; i <= own_pos; i += 32) {
    float ev = expf(inv_temperature * (__ldcs(x + i) - global_max));
    __stcs(out + (long long)idx * T + i, ev * norm);
  }
}

// Softmax by a block a row with the row kept in shared memory between passes.
extern "C" __global__ void softmax_block_staged(half* y, const half* x, int C) {
  extern __shared__ float staged[];
  long long row = (long long)blockIdx.x * C;
  float m = -3.4e38f;
  for (int i = threadIdx.x; i < C; i += blockDim.x) {
    float v = __half2float(x[row + i]);
    staged[i] = v;
    m = fmaxf(m, v);
  }
  m = blockReduce(m, true);
  float s = 0.f;
  for (int i = threadIdx.x; i < C; i += blockDim.x) {
    float e = __expf(staged[i] - m);
    staged[i] = e;
    s += e;
  }
  s = 1.f / blockReduce(s, false);
  for (int i = threadIdx.x; i < C; i += blockDim.x) y[row + i] = __float2half(staged[i] * s);
}

// The naive style: a thread does a row by three loops.
extern "C" __global__ void softmax_thread_rows(float* out, const float* inp, int N, int C) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) {
    const float* inp_row = inp + (long long)i * C;
    float* out_row = out + (long long)i * C;
    float maxval = -INFINITY;
    for (int j = 0; j < C; j++)
      if (inp_row[j] > maxval) maxval = inp_row[j];
    double sum = 0.0;
    for (int j = 0; j < C; j++) {
      out_row[j] = expf(inp_row[j] - maxval);
      sum += out_row[j];
    }
    for (int j = 0; j < C; j++) out_row[j] /= (float)sum;
  }
}

// ---------------------------------------------------------------- attention

// A thread a pair of positions, queries and keys interleaved as (B, T, 3C).
extern "C" __global__ void attention_query_key_naive(float* preatt, const float* inp, int B, int T, int C, int NH) {
  int idx = blockIdx.x * blockDim.x + threadIdx.x;
  int total_threads = B * NH * T * T;
  if (idx < total_threads) {
    int t2 = idx % T;
    int t = (idx / T) % T;
    if (t2 > t) {
      preatt[idx] = -INFINITY;
      return;
    }
    int h = (idx / (T * T)) % NH;
    int b = idx / (NH * T * T);
    int C3 = C * 3;
    int hs = C / NH;
    const float* query_t = inp + (long long)b * T * C3 + t * C3 + h * hs;
    const float* key_t2 = inp + (long long)b * T * C3 + t2 * C3 + h * hs + C;
    float val = 0.0f;
    for (int i = 0; i < hs; i++) val += query_t[i] * key_t2[i];
    val *= 1.0f / sqrtf((float)hs);
    preatt[idx] = val;
  }
}

// One token at a time: a block a head, the scores of all positions in shared memory.
extern "C" __global__ void decode_head_attention(float* xb, const float* q, const half* key_cache,
                                                 const half* value_cache, int pos, int head_size, int kv_dim,
                                                 int kv_mul) {
  extern __shared__ float att[];
  int h = blockIdx.x;
  long long off = (long long)blockIdx.y * (pos + 1) * kv_dim + (h / kv_mul) * head_size;
  const float* qh = q + ((long long)blockIdx.y * gridDim.x + h) * head_size;
  for (int t = threadIdx.x; t <= pos; t += blockDim.x) {
    const half2* k = (const half2*)(key_cache + off + (long long)t * kv_dim);
    float score = 0.0f;
    for (int i = 0; i < head_size / 2; i++) {
      float2 kv = __half22float2(k[i]);
      score += qh[2 * i] * kv.x + qh[2 * i + 1] * kv.y;
    }
    att[t] = score * rsqrtf((float)head_size);
  }
  __syncthreads();
  float m = -3.4e38f;
  for (int t = threadIdx.x; t <= pos; t += blockDim.x) m = fmaxf(m, att[t]);
  m = blockReduce(m, true);
  float s = 0.f;
  for (int t = threadIdx.x; t <= pos; t += blockDim.x) {
    att[t] = expf(att[t] - m);
    s += att[t];
  }
  s = blockReduce(s, false);
  for (int i = threadIdx.x; i < head_size; i += blockDim.x) {
    float val = 0.0f;
    for (int t = 0; t <= pos; t++) val += att[t] * __half2float(value_cache[off + (long long)t * kv_dim + i]);
    xb[((long long)blockIdx.y * gridDim.x + h) * head_size + i] = val / s;
  }
}

extern "C" __global__ void heads_from_qkv(bf16* q, bf16* k, bf16* v, const bf16* inp, int B, int N, int NH, int d) {
  int idx = blockIdx.x * blockDim.x + threadIdx.x;
  if (idx < B * NH * N * d) {
    int b = idx / (NH * N * d);
    int rest = idx % (NH * N * d);
    int nh_ = rest / (N * d);
    rest = rest % (N * d);
    int n = rest / d;
    int d_ = rest % d;
    long long from = ((long long)b * N + n) * 3 * NH * d + nh_ * d + d_;
    q[idx] = __ldcs(&inp[from]);
    k[idx] = __ldcs(&inp[from + NH * d]);
    v[idx] = __ldcs(&inp[from + 2 * NH * d]);
  }
}

// ---------------------------------------------------------------- optimiser

__device__ __forceinline__ float lerpf(float start, float end, float weight) {
  return fmaf(weight, end, fmaf(-weight, start, start));
}

// AdamW on master weights in float, parameters in bfloat16 by stochastic rounding.
extern "C" __global__ void adamw_master_bf16(bf16* params, float* master, const bf16* grads, float* m_memory,
                                             float* v_memory, int n, float lr, float beta1, float beta2, float c1,
                                             float c2, float eps, float decay, float grad_scale, unsigned seed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float grad = grad_scale * __bfloat162float(grads[i]);
  float m = m_memory[i];
  float v = v_memory[i];
  m = lerpf(grad, m, beta1);
  m_memory[i] = m;
  v = lerpf(grad * grad, v, beta2);
  v_memory[i] = v;
  m /= c1;
  v /= c2;
  float old = master[i];
  float param = old - (lr * (m / (sqrtf(v) + eps) + decay * old));
  unsigned bits = __float_as_uint(param);
  unsigned threshold = squirrel(i, seed) & 0xFFFFu;
  unsigned rounded = bits & 0xFFFFu;
  bits = (rounded > threshold) ? (bits | 0xFFFFu) : (bits & ~0xFFFFu);
  params[i] = __float2bfloat16_rn(__uint_as_float(bits & 0xFFFF0000u));
  master[i] = param;
}

extern "C" __global__ void clip_and_momentum(float4* weights, float4* momentum, const float4* grads,
                                             const float* norm_squared, int n4, float max_norm, float lr, float mu) {
  float norm = sqrtf(norm_squared[0]);
  float scale = norm > max_norm ? max_norm / (norm + 1e-6f) : 1.f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n4; i += gridDim.x * blockDim.x) {
    float4 g = grads[i], m = momentum[i], w = weights[i];
    m.x = mu * m.x + g.x * scale;
    m.y = mu * m.y + g.y * scale;
    m.z = mu * m.z + g.z * scale;
    m.w = mu * m.w + g.w * scale;
    w.x -= lr * (g.x * scale + mu * m.x);
    w.y -= lr * (g.y * scale + mu * m.y);
    w.z -= lr * (g.z * scale + mu * m.z);
    w.w -= lr * (g.w * scale + mu * m.w);
    momentum[i] = m;
    weights[i] = w;
  }
}

extern "C" __global__ void bias_gradient_columns(float* dbias, const bf16* dout, int BT, int OC) {
  __shared__ float smem[8][32];
  int col = blockIdx.x * 32 + threadIdx.x;
  float sum = 0.0f;
  if (col < OC)
    for (int row = threadIdx.y; row < BT; row += 8) sum += __bfloat162float(dout[(long long)row * OC + col]);
  smem[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y == 0 && col < OC) {
    float total = 0.f;
#pragma unroll
    for (int w = 0; w < 8; w++) total += smem[w][threadIdx.x];
    dbias[col] += total;
  }
}

// ---------------------------------------------------------------- quantised weights

// Groups of 32 weights to four bits with a scale in half: a warp a group.
extern "C" __global__ void quantise_q4_groups(unsigned char* packed, half* scales, const float* w, int groups) {
  int group = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  int lane = threadIdx.x % 32;
  if (group >= groups) return;
  float v = w[(long long)group * 32 + lane];
  float amax = warpReduceMax(fabsf(v));
  float d = amax / 7.f;
  float id = d > 0.f ? 1.f / d : 0.f;
  int q = min(15, max(0, (int)roundf(v * id) + 8));
  int other = __shfl_down_sync(0xFFFFFFFFu, q, 16);
  if (lane < 16) packed[(long long)group * 16 + lane] = (unsigned char)(q | (other << 4));
  if (lane == 0) scales[group] = __float2half(d);
}

// ---------------------------------------------------------------- products

extern "C" __global__ void matmul_naive_half(half* C, const half* A, const half* B, int M, int N, int K) {
  int n = blockIdx.x * blockDim.x + threadIdx.x;
  int m = blockIdx.y * blockDim.y + threadIdx.y;
  if (m < M && n < N) {
    float acc = 0.f;
    for (int k = 0; k < K; k++) acc += __half2float(A[m * K + k]) * __half2float(B[k * N + n]);
    C[m * N + n] = __float2half(acc);
  }
}

// A warp a row, sums kept in half2 and widened every four.
extern "C" __global__ void matvec_half2_warp(half* y, const half2* W, const half2* x, int rows, int cols2) {
  int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  const half2* w = W + (long long)row * cols2;
  float sum = 0.f;
  for (int base = 0; base < cols2; base += 128) {
    half2 acc = __floats2half2_rn(0.f, 0.f);
#pragma unroll
    for (int u = 0; u < 4; u++) {
      int c = base + u * 32 + threadIdx.x;
      if (c < cols2) acc = __hfma2(w[c], x[c], acc);
    }
    float2 f = __half22float2(acc);
    sum += f.x + f.y;
  }
  sum = warpReduceSum(sum);
  if (threadIdx.x == 0) y[row] = __float2half(sum);
}

// ---------------------------------------------------------------- picking tokens and experts

// The k largest of each row: k rounds of a block's argmax, with the taken ones struck out.
extern "C" __global__ void topk_rounds(float* values, int* indices, float* logits, int V, int k) {
  __shared__ float best_v[32];
  __shared__ int best_i[32];
  long long row = (long long)blockIdx.x * V;
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  for (int round = 0; round < k; round++) {
    float v = -3.4e38f;
    int at = 0;
    for (int i = threadIdx.x; i < V; i += blockDim.x) {
      float x = logits[row + i];
      if (x > v) {
        v = x;
        at = i;
      }
    }
    for (int o = 16; o > 0; o >>= 1) {
      float ov = __shfl_down_sync(0xFFFFFFFFu, v, o);
      int oi = __shfl_down_sync(0xFFFFFFFFu, at, o);
      if (ov > v) {
        v = ov;
        at = oi;
      }
    }
    if (lane == 0) {
      best_v[warp] = v;
      best_i[warp] = at;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int w = 1; w < warps; w++)
        if (best_v[w] > v) {
          v = best_v[w];
          at = best_i[w];
        }
      values[blockIdx.x * k + round] = v;
      indices[blockIdx.x * k + round] = at;
      logits[row + at] = -3.4e38f;
    }
    __syncthreads();
  }
}

// Draws from a row of probabilities: tiles of a block scanned until the coin is passed.
extern "C" __global__ void sample_cumulative(int* token, const float* probs, const float* coins, int V) {
  __shared__ float warp_sums[32];
  __shared__ float running;
  __shared__ int found;
  const float* p = probs + (long long)blockIdx.x * V;
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  float target = coins[blockIdx.x] * 0.5f * V;
  if (threadIdx.x == 0) {
    running = 0.f;
    found = V - 1;
  }
  __syncthreads();
  for (int base = 0; base < V; base += blockDim.x) {
    int i = base + threadIdx.x;
    float v = i < V ? p[i] : 0.f;
    for (int o = 1; o < 32; o <<= 1) {
      float n = __shfl_up_sync(0xFFFFFFFFu, v, o);
      if (lane >= o) v += n;
    }
    if (lane == 31) warp_sums[warp] = v;
    __syncthreads();
    float before = running;
    for (int w = 0; w < warp; w++) before += warp_sums[w];
    float total = running;
    for (int w = 0; w < warps; w++) total += warp_sums[w];
    if (i < V && before + v > target) atomicMin(&found, i);
    __syncthreads();
    if (threadIdx.x == 0) running = total;
    __syncthreads();
    if (total > target) break;
  }
  if (threadIdx.x == 0) token[blockIdx.x] = found;
}

// Tokens copied to their places sorted by expert.
extern "C" __global__ void moe_permute_tokens(bf16* out, int* inverse, int* fill, const bf16* x, const int* expert,
                                              const int* expert_offset, int tokens, int k, int C, int rows) {
  __shared__ int place;
  int slot = blockIdx.x;
  int e = expert[slot];
  if (threadIdx.x == 0) {
    int r = atomicAdd(&fill[e], 1);
    place = (int)((expert_offset[e] + (unsigned)r) % (unsigned)rows);
    inverse[slot] = place;
  }
  __syncthreads();
  const uint4* from = (const uint4*)(x + (long long)(slot / k) * C);
  uint4* to = (uint4*)(out + (long long)place * C);
  for (int i = threadIdx.x; i < C / 8; i += blockDim.x) to[i] = from[i];
}

// ---------------------------------------------------------------- shapes, sums and images

extern "C" __global__ void cumsum_rows_double(double* out, const double* in, int rows, int cols) {
  int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  double carry = 0;
  for (int base = 0; base < cols; base += 32) {
    int c = base + threadIdx.x;
    double v = c < cols ? in[(long long)row * cols + c] : 0;
    for (int o = 1; o < 32; o *= 2) {
      double n = __shfl_up_sync(0xFFFFFFFFu, v, o);
      if (threadIdx.x >= o) v += n;
    }
    if (c < cols) out[(long long)row * cols + c] = carry + v;
    carry += __shfl_sync(0xFFFFFFFFu, v, 31);
  }
}

extern "C" __global__ void scatter_add_elements(float* out, const float* src, const int* index, int rows, int cols,
                                                int out_rows) {
  long long n = (long long)rows * cols;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) {
    int c = (int)(i % cols);
    int r = index[i];
    if (r >= 0 && r < out_rows) atomicAdd(out + (long long)r * cols + c, src[i]);
  }
}

extern "C" __global__ void im2col_nchw(float* col, const float* im, int n, int height, int width, int ksize, int pad,
                                       int stride, int h_out, int w_out) {
  for (int index = blockIdx.x * blockDim.x + threadIdx.x; index < n; index += blockDim.x * gridDim.x) {
    int w = index % w_out;
    int h_index = index / w_out;
    int h = h_index % h_out;
    int channel = h_index / h_out;
    int h_in = h * stride - pad;
    int w_in = w * stride - pad;
    float* to = col + ((long long)channel * ksize * ksize * h_out + h) * w_out + w;
    const float* from = im + ((long long)channel * height + h_in) * width + w_in;
    for (int i = 0; i < ksize; ++i)
      for (int j = 0; j < ksize; ++j) {
        int y = h_in + i;
        int x = w_in + j;
        *to = (y >= 0 && x >= 0 && y < height && x < width) ? from[i * width + j] : 0.f;
        to += h_out * w_out;
      }
  }
}

extern "C" __global__ void conv3x3_naive_nchw(float* out, const float* in, const float* weight, const float* bias,
                                              int Cin, int Cout, int H, int W) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  int co = blockIdx.z % Cout;
  int n = blockIdx.z / Cout;
  if (x >= W || y >= H) return;
  float acc = bias[co];
  for (int ci = 0; ci < Cin; ci++) {
    const float* plane = in + ((long long)n * Cin + ci) * H * W;
    const float* k = weight + (co * Cin + ci) * 9;
    for (int dy = -1; dy <= 1; dy++)
      for (int dx = -1; dx <= 1; dx++) {
        int yy = y + dy, xx = x + dx;
        if (yy >= 0 && yy < H && xx >= 0 && xx < W) acc += plane[yy * W + xx] * k[(dy + 1) * 3 + dx + 1];
      }
  }
  out[((long long)blockIdx.z * H + y) * W + x] = acc > 0.f ? acc : 0.f;
}

