// Kernels of linear algebra, transforms and waves.

// Many small products: 32 x 32 of one a block, 16 of the inner dimension at a time, 2 x 2 a thread; any sizes.
extern "C" __global__ void __launch_bounds__(256) batched_gemm(const float* __restrict__ a,
                                                               const float* __restrict__ b, float* __restrict__ c,
                                                               int m, int n, int k) {
  __shared__ float as[16][33], bs[16][32];
  int tx = threadIdx.x, ty = threadIdx.y, t = ty * 16 + tx;
  int row0 = blockIdx.y * 32, column0 = blockIdx.x * 32;
  a += (size_t)blockIdx.z * m * k;
  b += (size_t)blockIdx.z * k * n;
  c += (size_t)blockIdx.z * m * n;
  float sum[2][2] = {};
  for (int k0 = 0; k0 < k; k0 += 16) {
#pragma unroll
    for (int each = 0; each < 2; ++each) {
      int row = t / 16 + each * 16, inner = t % 16;
      as[inner][row] = row0 + row < m && k0 + inner < k ? a[(row0 + row) * k + k0 + inner] : 0.0f;
      int column = t % 32;
      inner = t / 32 + each * 8;
      bs[inner][column] = column0 + column < n && k0 + inner < k ? b[(k0 + inner) * n + column0 + column] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      float a0 = as[i][ty], a1 = as[i][ty + 16], b0 = bs[i][tx], b1 = bs[i][tx + 16];
      sum[0][0] += a0 * b0;
      sum[0][1] += a0 * b1;
      sum[1][0] += a1 * b0;
      sum[1][1] += a1 * b1;
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      int row = row0 + ty + 16 * i, column = column0 + tx + 16 * j;
      if (row < m && column < n) c[row * n + column] = sum[i][j];
    }
}

#define MOST 48

// Cholesky factors of many small matrices, their diagonals lifted, in shared memory: a block a matrix.
extern "C" __global__ void cholesky_batch(const float* __restrict__ in, float* __restrict__ out, int n, float ridge) {
  __shared__ float l[MOST][MOST + 1];
  const float* from = in + (size_t)blockIdx.x * n * n;
  for (int i = threadIdx.x; i < n * n; i += blockDim.x) {
    int row = i / n, column = i % n;
    if (column <= row) l[row][column] = from[i] + (row == column ? ridge : 0.0f);
  }
  __syncthreads();
  for (int k = 0; k < n; ++k) {
    if (threadIdx.x == 0) l[k][k] = sqrtf(l[k][k]);
    __syncthreads();
    float pivot = l[k][k];
    for (int row = k + 1 + threadIdx.x; row < n; row += blockDim.x) l[row][k] /= pivot;
    __syncthreads();
    int left = n - k - 1;
    for (int i = threadIdx.x; i < left * left; i += blockDim.x) {
      int row = k + 1 + i / left, column = k + 1 + i % left;
      if (column <= row) l[row][column] -= l[row][k] * l[column][k];
    }
    __syncthreads();
  }
  float* to = out + (size_t)blockIdx.x * n * n;
  for (int i = threadIdx.x; i < n * n; i += blockDim.x) {
    int row = i / n, column = i % n;
    to[i] = column <= row ? l[row][column] : 0.0f;
  }
}

__device__ __forceinline__ float2 times(float2 a, float2 b) {
  return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

// Fourier transforms of 1024 complex numbers: a block each, five passes of four points a thread through shared memory.
extern "C" __global__ void __launch_bounds__(256) fft_radix4(const float2* __restrict__ in, float2* __restrict__ out) {
  __shared__ float re[1024], im[1024];
  int t = threadIdx.x;
  in += (size_t)blockIdx.x * 1024;
  out += (size_t)blockIdx.x * 1024;
  float2 v[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) v[k] = in[t + 256 * k];
  for (int length = 1;; length *= 4) {
    int within = t % length;
    float sine, cosine;
    sincospif(-0.5f * (float)within / (float)length, &sine, &cosine);
    float2 w1 = make_float2(cosine, sine), w2 = times(w1, w1), w3 = times(w2, w1);
    v[1] = times(v[1], w1);
    v[2] = times(v[2], w2);
    v[3] = times(v[3], w3);
    float2 a = make_float2(v[0].x + v[2].x, v[0].y + v[2].y), b = make_float2(v[0].x - v[2].x, v[0].y - v[2].y);
    float2 c = make_float2(v[1].x + v[3].x, v[1].y + v[3].y), d = make_float2(v[1].y - v[3].y, v[3].x - v[1].x);
    v[0] = make_float2(a.x + c.x, a.y + c.y);
    v[1] = make_float2(b.x + d.x, b.y + d.y);
    v[2] = make_float2(a.x - c.x, a.y - c.y);
    v[3] = make_float2(b.x - d.x, b.y - d.y);
    int to = (t - within) * 4 + within;
    if (length == 256) {
#pragma unroll
      for (int k = 0; k < 4; ++k) out[to + k * length] = v[k];
      return;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      re[to + k * length] = v[k].x;
      im[to + k * length] = v[k].y;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 4; ++k) v[k] = make_float2(re[t + 256 * k], im[t + 256 * k]);
  }
}

// A step of the wave equation, fourth order in space, in double precision: columns of z in registers, edges left alone.
extern "C" __global__ void wave_double(const double* __restrict__ now, const double* __restrict__ past,
                                       double* __restrict__ next, int nx, int ny, int nz, int depth, double courant) {
  int x = blockIdx.x * blockDim.x + threadIdx.x + 2, y = blockIdx.y * blockDim.y + threadIdx.y + 2;
  if (x >= nx - 2 || y >= ny - 2) return;
  int plane = nx * ny, begin = blockIdx.z * depth + 2, end = min(begin + depth, nz - 2);
  int at = begin * plane + y * nx + x;
  double behind2 = now[at - 2 * plane], behind = now[at - plane], here = now[at], ahead = now[at + plane];
  for (int z = begin; z < end; ++z) {
    double ahead2 = now[at + 2 * plane];
    double near = now[at - 1] + now[at + 1] + now[at - nx] + now[at + nx] + behind + ahead;
    double far = now[at - 2] + now[at + 2] + now[at - 2 * nx] + now[at + 2 * nx] + behind2 + ahead2;
    double bend = 4.0 / 3.0 * near - 1.0 / 12.0 * far - 7.5 * here;
    next[at] = 2.0 * here - past[at] + courant * bend;
    behind2 = behind;
    behind = here;
    here = ahead;
    ahead = ahead2;
    at += plane;
  }
}
