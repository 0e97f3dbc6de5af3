// Kernels of training and serving of networks.

#include <cuda_fp16.h>
#include <stdint.h>

// instance norm, a thread per plane
extern "C" __global__ void instance_norm_thread(float* out, const float* in, const float* gamma, const float* beta, int planes, int channels, int hw, float eps) {
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= planes) return;
  const float* x = in + (size_t)p * hw;
  float* y = out + (size_t)p * hw;
  float sum = 0.0f;
  for (int i = 0; i < hw; i++) sum += x[i];
  float mean = sum / hw;
  float var = 0.0f;
  for (int i = 0; i < hw; i++) var += (x[i] - mean) * (x[i] - mean);
  float inv = rsqrtf(var / hw + eps);
  float g = gamma[p % channels], b = beta[p % channels];
  for (int i = 0; i < hw; i++) y[i] = (x[i] - mean) * inv * g + b;
}

// backward of batch norm, a block per channel: two sums, then the gradient of the input
extern "C" __global__ void batchnorm_backward_block(float* dx, float* dgamma, float* dbeta, const float* dy, const float* x, const float* mean, const float* invstd, const float* gamma, int batch, int channels, int hw) {
  __shared__ float sum_dy[1024];
  __shared__ float sum_dyx[1024];
  int c = blockIdx.x;
  int tid = threadIdx.x;
  float m = mean[c], s = invstd[c];
  float a = 0.0f, b = 0.0f;
  for (int n = 0; n < batch; n++) {
    for (int i = tid; i < hw; i += blockDim.x) {
      size_t at = ((size_t)n * channels + c) * hw + i;
      float g = dy[at];
      a += g;
      b += g * (x[at] - m) * s;
    }
  }
  sum_dy[tid] = a;
  sum_dyx[tid] = b;
  __syncthreads();
  for (int k = blockDim.x / 2; k > 0; k /= 2) {
    if (tid < k) {
      sum_dy[tid] += sum_dy[tid + k];
      sum_dyx[tid] += sum_dyx[tid + k];
    }
    __syncthreads();
  }
  float total = sum_dy[0], totalx = sum_dyx[0];
  if (tid == 0) {
    dbeta[c] = total;
    dgamma[c] = totalx;
  }
  float count = (float)batch * hw;
  float scale = gamma[c] * s / count;
  for (int n = 0; n < batch; n++) {
    for (int i = tid; i < hw; i += blockDim.x) {
      size_t at = ((size_t)n * channels + c) * hw + i;
      float xhat = (x[at] - m) * s;
      dx[at] = scale * (count * dy[at] - total - xhat * totalx);
    }
  }
}

__device__ float block_add(float v, float* shared) {
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(0xffffffff, v, o);
  __syncthreads();
  if (lane == 0) shared[warp] = v;
  __syncthreads();
  int warps = blockDim.x / 32;
  v = 0.0f;
  for (int w = 0; w < warps; w++) v += shared[w];
  return v;
}

// sparsemax of rows by bisection of the threshold, a block per row, which is read again each time
extern "C" __global__ void sparsemax_bisect(float* out, const float* in, int cols, int iterations) {
  __shared__ float shared[32];
  const float* x = in + (size_t)blockIdx.x * cols;
  float best = -1e30f;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) best = fmaxf(best, x[i]);
  for (int o = 16; o > 0; o /= 2) best = fmaxf(best, __shfl_down_sync(0xffffffff, best, o));
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = best;
  __syncthreads();
  best = shared[0];
  for (int w = 1; w < blockDim.x / 32; w++) best = fmaxf(best, shared[w]);
  float lo = best - 1.0f, hi = best - 1.0f / cols;
  for (int it = 0; it < iterations; it++) {
    float mid = 0.5f * (lo + hi);
    float sum = 0.0f;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) sum += fmaxf(x[i] - mid, 0.0f);
    sum = block_add(sum, shared);
    if (sum > 1.0f) lo = mid;
    else hi = mid;
  }
  float* y = out + (size_t)blockIdx.x * cols;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) y[i] = fmaxf(x[i] - lo, 0.0f);
}

// focal loss of sigmoids with its gradient; the loss is summed
extern "C" __global__ void focal_loss_sum(float* loss, float* grad, const float* logits, const int* labels, int n, int classes, float alpha, float gamma) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float l = 0.0f;
  if (i < n * classes) {
    int label = labels[i / classes];
    float x = logits[i];
    float p = 1.0f / (1.0f + expf(-x));
    if (label == i % classes) {
      float q = powf(1.0f - p, gamma);
      l = -alpha * q * logf(fmaxf(p, 1e-8f));
      grad[i] = alpha * q * (gamma * p * logf(fmaxf(p, 1e-8f)) - (1.0f - p));
    } else {
      float q = powf(p, gamma);
      l = -(1.0f - alpha) * q * logf(fmaxf(1.0f - p, 1e-8f));
      grad[i] = (1.0f - alpha) * q * (p - gamma * (1.0f - p) * logf(fmaxf(1.0f - p, 1e-8f)));
    }
  }
  for (int o = 16; o > 0; o >>= 1) l += __shfl_down_sync(0xffffffff, l, o);
  if ((threadIdx.x & 31) == 0) atomicAdd(loss, l);
}

// triplet margin loss, a warp per triplet, embeddings in half precision
extern "C" __global__ void triplet_margin_warp(float* loss, const __half* embedding, const int* anchor, const int* positive, const int* negative, int triplets, int dim, float margin) {
  int t = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  int lane = threadIdx.x % 32;
  if (t >= triplets) return;
  const __half* a = embedding + (size_t)anchor[t] * dim;
  const __half* p = embedding + (size_t)positive[t] * dim;
  const __half* q = embedding + (size_t)negative[t] * dim;
  float dp = 0.0f, dn = 0.0f;
  for (int d = lane; d < dim; d += 32) {
    float v = __half2float(a[d]);
    float e = v - __half2float(p[d]);
    float f = v - __half2float(q[d]);
    dp += e * e;
    dn += f * f;
  }
  for (int o = 16; o > 0; o /= 2) {
    dp += __shfl_xor_sync(0xffffffff, dp, o);
    dn += __shfl_xor_sync(0xffffffff, dn, o);
  }
  if (lane == 0) loss[t] = fmaxf(sqrtf(dp) - sqrtf(dn) + margin, 0.0f);
}

// row-wise Adagrad of an embedding table, a block per row that was looked up
extern "C" __global__ void adagrad_rows(float* table, float* state, const float* grads, const int* rows, int dim, float lr, float eps) {
  __shared__ float square;
  int row = rows[blockIdx.x];
  const float* g = grads + (size_t)blockIdx.x * dim;
  if (threadIdx.x == 0) square = 0.0f;
  __syncthreads();
  float mine = 0.0f;
  for (int d = threadIdx.x; d < dim; d += blockDim.x) mine += g[d] * g[d];
  atomicAdd(&square, mine);
  __syncthreads();
  float s = state[row] + square / dim;
  __syncthreads();
  if (threadIdx.x == 0) state[row] = s;
  float step = lr / (sqrtf(s) + eps);
  for (int d = threadIdx.x; d < dim; d += blockDim.x) table[(size_t)row * dim + d] -= step * g[d];
}

// ROI align, a thread per output
extern "C" __global__ void roi_align_naive(float* out, const float* features, const float* rois, const int* images, int total, int channels, int height, int width, int pooled, int samples) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= total) return;
  int px = i % pooled;
  int py = (i / pooled) % pooled;
  int c = (i / pooled / pooled) % channels;
  int r = i / pooled / pooled / channels;
  const float* roi = rois + r * 4;
  float x1 = 0.5f * roi[0] * width, y1 = 0.5f * roi[1] * height;
  float w = fmaxf(0.5f * roi[2] * width, 1.0f), h = fmaxf(0.5f * roi[3] * height, 1.0f);
  float bw = w / pooled, bh = h / pooled;
  const float* f = features + ((size_t)images[r] * channels + c) * height * width;
  float sum = 0.0f;
  for (int sy = 0; sy < samples; sy++) {
    float y = y1 + py * bh + (sy + 0.5f) * bh / samples;
    for (int sx = 0; sx < samples; sx++) {
      float x = x1 + px * bw + (sx + 0.5f) * bw / samples;
      if (y > height || x > width) continue;
      int yl = min((int)y, height - 1), xl = min((int)x, width - 1);
      int yh = min(yl + 1, height - 1), xh = min(xl + 1, width - 1);
      float ly = fminf(y - yl, 1.0f), lx = fminf(x - xl, 1.0f);
      sum += (1.0f - ly) * (1.0f - lx) * f[yl * width + xl] + (1.0f - ly) * lx * f[yl * width + xh] +
             ly * (1.0f - lx) * f[yh * width + xl] + ly * lx * f[yh * width + xh];
    }
  }
  out[i] = sum / (samples * samples);
}

// local response normalisation across channels
extern "C" __global__ void lrn_channels(float* out, const float* in, int total, int channels, int hw, int size, float alpha, float beta) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= total) return;
  int p = i % hw;
  int c = (i / hw) % channels;
  int n = i / hw / channels;
  int from = max(c - size / 2, 0), to = min(c + size / 2, channels - 1);
  float sum = 0.0f;
  for (int k = from; k <= to; k++) {
    float v = in[(n * channels + k) * hw + p];
    sum += v * v;
  }
  out[i] = in[i] * powf(2.0f + alpha / size * sum, -beta);
}

// max pooling of volumes with places
extern "C" __global__ void pool3d_max(float* out, int* places, const float* in, int planes, int depth, int height, int width, int od, int oh, int ow, int kernel, int stride) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= planes * od * oh * ow) return;
  int x = i % ow;
  int y = i / ow % oh;
  int z = i / (ow * oh) % od;
  int p = i / (ow * oh * od);
  const float* v = in + (size_t)p * depth * height * width;
  float best = -1e30f;
  int where = -1;
  for (int a = 0; a < kernel; a++)
    for (int b = 0; b < kernel; b++)
      for (int c = 0; c < kernel; c++) {
        int iz = z * stride + a, iy = y * stride + b, ix = x * stride + c;
        if (iz < depth && iy < height && ix < width) {
          int at = (iz * height + iy) * width + ix;
          if (v[at] > best) {
            best = v[at];
            where = at;
          }
        }
      }
  out[i] = best;
  places[i] = where;
}

// temperature on all logits, then a penalty on tokens said before; a block per sequence
extern "C" __global__ void repetition_penalty(float* logits, const int* history, const int* lengths, int vocab, int longest, float temperature, float penalty) {
  int row = blockIdx.x;
  float* mine = logits + (size_t)row * vocab;
  for (int v = threadIdx.x; v < vocab; v += blockDim.x) mine[v] = mine[v] / temperature;
  __syncthreads();
  int length = lengths[row];
  for (int t = threadIdx.x; t < length; t += blockDim.x) {
    int token = history[row * longest + t];
    float l = mine[token];
    mine[token] = l > 0.0f ? l / penalty : l * penalty;
  }
}

struct BlockQ3 {
  float scale;
  uint8_t low[8];   // two bits each
  uint8_t high[4];  // one bit each
};

// 3-bit weights in blocks of 32 to half precision, a thread per block
extern "C" __global__ void dequant_q3_blocks(__half* out, const BlockQ3* in, int blocks) {
  int b = blockIdx.x * blockDim.x + threadIdx.x;
  if (b >= blocks) return;
  float scale = in[b].scale;
  for (int k = 0; k < 32; k++) {
    int low = (in[b].low[k / 4] >> (2 * (k % 4))) & 3;
    int high = (in[b].high[k / 8] >> (k % 8)) & 1;
    out[(size_t)b * 32 + k] = __float2half(scale * (float)((low | (high << 2)) - 4));
  }
}

#define HEAD 32

// attention in a sliding window with sinks, a thread per query and head, online softmax
extern "C" __global__ void window_attention_thread(float* out, const float* q, const float* k, const float* v, int heads, int tokens, int window, int sinks, float scale) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int head = blockIdx.y;
  if (i >= tokens) return;
  float mine[HEAD], acc[HEAD];
  for (int d = 0; d < HEAD; d++) {
    mine[d] = q[((size_t)i * heads + head) * HEAD + d];
    acc[d] = 0.0f;
  }
  float best = -1e30f, sum = 0.0f;
  int start = max(i - window + 1, 0);
  int early = min(sinks, start);
  for (int step = 0; step < early + i - start + 1; step++) {
    int j = step < early ? step : start + step - early;
    const float* kj = k + ((size_t)j * heads + head) * HEAD;
    float s = 0.0f;
    for (int d = 0; d < HEAD; d++) s += mine[d] * kj[d];
    s *= scale;
    float top = fmaxf(best, s);
    float old = expf(best - top), now = expf(s - top);
    const float* vj = v + ((size_t)j * heads + head) * HEAD;
    for (int d = 0; d < HEAD; d++) acc[d] = acc[d] * old + now * vj[d];
    sum = sum * old + now;
    best = top;
  }
  for (int d = 0; d < HEAD; d++) out[((size_t)i * heads + head) * HEAD + d] = acc[d] / sum;
}

__device__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

// a GRU cell, a thread per sequence and hidden unit that works out all six products
extern "C" __global__ void gru_cell_naive(float* next, const float* x, const float* h, const float* wi, const float* wh, const float* bi, const float* bh, int batch, int inputs, int hidden) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int b = blockIdx.y * blockDim.y + threadIdx.y;
  if (j >= hidden || b >= batch) return;
  float gi[3], gh[3];
  for (int g = 0; g < 3; g++) {
    float s = bi[g * hidden + j];
    for (int k = 0; k < inputs; k++) s += wi[(g * hidden + j) * inputs + k] * x[b * inputs + k];
    gi[g] = s;
    s = bh[g * hidden + j];
    for (int k = 0; k < hidden; k++) s += wh[(g * hidden + j) * hidden + k] * h[b * hidden + k];
    gh[g] = s;
  }
  float r = sigmoid(gi[0] + gh[0]);
  float z = sigmoid(gi[1] + gh[1]);
  float n = tanhf(gi[2] + r * gh[2]);
  next[b * hidden + j] = (1.0f - z) * n + z * h[b * hidden + j];
}

__device__ float log_add(float a, float b) {
  float m = fmaxf(a, b);
  if (m < -1e29f) return -1e30f;
  return m + logf(expf(a - m) + expf(b - m));
}

// forward variables of CTC, a block per sequence, a barrier per time step
extern "C" __global__ void ctc_alpha(float* loss, const float* logp, const int* targets, int times, int symbols, int length) {
  extern __shared__ float alpha[];
  int states = 2 * length + 1;
  float* old = alpha;
  float* now = alpha + states;
  const float* lp = logp + (size_t)blockIdx.x * times * symbols;
  const int* target = targets + blockIdx.x * length;
  for (int s = threadIdx.x; s < states; s += blockDim.x) {
    int symbol = (s & 1) ? target[s / 2] : 0;
    old[s] = s < 2 ? lp[symbol] : -1e30f;
  }
  __syncthreads();
  for (int t = 1; t < times; t++) {
    for (int s = threadIdx.x; s < states; s += blockDim.x) {
      int symbol = (s & 1) ? target[s / 2] : 0;
      float a = old[s];
      if (s > 0) a = log_add(a, old[s - 1]);
      if ((s & 1) && s > 2 && symbol != target[s / 2 - 1]) a = log_add(a, old[s - 2]);
      now[s] = a + lp[(size_t)t * symbols + symbol];
    }
    __syncthreads();
    float* swap = old;
    old = now;
    now = swap;
  }
  if (threadIdx.x == 0) loss[blockIdx.x] = -log_add(old[states - 1], old[states - 2]);
}

// kept tokens of a KV cache are moved together, four floats a thread
extern "C" __global__ void evict_tokens(float4* kout, float4* vout, const float4* k, const float4* v, const int* keep, int rows, int kept, int capacity, int dim4) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows * kept * dim4) return;
  int d = i % dim4;
  int t = (i / dim4) % kept;
  int row = i / (dim4 * kept);
  int from = keep[row * kept + t];
  size_t at = ((size_t)row * capacity + from) * dim4 + d;
  kout[i] = k[at];
  vout[i] = v[at];
}
