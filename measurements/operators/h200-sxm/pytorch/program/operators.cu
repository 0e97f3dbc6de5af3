// Operators that PyTorch has no single kernel for, written as plain good CUDA, and the markers of a
// measurement. Layouts: a cache is [batch*kv_heads][context][width of a head], weights are
// [rows][columns], all 16-bit halves, sums in float.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>

// Markers and the flush -------------------------------------------------------------------------

__global__ void pm_point() {}
__global__ void pm_rep() {}
__global__ void pm_flush(const uint4* __restrict__ in, int64_t n, uint4* out) {
  uint4 sum = {0, 0, 0, 0};
  for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n;
       i += (int64_t)gridDim.x * blockDim.x) {
    uint4 v = in[i];
    sum.x ^= v.x; sum.y ^= v.y; sum.z ^= v.z; sum.w ^= v.w;
  }
  if (sum.x == 0x12345678u && sum.y == 0x9abcdef0u) out[0] = sum;
}

__device__ inline void unpack(uint4 raw, float (&f)[8]) {
  const __half2* h = reinterpret_cast<const __half2*>(&raw);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float2 v = __half22float2(h[i]);
    f[2 * i] = v.x;
    f[2 * i + 1] = v.y;
  }
}

// y = W x: a warp a row, 16 bytes a lane, four loads of W in flight -------------------------------

__global__ void __launch_bounds__(128) pm_gemv(const __half* __restrict__ w, const __half* __restrict__ x,
                                               __half* __restrict__ y, int rows, int columns) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  const uint4* wv = reinterpret_cast<const uint4*>(w + (int64_t)row * columns);
  const uint4* xv = reinterpret_cast<const uint4*>(x);
  float sum = 0;
#pragma unroll 4
  for (int c = lane; c < columns / 8; c += 32) {
    float a[8], b[8];
    unpack(wv[c], a);
    unpack(xv[c], b);
#pragma unroll
    for (int i = 0; i < 8; ++i) sum += a[i] * b[i];
  }
#pragma unroll
  for (int s = 16; s > 0; s /= 2) sum += __shfl_xor_sync(~0u, sum, s);
  if (lane == 0) y[row] = __float2half(sum);
}

// One new row of K and of V for every head --------------------------------------------------------

__global__ void pm_kv_append(const uint4* __restrict__ k, const uint4* __restrict__ v,
                             uint4* __restrict__ kc, uint4* __restrict__ vc, int heads, int context,
                             int width8, int at) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= heads * width8) return;
  int64_t to = ((int64_t)(i / width8) * context + at) * width8 + i % width8;
  kc[to] = k[i];
  vc[to] = v[i];
}

// Decode attention: one query a head against the cache, a block a part of the context --------------
// A group of width/8 lanes takes a row, so a warp takes 256/width rows at a time.

template <int WIDTH>
__global__ void __launch_bounds__(128)
    pm_decode(const __half* __restrict__ q, const __half* __restrict__ k, const __half* __restrict__ v,
              float* __restrict__ partial, int heads_per_kv, int context, int part) {
  constexpr int LANES = WIDTH / 8, GROUPS = 128 / LANES, UNROLL = 4;
  int head = blockIdx.y, split = blockIdx.x;
  int lane = threadIdx.x % LANES, group = threadIdx.x / LANES;
  int64_t base = (int64_t)(head / heads_per_kv) * context * LANES;
  const uint4* kv = reinterpret_cast<const uint4*>(k) + base + lane;
  const uint4* vv = reinterpret_cast<const uint4*>(v) + base + lane;
  float qf[8], o[8] = {}, m = -1e30f, l = 0;
  unpack(reinterpret_cast<const uint4*>(q)[head * LANES + lane], qf);
  int end = min(context, (split + 1) * part);
  for (int first = split * part; first < end; first += GROUPS * UNROLL) {  // all lanes together
    int r0 = first + group;
    uint4 kr[UNROLL], vr[UNROLL];
    float s[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      int r = min(r0 + u * GROUPS, end - 1);
      kr[u] = kv[(int64_t)r * LANES];
      vr[u] = vv[(int64_t)r * LANES];
    }
    float top = m;
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      float f[8];
      unpack(kr[u], f);
      float dot = 0;
#pragma unroll
      for (int i = 0; i < 8; ++i) dot += f[i] * qf[i];
#pragma unroll
      for (int x = LANES / 2; x > 0; x /= 2) dot += __shfl_xor_sync(~0u, dot, x);
      s[u] = r0 + u * GROUPS < end ? dot : -1e30f;
      top = fmaxf(top, s[u]);
    }
    float scale = __expf(m - top);
    m = top;
    l *= scale;
#pragma unroll
    for (int i = 0; i < 8; ++i) o[i] *= scale;
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      float f[8], p = r0 + u * GROUPS < end ? __expf(s[u] - top) : 0.f;
      unpack(vr[u], f);
      l += p;
#pragma unroll
      for (int i = 0; i < 8; ++i) o[i] += p * f[i];
    }
  }
  __shared__ float sm[GROUPS], sl[GROUPS], so[GROUPS][WIDTH];
  if (lane == 0) { sm[group] = m; sl[group] = l; }
#pragma unroll
  for (int i = 0; i < 8; ++i) so[group][lane * 8 + i] = o[i];
  __syncthreads();
  if (threadIdx.x < WIDTH) {
    float top = -1e30f, sum = 0, out = 0;
    for (int g = 0; g < GROUPS; ++g) top = fmaxf(top, sm[g]);
    for (int g = 0; g < GROUPS; ++g) {
      float w = __expf(sm[g] - top);
      sum += w * sl[g];
      out += w * so[g][threadIdx.x];
    }
    float* to = partial + ((int64_t)head * gridDim.x + split) * (WIDTH + 2);
    to[threadIdx.x] = out;
    if (threadIdx.x == 0) { to[WIDTH] = top; to[WIDTH + 1] = sum; }
  }
}

template <int WIDTH>
__global__ void pm_decode_combine(const float* __restrict__ partial, __half* __restrict__ out, int splits) {
  const float* from = partial + (int64_t)blockIdx.x * splits * (WIDTH + 2);
  float top = -1e30f, sum = 0, o = 0;
  for (int s = 0; s < splits; ++s) top = fmaxf(top, from[s * (WIDTH + 2) + WIDTH]);
  for (int s = 0; s < splits; ++s) {
    const float* p = from + s * (WIDTH + 2);
    float w = __expf(p[WIDTH] - top);
    sum += w * p[WIDTH + 1];
    o += w * p[threadIdx.x];
  }
  out[blockIdx.x * WIDTH + threadIdx.x] = __float2half(o / sum);
}

// Prefill attention as it is first written: a block a query, its scores in memory -----------------
// Not causal. Width 128: thread t takes keys t, t+128, ... for the scores, then column t of V.

__global__ void __launch_bounds__(128)
    pm_prefill_naive(const __half* __restrict__ q, const __half* __restrict__ k, const __half* __restrict__ v,
                     float* __restrict__ scores, __half* __restrict__ out, int tokens) {
  constexpr int WIDTH = 128;
  int64_t head = blockIdx.y, row = blockIdx.x;
  const __half* qr = q + (head * tokens + row) * WIDTH;
  float* sr = scores + (head * tokens + row) * tokens;
  float top = -1e30f;
  for (int j = threadIdx.x; j < tokens; j += WIDTH) {
    const uint4* kr = reinterpret_cast<const uint4*>(k + (head * tokens + j) * WIDTH);
    const uint4* qv = reinterpret_cast<const uint4*>(qr);
    float dot = 0;
#pragma unroll 4
    for (int c = 0; c < WIDTH / 8; ++c) {
      float a[8], b[8];
      unpack(kr[c], a);
      unpack(qv[c], b);
#pragma unroll
      for (int i = 0; i < 8; ++i) dot += a[i] * b[i];
    }
    sr[j] = dot;
    top = fmaxf(top, dot);
  }
  __shared__ float part[4];
#pragma unroll
  for (int s = 16; s > 0; s /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, s));
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = top;
  __syncthreads();
  top = fmaxf(fmaxf(part[0], part[1]), fmaxf(part[2], part[3]));
  float sum = 0, o = 0;
#pragma unroll 4
  for (int j = 0; j < tokens; ++j) {
    float p = __expf(sr[j] - top);
    sum += p;
    o += p * __half2float(v[(head * tokens + j) * WIDTH + threadIdx.x]);
  }
  out[(head * tokens + row) * WIDTH + threadIdx.x] = __float2half(o / sum);
}

extern "C" {
int launch_point() { pm_point<<<1, 1>>>(); return cudaGetLastError(); }
int launch_rep() { pm_rep<<<1, 1>>>(); return cudaGetLastError(); }
int launch_flush(void* in, int64_t bytes) {
  pm_flush<<<528, 512>>>((const uint4*)in, bytes / 16, (uint4*)in);
  return cudaGetLastError();
}
int launch_gemv(void* w, void* x, void* y, int rows, int columns) {
  pm_gemv<<<(rows + 3) / 4, 128>>>((const __half*)w, (const __half*)x, (__half*)y, rows, columns);
  return cudaGetLastError();
}
int launch_kv_append(void* k, void* v, void* kc, void* vc, int heads, int context, int width, int at) {
  int n = heads * width / 8;
  pm_kv_append<<<(n + 127) / 128, 128>>>((const uint4*)k, (const uint4*)v, (uint4*)kc, (uint4*)vc, heads,
                                         context, width / 8, at);
  return cudaGetLastError();
}
int launch_decode(void* q, void* k, void* v, void* partial, void* out, int heads, int per_kv, int context,
                  int part, int width) {
  int splits = (context + part - 1) / part;
  dim3 grid(splits, heads);
  if (width == 128) {
    pm_decode<128><<<grid, 128>>>((const __half*)q, (const __half*)k, (const __half*)v, (float*)partial,
                                  per_kv, context, part);
    pm_decode_combine<128><<<heads, 128>>>((const float*)partial, (__half*)out, splits);
  } else {
    pm_decode<64><<<grid, 128>>>((const __half*)q, (const __half*)k, (const __half*)v, (float*)partial,
                                 per_kv, context, part);
    pm_decode_combine<64><<<heads, 64>>>((const float*)partial, (__half*)out, splits);
  }
  return cudaGetLastError();
}
int launch_prefill_naive(void* q, void* k, void* v, void* s, void* out, int heads, int tokens) {
  dim3 grid(tokens, heads);
  pm_prefill_naive<<<grid, 128>>>((const __half*)q, (const __half*)k, (const __half*)v, (float*)s,
                                  (__half*)out, tokens);
  return cudaGetLastError();
}
}
