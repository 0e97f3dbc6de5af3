extern "C" __global__ void mm_square32(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int n, int k) {
  __shared__ float ta[32][32], tb[32][32];
  int r = blockIdx.y * 32 + threadIdx.y, q = blockIdx.x * 32 + threadIdx.x;
  float s = 0.f;
  for (int at = 0; at < k; at += 32) {
    ta[threadIdx.y][threadIdx.x] = (r < m && at + threadIdx.x < k) ? a[r * k + at + threadIdx.x] : 0.f;
    tb[threadIdx.y][threadIdx.x] = (q < n && at + threadIdx.y < k) ? b[(at + threadIdx.y) * n + q] : 0.f;
    __syncthreads();
    for (int i = 0; i < 32; ++i) s += ta[threadIdx.y][i] * tb[i][threadIdx.x];
    __syncthreads();
  }
  if (r < m && q < n) c[r * n + q] = s;
}
template <int BM, int BN, int BK, int TM, int TN>
__device__ void tiled(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n, int k) {
  __shared__ float ta[BK][BM + 4], tb[BK][BN];
  constexpr int T = (BM / TM) * (BN / TN);
  int t = threadIdx.x, tx = t % (BN / TN), ty = t / (BN / TN);
  float acc[TM][TN] = {};
  const float* pa = a + (size_t)blockIdx.y * BM * k;
  const float* pb = b + blockIdx.x * BN;
  for (int at = 0; at < k; at += BK) {
    for (int i = t; i < BM * BK; i += T) ta[i % BK][i / BK] = pa[(i / BK) * k + at + i % BK];
    for (int i = t; i < BN * BK; i += T) tb[i / BN][i % BN] = pb[(size_t)(at + i / BN) * n + i % BN];
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < BK; ++kk) {
      float x[TM], y[TN];
#pragma unroll
      for (int i = 0; i < TM; ++i) x[i] = ta[kk][ty * TM + i];
#pragma unroll
      for (int j = 0; j < TN; ++j) y[j] = tb[kk][tx + j * (BN / TN)];
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) acc[i][j] += x[i] * y[j];
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; ++j) c[(size_t)(blockIdx.y * BM + ty * TM + i) * n + blockIdx.x * BN + tx + j * (BN / TN)] = acc[i][j];
}
extern "C" __global__ void mm_64x64x16(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n, int k) { tiled<64, 64, 16, 4, 4>(a, b, c, n, k); }
extern "C" __global__ void mm_128x64x8(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n, int k) { tiled<128, 64, 8, 8, 4>(a, b, c, n, k); }
extern "C" __global__ void mm_32x128x32(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n, int k) { tiled<32, 128, 32, 2, 8>(a, b, c, n, k); }
extern "C" __global__ void mm_double_plain(const double* __restrict__ a, const double* __restrict__ b, double* __restrict__ c, int n) {
  int r = blockIdx.y * blockDim.y + threadIdx.y, q = blockIdx.x * blockDim.x + threadIdx.x;
  double s = 0;
  for (int i = 0; i < n; ++i) s += a[r * n + i] * b[i * n + q];
  c[r * n + q] = s;
}
extern "C" __global__ void mm_transposed_b(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
  int r = blockIdx.y * blockDim.y + threadIdx.y, q = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
  for (int i = 0; i < n; ++i) s += a[r * n + i] * b[q * n + i];
  c[r * n + q] = s;
}
extern "C" __global__ void mv_row_thread(const float* __restrict__ a, const float* __restrict__ x, float* __restrict__ y, int rows, int columns) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float s = 0;
  for (int i = 0; i < columns; ++i) s += a[(size_t)r * columns + i] * x[i];
  y[r] = s;
}
extern "C" __global__ void mv_row_warp(const float* __restrict__ a, const float* __restrict__ x, float* __restrict__ y, int rows, int columns) {
  int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
  if (r >= rows) return;
  float s = 0;
  for (int i = lane; i < columns; i += 32) s += a[(size_t)r * columns + i] * x[i];
  for (int o = 16; o; o >>= 1) s += __shfl_down_sync(~0u, s, o);
  if (!lane) y[r] = s;
}
extern "C" __global__ void mv_column_major(const float* __restrict__ a, const float* __restrict__ x, float* __restrict__ y, int rows, int columns) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
  for (int i = 0; i < columns; ++i) s += a[(size_t)i * rows + r] * x[i];
  y[r] = s;
}
extern "C" __global__ void bodies_tile(const float4* __restrict__ p, float4* __restrict__ out, int n) {
  __shared__ float4 tile[128];
  int i = blockIdx.x * 128 + threadIdx.x;
  float4 me = p[i];
  float x = 0, y = 0, z = 0;
  for (int at = 0; at < n; at += 128) {
    tile[threadIdx.x] = p[at + threadIdx.x];
    __syncthreads();
#pragma unroll 8
    for (int j = 0; j < 128; ++j) {
      float4 q = tile[j];
      float dx = q.x - me.x, dy = q.y - me.y, dz = q.z - me.z;
      float w = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-4f);
      w = w * w * w * q.w;
      x += dx * w; y += dy * w; z += dz * w;
    }
    __syncthreads();
  }
  out[i] = make_float4(x, y, z, 0);
}
extern "C" __global__ void softmax_row_block(const float* __restrict__ in, float* __restrict__ out, int columns) {
  __shared__ float part[32];
  const float* row = in + (size_t)blockIdx.x * columns;
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  float m = -1e30f;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) m = fmaxf(m, row[i]);
  for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
  if (!lane) part[warp] = m;
  __syncthreads();
  m = lane < warps ? part[lane] : -1e30f;
  for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
  __syncthreads();
  float s = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) s += __expf(row[i] - m);
  for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
  if (!lane) part[warp] = s;
  __syncthreads();
  s = lane < warps ? part[lane] : 0.f;
  for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
  for (int i = threadIdx.x; i < columns; i += blockDim.x) out[(size_t)blockIdx.x * columns + i] = __expf(row[i] - m) / s;
}
extern "C" __global__ void layernorm_row_warp(const float* __restrict__ in, const float* __restrict__ g, float* __restrict__ out, int rows, int columns) {
  int r = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x & 31;
  if (r >= rows) return;
  const float* row = in + (size_t)r * columns;
  float s = 0, q = 0;
  for (int i = lane; i < columns; i += 32) { float v = row[i]; s += v; q += v * v; }
  for (int o = 16; o; o >>= 1) { s += __shfl_xor_sync(~0u, s, o); q += __shfl_xor_sync(~0u, q, o); }
  float mean = s / columns, inv = rsqrtf(q / columns - mean * mean + 1e-5f);
  for (int i = lane; i < columns; i += 32) out[(size_t)r * columns + i] = (row[i] - mean) * inv * g[i];
}
