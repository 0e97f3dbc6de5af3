#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math.h>
#define ID (blockIdx.x * blockDim.x + threadIdx.x)
// Colours to hue, saturation and value: differences that may be nothing, divided
extern "C" __global__ void rgb_to_hsv(const uchar4* __restrict__ in, float4* __restrict__ out, int n) {
  int i = ID;
  if (i >= n) return;
  uchar4 p = in[i];
  float r = p.x / 255.0f, g = p.y / 255.0f, b = p.z / 255.0f;
  float most = fmaxf(r, fmaxf(g, b)), least = fminf(r, fminf(g, b)), d = most - least, h = 0.0f;
  if (d > 0.0f) {
    if (most == r)
      h = fmodf((g - b) / d, 6.0f);
    else if (most == g)
      h = (b - r) / d + 2.0f;
    else
      h = (r - g) / d + 4.0f;
    h *= 60.0f;
    if (h < 0) h += 360.0f;
  }
  out[i] = make_float4(h, most > 0 ? d / most : 0.0f, most, p.w / 255.0f);
}
// Edge-preserving filter of 7 by 7 from shared memory
extern "C" __global__ void __launch_bounds__(256)
    bilateral(const float* __restrict__ in, float* __restrict__ out, int width, int height, float ss, float sr) {
  __shared__ float tile[22][22 + 1];
  int x0 = blockIdx.x * 16 - 3, y0 = blockIdx.y * 16 - 3, t = threadIdx.y * 16 + threadIdx.x;
  for (int k = t; k < 22 * 22; k += 256) {
    int y = min(max(y0 + k / 22, 0), height - 1), x = min(max(x0 + k % 22, 0), width - 1);
    tile[k / 22][k % 22] = in[y * width + x];
  }
  __syncthreads();
  float c = tile[threadIdx.y + 3][threadIdx.x + 3], sum = 0, all = 0;
  for (int dy = -3; dy <= 3; ++dy)
    for (int dx = -3; dx <= 3; ++dx) {
      float v = tile[threadIdx.y + 3 + dy][threadIdx.x + 3 + dx],
            e = expf(-(dx * dx + dy * dy) * ss - (v - c) * (v - c) * sr);
      sum += e * v;
      all += e;
    }
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x < width && y < height) out[y * width + x] = sum / all;
}
// Rational functions of differences that are cut off at nothing: Hill's curves
extern "C" __global__ void hill_curves(const float* __restrict__ dose, const float* __restrict__ half,
                                       float* __restrict__ out, int n, float floor) {
  int i = ID;
  if (i >= n) return;
  float d = fmaxf(dose[i] - floor, 0.0f), k = half[i] + 0.1f, e = d * d / (k * k + d * d), s = sqrtf(d),
        r = s / (s + k);
  out[i] = e + r * (1.0f - e);
}
// Halves in pairs: a polynomial of degree 12
extern "C" __global__ void half_polynomial(const __half2* __restrict__ in, __half2* __restrict__ out, int n,
                                           int rounds) {
  int i = ID;
  if (i >= n) return;
  __half2 x = in[i], y = __float2half2_rn(0.5f);
  for (int k = 0; k < rounds; ++k) {
#pragma unroll
    for (int j = 0; j < 12; ++j) y = __hfma2(y, x, __float2half2_rn(0.01f * (j + 1)));
  }
  out[i] = y;
}
// GELU of bfloat16 by tanhf
extern "C" __global__ void gelu_bf16(const __nv_bfloat162* __restrict__ in, __nv_bfloat162* __restrict__ out, int n) {
  int i = ID;
  if (i >= n) return;
  float2 v = __bfloat1622float2(in[i]);
  v.x = 0.5f * v.x * (1.0f + tanhf(0.79788456f * (v.x + 0.044715f * v.x * v.x * v.x)));
  v.y = 0.5f * v.y * (1.0f + tanhf(0.79788456f * (v.y + 0.044715f * v.y * v.y * v.y)));
  out[i] = __float22bfloat162_rn(v);
}
// Products of bytes by dp4a: a row a thread from shared memory
extern "C" __global__ void __launch_bounds__(256)
    dp4a_rows(const int4* __restrict__ weights, const int4* __restrict__ x, int* __restrict__ out, int rows,
              int pieces) {
  extern __shared__ int4 line[];
  for (int k = threadIdx.x; k < pieces; k += 256) line[k] = x[k];
  __syncthreads();
  int i = ID;
  if (i >= rows) return;
  int s = 0;
  for (int k = 0; k < pieces; ++k) {
    int4 w = weights[(long long)k * rows + i], v = line[k];
    s = __dp4a(w.x, v.x, s);
    s = __dp4a(w.y, v.y, s);
    s = __dp4a(w.z, v.z, s);
    s = __dp4a(w.w, v.w, s);
  }
  out[i] = s;
}
// Nearest of codes by Hamming's distance
extern "C" __global__ void __launch_bounds__(256)
    hamming_nearest(const uint4* __restrict__ queries, const uint4* __restrict__ codes, int* __restrict__ out, int n,
                    int many) {
  __shared__ uint4 tile[256];
  int i = ID, best = 1 << 20, which = -1;
  uint4 q = queries[min(i, n - 1)];
  for (int first = 0; first < many; first += 256) {
    tile[threadIdx.x] = codes[first + threadIdx.x];
    __syncthreads();
    for (int k = 0; k < 256; ++k) {
      uint4 c = tile[k];
      int d = __popc(q.x ^ c.x) + __popc(q.y ^ c.y) + __popc(q.z ^ c.z) + __popc(q.w ^ c.w);
      if (d < best) {
        best = d;
        which = first + k;
      }
    }
    __syncthreads();
  }
  if (i < n) out[i] = which;
}
// Numbers of 11 bits out of words, by funnel shifts, with the sums of their squares
extern "C" __global__ void unpack_eleven(const unsigned* __restrict__ in, float* __restrict__ out, int n, int each) {
  int i = ID;
  if (i >= n) return;
  float s = 0.0f;
  for (int k = 0; k < each; ++k) {
    unsigned at = 11u * (k * n + i), w = at / 32;
    unsigned v = __funnelshift_r(in[w], in[w + 1], at % 32) & 2047u;
    float f = v * 0.0004885f - 0.5f;
    s += f * f;
  }
  out[i] = s;
}
// Morton's codes of three coordinates of 21 bits
extern "C" __global__ void morton(const float* __restrict__ xyz, unsigned long long* __restrict__ out, int n) {
  int i = ID;
  if (i >= n) return;
  unsigned long long m = 0;
  for (int a = 0; a < 3; ++a) {
    unsigned long long v = (unsigned long long)(xyz[3 * i + a] * 2097151.0f);
    v = (v | v << 32) & 0x1f00000000ffffull;
    v = (v | v << 16) & 0x1f0000ff0000ffull;
    v = (v | v << 8) & 0x100f00f00f00f00full;
    v = (v | v << 4) & 0x10c30c30c30c30c3ull;
    v = (v | v << 2) & 0x1249249249249249ull;
    m |= v << a;
  }
  out[i] = m;
}
// Products in the field of 256 elements, bit by bit
extern "C" __global__ void gf256(const unsigned char* __restrict__ a, const unsigned char* __restrict__ b,
                                 unsigned char* __restrict__ out, int n) {
  int i = ID;
  if (i >= n) return;
  unsigned x = a[i], y = b[i], r = 0;
  for (int k = 0; k < 8; ++k) {
    if (y & 1) r ^= x;
    x = x << 1 ^ (x & 128 ? 0x11b : 0);
    y >>= 1;
  }
  out[i] = r;
}
// Greatest common divisors of 64 bits without division
extern "C" __global__ void binary_gcd(const unsigned long long* __restrict__ a, unsigned long long* __restrict__ out,
                                      int n) {
  int i = ID;
  if (i >= n) return;
  unsigned long long x = a[i] | 1, y = a[(i + 7) % n] | 1;
  while (x != y) {
    if (x > y) {
      x -= y;
      x >>= __ffsll(x) - 1;
    } else {
      y -= x;
      y >>= __ffsll(y) - 1;
    }
  }
  out[i] = x;
}
// Polar coordinates and back
extern "C" __global__ void polar(const float2* __restrict__ in, float2* __restrict__ out, int n, float turn) {
  int i = ID;
  if (i >= n) return;
  float2 p = in[i];
  float x = p.x - 0.5f, y = p.y - 0.5f, r = hypotf(x, y), a = atan2f(y, x) + turn * r, s, c;
  sincosf(a, &s, &c);
  out[i] = make_float2(powf(r, 0.9f) * c, powf(r, 0.9f) * s);
}
// Products of numbers of 256 bits, limbs of 32, and their lower half
extern "C" __global__ void multiply256(const uint4* __restrict__ a, const uint4* __restrict__ b,
                                       uint4* __restrict__ out, int n, int rounds) {
  int i = ID;
  if (i >= n) return;
  unsigned x[8], y[8], z[8];
  uint4 v = a[2 * i], w = a[2 * i + 1];
  x[0] = v.x;
  x[1] = v.y;
  x[2] = v.z;
  x[3] = v.w;
  x[4] = w.x;
  x[5] = w.y;
  x[6] = w.z;
  x[7] = w.w;
  v = b[2 * i];
  w = b[2 * i + 1];
  y[0] = v.x;
  y[1] = v.y;
  y[2] = v.z;
  y[3] = v.w;
  y[4] = w.x;
  y[5] = w.y;
  y[6] = w.z;
  y[7] = w.w;
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
#pragma unroll
    for (int k = 0; k < 8; ++k) z[k] = 0;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      unsigned long long c = 0;
#pragma unroll
      for (int j = 0; j + k < 8; ++j) {
        c += (unsigned long long)x[j] * y[k] + z[j + k];
        z[j + k] = (unsigned)c;
        c >>= 32;
      }
    }
#pragma unroll
    for (int k = 0; k < 8; ++k) x[k] = z[k];
  }
  out[2 * i] = make_uint4(x[0], x[1], x[2], x[3]);
  out[2 * i + 1] = make_uint4(x[4], x[5], x[6], x[7]);
}
