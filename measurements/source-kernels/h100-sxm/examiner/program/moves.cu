extern "C" __global__ void tr_naive(const float* __restrict__ in, float* __restrict__ out, int w, int h) {
  int x = blockIdx.x * 32 + threadIdx.x;
  for (int j = threadIdx.y; j < 32; j += blockDim.y) { int y = blockIdx.y * 32 + j; out[(size_t)x * h + y] = in[(size_t)y * w + x]; }
}
extern "C" __global__ void tr_tile(const float* __restrict__ in, float* __restrict__ out, int w, int h) {
  __shared__ float t[32][32];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32;
  for (int j = threadIdx.y; j < 32; j += 8) t[j][threadIdx.x] = in[(size_t)(y + j) * w + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x; y = blockIdx.x * 32;
  for (int j = threadIdx.y; j < 32; j += 8) out[(size_t)(y + j) * h + x] = t[threadIdx.x][j];
}
extern "C" __global__ void tr_padded(const float* __restrict__ in, float* __restrict__ out, int w, int h) {
  __shared__ float t[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32;
  for (int j = threadIdx.y; j < 32; j += 8) t[j][threadIdx.x] = in[(size_t)(y + j) * w + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x; y = blockIdx.x * 32;
  for (int j = threadIdx.y; j < 32; j += 8) out[(size_t)(y + j) * h + x] = t[threadIdx.x][j];
}
extern "C" __global__ void tr_small_double(const double* __restrict__ in, double* __restrict__ out, int w, int h) {
  __shared__ double t[16][17];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x < w && y < h) t[threadIdx.y][threadIdx.x] = in[(size_t)y * w + x];
  __syncthreads();
  x = blockIdx.y * 16 + threadIdx.x; y = blockIdx.x * 16 + threadIdx.y;
  if (x < h && y < w) out[(size_t)y * h + x] = t[threadIdx.x][threadIdx.y];
}
struct Particle { float x, y, z, vx, vy, vz; };
extern "C" __global__ void push_aos(Particle* p, float dt, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { p[i].x += dt * p[i].vx; p[i].y += dt * p[i].vy; p[i].z += dt * p[i].vz; }
}
extern "C" __global__ void push_soa(float* x, float* y, float* z, const float* __restrict__ vx, const float* __restrict__ vy, const float* __restrict__ vz, float dt, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { x[i] += dt * vx[i]; y[i] += dt * vy[i]; z[i] += dt * vz[i]; }
}
struct Record { int key; float a, b, c; double d; long long e; };
extern "C" __global__ void pick_field(const Record* __restrict__ r, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = r[i].b * 2.f;
}
extern "C" __global__ void csr_scalar(const int* __restrict__ start, const int* __restrict__ column, const float* __restrict__ value, const float* __restrict__ x, float* __restrict__ y, int rows) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float s = 0;
  for (int i = start[r]; i < start[r + 1]; ++i) s += value[i] * x[column[i]];
  y[r] = s;
}
extern "C" __global__ void csr_vector(const int* __restrict__ start, const int* __restrict__ column, const float* __restrict__ value, const float* __restrict__ x, float* __restrict__ y, int rows) {
  int r = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
  if (r >= rows) return;
  float s = 0;
  for (int i = start[r] + lane; i < start[r + 1]; i += 32) s += value[i] * x[column[i]];
  for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
  if (!lane) y[r] = s;
}
extern "C" __global__ void ell_rows(const int* __restrict__ column, const float* __restrict__ value, const float* __restrict__ x, float* __restrict__ y, int rows, int width) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float s = 0;
  for (int j = 0; j < width; ++j) { int i = j * rows + r; s += value[i] * x[column[i]]; }
  y[r] = s;
}
extern "C" __global__ void copy_stride(const float* __restrict__ in, float* __restrict__ out, int n, int stride) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[(size_t)i * stride];
}
extern "C" __global__ void copy_out_stride(const float* __restrict__ in, float* __restrict__ out, int n, int stride) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[(size_t)i * stride] = in[i];
}
extern "C" __global__ void copy_vec4(const float4* __restrict__ in, float4* __restrict__ out, int n4) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n4) out[i] = in[i];
}
extern "C" __global__ void copy_unroll4(const float* __restrict__ in, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x * 4 + threadIdx.x;
  float v[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) v[k] = in[i + k * blockDim.x];
#pragma unroll
  for (int k = 0; k < 4; ++k) out[i + k * blockDim.x] = v[k];
}
extern "C" __global__ void copy_chunk_thread(const float* __restrict__ in, float* __restrict__ out, int each) {
  int i = (blockIdx.x * blockDim.x + threadIdx.x) * each;
  for (int k = 0; k < each; ++k) out[i + k] = in[i + k];
}
extern "C" __global__ void copy_bytes(const unsigned char* __restrict__ in, unsigned char* __restrict__ out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = in[i];
}
extern "C" __global__ void axpy_stride(const float* __restrict__ x, float* __restrict__ y, float a, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] += a * x[i];
}
extern "C" __global__ void triad_double2(const double2* __restrict__ b, const double2* __restrict__ c, double2* __restrict__ a, double s, int n2) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n2; i += gridDim.x * blockDim.x) { double2 p = b[i], q = c[i]; a[i] = make_double2(p.x + s * q.x, p.y + s * q.y); }
}
extern "C" __global__ void gather_perm(const float* __restrict__ in, const int* __restrict__ at, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[at[i]];
}
extern "C" __global__ void scatter_perm(const float* __restrict__ in, const int* __restrict__ at, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[at[i]] = in[i];
}
extern "C" __global__ void bitonic_step(unsigned* __restrict__ v, int j, int k) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, p = i ^ j;
  if (p > i) {
    unsigned a = v[i], b = v[p];
    if ((a > b) == ((i & k) == 0)) { v[i] = b; v[p] = a; }
  }
}
extern "C" __global__ void search_sorted(const int* __restrict__ sorted, const int* __restrict__ ask, int* __restrict__ out, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m) return;
  int q = ask[i], low = 0, high = n;
  while (low < high) { int mid = (low + high) >> 1; if (sorted[mid] < q) low = mid + 1; else high = mid; }
  out[i] = low;
}
extern "C" __global__ void chase(const int* __restrict__ next, int* __restrict__ out, int steps) {
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = 0; i < steps; ++i) at = next[at];
  out[blockIdx.x * blockDim.x + threadIdx.x] = at;
}
extern "C" __global__ void pi_draws(unsigned long long* __restrict__ hits, int rounds) {
  unsigned s = (blockIdx.x * blockDim.x + threadIdx.x) * 747796405u + 2891336453u;
  unsigned in = 0;
  for (int i = 0; i < rounds; ++i) {
    s = s * 1664525u + 1013904223u; float x = (s >> 8) * (1.f / 16777216.f);
    s = s * 1664525u + 1013904223u; float y = (s >> 8) * (1.f / 16777216.f);
    in += x * x + y * y < 1.f;
  }
  atomicAdd(hits, (unsigned long long)in);
}
extern "C" __global__ void matrix_add_wrong_way(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x, q = blockIdx.y * blockDim.y + threadIdx.y;
  if (r < n && q < n) c[(size_t)r * n + q] = a[(size_t)r * n + q] + b[(size_t)r * n + q];
}
