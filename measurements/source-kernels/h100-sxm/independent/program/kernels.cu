#include <cuda_fp16.h>
#include <stdint.h>
#include <math.h>

#define FULL 0xffffffffu

static __device__ __forceinline__ uint32_t mix32(uint32_t h) {
  h ^= h >> 16; h *= 0x7feb352du; h ^= h >> 15; h *= 0x846ca68bu; h ^= h >> 16;
  return h;
}
static __device__ __forceinline__ uint32_t ror32(uint32_t x, int k) { return __funnelshift_r(x, x, k); }
static __device__ __forceinline__ float warpSum(float v) {
#pragma unroll
  for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(FULL, v, o);
  return v;
}

extern "C" {

// ---------------------------------------------------------------- stencils and image filters

__global__ void bilateral_filter(float* __restrict__ dst, const float* __restrict__ src, int w, int h, int r, float inv_s2, float inv_r2) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float c = src[y * w + x], num = 0.f, den = 0.f;
  for (int dy = -r; dy <= r; ++dy) {
    int yy = min(max(y + dy, 0), h - 1);
    for (int dx = -r; dx <= r; ++dx) {
      int xx = min(max(x + dx, 0), w - 1);
      float v = src[yy * w + xx], d = v - c;
      float g = __expf(-(dx * dx + dy * dy) * inv_s2 - d * d * inv_r2);
      num += g * v; den += g;
    }
  }
  dst[y * w + x] = num / den;
}

// non-local means, 7x7 search window, 3x3 patches
__global__ void nlm_7x3_shared(float* dst, const float* __restrict__ src, int w, int h, float inv_h2) {
  __shared__ float t[24][25];
  int x0 = blockIdx.x * 16, y0 = blockIdx.y * 16;
  for (int k = threadIdx.y * 16 + threadIdx.x; k < 24 * 24; k += 256) {
    int j = k / 24, i = k % 24;
    int gx = min(max(x0 + i - 4, 0), w - 1), gy = min(max(y0 + j - 4, 0), h - 1);
    t[j][i] = src[gy * w + gx];
  }
  __syncthreads();
  int x = x0 + threadIdx.x, y = y0 + threadIdx.y;
  if (x >= w || y >= h) return;
  int cx = threadIdx.x + 4, cy = threadIdx.y + 4;
  float acc = 0.f, ws = 0.f;
  for (int sy = -3; sy <= 3; ++sy)
    for (int sx = -3; sx <= 3; ++sx) {
      float d = 0.f;
#pragma unroll
      for (int py = -1; py <= 1; ++py)
#pragma unroll
        for (int px = -1; px <= 1; ++px) {
          float e = t[cy + sy + py][cx + sx + px] - t[cy + py][cx + px];
          d = fmaf(e, e, d);
        }
      float g = __expf(-d * inv_h2);
      acc += g * t[cy + sy][cx + sx];
      ws += g;
    }
  dst[y * w + x] = acc / ws;
}

__global__ void dilate_disk_u8(uint8_t* __restrict__ dst, const uint8_t* __restrict__ src, int w, int h, int r) {
  extern __shared__ uint8_t dtile[];
  const int tw = blockDim.x + 2 * r, th = blockDim.y + 2 * r;
  const int bx = blockIdx.x * blockDim.x - r, by = blockIdx.y * blockDim.y - r;
  for (int k = threadIdx.y * blockDim.x + threadIdx.x; k < tw * th; k += blockDim.x * blockDim.y) {
    int gx = bx + k % tw, gy = by + k / tw;
    dtile[k] = (gx >= 0 && gx < w && gy >= 0 && gy < h) ? src[(size_t)gy * w + gx] : 0;
  }
  __syncthreads();
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  int m = 0;
  for (int dy = -r; dy <= r; ++dy)
    for (int dx = -r; dx <= r; ++dx)
      if (dx * dx + dy * dy <= r * r)
        m = max(m, (int)dtile[(threadIdx.y + r + dy) * tw + threadIdx.x + r + dx]);
  dst[(size_t)y * w + x] = (uint8_t)m;
}

// grid-stride 7-point diffusion with periodic wrap in all directions
__global__ void heat3d_periodic(float* __restrict__ u1, const float* __restrict__ u0, int nx, int ny, int nz, float k) {
  int total = nx * ny * nz;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x) {
    int x = i % nx, y = (i / nx) % ny, z = i / (nx * ny);
    int xm = x == 0 ? nx - 1 : x - 1, xp = x == nx - 1 ? 0 : x + 1;
    int ym = y == 0 ? ny - 1 : y - 1, yp = y == ny - 1 ? 0 : y + 1;
    int zm = z == 0 ? nz - 1 : z - 1, zp = z == nz - 1 ? 0 : z + 1;
    float c = u0[i];
    float lap = u0[(z * ny + y) * nx + xm] + u0[(z * ny + y) * nx + xp] + u0[(z * ny + ym) * nx + x] +
                u0[(z * ny + yp) * nx + x] + u0[(zm * ny + y) * nx + x] + u0[(zp * ny + y) * nx + x] - 6.f * c;
    u1[i] = c + k * lap;
  }
}

// acoustic wave, radius 4 star, marching along z with a register queue; arrays padded by 4 on every side
__global__ void __launch_bounds__(512) fd3d_star_r4(float* __restrict__ next, const float* __restrict__ cur, const float* __restrict__ vel, int nx, int ny, int nz) {
  const int R = 4;
  __shared__ float s[16 + 2 * R][32 + 2 * R];
  const float c0 = -2.847222f, c[4] = {1.6f, -0.2f, 0.025396825f, -0.0017857143f};
  const int px = nx + 2 * R, py = ny + 2 * R;
  const size_t plane = (size_t)px * py;
  const int tx = threadIdx.x + R, ty = threadIdx.y + R;
  size_t in = (size_t)(blockIdx.y * 16 + ty) * px + blockIdx.x * 32 + tx;
  float behind[4], front[4], mid;
#pragma unroll
  for (int k = 3; k >= 0; --k) { behind[k] = cur[in]; in += plane; }
  mid = cur[in];
  size_t at = in;
  in += plane;
#pragma unroll
  for (int k = 0; k < 4; ++k) { front[k] = cur[in]; in += plane; }
  for (int z = 0; z < nz; ++z) {
    __syncthreads();
    s[ty][tx] = mid;
    if (threadIdx.y < R) {
      s[threadIdx.y][tx] = cur[at - (size_t)R * px];
      s[threadIdx.y + 16 + R][tx] = cur[at + (size_t)16 * px];
    }
    if (threadIdx.x < R) {
      s[ty][threadIdx.x] = cur[at - R];
      s[ty][threadIdx.x + 32 + R] = cur[at + 32];
    }
    __syncthreads();
    float v = 3.f * c0 * mid;
#pragma unroll
    for (int k = 1; k <= R; ++k)
      v += c[k - 1] * (front[k - 1] + behind[k - 1] + s[ty - k][tx] + s[ty + k][tx] + s[ty][tx - k] + s[ty][tx + k]);
    next[at] = 2.f * mid - next[at] + vel[at] * v;
    if (z + 1 < nz) {
#pragma unroll
      for (int k = 3; k > 0; --k) behind[k] = behind[k - 1];
      behind[0] = mid;
      mid = front[0];
#pragma unroll
      for (int k = 0; k < 3; ++k) front[k] = front[k + 1];
      front[3] = cur[in];
      in += plane;
      at += plane;
    }
  }
}

__global__ void gray_scott_step(float2* __restrict__ out, const float2* __restrict__ in, int nx, int ny, float feed, float kill) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= nx || y >= ny) return;
  int l = (x + nx - 1) % nx, r = (x + 1) % nx, d = (y + ny - 1) % ny, u = (y + 1) % ny;
  float2 c = in[y * nx + x], a = in[y * nx + l], b = in[y * nx + r], e = in[d * nx + x], f = in[u * nx + x];
  float lu = a.x + b.x + e.x + f.x - 4.f * c.x, lv = a.y + b.y + e.y + f.y - 4.f * c.y;
  float uvv = c.x * c.y * c.y;
  out[y * nx + x] = make_float2(c.x + 0.2f * lu - uvv + feed * (1.f - c.x), c.y + 0.1f * lv + uvv - (feed + kill) * c.y);
}

// horizontal 7-tap binomial blur, four pixels a thread
__global__ void blur7_row_vec4(float4* __restrict__ dst, const float4* __restrict__ src, int w4) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= w4) return;
  size_t row = (size_t)blockIdx.y * w4;
  float4 A = __ldg(src + row + max(x - 1, 0)), B = __ldg(src + row + x), C = __ldg(src + row + min(x + 1, w4 - 1));
  float v[12] = {A.x, A.y, A.z, A.w, B.x, B.y, B.z, B.w, C.x, C.y, C.z, C.w};
  float o[4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
    o[i] = (v[i + 1] + v[i + 7] + 6.f * (v[i + 2] + v[i + 6]) + 15.f * (v[i + 3] + v[i + 5]) + 20.f * v[i + 4]) * (1.f / 64.f);
  dst[row + x] = make_float4(o[0], o[1], o[2], o[3]);
}

// thinning of gradient magnitudes along the gradient's direction
__global__ void canny_thin(uint8_t* __restrict__ edge, const short2* __restrict__ grad, int w, int h, int lo, int hi) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  size_t p = (size_t)y * w + x;
  if (x == 0 || y == 0 || x == w - 1 || y == h - 1) { edge[p] = 0; return; }
  short2 g = grad[p];
  int ax = abs(g.x), ay = abs(g.y), m = ax + ay;
  if (m < lo) { edge[p] = 0; return; }
  ptrdiff_t step;
  if (ay * 5 < ax * 2) step = 1;
  else if (ax * 5 < ay * 2) step = w;
  else step = ((g.x ^ g.y) < 0) ? w - 1 : w + 1;
  short2 a = grad[p + step], b = grad[p - step];
  int ma = abs(a.x) + abs(a.y), mb = abs(b.x) + abs(b.y);
  edge[p] = (m > ma && m >= mb) ? (m >= hi ? 255 : 128) : 0;
}

// ---------------------------------------------------------------- matrices

// C = A^T B, A stored K x M, B stored K x N; 128x128 tiles, 8x8 per thread, double-buffered
__global__ void __launch_bounds__(256, 2) sgemm_tn_128(float* __restrict__ C, const float* __restrict__ A, const float* __restrict__ B, int M, int N, int K) {
  __shared__ __align__(16) float As[2][8][128];
  __shared__ __align__(16) float Bs[2][8][128];
  const int tid = threadIdx.x, lr = tid / 32, lc = (tid % 32) * 4;
  const int ty = tid / 16, tx = tid % 16;
  const float* pa = A + (size_t)lr * M + blockIdx.y * 128 + lc;
  const float* pb = B + (size_t)lr * N + blockIdx.x * 128 + lc;
  float acc[8][8];
#pragma unroll
  for (int i = 0; i < 8; ++i)
#pragma unroll
    for (int j = 0; j < 8; ++j) acc[i][j] = 0.f;
  *(float4*)&As[0][lr][lc] = *(const float4*)pa;
  *(float4*)&Bs[0][lr][lc] = *(const float4*)pb;
  __syncthreads();
  int buf = 0;
  for (int k0 = 0; k0 < K; k0 += 8) {
    float4 na, nb;
    const bool more = k0 + 8 < K;
    if (more) {
      pa += (size_t)8 * M; pb += (size_t)8 * N;
      na = *(const float4*)pa; nb = *(const float4*)pb;
    }
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      float a[8], b[8];
      *(float4*)&a[0] = *(const float4*)&As[buf][k][ty * 4];
      *(float4*)&a[4] = *(const float4*)&As[buf][k][64 + ty * 4];
      *(float4*)&b[0] = *(const float4*)&Bs[buf][k][tx * 4];
      *(float4*)&b[4] = *(const float4*)&Bs[buf][k][64 + tx * 4];
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) acc[i][j] = fmaf(a[i], b[j], acc[i][j]);
    }
    if (more) {
      buf ^= 1;
      *(float4*)&As[buf][lr][lc] = na;
      *(float4*)&Bs[buf][lr][lc] = nb;
      __syncthreads();
    }
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    int r = blockIdx.y * 128 + (i < 4 ? ty * 4 + i : 64 + ty * 4 + i - 4);
    float* pc = C + (size_t)r * N + blockIdx.x * 128 + tx * 4;
    *(float4*)pc = make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
    *(float4*)(pc + 64) = make_float4(acc[i][4], acc[i][5], acc[i][6], acc[i][7]);
  }
}

// symmetric matrix-vector product reading the upper triangle only
__global__ void symv_upper_atomic(float* y, const float* __restrict__ A, const float* __restrict__ x, int n) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
  if (row >= n) return;
  const float* a = A + (size_t)row * n;
  float xi = x[row], s = lane == 0 ? a[row] * xi : 0.f;
  for (int j = row + 1 + lane; j < n; j += 32) {
    float v = a[j];
    s = fmaf(v, x[j], s);
    atomicAdd(y + j, v * xi);
  }
  s = warpSum(s);
  if (lane == 0) atomicAdd(y + row, s);
}

// a thread factors a packed 6x6 matrix; elements interleaved over the batch
__global__ void chol6_interleaved(float* __restrict__ a, int batch) {
  int b = blockIdx.x * blockDim.x + threadIdx.x;
  if (b >= batch) return;
  float l[21];
#pragma unroll
  for (int k = 0; k < 21; ++k) l[k] = a[(size_t)k * batch + b];
#pragma unroll
  for (int j = 0; j < 6; ++j) {
    float d = l[j * (j + 1) / 2 + j] + 6.f;
#pragma unroll
    for (int k = 0; k < j; ++k) d -= l[j * (j + 1) / 2 + k] * l[j * (j + 1) / 2 + k];
    d = sqrtf(d);
    float inv = 1.f / d;
    l[j * (j + 1) / 2 + j] = d;
#pragma unroll
    for (int i = j + 1; i < 6; ++i) {
      float v = l[i * (i + 1) / 2 + j];
#pragma unroll
      for (int k = 0; k < j; ++k) v -= l[i * (i + 1) / 2 + k] * l[j * (j + 1) / 2 + k];
      l[i * (i + 1) / 2 + j] = v * inv;
    }
  }
#pragma unroll
  for (int k = 0; k < 21; ++k) a[(size_t)k * batch + b] = l[k];
}

// a block factors one n x n matrix in shared memory, right-looking
__global__ void chol_block_shared(float* __restrict__ mats, int n) {
  extern __shared__ float cs[];
  const int ld = n + 1;
  float* g = mats + (size_t)blockIdx.x * n * n;
  for (int e = threadIdx.x; e < n * n; e += blockDim.x) {
    int i = e / n, j = e % n;
    cs[i * ld + j] = g[e] + (i == j ? (float)n : 0.f);
  }
  __syncthreads();
  for (int k = 0; k < n; ++k) {
    if (threadIdx.x == 0) cs[k * ld + k] = sqrtf(cs[k * ld + k]);
    __syncthreads();
    float inv = 1.f / cs[k * ld + k];
    for (int i = k + 1 + threadIdx.x; i < n; i += blockDim.x) cs[i * ld + k] *= inv;
    __syncthreads();
    int m = n - k - 1;
    for (int e = threadIdx.x; e < m * m; e += blockDim.x) {
      int i = k + 1 + e / m, j = k + 1 + e % m;
      if (j <= i) cs[i * ld + j] -= cs[i * ld + k] * cs[j * ld + k];
    }
    __syncthreads();
  }
  for (int e = threadIdx.x; e < n * n; e += blockDim.x) {
    int i = e / n, j = e % n;
    g[e] = j <= i ? cs[i * ld + j] : 0.f;
  }
}

// forward substitution, a thread per right-hand side
__global__ void trsm_lower_cols(float* X, const float* __restrict__ L, int n, int nrhs) {
  extern __shared__ float sL[];
  for (int e = threadIdx.x; e < n * n; e += blockDim.x) sL[e] = L[e];
  __syncthreads();
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= nrhs) return;
  for (int i = 0; i < n; ++i) {
    float v = X[(size_t)i * nrhs + c];
    for (int j = 0; j < i; ++j) v -= sL[i * n + j] * X[(size_t)j * nrhs + c];
    X[(size_t)i * nrhs + c] = v / (sL[i * n + i] + 1.f);
  }
}

__global__ void ger_vec4(float4* __restrict__ A, const float* __restrict__ x, const float4* __restrict__ y, float alpha, int m, int n4) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= n4) return;
  float4 v = y[j];
  v.x *= alpha; v.y *= alpha; v.z *= alpha; v.w *= alpha;
#pragma unroll 4
  for (int i = blockIdx.y; i < m; i += gridDim.y) {
    float s = __ldg(x + i);
    float4 a = A[(size_t)i * n4 + j];
    a.x = fmaf(s, v.x, a.x); a.y = fmaf(s, v.y, a.y); a.z = fmaf(s, v.z, a.z); a.w = fmaf(s, v.w, a.w);
    A[(size_t)i * n4 + j] = a;
  }
}

// band storage as in LAPACK: ab[ku + i - j][j]
__global__ void gbmv_band(double* __restrict__ y, const double* __restrict__ ab, const double* __restrict__ x, int n, int kl, int ku) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int j0 = max(0, i - kl), j1 = min(n - 1, i + ku);
  double s = 0.0;
  for (int j = j0; j <= j1; ++j) s += ab[(size_t)(ku + i - j) * n + j] * x[j];
  y[i] = s;
}

__global__ void inv4x4_adjugate(float4* __restrict__ out, const float4* __restrict__ in, int count) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= count) return;
  float4 r0 = in[4 * t], r1 = in[4 * t + 1], r2 = in[4 * t + 2], r3 = in[4 * t + 3];
  float s0 = r0.x * r1.y - r1.x * r0.y, s1 = r0.x * r1.z - r1.x * r0.z, s2 = r0.x * r1.w - r1.x * r0.w;
  float s3 = r0.y * r1.z - r1.y * r0.z, s4 = r0.y * r1.w - r1.y * r0.w, s5 = r0.z * r1.w - r1.z * r0.w;
  float c5 = r2.z * r3.w - r3.z * r2.w, c4 = r2.y * r3.w - r3.y * r2.w, c3 = r2.y * r3.z - r3.y * r2.z;
  float c2 = r2.x * r3.w - r3.x * r2.w, c1 = r2.x * r3.z - r3.x * r2.z, c0 = r2.x * r3.y - r3.x * r2.y;
  float d = 1.f / (s0 * c5 - s1 * c4 + s2 * c3 + s3 * c2 - s4 * c1 + s5 * c0);
  out[4 * t] = make_float4((r1.y * c5 - r1.z * c4 + r1.w * c3) * d, (-r0.y * c5 + r0.z * c4 - r0.w * c3) * d,
                           (r3.y * s5 - r3.z * s4 + r3.w * s3) * d, (-r2.y * s5 + r2.z * s4 - r2.w * s3) * d);
  out[4 * t + 1] = make_float4((-r1.x * c5 + r1.z * c2 - r1.w * c1) * d, (r0.x * c5 - r0.z * c2 + r0.w * c1) * d,
                               (-r3.x * s5 + r3.z * s2 - r3.w * s1) * d, (r2.x * s5 - r2.z * s2 + r2.w * s1) * d);
  out[4 * t + 2] = make_float4((r1.x * c4 - r1.y * c2 + r1.w * c0) * d, (-r0.x * c4 + r0.y * c2 - r0.w * c0) * d,
                               (r3.x * s4 - r3.y * s2 + r3.w * s0) * d, (-r2.x * s4 + r2.y * s2 - r2.w * s0) * d);
  out[4 * t + 3] = make_float4((-r1.x * c3 + r1.y * c1 - r1.z * c0) * d, (r0.x * c3 - r0.y * c1 + r0.z * c0) * d,
                               (-r3.x * s3 + r3.y * s1 - r3.z * s0) * d, (r2.x * s3 - r2.y * s1 + r2.z * s0) * d);
}

// LU with partial pivoting of 32x32 matrices, a row per lane, columns in registers
__global__ void lu32_warp_pivot(float* __restrict__ A, int* __restrict__ perm, int batch) {
  int b = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
  if (b >= batch) return;
  float* m = A + (size_t)b * 1024;
  float a[32];
#pragma unroll
  for (int j = 0; j < 32; ++j) a[j] = m[j * 32 + lane];
  bool used = false;
  int pos = 0;
#pragma unroll
  for (int k = 0; k < 32; ++k) {
    float best = used ? -1.f : fabsf(a[k]);
    int who = lane;
#pragma unroll
    for (int o = 16; o > 0; o >>= 1) {
      float ob = __shfl_xor_sync(FULL, best, o);
      int ow = __shfl_xor_sync(FULL, who, o);
      if (ob > best || (ob == best && ow < who)) { best = ob; who = ow; }
    }
    float piv = __shfl_sync(FULL, a[k], who);
    if (lane == who) { used = true; pos = k; }
    float f = used ? 0.f : a[k] / piv;
    if (!used) a[k] = f;
#pragma unroll
    for (int j = k + 1; j < 32; ++j) a[j] -= f * __shfl_sync(FULL, a[j], who);
  }
#pragma unroll
  for (int j = 0; j < 32; ++j) m[j * 32 + pos] = a[j];
  perm[(size_t)b * 32 + pos] = lane;
}

// ---------------------------------------------------------------- sparse, graphs, irregular

__global__ void spmv_coo_quads(float* y, const int4* __restrict__ row, const int4* __restrict__ col, const float4* __restrict__ val, const float* __restrict__ x, int quads) {
  int q = blockIdx.x * blockDim.x + threadIdx.x;
  if (q >= quads) return;
  int4 r = row[q], c = col[q];
  float4 v = val[q];
  int cur = r.x;
  float s = v.x * x[c.x];
  float p = v.y * x[c.y];
  if (r.y == cur) s += p; else { atomicAdd(y + cur, s); cur = r.y; s = p; }
  p = v.z * x[c.z];
  if (r.z == cur) s += p; else { atomicAdd(y + cur, s); cur = r.z; s = p; }
  p = v.w * x[c.w];
  if (r.w == cur) s += p; else { atomicAdd(y + cur, s); cur = r.w; s = p; }
  atomicAdd(y + cur, s);
}

// hybrid: a fixed-width part by columns and an overflow part by row pointers
__global__ void spmv_hyb(double* __restrict__ y, const int* __restrict__ ecol, const double* __restrict__ ev, int width, const int* __restrict__ optr, const int* __restrict__ ocol, const double* __restrict__ ov, const double* __restrict__ x, int rows) {
  for (int r = blockIdx.x * blockDim.x + threadIdx.x; r < rows; r += blockDim.x * gridDim.x) {
    double s = 0;
    for (int k = 0; k < width; ++k) {
      size_t e = (size_t)k * rows + r;
      int c = ecol[e];
      if (c >= 0) s += ev[e] * __ldg(x + c);
    }
    for (int k = optr[r]; k < optr[r + 1]; ++k) s += ov[k] * __ldg(x + ocol[k]);
    y[r] = s;
  }
}

__global__ void sssp_relax_edges(int* dist, int* changed, const int2* __restrict__ edge, const int* __restrict__ weight, int ne) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= ne) return;
  int2 uv = edge[e];
  int nd = dist[uv.x] + weight[e];
  if (nd < dist[uv.y]) {
    if (atomicMin(dist + uv.y, nd) > nd) *changed = 1;
  }
}

__global__ void bfs_bottom_up(int* level, int* __restrict__ parent, const int* __restrict__ off, const int* __restrict__ adj, int n, int cur) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n) return;
  if (level[v] <= cur) return;
  int e1 = off[v + 1];
  for (int e = off[v]; e < e1; ++e) {
    int u = adj[e];
    if (level[u] == cur) {
      parent[v] = u;
      level[v] = cur + 1;
      break;
    }
  }
}

// open addressing, empty slot 0
__global__ void hash_insert_linear(unsigned* table, unsigned* __restrict__ payload, const unsigned* __restrict__ keys, int n, unsigned mask) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned key = keys[i] + 1u, slot = mix32(key) & mask;
  for (unsigned t = 0; t <= mask; ++t) {
    unsigned old = atomicCAS(table + slot, 0u, key);
    if (old == 0u || old == key) { payload[slot] = i; return; }
    slot = (slot + 1) & mask;
  }
}

__global__ void hash_probe_linear(int* __restrict__ out, const uint2* __restrict__ table, const unsigned* __restrict__ keys, int n, unsigned mask, int maxprobe) {
  int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
    unsigned key = keys[i], slot = mix32(key) & mask;
    int res = -1;
    for (int t = 0; t < maxprobe; ++t) {
      uint2 kv = table[slot];
      if (kv.x == key) { res = kv.y; break; }
      if (kv.x == 0u) break;
      slot = (slot + 1) & mask;
    }
    out[i] = res;
  }
}

// rows of the sorted right side within [key, key+band]
__global__ void band_join_count(int* __restrict__ first, int* __restrict__ count, const int* __restrict__ left, int m, const int* __restrict__ right, int n, int band) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m) return;
  int k = left[i], lo = 0, hi = n;
  while (lo < hi) {
    int mid = (lo + hi) >> 1;
    if (__ldg(right + mid) < k) lo = mid + 1; else hi = mid;
  }
  int b = lo;
  hi = n;
  while (lo < hi) {
    int mid = (lo + hi) >> 1;
    if (__ldg(right + mid) <= k + band) lo = mid + 1; else hi = mid;
  }
  first[i] = b;
  count[i] = lo - b;
}

// Verlet list from a cell grid
__global__ void neigh_build_cells(int* __restrict__ list, int* __restrict__ num, const float* __restrict__ px, const float* __restrict__ py, const float* __restrict__ pz, const int* __restrict__ cstart, int n, int cx, int cy, int cz, int maxn, float rc2) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = px[i], y = py[i], z = pz[i];
  int ix = min((int)(x * cx), cx - 1), iy = min((int)(y * cy), cy - 1), iz = min((int)(z * cz), cz - 1);
  int cnt = 0;
  for (int kz = max(iz - 1, 0); kz <= min(iz + 1, cz - 1); ++kz)
    for (int ky = max(iy - 1, 0); ky <= min(iy + 1, cy - 1); ++ky)
      for (int kx = max(ix - 1, 0); kx <= min(ix + 1, cx - 1); ++kx) {
        int c = (kz * cy + ky) * cx + kx;
        int e = cstart[c + 1];
        for (int j = cstart[c]; j < e; ++j) {
          float dx = px[j] - x, dy = py[j] - y, dz = pz[j] - z;
          if (j != i && dx * dx + dy * dy + dz * dz < rc2) {
            if (cnt < maxn) list[(size_t)cnt * n + i] = j;
            ++cnt;
          }
        }
      }
  num[i] = min(cnt, maxn);
}

// connected components: hook the larger root below the smaller
__global__ void uf_hook_edges(int* parent, const int* __restrict__ src, const int* __restrict__ dst, int ne) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= ne) return;
  int a = src[e], b = dst[e];
  while (true) {
    int p;
    while ((p = parent[a]) != a) a = p;
    while ((p = parent[b]) != b) b = p;
    if (a == b) return;
    if (a < b) { int t = a; a = b; b = t; }
    int old = atomicCAS(parent + a, a, b);
    if (old == a) return;
    a = old;
  }
}

__global__ void list_rank_jump(int* __restrict__ nxt_out, int* __restrict__ rank_out, const int* __restrict__ nxt, const int* __restrict__ rank, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    int p = nxt[i];
    rank_out[i] = rank[i] + rank[p];
    nxt_out[i] = nxt[p];
  }
}

__global__ void triangle_merge(unsigned long long* total, const int* __restrict__ off, const int* __restrict__ adj, const int* __restrict__ eu, const int* __restrict__ ev, int ne) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  int found = 0;
  if (e < ne) {
    int u = eu[e], v = ev[e];
    int i = off[u], i1 = off[u + 1], j = off[v], j1 = off[v + 1];
    while (i < i1 && j < j1) {
      int a = adj[i], b = adj[j];
      if (a == b) ++found;
      i += a <= b;
      j += b <= a;
    }
  }
  found = __reduce_add_sync(FULL, found);
  if ((threadIdx.x & 31) == 0 && found) atomicAdd(total, (unsigned long long)found);
}

// ---------------------------------------------------------------- reductions, scans, histograms, sorts

__global__ void reduce_last_block(float* out, float* partial, unsigned* ticket, const float4* __restrict__ x, int n4) {
  __shared__ float ws[32];
  __shared__ bool last;
  float s = 0.f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n4; i += gridDim.x * blockDim.x) {
    float4 v = x[i];
    s += (v.x + v.y) + (v.z + v.w);
  }
  s = warpSum(s);
  if ((threadIdx.x & 31) == 0) ws[threadIdx.x >> 5] = s;
  __syncthreads();
  if (threadIdx.x < 32) {
    s = threadIdx.x < blockDim.x / 32 ? ws[threadIdx.x] : 0.f;
    s = warpSum(s);
    if (threadIdx.x == 0) {
      partial[blockIdx.x] = s;
      __threadfence();
      last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
    }
  }
  __syncthreads();
  if (!last) return;
  s = 0.f;
  for (int i = threadIdx.x; i < gridDim.x; i += blockDim.x) s += ((volatile float*)partial)[i];
  s = warpSum(s);
  __syncthreads();
  if ((threadIdx.x & 31) == 0) ws[threadIdx.x >> 5] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < blockDim.x / 32; ++w) s += ws[w];
    *out = s;
  }
}

// tile of 1024 a block: exclusive scan, four items a thread, block totals kept for the next pass
__global__ void __launch_bounds__(256) scan_tile_vec4(int4* __restrict__ out, int* __restrict__ tot, const int4* __restrict__ in, int n4) {
  __shared__ int wsum[8];
  int i = blockIdx.x * 256 + threadIdx.x, lane = threadIdx.x & 31, wid = threadIdx.x >> 5;
  int4 v = i < n4 ? in[i] : make_int4(0, 0, 0, 0);
  int t = v.x + v.y + v.z + v.w, inc = t;
#pragma unroll
  for (int o = 1; o < 32; o <<= 1) {
    int u = __shfl_up_sync(FULL, inc, o);
    if (lane >= o) inc += u;
  }
  if (lane == 31) wsum[wid] = inc;
  __syncthreads();
  if (threadIdx.x < 8) {
    int w = wsum[threadIdx.x];
#pragma unroll
    for (int o = 1; o < 8; o <<= 1) {
      int u = __shfl_up_sync(0xffu, w, o);
      if (threadIdx.x >= o) w += u;
    }
    wsum[threadIdx.x] = w;
  }
  __syncthreads();
  int base = inc - t + (wid ? wsum[wid - 1] : 0);
  if (i < n4) out[i] = make_int4(base, base + v.x, base + v.x + v.y, base + v.x + v.y + v.z);
  if (threadIdx.x == 255) tot[blockIdx.x] = wsum[7];
}

__global__ void hist256_per_warp(unsigned* hist, const uint32_t* __restrict__ data, int words) {
  __shared__ unsigned sh[8][256];
  for (int k = threadIdx.x; k < 8 * 256; k += blockDim.x) ((unsigned*)sh)[k] = 0;
  __syncthreads();
  unsigned* mine = sh[threadIdx.x >> 5];
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x) {
    uint32_t w = data[i];
    atomicAdd(mine + (w & 255), 1u);
    atomicAdd(mine + ((w >> 8) & 255), 1u);
    atomicAdd(mine + ((w >> 16) & 255), 1u);
    atomicAdd(mine + (w >> 24), 1u);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < 256; b += blockDim.x) {
    unsigned s = 0;
#pragma unroll
    for (int k = 0; k < 8; ++k) s += sh[k][b];
    if (s) atomicAdd(hist + b, s);
  }
}

// stable split of a tile of 256 keys by four bits, a bit at a time
__global__ void __launch_bounds__(256) radix_split4_tile(uint32_t* __restrict__ out, const uint32_t* __restrict__ in, int n, int bit0) {
  __shared__ uint32_t k[256];
  __shared__ int wz[8];
  int t = threadIdx.x, lane = t & 31, wid = t >> 5, g = blockIdx.x * 256 + t;
  uint32_t key = g < n ? in[g] : 0xffffffffu;
  for (int b = bit0; b < bit0 + 4; ++b) {
    bool one = (key >> b) & 1;
    unsigned zeros = __ballot_sync(FULL, !one);
    if (lane == 0) wz[wid] = __popc(zeros);
    __syncthreads();
    int before = 0, all = 0;
#pragma unroll
    for (int w = 0; w < 8; ++w) {
      int c = wz[w];
      before += w < wid ? c : 0;
      all += c;
    }
    int rz = before + __popc(zeros & ((1u << lane) - 1));
    int dstp = one ? all + t - rz : rz;
    k[dstp] = key;
    __syncthreads();
    key = k[t];
  }
  if (g < n) out[g] = key;
}

// each warp sorts 32 pairs by key with shuffles
__global__ void warp_bitonic_pairs(float* __restrict__ key, int* __restrict__ val, int warps) {
  int w = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
  if (w >= warps) return;
  float k = key[(size_t)w * 32 + lane];
  int v = val[(size_t)w * 32 + lane];
#pragma unroll
  for (int size = 2; size <= 32; size <<= 1)
#pragma unroll
    for (int st = size >> 1; st > 0; st >>= 1) {
      float ok = __shfl_xor_sync(FULL, k, st);
      int ov = __shfl_xor_sync(FULL, v, st);
      bool up = (lane & size) == 0, lower = (lane & st) == 0;
      bool take = (up == lower) ? ok < k : ok > k;
      if (take) { k = ok; v = ov; }
    }
  key[(size_t)w * 32 + lane] = k;
  val[(size_t)w * 32 + lane] = v;
}

// sums over runs of equal (sorted) keys: segmented warp scan, the last lane of each run adds
__global__ void run_sum_warp(float* out, const int* __restrict__ pos, const float* __restrict__ x, int n, int shift) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
  int key = i < n ? pos[i] >> shift : -1;
  float v = i < n ? x[i] : 0.f;
#pragma unroll
  for (int o = 1; o < 32; o <<= 1) {
    float t = __shfl_up_sync(FULL, v, o);
    int k = __shfl_up_sync(FULL, key, o);
    if (lane >= o && k == key) v += t;
  }
  int nk = __shfl_down_sync(FULL, key, 1);
  if (key >= 0 && (lane == 31 || nk != key)) atomicAdd(out + key, v);
}

// k largest of each row by repeated block argmax
__global__ void topk_row_repeat(float* __restrict__ ov, int* __restrict__ oi, const float* __restrict__ x, int cols, int k) {
  extern __shared__ float trow[];
  __shared__ float bv[32];
  __shared__ int bi[32];
  const int tid = threadIdx.x, nw = blockDim.x >> 5;
  const float* r = x + (size_t)blockIdx.x * cols;
  for (int c = tid; c < cols; c += blockDim.x) trow[c] = r[c];
  __syncthreads();
  for (int q = 0; q < k; ++q) {
    float m = -INFINITY;
    int mi = 0;
    for (int c = tid; c < cols; c += blockDim.x)
      if (trow[c] > m) { m = trow[c]; mi = c; }
#pragma unroll
    for (int o = 16; o > 0; o >>= 1) {
      float om = __shfl_down_sync(FULL, m, o);
      int oi2 = __shfl_down_sync(FULL, mi, o);
      if (om > m) { m = om; mi = oi2; }
    }
    if ((tid & 31) == 0) { bv[tid >> 5] = m; bi[tid >> 5] = mi; }
    __syncthreads();
    if (tid == 0) {
      for (int w = 1; w < nw; ++w)
        if (bv[w] > m) { m = bv[w]; mi = bi[w]; }
      ov[(size_t)blockIdx.x * k + q] = m;
      oi[(size_t)blockIdx.x * k + q] = mi;
      trow[mi] = -INFINITY;
    }
    __syncthreads();
  }
}

// merge path, eight outputs a thread
__global__ void merge_path8(int* __restrict__ out, const int* __restrict__ a, int na, const int* __restrict__ b, int nb) {
  int d = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
  if (d >= na + nb) return;
  int lo = max(0, d - nb), hi = min(d, na);
  while (lo < hi) {
    int mid = (lo + hi) >> 1;
    if (a[mid] <= b[d - 1 - mid]) lo = mid + 1; else hi = mid;
  }
  int i = lo, j = d - lo;
  int end = min(8, na + nb - d);
  for (int k = 0; k < end; ++k) {
    bool fromA = j >= nb || (i < na && a[i] <= b[j]);
    out[d + k] = fromA ? a[i++] : b[j++];
  }
}

// mean and variance of each column, Welford with pairwise combination over threadIdx.y
__global__ void welford_columns(float* __restrict__ mean, float* __restrict__ var, const float* __restrict__ x, int rows, int cols) {
  __shared__ float sm[8][32], sq[8][32], sn[8][32];
  int c = blockIdx.x * 32 + threadIdx.x, ty = threadIdx.y;
  float m = 0.f, q = 0.f, n = 0.f;
  if (c < cols)
    for (int r = ty; r < rows; r += 8) {
      float v = x[(size_t)r * cols + c];
      n += 1.f;
      float d = v - m;
      m += d / n;
      q += d * (v - m);
    }
  sm[ty][threadIdx.x] = m; sq[ty][threadIdx.x] = q; sn[ty][threadIdx.x] = n;
  __syncthreads();
  for (int h = 4; h > 0; h >>= 1) {
    if (ty < h) {
      float n2 = sn[ty + h][threadIdx.x], m2 = sm[ty + h][threadIdx.x], q2 = sq[ty + h][threadIdx.x];
      float nn = n + n2, d = m2 - m;
      if (nn > 0.f) {
        m += d * n2 / nn;
        q += q2 + d * d * n * n2 / nn;
        n = nn;
      }
      sm[ty][threadIdx.x] = m; sq[ty][threadIdx.x] = q; sn[ty][threadIdx.x] = n;
    }
    __syncthreads();
  }
  if (ty == 0 && c < cols) { mean[c] = m; var[c] = q / fmaxf(n, 1.f); }
}

// ---------------------------------------------------------------- neural network layers

// interleaved rotary embedding with the angles computed on the fly
__global__ void rope_theta_inplace(float2* q, const int* __restrict__ pos, int heads, int half, float log2base) {
  int t = blockIdx.x;
  float p = (float)pos[t];
  for (int k = threadIdx.x; k < heads * half; k += blockDim.x) {
    int i = k % half;
    float sn, cs;
    sincosf(p * exp2f(-log2base * i / half), &sn, &cs);
    float2 v = q[(size_t)t * heads * half + k];
    q[(size_t)t * heads * half + k] = make_float2(v.x * cs - v.y * sn, v.x * sn + v.y * cs);
  }
}

__global__ void groupnorm_nhwc(half* __restrict__ y, const half* __restrict__ x, const float* __restrict__ gamma, const float* __restrict__ beta, int HW, int C, int G, float eps) {
  __shared__ float ra[32], rb[32];
  const int g = blockIdx.x, cg = C / G;
  const size_t base = (size_t)blockIdx.y * HW * C + g * cg;
  float s = 0.f, q = 0.f;
  for (int e = threadIdx.x; e < HW * cg; e += blockDim.x) {
    float v = __half2float(x[base + (size_t)(e / cg) * C + e % cg]);
    s += v; q += v * v;
  }
  s = warpSum(s); q = warpSum(q);
  if ((threadIdx.x & 31) == 0) { ra[threadIdx.x >> 5] = s; rb[threadIdx.x >> 5] = q; }
  __syncthreads();
  s = 0.f; q = 0.f;
  for (int w = 0; w < blockDim.x / 32; ++w) { s += ra[w]; q += rb[w]; }
  float mean = s / (HW * cg), rstd = rsqrtf(fmaxf(q / (HW * cg) - mean * mean, 0.f) + eps);
  for (int e = threadIdx.x; e < HW * cg; e += blockDim.x) {
    int c = e % cg;
    size_t at = base + (size_t)(e / cg) * C + c;
    float v = (__half2float(x[at]) - mean) * rstd;
    y[at] = __float2half(v * gamma[g * cg + c] + beta[g * cg + c]);
  }
}

__global__ void bias_gelu_dropout4(float4* __restrict__ y, uchar4* __restrict__ mask, const float4* __restrict__ x, const float4* __restrict__ bias, int n4, int cols4, uint32_t seed, float keep) {
  const float scale = 1.f / keep;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n4; i += gridDim.x * blockDim.x) {
    float4 v = x[i], b = __ldg(bias + i % cols4);
    float e[4] = {v.x + b.x, v.y + b.y, v.z + b.z, v.w + b.w};
    unsigned char k[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      float u = e[j];
      float g = 0.5f * u * (1.f + tanhf(0.7978845608f * (u + 0.044715f * u * u * u)));
      float rnd = (mix32((uint32_t)i * 4u + j ^ seed) >> 8) * (1.f / 16777216.f);
      k[j] = rnd < keep;
      e[j] = k[j] ? g * scale : 0.f;
    }
    y[i] = make_float4(e[0], e[1], e[2], e[3]);
    mask[i] = make_uchar4(k[0], k[1], k[2], k[3]);
  }
}

__global__ void embag_mean_half2(half2* __restrict__ out, const half2* __restrict__ table, const int* __restrict__ ids, const int* __restrict__ off, int bags, int d2) {
  int bag = blockIdx.x * blockDim.y + threadIdx.y;
  if (bag >= bags) return;
  int s = off[bag], e = off[bag + 1];
  float inv = e > s ? 1.f / (e - s) : 0.f;
  for (int c = threadIdx.x; c < d2; c += 32) {
    float2 acc = make_float2(0.f, 0.f);
    for (int k = s; k < e; ++k) {
      float2 v = __half22float2(table[(size_t)ids[k] * d2 + c]);
      acc.x += v.x; acc.y += v.y;
    }
    out[(size_t)bag * d2 + c] = __floats2half2_rn(acc.x * inv, acc.y * inv);
  }
}

// scores of causal attention with a linear bias; tiles above the diagonal only write the mask
__global__ void qk_alibi_causal(float* __restrict__ S, const float* __restrict__ Q, const float* __restrict__ K, int T, int d, float scale, float slope) {
  __shared__ float sq[16][17], sk[16][17];
  int h = blockIdx.z, i0 = blockIdx.y * 16, j0 = blockIdx.x * 16;
  int i = i0 + threadIdx.y, j = j0 + threadIdx.x;
  size_t o = ((size_t)h * T + i) * T + j;
  if (j0 > i0 + 15) {
    if (i < T && j < T) S[o] = -1e9f;
    return;
  }
  float s = 0.f;
  for (int c = 0; c < d; c += 16) {
    int jr = j0 + threadIdx.y;
    sq[threadIdx.y][threadIdx.x] = i < T ? Q[((size_t)h * T + i) * d + c + threadIdx.x] : 0.f;
    sk[threadIdx.y][threadIdx.x] = jr < T ? K[((size_t)h * T + jr) * d + c + threadIdx.x] : 0.f;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 16; ++k) s += sq[threadIdx.y][k] * sk[threadIdx.x][k];
    __syncthreads();
  }
  if (i < T && j < T) S[o] = j <= i ? s * scale - slope * (i - j) : -1e9f;
}

// one query per sequence against a paged cache (pages of 16 tokens)
__global__ void paged_decode_attn(float* __restrict__ out, const float* __restrict__ q, const half2* __restrict__ kp, const half2* __restrict__ vp, const int* __restrict__ table, const int* __restrict__ lens, int maxpages, int d2, float scale) {
  __shared__ float sc[2048];
  __shared__ float red[4];
  const int h = blockIdx.x, H = gridDim.x, b = blockIdx.y, lane = threadIdx.x & 31, wid = threadIdx.x >> 5;
  const int len = lens[b] + 1;
  const float2* qq = (const float2*)q + ((size_t)b * H + h) * d2;
  float mx = -1e30f;
  for (int t = wid; t < len; t += 4) {
    int page = table[b * maxpages + t / 16];
    const half2* k = kp + (((size_t)page * H + h) * 16 + t % 16) * d2;
    float s = 0.f;
    for (int c = lane; c < d2; c += 32) {
      float2 kv = __half22float2(k[c]), qv = qq[c];
      s += kv.x * qv.x + kv.y * qv.y;
    }
    s = warpSum(s) * scale;
    if (lane == 0) sc[t] = s;
    mx = fmaxf(mx, s);
  }
  if (lane == 0) red[wid] = mx;
  __syncthreads();
  mx = fmaxf(fmaxf(red[0], red[1]), fmaxf(red[2], red[3]));
  __syncthreads();
  float z = 0.f;
  for (int t = threadIdx.x; t < len; t += 128) {
    float e = __expf(sc[t] - mx);
    sc[t] = e;
    z += e;
  }
  z = warpSum(z);
  if (lane == 0) red[wid] = z;
  __syncthreads();
  z = 1.f / (red[0] + red[1] + red[2] + red[3]);
  for (int c = threadIdx.x; c < d2; c += 128) {
    float2 acc = make_float2(0.f, 0.f);
    for (int t = 0; t < len; ++t) {
      int page = table[b * maxpages + t / 16];
      float2 v = __half22float2(vp[(((size_t)page * H + h) * 16 + t % 16) * d2 + c]);
      acc.x += sc[t] * v.x; acc.y += sc[t] * v.y;
    }
    ((float2*)out)[((size_t)b * H + h) * d2 + c] = make_float2(acc.x * z, acc.y * z);
  }
}

__global__ void fakequant_channel(float* __restrict__ y, const float* __restrict__ x, const float* __restrict__ scale, const int* __restrict__ zp, int rows, int cols) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= cols) return;
  float s = scale[c] + 1e-4f, inv = 1.f / s;
  int z = zp[c];
  for (int r = blockIdx.y * blockDim.y + threadIdx.y; r < rows; r += gridDim.y * blockDim.y) {
    size_t i = (size_t)r * cols + c;
    int q = __float2int_rn(x[i] * inv) + z;
    q = min(max(q, 0), 255);
    y[i] = (q - z) * s;
  }
}

__global__ void logsoftmax_bwd(float* __restrict__ gx, const float* __restrict__ gy, const float* __restrict__ y, int cols) {
  __shared__ float part[32];
  const size_t base = (size_t)blockIdx.x * cols;
  float s = 0.f;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) s += gy[base + c];
  s = warpSum(s);
  if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = s;
  __syncthreads();
  if (threadIdx.x < 32) {
    s = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0.f;
    s = warpSum(s);
    if (threadIdx.x == 0) part[0] = s;
  }
  __syncthreads();
  s = part[0];
  for (int c = threadIdx.x; c < cols; c += blockDim.x) gx[base + c] = gy[base + c] - expf(y[base + c]) * s;
}

__global__ void dwconv5_nhwc_s2(float* __restrict__ out, const float* __restrict__ in, const float* __restrict__ k, int N, int H, int W, int C, int OH, int OW) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N * OH * OW * C) return;
  int c = i % C, p = i / C, ox = p % OW, oy = (p / OW) % OH, n = p / (OW * OH);
  float s = 0.f;
#pragma unroll
  for (int j = 0; j < 5; ++j) {
    int y = oy * 2 + j - 2;
    if (y < 0 || y >= H) continue;
#pragma unroll
    for (int l = 0; l < 5; ++l) {
      int x = ox * 2 + l - 2;
      if (x >= 0 && x < W) s = fmaf(in[(((size_t)n * H + y) * W + x) * C + c], __ldg(k + (j * 5 + l) * C + c), s);
    }
  }
  out[i] = s;
}

// transposed convolution 4x4, stride 2, padding 1, gathered from the output's side
__global__ void deconv4x4_s2(float* __restrict__ out, const float* __restrict__ in, const float* __restrict__ w, int Ci, int Co, int H, int W) {
  int ox = blockIdx.x * blockDim.x + threadIdx.x, oy = blockIdx.y * blockDim.y + threadIdx.y, co = blockIdx.z;
  if (ox >= 2 * W || oy >= 2 * H) return;
  int y1 = (oy + 1) >> 1, x1 = (ox + 1) >> 1, ky = (oy + 1) & 1, kx = (ox + 1) & 1;
  float s = 0.f;
  for (int ci = 0; ci < Ci; ++ci) {
    const float* wp = w + ((size_t)ci * Co + co) * 16;
    const float* ip = in + (size_t)ci * H * W;
#pragma unroll
    for (int a = 0; a < 2; ++a) {
      int y = y1 - a;
      if (y < 0 || y >= H) continue;
#pragma unroll
      for (int b = 0; b < 2; ++b) {
        int x = x1 - b;
        if (x < 0 || x >= W) continue;
        s += ip[y * W + x] * wp[(ky + 2 * a) * 4 + kx + 2 * b];
      }
    }
  }
  out[((size_t)co * 2 * H + oy) * 2 * W + ox] = s;
}

__global__ void maxpool3s2_argmax(float* __restrict__ out, int* __restrict__ arg, const float* __restrict__ in, int planes, int H, int W, int OH, int OW) {
  size_t total = (size_t)planes * OH * OW;
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < total; i += (size_t)gridDim.x * blockDim.x) {
    int ox = i % OW, oy = (i / OW) % OH;
    const float* p = in + i / ((size_t)OW * OH) * H * W;
    float m = -INFINITY;
    int at = -1;
    for (int y = max(oy * 2 - 1, 0); y < min(oy * 2 + 2, H); ++y)
      for (int x = max(ox * 2 - 1, 0); x < min(ox * 2 + 2, W); ++x) {
        float v = p[y * W + x];
        if (v > m) { m = v; at = y * W + x; }
      }
    out[i] = m;
    arg[i] = at;
  }
}

__global__ void lstm_cell_pointwise(float* __restrict__ hOut, float* __restrict__ cOut, const float* __restrict__ gi, const float* __restrict__ gh, const float* __restrict__ bias, const float* __restrict__ cIn, int B, int H) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= B * H) return;
  int b = i / H, j = i % H;
  size_t r = (size_t)b * 4 * H + j;
  float a[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) a[k] = gi[r + (size_t)k * H] + gh[r + (size_t)k * H] + bias[k * H + j];
  float ig = 1.f / (1.f + __expf(-a[0])), fg = 1.f / (1.f + __expf(-a[1])), gg = tanhf(a[2]), og = 1.f / (1.f + __expf(-a[3]));
  float c = fg * cIn[i] + ig * gg;
  cOut[i] = c;
  hOut[i] = og * tanhf(c);
}

// label-smoothed cross entropy, a warp per row: online logsumexp, then the gradient
__global__ void xent_smooth_grad(float* __restrict__ loss, float* __restrict__ grad, const float* __restrict__ logits, const int* __restrict__ target, int rows, int V, float eps) {
  int r = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
  if (r >= rows) return;
  const float* x = logits + (size_t)r * V;
  float m = -1e30f, z = 0.f, sx = 0.f;
  for (int c = lane; c < V; c += 32) {
    float v = x[c];
    sx += v;
    if (v > m) { z *= __expf(m - v); m = v; }
    z += __expf(v - m);
  }
#pragma unroll
  for (int o = 16; o > 0; o >>= 1) {
    float om = __shfl_xor_sync(FULL, m, o), oz = __shfl_xor_sync(FULL, z, o);
    float nm = fmaxf(m, om);
    z = z * __expf(m - nm) + oz * __expf(om - nm);
    m = nm;
  }
  sx = warpSum(sx);
  int t = target[r];
  float lse = m + __logf(z);
  if (lane == 0) loss[r] = lse - (1.f - eps) * x[t] - eps * sx / V;
  for (int c = lane; c < V; c += 32)
    grad[(size_t)r * V + c] = __expf(x[c] - lse) - (c == t ? 1.f - eps : 0.f) - eps / V;
}

// ---------------------------------------------------------------- simulation

__global__ void walk_absorb_lcg(int* __restrict__ steps, int n, int maxsteps, int radius, uint32_t seed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint32_t s = mix32(i ^ seed);
  int x = 0, y = 0, k = 0;
  for (; k < maxsteps; ++k) {
    s = s * 1664525u + 1013904223u;
    int d = s >> 30;
    x += (d == 0) - (d == 1);
    y += (d == 2) - (d == 3);
    if (x * x + y * y > radius * radius) break;
  }
  steps[i] = k;
}

// sphere tracing of a repeated field of spheres above a plane
__global__ void raymarch_spheres(uchar4* __restrict__ img, int w, int h, int maxit, float time) {
  int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px >= w || py >= h) return;
  float dx = (px + 0.5f) / w * 2.f - 1.f, dy = (py + 0.5f) / h * 2.f - 1.f, dz = 1.5f;
  float il = rsqrtf(dx * dx + dy * dy + dz * dz);
  dx *= il; dy *= il; dz *= il;
  float t = 0.f;
  int it = 0;
  for (; it < maxit; ++it) {
    float x = dx * t, y = dy * t + 0.3f, z = dz * t + time;
    float rx = x - 2.f * rintf(x * 0.5f), rz = z - 2.f * rintf(z * 0.5f);
    float d = fminf(sqrtf(rx * rx + y * y + rz * rz) - 0.4f, y + 1.f);
    t += d;
    if (d < 1e-3f || t > 40.f) break;
  }
  float sh = it < maxit && t < 40.f ? __expf(-0.1f * t) : 0.f;
  img[(size_t)py * w + px] = make_uchar4((unsigned char)(255.f * sh), (unsigned char)(200.f * sh), (unsigned char)min(it * 4, 255), 255);
}

// SPH density with a fixed number of neighbours stored particle by particle
__global__ void sph_density_fixed(float* __restrict__ rho, float* __restrict__ press, const float4* __restrict__ pos, const int* __restrict__ nbr, int n, int K, float h2, float stiff) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 p = pos[i];
  float d = h2 * h2 * h2 * p.w;
  const int4* nb = (const int4*)(nbr + (size_t)i * K);
  for (int k = 0; k < K / 4; ++k) {
    int4 id = __ldg(nb + k);
    int j[4] = {id.x, id.y, id.z, id.w};
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      float4 q = __ldg(pos + j[u]);
      float ax = p.x - q.x, ay = p.y - q.y, az = p.z - q.z;
      float g = h2 - (ax * ax + ay * ay + az * az);
      if (g > 0.f) d += q.w * g * g * g;
    }
  }
  rho[i] = d;
  press[i] = stiff * fmaxf(d - 1.f, 0.f);
}

// D3Q19 BGK, pull scheme, periodic, one array per direction
__global__ void lbm_d3q19_pull(float* __restrict__ fo, const float* __restrict__ fi, int nx, int ny, int nz, float omega) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y, z = blockIdx.z;
  if (x >= nx) return;
  const int ex[19] = {0, 1, -1, 0, 0, 0, 0, 1, -1, 1, -1, 1, -1, 1, -1, 0, 0, 0, 0};
  const int ey[19] = {0, 0, 0, 1, -1, 0, 0, 1, -1, -1, 1, 0, 0, 0, 0, 1, -1, 1, -1};
  const int ez[19] = {0, 0, 0, 0, 0, 1, -1, 0, 0, 0, 0, 1, -1, -1, 1, 1, -1, -1, 1};
  const size_t N = (size_t)nx * ny * nz;
  float f[19], rho = 0.f, ux = 0.f, uy = 0.f, uz = 0.f;
#pragma unroll
  for (int k = 0; k < 19; ++k) {
    int sx = x - ex[k], sy = y - ey[k], sz = z - ez[k];
    sx = sx < 0 ? nx - 1 : (sx >= nx ? 0 : sx);
    sy = sy < 0 ? ny - 1 : (sy >= ny ? 0 : sy);
    sz = sz < 0 ? nz - 1 : (sz >= nz ? 0 : sz);
    f[k] = fi[k * N + ((size_t)sz * ny + sy) * nx + sx];
    rho += f[k];
    ux += ex[k] * f[k]; uy += ey[k] * f[k]; uz += ez[k] * f[k];
  }
  float inv = 1.f / rho;
  ux *= inv; uy *= inv; uz *= inv;
  float uu = 1.5f * (ux * ux + uy * uy + uz * uz);
  size_t c = ((size_t)z * ny + y) * nx + x;
#pragma unroll
  for (int k = 0; k < 19; ++k) {
    float w = k == 0 ? 1.f / 3 : (k < 7 ? 1.f / 18 : 1.f / 36);
    float eu = 3.f * (ex[k] * ux + ey[k] * uy + ez[k] * uz);
    fo[k * N + c] = f[k] + omega * (w * rho * (1.f + eu + 0.5f * eu * eu - uu) - f[k]);
  }
}

// gravity, two bodies held per thread, j-tiles in shared memory, also the potential
__global__ void __launch_bounds__(128) nbody_two_per_thread(float4* __restrict__ acc, const float4* __restrict__ body, int n) {
  __shared__ float4 tile[128];
  int i0 = blockIdx.x * 256 + threadIdx.x, i1 = i0 + 128;
  float4 zero = make_float4(0.f, 0.f, 0.f, 0.f);
  float4 p = i0 < n ? body[i0] : zero, q = i1 < n ? body[i1] : zero, a = zero, b = zero;
  for (int j0 = 0; j0 < n; j0 += 128) {
    tile[threadIdx.x] = j0 + threadIdx.x < n ? body[j0 + threadIdx.x] : zero;
    __syncthreads();
#pragma unroll 8
    for (int k = 0; k < 128; ++k) {
      float4 s = tile[k];
      float dx = s.x - p.x, dy = s.y - p.y, dz = s.z - p.z;
      float r = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-4f), m = s.w * r, f = m * r * r;
      a.x += f * dx; a.y += f * dy; a.z += f * dz; a.w -= m;
      dx = s.x - q.x; dy = s.y - q.y; dz = s.z - q.z;
      r = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-4f); m = s.w * r; f = m * r * r;
      b.x += f * dx; b.y += f * dy; b.z += f * dz; b.w -= m;
    }
    __syncthreads();
  }
  if (i0 < n) acc[i0] = a;
  if (i1 < n) acc[i1] = b;
}

// American put on a binomial tree, a block per option, two rows of the tree in shared memory
__global__ void binomial_american_put(float* __restrict__ price, const float* __restrict__ S0, const float* __restrict__ X, int steps, float dt, float vol, float rate) {
  extern __shared__ float tree[];
  float* cur = tree;
  float* nxt = tree + steps + 1;
  const float s = S0[blockIdx.x] + 0.5f, k = X[blockIdx.x] + 0.5f;
  const float v = vol * sqrtf(dt), u = __expf(v), d = 1.f / u, gr = __expf(rate * dt), pu = (gr - d) / (u - d), df = 1.f / gr;
  for (int i = threadIdx.x; i <= steps; i += blockDim.x) cur[i] = fmaxf(k - s * __expf(v * (2 * i - steps)), 0.f);
  __syncthreads();
  for (int t = steps - 1; t >= 0; --t) {
    for (int i = threadIdx.x; i <= t; i += blockDim.x) {
      float hold = df * (pu * cur[i + 1] + (1.f - pu) * cur[i]);
      nxt[i] = fmaxf(hold, k - s * __expf(v * (2 * i - t)));
    }
    __syncthreads();
    float* sw = cur; cur = nxt; nxt = sw;
  }
  if (threadIdx.x == 0) price[blockIdx.x] = cur[0];
}

// Metropolis update of one colour of a checkerboard, spins as bytes, periodic
__global__ void ising_checkerboard(signed char* spin, int w, int h, int colour, float beta, uint32_t seed) {
  int cx = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (cx >= w / 2 || y >= h) return;
  int x = 2 * cx + ((y + colour) & 1);
  size_t row = (size_t)y * w;
  int l = x == 0 ? w - 1 : x - 1, r = x == w - 1 ? 0 : x + 1, d = y == 0 ? h - 1 : y - 1, u = y == h - 1 ? 0 : y + 1;
  int me = (spin[row + x] & 1) * 2 - 1;
  int sum = ((spin[row + l] & 1) + (spin[row + r] & 1) + (spin[(size_t)d * w + x] & 1) + (spin[(size_t)u * w + x] & 1)) * 2 - 4;
  float p = __expf(-2.f * beta * me * sum);
  float rnd = (mix32((uint32_t)(row + x) * 2654435761u ^ seed) >> 8) * (1.f / 16777216.f);
  if (rnd < p) spin[row + x] = me > 0 ? 0 : 1;
}

// ---------------------------------------------------------------- bits, bytes, strings

__global__ void base64_encode(uchar4* __restrict__ out, const uint8_t* __restrict__ in, const uint8_t* __restrict__ alphabet, int groups) {
  __shared__ uint8_t lut[64];
  if (threadIdx.x < 64) lut[threadIdx.x] = alphabet[threadIdx.x];
  __syncthreads();
  int g = blockIdx.x * blockDim.x + threadIdx.x;
  if (g >= groups) return;
  uint32_t v = in[3 * g] << 16 | in[3 * g + 1] << 8 | in[3 * g + 2];
  out[g] = make_uchar4(lut[v >> 18], lut[(v >> 12) & 63], lut[(v >> 6) & 63], lut[v & 63]);
}

// one record per thread, the table is made by each block
__global__ void __launch_bounds__(256) crc32_records(uint32_t* __restrict__ crc, const uint8_t* __restrict__ data, int records, int len) {
  __shared__ uint32_t tab[256];
  uint32_t c = threadIdx.x;
#pragma unroll
  for (int k = 0; k < 8; ++k) c = (c >> 1) ^ (0xedb88320u & (0u - (c & 1)));
  tab[threadIdx.x] = c;
  __syncthreads();
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= records) return;
  const uint8_t* p = data + (size_t)r * len;
  c = ~0u;
  for (int k = 0; k < len; ++k) c = tab[(c ^ p[k]) & 255] ^ (c >> 8);
  crc[r] = ~c;
}

// nearest of 256-bit codes by Hamming distance
__global__ void __launch_bounds__(128) hamming_nearest256(int2* __restrict__ best, const ulonglong2* __restrict__ query, const ulonglong2* __restrict__ base, int nq, int nb) {
  __shared__ ulonglong2 tile[128][2];
  int q = blockIdx.x * 128 + threadIdx.x;
  ulonglong2 a = make_ulonglong2(0, 0), b = a;
  if (q < nq) { a = query[2 * q]; b = query[2 * q + 1]; }
  int bd = 1 << 30, bi = -1;
  for (int j0 = 0; j0 < nb; j0 += 128) {
    int m = min(128, nb - j0);
    if (threadIdx.x < m) {
      tile[threadIdx.x][0] = base[2 * (j0 + threadIdx.x)];
      tile[threadIdx.x][1] = base[2 * (j0 + threadIdx.x) + 1];
    }
    __syncthreads();
    for (int k = 0; k < m; ++k) {
      ulonglong2 c = tile[k][0], d = tile[k][1];
      int dist = __popcll(a.x ^ c.x) + __popcll(a.y ^ c.y) + __popcll(b.x ^ d.x) + __popcll(b.y ^ d.y);
      if (dist < bd) { bd = dist; bi = j0 + k; }
    }
    __syncthreads();
  }
  if (q < nq) best[q] = make_int2(bd, bi);
}

__global__ void strfind_count(int* count, const uint8_t* __restrict__ text, int n, const uint8_t* __restrict__ pat, int m) {
  extern __shared__ uint8_t spat[];
  for (int k = threadIdx.x; k < m; k += blockDim.x) spat[k] = pat[k];
  __syncthreads();
  int hits = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i <= n - m; i += gridDim.x * blockDim.x) {
    int k = 0;
    while (k < m && text[i + k] == spat[k]) ++k;
    hits += k == m;
  }
  for (int o = 16; o > 0; o >>= 1) hits += __shfl_down_sync(FULL, hits, o);
  if ((threadIdx.x & 31) == 0 && hits) atomicAdd(count, hits);
}

// each thread checks the characters that begin in its 16 bytes
__global__ void utf8_check16(unsigned* errors, const uint8_t* __restrict__ s, int n) {
  int p = (blockIdx.x * blockDim.x + threadIdx.x) * 16;
  int end = min(p + 16, n);
  unsigned bad = 0;
  if (p > 0 && p < n) {
    int skip = 0;
    while (skip < 3 && p < end && (s[p] & 0xc0) == 0x80) { ++p; ++skip; }
  }
  while (p < end) {
    uint8_t c = s[p];
    int need;
    if (c < 0x80) need = 0;
    else if ((c & 0xe0) == 0xc0) need = 1;
    else if ((c & 0xf0) == 0xe0) need = 2;
    else if ((c & 0xf8) == 0xf0) need = 3;
    else { ++bad; ++p; continue; }
    ++p;
    for (int k = 0; k < need; ++k) {
      if (p >= n || (s[p] & 0xc0) != 0x80) { ++bad; break; }
      ++p;
    }
  }
  bad = __reduce_add_sync(FULL, bad);
  if ((threadIdx.x & 31) == 0 && bad) atomicAdd(errors, bad);
}

// SHA-256 compression of one 64-byte block per thread
__global__ void __launch_bounds__(128) sha256_compress(uint4* __restrict__ digest, const uint4* __restrict__ msg, int n) {
  const uint32_t K[64] = {
      0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
      0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
      0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
      0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
      0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
      0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint32_t w[16];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    uint4 m = msg[(size_t)i * 4 + k];
    w[4 * k] = __byte_perm(m.x, 0, 0x0123); w[4 * k + 1] = __byte_perm(m.y, 0, 0x0123);
    w[4 * k + 2] = __byte_perm(m.z, 0, 0x0123); w[4 * k + 3] = __byte_perm(m.w, 0, 0x0123);
  }
  uint32_t a = 0x6a09e667, b = 0xbb67ae85, c = 0x3c6ef372, d = 0xa54ff53a, e = 0x510e527f, f = 0x9b05688c, g = 0x1f83d9ab, h = 0x5be0cd19;
#pragma unroll
  for (int t = 0; t < 64; ++t) {
    if (t >= 16) {
      uint32_t x = w[(t + 1) & 15], y = w[(t + 14) & 15];
      w[t & 15] += (ror32(x, 7) ^ ror32(x, 18) ^ (x >> 3)) + w[(t + 9) & 15] + (ror32(y, 17) ^ ror32(y, 19) ^ (y >> 10));
    }
    uint32_t t1 = h + (ror32(e, 6) ^ ror32(e, 11) ^ ror32(e, 25)) + ((e & f) ^ (~e & g)) + K[t] + w[t & 15];
    uint32_t t2 = (ror32(a, 2) ^ ror32(a, 13) ^ ror32(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g; g = f; f = e; e = d + t1; d = c; c = b; b = a; a = t1 + t2;
  }
  digest[2 * (size_t)i] = make_uint4(a + 0x6a09e667, b + 0xbb67ae85, c + 0x3c6ef372, d + 0xa54ff53a);
  digest[2 * (size_t)i + 1] = make_uint4(e + 0x510e527f, f + 0x9b05688c, g + 0x1f83d9ab, h + 0x5be0cd19);
}

// values of k bits (1..32) out of a dense bit stream
__global__ void unpack_kbits(uint32_t* __restrict__ out, const uint32_t* __restrict__ words, int n, int k, uint32_t base) {
  const uint32_t mask = k == 32 ? ~0u : (1u << k) - 1;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    unsigned long long bit = (unsigned long long)i * k;
    size_t w = bit >> 5;
    out[i] = base + (__funnelshift_r(words[w], words[w + 1], (unsigned)bit & 31) & mask);
  }
}

}
