#include <cuda_fp16.h>
#include <cstdint>
#define BS 16
__global__ void jacobi2d(float* __restrict__ o, const float* __restrict__ a, int nx, int ny) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x > 0 && x < nx - 1 && y > 0 && y < ny - 1)
    o[y * nx + x] = 0.25f * (a[y * nx + x - 1] + a[y * nx + x + 1] + a[(y - 1) * nx + x] + a[(y + 1) * nx + x]);
}
__global__ void stencil3d(double* o, const double* __restrict__ a, int nx, int ny, int nz) {
  int x = blockIdx.x * blockDim.x + threadIdx.x + 1, y = blockIdx.y * blockDim.y + threadIdx.y + 1;
  if (x >= nx - 1 || y >= ny - 1) return;
  size_t p = (size_t)nx * ny; double below = a[y * nx + x], here = a[p + y * nx + x];
  for (int z = 1; z < nz - 1; z++) {
    size_t i = z * p + y * nx + x; double above = a[i + p];
    o[i] = -6 * here + below + above + a[i - 1] + a[i + 1] + a[i - nx] + a[i + nx];
    below = here; here = above;
  }
}
__global__ void stencil1d_shared(float* o, const float* a, int n, int r) {
  extern __shared__ float s[];
  int i = blockIdx.x * blockDim.x + threadIdx.x, l = threadIdx.x + r;
  s[l] = i < n ? a[i] : 0.f;
  if ((int)threadIdx.x < r) { s[l - r] = i >= r && i - r < n ? a[i - r] : 0.f; int j = i + blockDim.x; s[l + blockDim.x] = j < n ? a[j] : 0.f; }
  __syncthreads();
  if (i < n) { float t = 0; for (int k = -r; k <= r; k++) t += s[l + k]; o[i] = t; }
}
__global__ void transpose_rect(float* o, const float* a, int w, int h) {
  __shared__ float t[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) if (x < w && y + j < h) t[threadIdx.y + j][threadIdx.x] = a[(size_t)(y + j) * w + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x; y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) if (x < h && y + j < w) o[(size_t)(y + j) * h + x] = t[threadIdx.x][threadIdx.y + j];
}
__global__ void permute021(float* o, const float* a, int A, int B, int C) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= A * B * C) return;
  int c = i % C, b = i / C % B, x = i / (B * C);
  o[(x * C + c) * B + b] = a[i];
}
template <int T> __global__ void block_sum(float* o, const float* a, int n) {
  __shared__ float s[T / 32];
  float v = 0;
  for (int i = blockIdx.x * T + threadIdx.x; i < n; i += gridDim.x * T) v += a[i];
  for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(~0u, v, d);
  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32) { v = threadIdx.x < T / 32 ? s[threadIdx.x] : 0; for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(~0u, v, d); if (!threadIdx.x) atomicAdd(o, v); }
}
template __global__ void block_sum<128>(float*, const float*, int);
template __global__ void block_sum<512>(float*, const float*, int);
__global__ void tree_max(float* o, const float* a, unsigned n) {
  extern __shared__ float s[];
  unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x * 2 + t;
  float v = i < n ? a[i] : -1e30f; if (i + blockDim.x < n) v = fmaxf(v, a[i + blockDim.x]);
  s[t] = v; __syncthreads();
  for (unsigned k = blockDim.x / 2; k > 0; k >>= 1) { if (t < k) s[t] = fmaxf(s[t], s[t + k]); __syncthreads(); }
  if (t == 0) o[blockIdx.x] = s[0];
}
__global__ void inclusive_scan(int* o, const int* a, int n) {
  __shared__ int w[32];
  int i = blockIdx.x * blockDim.x + threadIdx.x, v = i < n ? a[i] : 0, lane = threadIdx.x & 31, wid = threadIdx.x >> 5;
  for (int d = 1; d < 32; d <<= 1) { int u = __shfl_up_sync(~0u, v, d); if (lane >= d) v += u; }
  if (lane == 31) w[wid] = v;
  __syncthreads();
  if (wid == 0) { int u = lane < blockDim.x / 32 ? w[lane] : 0; for (int d = 1; d < 32; d <<= 1) { int q = __shfl_up_sync(~0u, u, d); if (lane >= d) u += q; } w[lane] = u; }
  __syncthreads();
  if (wid) v += w[wid - 1];
  if (i < n) o[i] = v;
}
__global__ void hillis(int* o, const int* a, int n) {
  extern __shared__ int ht[];
  int x = threadIdx.x, p = 0, q = 1; ht[x] = x < n ? a[blockIdx.x * n + x] : 0; __syncthreads();
  for (int d = 1; d < n; d *= 2) { p = 1 - p; q = 1 - p; ht[p * blockDim.x + x] = x >= d ? ht[q * blockDim.x + x] + ht[q * blockDim.x + x - d] : ht[q * blockDim.x + x]; __syncthreads(); }
  if (x < n) o[blockIdx.x * n + x] = ht[p * blockDim.x + x];
}
__global__ void hist_global(unsigned* h, const unsigned char* d, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&h[d[i]], 1u);
}
__global__ void hist_shared(unsigned* h, const unsigned char* d, int n, int bins) {
  extern __shared__ unsigned hs[];
  for (int b = threadIdx.x; b < bins; b += blockDim.x) hs[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&hs[d[i] % bins], 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < bins; b += blockDim.x) atomicAdd(&h[b], hs[b]);
}
__global__ void spmv_warp(float* y, const int* __restrict__ rp, const int* __restrict__ ci, const float* __restrict__ v, const float* __restrict__ x, int rows) {
  int w = (blockIdx.x * blockDim.x + threadIdx.x) / 32, l = threadIdx.x % 32;
  if (w >= rows) return;
  float s = 0; for (int j = rp[w] + l; j < rp[w + 1]; j += 32) s += v[j] * x[ci[j]];
  for (int d = 16; d; d /= 2) s += __shfl_down_sync(~0u, s, d);
  if (l == 0) y[w] = s;
}
__global__ void spmv_ell(float* y, const int* __restrict__ ci, const float* __restrict__ v, const float* __restrict__ x, int rows, int width) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float s = 0; for (int k = 0; k < width; k++) s += v[k * rows + r] * x[ci[k * rows + r]];
  y[r] = s;
}
template <int N> __global__ void batched_small(float* c, const float* a, const float* b, int batch) {
  __shared__ float sa[N][N + 1], sb[N][N + 1];
  int m = blockIdx.x; if (m >= batch) return;
  sa[threadIdx.y][threadIdx.x] = a[(m * N + threadIdx.y) * N + threadIdx.x]; sb[threadIdx.y][threadIdx.x] = b[(m * N + threadIdx.y) * N + threadIdx.x];
  __syncthreads(); float s = 0;
#pragma unroll
  for (int k = 0; k < N; k++) s += sa[threadIdx.y][k] * sb[k][threadIdx.x];
  c[(m * N + threadIdx.y) * N + threadIdx.x] = s;
}
template __global__ void batched_small<8>(float*, const float*, const float*, int);
template __global__ void batched_small<16>(float*, const float*, const float*, int);
__global__ void matmul_guarded(float* C, const float* A, const float* B, int M, int N, int K) {
  __shared__ float sa[BS][BS], sb[BS][BS];
  int r = blockIdx.y * BS + threadIdx.y, c = blockIdx.x * BS + threadIdx.x; float s = 0;
  for (int k0 = 0; k0 < K; k0 += BS) {
    sa[threadIdx.y][threadIdx.x] = r < M && k0 + threadIdx.x < K ? A[r * K + k0 + threadIdx.x] : 0.f;
    sb[threadIdx.y][threadIdx.x] = c < N && k0 + threadIdx.y < K ? B[(k0 + threadIdx.y) * N + c] : 0.f;
    __syncthreads();
    for (int k = 0; k < BS; k++) s += sa[threadIdx.y][k] * sb[k][threadIdx.x];
    __syncthreads();
  }
  if (r < M && c < N) C[r * N + c] = s;
}
__global__ void layernorm_row(float* y, const float* x, const float* g, const float* b, int cols, float eps) {
  extern __shared__ float red[];
  const float* p = x + (size_t)blockIdx.x * cols; float s = 0, q = 0;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) { float v = p[i]; s += v; q += v * v; }
  red[threadIdx.x] = s; red[threadIdx.x + blockDim.x] = q; __syncthreads();
  for (int k = blockDim.x / 2; k; k >>= 1) { if (threadIdx.x < k) { red[threadIdx.x] += red[threadIdx.x + k]; red[threadIdx.x + blockDim.x] += red[threadIdx.x + blockDim.x + k]; } __syncthreads(); }
  float m = red[0] / cols, r = rsqrtf(red[blockDim.x] / cols - m * m + eps);
  for (int i = threadIdx.x; i < cols; i += blockDim.x) y[(size_t)blockIdx.x * cols + i] = (p[i] - m) * r * g[i] + b[i];
}
__global__ void rmsnorm_warp(__half* y, const __half* x, const __half* w, int rows, int cols) {
  int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x & 31;
  if (row >= rows) return;
  float s = 0; for (int i = lane * 2; i < cols; i += 64) { float2 v = __half22float2(*(const __half2*)(x + (size_t)row * cols + i)); s += v.x * v.x + v.y * v.y; }
  for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(~0u, s, d);
  s = rsqrtf(s / cols + 1e-5f);
  for (int i = lane * 2; i < cols; i += 64) { size_t j = (size_t)row * cols + i; float2 v = __half22float2(*(const __half2*)(x + j)), u = __half22float2(*(const __half2*)(w + i)); *(__half2*)(y + j) = __floats2half2_rn(v.x * s * u.x, v.y * s * u.y); }
}
__global__ void online_softmax(float* y, const float* x, int cols) {
  __shared__ float sm[32], ss[32];
  const float* p = x + (long)blockIdx.x * cols; float m = -1e30f, s = 0;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) { float v = p[i], n = fmaxf(m, v); s = s * __expf(m - n) + __expf(v - n); m = n; }
  for (int d = 16; d; d >>= 1) { float om = __shfl_xor_sync(~0u, m, d), os = __shfl_xor_sync(~0u, s, d), n = fmaxf(m, om); s = s * __expf(m - n) + os * __expf(om - n); m = n; }
  if (threadIdx.x % 32 == 0) { sm[threadIdx.x / 32] = m; ss[threadIdx.x / 32] = s; }
  __syncthreads();
  for (int k = 0; k < blockDim.x / 32; k++) { float n = fmaxf(m, sm[k]); s = s * __expf(m - n) + ss[k] * __expf(sm[k] - n); m = n; }
  for (int i = threadIdx.x; i < cols; i += blockDim.x) y[(long)blockIdx.x * cols + i] = __expf(p[i] - m) / s;
}
__global__ void causal_mask_softmax(float* y, const float* x, int n) {
  int r = blockIdx.x; float m = -1e30f;
  for (int i = threadIdx.x; i <= r; i += 32) m = fmaxf(m, x[r * n + i]);
  for (int d = 16; d; d >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, d));
  for (int i = threadIdx.x; i < n; i += 32) y[r * n + i] = i <= r ? __expf(x[r * n + i] - m) : 0.f;
}
