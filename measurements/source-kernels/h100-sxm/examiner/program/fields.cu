extern "C" __global__ void jacobi5(const float* __restrict__ in, float* __restrict__ out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x > 0 && y > 0 && x < w - 1 && y < h - 1) {
    int i = y * w + x;
    out[i] = 0.25f * (in[i - 1] + in[i + 1] + in[i - w] + in[i + w]);
  }
}
extern "C" __global__ void blur9_shared(const float* __restrict__ in, float* __restrict__ out, int w, int h) {
  __shared__ float t[18][18];
  int x0 = blockIdx.x * 16 - 1, y0 = blockIdx.y * 16 - 1;
  for (int i = threadIdx.y * 16 + threadIdx.x; i < 324; i += 256) {
    int x = min(max(x0 + i % 18, 0), w - 1), y = min(max(y0 + i / 18, 0), h - 1);
    t[i / 18][i % 18] = in[y * w + x];
  }
  __syncthreads();
  float s = 0;
  for (int dy = 0; dy < 3; ++dy) for (int dx = 0; dx < 3; ++dx) s += t[threadIdx.y + dy][threadIdx.x + dx];
  out[(y0 + 1 + threadIdx.y) * w + x0 + 1 + threadIdx.x] = s / 9;
}
extern "C" __global__ void heat7(const float* __restrict__ in, float* __restrict__ out, int nx, int ny, int nz) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < 1 || y < 1 || z < 1 || x >= nx - 1 || y >= ny - 1 || z >= nz - 1) return;
  size_t i = ((size_t)z * ny + y) * nx + x, p = (size_t)nx * ny;
  out[i] = in[i] + 0.1f * (in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx] + in[i - p] + in[i + p] - 6 * in[i]);
}
extern "C" __global__ void heat7_march(const float* __restrict__ in, float* __restrict__ out, int nx, int ny, int nz) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1) return;
  size_t p = (size_t)nx * ny, i = (size_t)y * nx + x;
  float below = in[i], here = in[i + p];
  for (int z = 1; z < nz - 1; ++z) {
    i += p;
    float above = in[i + p];
    out[i] = here + 0.1f * (below + above + in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx] - 6 * here);
    below = here; here = above;
  }
}
extern "C" __global__ void wave25_shared(const float* __restrict__ in, float* __restrict__ out, int nx, int ny, int nz) {
  __shared__ float t[16][40];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  size_t p = (size_t)nx * ny;
  for (int z = 4; z < nz - 4; ++z) {
    size_t i = z * p + (size_t)(y + 4) * nx + x + 4;
    __syncthreads();
    t[threadIdx.y + 4][threadIdx.x + 4] = in[i];
    if (threadIdx.y < 4) { t[threadIdx.y][threadIdx.x + 4] = in[i - 4 * nx]; t[threadIdx.y + 12][threadIdx.x + 4] = in[i + 8 * nx]; }
    if (threadIdx.x < 4) { t[threadIdx.y + 4][threadIdx.x] = in[i - 4]; t[threadIdx.y + 4][threadIdx.x + 36] = in[i + 32]; }
    __syncthreads();
    float s = 0;
#pragma unroll
    for (int d = 1; d <= 4; ++d)
      s += (t[threadIdx.y + 4][threadIdx.x + 4 - d] + t[threadIdx.y + 4][threadIdx.x + 4 + d] + t[threadIdx.y + 4 - d][threadIdx.x + 4] + t[threadIdx.y + 4 + d][threadIdx.x + 4] + in[i + d * p] + in[i - d * p]) / d;
    out[i] = s;
  }
}
__constant__ float taps[64];
extern "C" __global__ void fir_constant(const float* __restrict__ in, float* __restrict__ out, int n, int k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
  if (i + k <= n) {
    for (int j = 0; j < k; ++j) s += in[i + j] * taps[j];
    out[i] = s;
  }
}
extern "C" __global__ void conv5_image(const unsigned char* __restrict__ in, const float* __restrict__ w5, unsigned char* __restrict__ out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float s = 0;
  for (int dy = -2; dy <= 2; ++dy)
    for (int dx = -2; dx <= 2; ++dx) {
      int xx = min(max(x + dx, 0), w - 1), yy = min(max(y + dy, 0), h - 1);
      s += in[yy * w + xx] * w5[(dy + 2) * 5 + dx + 2];
    }
  out[y * w + x] = (unsigned char)s;
}
extern "C" __global__ void grey_from_rgb(const uchar3* __restrict__ in, unsigned char* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { uchar3 p = in[i]; out[i] = (p.x * 77 + p.y * 150 + p.z * 29) >> 8; }
}
extern "C" __global__ void mandel(int* __restrict__ out, int w, int h, int most) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float cr = -2.f + 3.f * x / w, ci = -1.5f + 3.f * y / h, r = 0, i = 0;
  int k = 0;
  while (k < most && r * r + i * i < 4.f) { float t = r * r - i * i + cr; i = 2 * r * i + ci; r = t; ++k; }
  out[y * w + x] = k;
}
extern "C" __global__ void upsample2(const float* __restrict__ in, float* __restrict__ out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h) out[y * w + x] = 0.5f * (in[(y / 2) * (w / 2) + x / 2] + in[min(y / 2 + 1, h / 2 - 1) * (w / 2) + x / 2]);
}
extern "C" __global__ void maxpool2(const float2* __restrict__ in, float* __restrict__ out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < w) { float2 a = in[(size_t)(2 * y) * w + x], b = in[(size_t)(2 * y + 1) * w + x]; out[y * w + x] = fmaxf(fmaxf(a.x, a.y), fmaxf(b.x, b.y)); }
}
