#include <cuda_fp16.h>
#include <cstdint>
// ---- elementwise, strides ----
__global__ void relu_grid_stride(float* __restrict__ y, const float* __restrict__ x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = fmaxf(x[i], 0.f);
}
__global__ void axpby_strided(float* y, const float* x, float a, float b, int n, int incx, int incy, int offx) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[(size_t)i * incy] = a * x[offx + (size_t)i * incx] + b * y[(size_t)i * incy];
}
__global__ void reverse_copy(float* out, const float* in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = in[n - 1 - i];
}
__global__ void neg_stride(double* out, const double* in, int n, int step) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = in[(n - 1) * step - i * step];
}
__global__ void add_bias_rows(float* x, const float* __restrict__ bias, int rows, int cols) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < (unsigned)rows * cols) x[i] += bias[i % cols];
}
__global__ void channel_scale(float* x, const float* __restrict__ s, int n, int c, int hw) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n * c * hw) x[i] *= s[(i / hw) % c];
}
__global__ void float4_scale(float4* x, float a, long long n4) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n4) { float4 v = x[i]; v.x *= a; v.y *= a; v.z *= a; v.w *= a; x[i] = v; }
}
__global__ void half2_gelu(__half2* y, const __half2* x, unsigned n2) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n2) { float2 f = __half22float2(x[i]); f.x = 0.5f*f.x*(1.f+erff(f.x*0.7071f)); f.y = 0.5f*f.y*(1.f+erff(f.y*0.7071f)); y[i] = __float22half2_rn(f); }
}
struct Particle { float x, y, z, m; double e; int id; };
__global__ void aos_push(Particle* p, float dt, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { p[i].x += dt * p[i].m; p[i].e += (double)dt; }
}
struct Soa { float* x; float* y; float* z; int n; float dt; };
__global__ void soa_push(Soa s) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < s.n) { s.x[i] += s.dt * s.y[i]; s.z[i] = s.x[i]; }
}
__global__ void quant_int8(int8_t* q, const float* __restrict__ x, const float* __restrict__ scale, int rows, int cols) {
  int r = blockIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c < cols) { float v = x[(size_t)r * cols + c] / scale[r]; q[(size_t)r * cols + c] = (int8_t)max(-128, min(127, __float2int_rn(v))); }
}
__global__ void dequant_group(__half* y, const uint32_t* __restrict__ q, const __half* __restrict__ sc, int n, int group) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i * 8 >= n) return;
  uint32_t w = q[i]; float s = __half2float(sc[i * 8 / group]);
#pragma unroll
  for (int k = 0; k < 8; k++) y[i * 8 + k] = __float2half(((int)((w >> (4 * k)) & 15) - 8) * s);
}
__global__ void pack_bits(uint32_t* out, const float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned b = __ballot_sync(~0u, i < n && x[min(i, n - 1)] > 0.f);
  if ((threadIdx.x & 31) == 0 && i < n) out[i >> 5] = b;
}
__global__ void popcount_words(int* out, const uint64_t* __restrict__ w, long n) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x; int c = 0;
  for (; i < n; i += (long)gridDim.x * blockDim.x) c += __popcll(w[i]);
  for (int d = 16; d; d >>= 1) c += __shfl_down_sync(~0u, c, d);
  if (threadIdx.x % 32 == 0) atomicAdd(out, c);
}
__global__ void swap_halves(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, h = n / 2;
  if (i < h) { float t = x[i]; x[i] = x[i + h]; x[i + h] = t; }
}
__global__ void bit_reverse(float2* out, const float2* in, int log2n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < (1u << log2n)) out[i] = in[__brev(i) >> (32 - log2n)];
}
__global__ void butterfly(float2* x, int n, int half) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n / 2) return;
  int i = (t / half) * 2 * half + t % half;
  float2 a = x[i], b = x[i + half];
  x[i] = make_float2(a.x + b.x, a.y + b.y); x[i + half] = make_float2(a.x - b.x, a.y - b.y);
}
__global__ void rope(float* q, const float* __restrict__ cs, const float* __restrict__ sn, int tokens, int heads, int d) {
  int t = blockIdx.x, h = blockIdx.y, half = d / 2;
  for (int i = threadIdx.x; i < half; i += blockDim.x) {
    float* p = q + ((size_t)t * heads + h) * d;
    float a = p[i], b = p[i + half], c = cs[t * half + i], s = sn[t * half + i];
    p[i] = a * c - b * s; p[i + half] = a * s + b * c;
  }
}
__global__ void im2col(float* col, const float* __restrict__ im, int C, int H, int W, int K, int stride, int pad, int OH, int OW) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= C * OH * OW) return;
  int ow = i % OW, oh = i / OW % OH, c = i / (OW * OH);
  for (int ky = 0; ky < K; ky++) for (int kx = 0; kx < K; kx++) {
    int y = oh * stride - pad + ky, x = ow * stride - pad + kx;
    col[((c * K + ky) * K + kx) * OH * OW + oh * OW + ow] = (y >= 0 && y < H && x >= 0 && x < W) ? im[(c * H + y) * W + x] : 0.f;
  }
}
__global__ void upsample2(float* out, const float* in, int h, int w) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 2 * w && y < 2 * h) out[(size_t)y * 2 * w + x] = in[(size_t)(y / 2) * w + x / 2];
}
__global__ void rgb_gray(unsigned char* g, const uchar3* rgb, int w, int h, int pitch) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  uchar3 p = rgb[y * w + x]; g[y * pitch + x] = (p.x * 77 + p.y * 150 + p.z * 29) >> 8;
}
__global__ void concat_cols(float* out, const float* a, const float* b, int rows, int ca, int cb) {
  int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows || c >= ca + cb) return;
  out[r * (ca + cb) + c] = c < ca ? a[r * ca + c] : b[r * cb + c - ca];
}
__global__ void tri_copy(float* out, const float* in, int n) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r < n && c <= r) out[r * n + c] = in[r * n + c];
}
