// Kernels whose addresses have formulas, for the tests; nvcc -arch=sm_90 -lineinfo -ptx.
extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
extern "C" __global__ void grid_stride(const float* __restrict__ x, float* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = 2 * x[i];
}
extern "C" __global__ void product(const float* A, const float* B, float* C, int M, int N, int K) {
  int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < M && c < N) {
    float sum = 0;
    for (int k = 0; k < K; k++) sum += A[r * K + k] * B[k * N + c];
    C[r * N + c] = sum;
  }
}
#define T 32
extern "C" __global__ void product_tiled(const float* A, const float* B, float* C, int N) {
  __shared__ float a[T][T], b[T][T];
  int x = threadIdx.x, y = threadIdx.y, r = blockIdx.y * T + y, c = blockIdx.x * T + x;
  float sum = 0;
  for (int t = 0; t < N / T; t++) {
    a[y][x] = A[r * N + t * T + x];
    b[y][x] = B[(t * T + y) * N + c];
    __syncthreads();
    for (int k = 0; k < T; k++) sum += a[y][k] * b[k][x];
    __syncthreads();
  }
  C[r * N + c] = sum;
}
extern "C" __global__ void transpose(const float* in, float* out, int w, int h) {
  __shared__ float t[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (x < w && y + j < h) t[threadIdx.y + j][threadIdx.x] = in[(y + j) * w + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (x < h && y + j < w) out[(y + j) * h + x] = t[threadIdx.x][threadIdx.y + j];
}
extern "C" __global__ void reduce(const float* x, float* out, int n) {
  extern __shared__ float s[];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  s[t] = i < n ? x[i] : 0;
  __syncthreads();
  for (int d = blockDim.x / 2; d > 0; d >>= 1) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}
extern "C" __global__ void stencil(const float* in, float* out, int nx, int ny) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x > 0 && x < nx - 1 && y > 0 && y < ny - 1)
    out[y * nx + x] = 0.25f * (in[y * nx + x - 1] + in[y * nx + x + 1] + in[(y - 1) * nx + x] + in[(y + 1) * nx + x]);
}
extern "C" __global__ void histogram(const unsigned char* d, unsigned* h, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&h[d[i]], 1u);
}
extern "C" __global__ void gather(const int* index, const float* table, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = table[index[i]];
}
extern "C" __global__ void copy_vectors(const float4* a, float4* b, size_t n) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) b[i] = a[i];
}
extern "C" __global__ void clamped(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int d = -3; d <= 3; d++) sum += in[min(max(i + d, 0), n - 1)];
  out[i] = sum;
}
extern "C" __global__ void warp_sums(const float* x, float* out, int n) {
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += x[i];
  for (int d = 16; d; d >>= 1) sum += __shfl_down_sync(~0u, sum, d);
  if ((threadIdx.x & 31) == 0) atomicAdd(out, sum);
}
extern "C" __global__ void triangle(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
#pragma unroll 1
  for (int k = 0; k <= i % 48; k++) sum += in[i / 48 * 48 + k];
  out[i] = sum;
}
extern "C" __global__ void collatz(int* steps, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned value = i + 1;
  int count = 0;
  for (; value != 1; ++count) value = value & 1 ? 3 * value + 1 : value >> 1;
  steps[i] = count;
}
extern "C" __global__ void sparse(const int* starts, const int* columns, const float* values, const float* x, float* y, int rows) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int k = starts[row]; k < starts[row + 1]; ++k) sum += values[k] * x[columns[k]];
  y[row] = sum;
}
extern "C" __global__ void compact(const int* in, int* out, int* count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  bool keep = i < n && in[i] > 0;
  unsigned mask = __ballot_sync(~0u, keep);
  int lane = threadIdx.x & 31, base = 0;
  if (lane == 0 && mask) base = atomicAdd(count, __popc(mask));
  base = __shfl_sync(~0u, base, 0);
  if (keep) out[base + __popc(mask & ((1u << lane) - 1))] = in[i];
}
extern "C" __global__ void forever(int* out, int n) {
  volatile int* p = out;
  while (p[0] != n + 1) p[1] = n;
}
