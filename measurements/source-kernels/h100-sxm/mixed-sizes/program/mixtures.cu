#include <cuda_pipeline.h>
#include <cstdint>
__global__ void warp_agg(int* out, int* count, const int* in, int n, int thr) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; bool k = i < n && in[i] < thr;
  unsigned m = __ballot_sync(~0u, k); int lane = threadIdx.x & 31, base = 0;
  if (m && lane == __ffs(m) - 1) base = atomicAdd(count, __popc(m));
  if (m) base = __shfl_sync(~0u, base, __ffs(m) - 1);
  if (k) out[base + __popc(m & ((1u << lane) - 1))] = in[i];
}
__global__ void atomics_mixed(int* mx, unsigned* orv, unsigned long long* sum, float* fs, const int* x, int n, int keys) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v = x[i]; atomicMax(mx + i % keys, v); atomicOr(orv + (i / 32) % keys, (unsigned)v); atomicAdd(sum + (blockIdx.x % keys), 1ull); atomicAdd(fs, 1.f);
}
__global__ void atomic_exch_cas(int* a, int* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { int o = atomicExch(a + i, i); atomicCAS(b + i / 4, o, i); atomicInc((unsigned*)b + n / 4 + 1, 100u); }
}
__global__ void double_atomic(double* out, const double* x, int n, int seg) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(out + i / seg, x[i]);
}
__global__ void cp_async_copy(float* o, const float* a, int n, int tiles) {
  __shared__ __align__(16) float s[2][1024];
  int base = blockIdx.x * tiles * 1024;
  __pipeline_memcpy_async(&s[0][threadIdx.x * 4], a + base + threadIdx.x * 4, 16); __pipeline_commit();
  for (int t = 0; t < tiles; t++) {
    if (t + 1 < tiles) __pipeline_memcpy_async(&s[(t + 1) & 1][threadIdx.x * 4], a + base + (t + 1) * 1024 + threadIdx.x * 4, 16);
    __pipeline_commit(); __pipeline_wait_prior(1); __syncthreads();
    for (int k = 0; k < 4; k++) { int j = base + t * 1024 + k * 256 + threadIdx.x; if (j < n) o[j] = s[t & 1][k * 256 + threadIdx.x] * 2; }
    __syncthreads();
  }
}
__global__ void ldg_gather(float* o, const float* __restrict__ t, const int* __restrict__ ix, int n, int dim) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n * dim) return;
  o[i] = __ldg(t + (size_t)__ldg(ix + i / dim) * dim + i % dim);
}
__global__ void embed_add(float* o, const float* __restrict__ t, const int* ix, const float* pos, int dim) {
  int tok = blockIdx.x; const float* row = t + (size_t)ix[tok] * dim;
  for (int j = threadIdx.x; j < dim; j += blockDim.x) o[(size_t)tok * dim + j] = row[j] + pos[(tok % 1024) * dim + j];
}
__global__ void nbody(float4* acc, const float4* pos, int n) {
  extern __shared__ float4 sp[];
  int i = blockIdx.x * blockDim.x + threadIdx.x; float4 me = i < n ? pos[i] : make_float4(0,0,0,0); float ax = 0, ay = 0, az = 0;
  for (int t = 0; t < n; t += blockDim.x) {
    int j = t + threadIdx.x; sp[threadIdx.x] = j < n ? pos[j] : make_float4(0,0,0,0); __syncthreads();
#pragma unroll 4
    for (int k = 0; k < blockDim.x; k++) { float dx = sp[k].x - me.x, dy = sp[k].y - me.y, dz = sp[k].z - me.z, r = rsqrtf(dx*dx+dy*dy+dz*dz+1e-6f); r = r*r*r*sp[k].w; ax += dx*r; ay += dy*r; az += dz*r; }
    __syncthreads();
  }
  if (i < n) acc[i] = make_float4(ax, ay, az, 0);
}
__global__ void column_sum(float* o, const float* a, int rows, int cols) {
  int c = blockIdx.x * blockDim.x + threadIdx.x; if (c >= cols) return;
  float s = 0; for (int r = blockIdx.y; r < rows; r += gridDim.y) s += a[(size_t)r * cols + c];
  atomicAdd(o + c, s);
}
__global__ void gemv_rowblock(float* y, const float* A, const float* x, int m, int n, int lda) {
  int r = blockIdx.x * blockDim.y + threadIdx.y; float s = 0;
  if (r < m) for (int c = threadIdx.x; c < n; c += 32) s += A[(size_t)r * lda + c] * x[c];
  for (int d = 16; d; d >>= 1) s += __shfl_down_sync(~0u, s, d);
  if (r < m && threadIdx.x == 0) y[r] = s;
}
__global__ void conv1d_depth(float* y, const float* __restrict__ x, const float* __restrict__ w, int L, int C, int K) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, t = blockIdx.y; if (c >= C) return;
  float s = 0; for (int k = 0; k < K; k++) { int u = t - K + 1 + k; if (u >= 0) s += x[((size_t)blockIdx.z * L + u) * C + c] * w[k * C + c]; }
  y[((size_t)blockIdx.z * L + t) * C + c] = s;
}
__global__ void conv2d_direct(float* o, const float* __restrict__ in, const float* __restrict__ w, int H, int W, int C) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, f = blockIdx.z;
  if (x >= W - 2 || y >= H - 2) return;
  float s = 0; for (int c = 0; c < C; c++)
#pragma unroll
    for (int k = 0; k < 9; k++) s += in[(c * H + y + k / 3) * W + x + k % 3] * w[(f * C + c) * 9 + k];
  o[(f * (H - 2) + y) * (W - 2) + x] = s;
}
__global__ void maxpool(float* o, const float* in, int H, int W, int k, int s, int OH, int OW) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= OH * OW) return;
  int oy = i / OW, ox = i - oy * OW; const float* p = in + (size_t)blockIdx.y * H * W; float m = -1e30f;
  for (int a = 0; a < k; a++) for (int b = 0; b < k; b++) { int y = oy * s + a, x = ox * s + b; if (y < H && x < W) m = fmaxf(m, p[y * W + x]); }
  o[(size_t)blockIdx.y * OH * OW + i] = m;
}
__global__ void collatz(int* steps, int n, int cap) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;
  long v = i + 1; int s = 0; while (v != 1 && s < cap) { v = v & 1 ? 3 * v + 1 : v / 2; s++; } steps[i] = s;
}
__global__ void mandel(unsigned char* o, int w, int h, int iters) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y; if (x >= w || y >= h) return;
  float cx = -2.f + 3.f * x / w, cy = -1.f + 2.f * y / h, zx = 0, zy = 0; int k = 0;
  while (k < iters && zx * zx + zy * zy < 4.f) { float t = zx * zx - zy * zy + cx; zy = 2 * zx * zy + cy; zx = t; k++; }
  o[y * w + x] = k;
}
__global__ void lower_bound(int* o, const int* keys, const int* q, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= m) return;
  int lo = 0, hi = n, k = q[i]; while (lo < hi) { int mid = (lo + hi) / 2; if (keys[mid] < k) lo = mid + 1; else hi = mid; } o[i] = lo;
}
__global__ void zero_trip(float* o, const float* a, int n, int from, int to, int step) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;
  float s = 0; for (int k = from; k < to; k += step) s += a[(size_t)k * n + i]; o[i] = s;
}
__global__ void halving(float* x, int n) {
  int t = threadIdx.x; int len = n;
  while (len > 1) { int h = (len + 1) / 2; for (int i = t; i + h < len; i += blockDim.x) x[i] += x[i + h]; __syncthreads(); len = h; }
}
__global__ void thomas(float* x, const float* a, int n, int batch) {
  int b = blockIdx.x * blockDim.x + threadIdx.x; if (b >= batch) return;
  for (int i = 1; i < n; i++) x[i * batch + b] -= a[i * batch + b] * x[(i - 1) * batch + b];
  for (int i = n - 2; i >= 0; i--) x[i * batch + b] -= a[i * batch + b] * x[(i + 1) * batch + b];
}
__global__ void bitonic_step(int* v, int n, int j, int k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, l = i ^ j; if (i >= n || l <= i || l >= n) return;
  int a = v[i], b = v[l]; if (((i & k) == 0) == (a > b)) { v[i] = b; v[l] = a; }
}
__global__ void block_cyclic(float* o, const float* a, int n, int chunk) {
  int start = blockIdx.x * chunk, end = min(start + chunk, n);
  for (int i = start + threadIdx.x; i < end; i += blockDim.x) o[i] = a[i] + 1;
}
__global__ void serial_per_thread(float* o, const float* a, int n, int per) {
  int t = blockIdx.x * blockDim.x + threadIdx.x; float s = 0;
  for (int k = 0; k < per; k++) { int i = t * per + k; if (i < n) s += a[i]; }
  if (t * per < n) o[t] = s;
}
__global__ void diag_add(double* A, int n, long lda, double v) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) A[i * (lda + 1)] += v; }
__global__ void interleave(float* o, const float* a, const float* b, unsigned n) { for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) o[i] = i & 1 ? b[i / 2] : a[i / 2]; }
__global__ void two_phase(float* o, const float* a, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) o[i] = a[i]; else if (i < n + m) o[i] = a[i - n] * a[i - n + m]; else if (i == n + m) o[i] = 0;
}
__global__ void ragged(float* o, const float* a, int n) { int r = blockIdx.x; for (int i = threadIdx.x; i < r * 3 % 257 + 1; i += blockDim.x) o[r * 257 + i] = a[i * n + r]; }
__global__ void wave2d(float* n_, const float* c, const float* p, int pitch, int W, int H, int x0, int y0) {
  int x = x0 + blockIdx.x * blockDim.x + threadIdx.x, y = y0 + blockIdx.y * blockDim.y + threadIdx.y;
  if (x < W - x0 && y < H - y0) { int i = y * pitch + x; n_[i] = 2 * c[i] - p[i] + .1f * (c[i + 1] + c[i - 1] + c[i + pitch] + c[i - pitch] - 4 * c[i]); }
}
__global__ void copy_if_even_blocks(float* o, const float* a, int n) { if (blockIdx.x & 1) return; int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) o[i] = a[i]; }
__global__ void kv_paged(float* o, const float* pool, const int* table, int tokens, int page, int d) {
  int t = blockIdx.x * blockDim.y + threadIdx.y; if (t >= tokens) return;
  int pg = table[t / page]; for (int i = threadIdx.x; i < d; i += blockDim.x) o[(size_t)t * d + i] = pool[((size_t)pg * page + t % page) * d + i];
}
__global__ void local_array(float* o, const float* a, int n, int k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; float b[16]; if (i >= n) return;
  for (int j = 0; j < 16; j++) b[j] = a[j * n + i]; o[i] = b[k & 15];
}
