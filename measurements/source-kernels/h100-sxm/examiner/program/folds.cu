extern "C" __global__ void sum_shuffle_atomic(const float* __restrict__ in, float* __restrict__ total, int n) {
  float s = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += in[i];
  for (int o = 16; o; o >>= 1) s += __shfl_down_sync(~0u, s, o);
  if ((threadIdx.x & 31) == 0) atomicAdd(total, s);
}
extern "C" __global__ void sum_interleaved(const int* __restrict__ in, int* __restrict__ out) {
  __shared__ int s[256];
  s[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
  __syncthreads();
  for (int d = 1; d < 256; d *= 2) {
    if (threadIdx.x % (2 * d) == 0) s[threadIdx.x] += s[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}
extern "C" __global__ void sum_sequential_double(const double* __restrict__ in, double* __restrict__ out, int n) {
  __shared__ double s[512];
  int i = blockIdx.x * 1024 + threadIdx.x;
  s[threadIdx.x] = (i < n ? in[i] : 0) + (i + 512 < n ? in[i + 512] : 0);
  __syncthreads();
  for (int d = 256; d > 0; d >>= 1) {
    if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}
extern "C" __global__ void sum_ints_vec4(const int4* __restrict__ in, int* __restrict__ total, int n4) {
  __shared__ int part[8];
  int i = blockIdx.x * blockDim.x + threadIdx.x, s = 0;
  if (i < n4) { int4 v = in[i]; s = v.x + v.y + v.z + v.w; }
  s = __reduce_add_sync(~0u, s);
  if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = s;
  __syncthreads();
  if (threadIdx.x == 0) { for (int w = 1; w < 8; ++w) s += part[w]; atomicAdd(total, s); }
}
extern "C" __global__ void max_index_rows(const float* __restrict__ in, int* __restrict__ out, int columns) {
  __shared__ float v[256]; __shared__ int at[256];
  float m = -1; int k = 0;
  for (int i = threadIdx.x; i < columns; i += 256) { float q = in[(size_t)blockIdx.x * columns + i]; if (q > m) { m = q; k = i; } }
  v[threadIdx.x] = m; at[threadIdx.x] = k;
  __syncthreads();
  for (int d = 128; d; d >>= 1) {
    if (threadIdx.x < d && v[threadIdx.x + d] > v[threadIdx.x]) { v[threadIdx.x] = v[threadIdx.x + d]; at[threadIdx.x] = at[threadIdx.x + d]; }
    __syncthreads();
  }
  if (!threadIdx.x) out[blockIdx.x] = at[0];
}
extern "C" __global__ void column_sums(const float* __restrict__ in, float* __restrict__ out, int rows, int columns) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
  for (int r = blockIdx.y; r < rows; r += gridDim.y) s += in[(size_t)r * columns + c];
  atomicAdd(&out[c], s);
}
extern "C" __global__ void scan_hillis(const float* __restrict__ in, float* __restrict__ out, float* __restrict__ sums) {
  __shared__ float s[2][512];
  int t = threadIdx.x, from = 0;
  s[0][t] = in[blockIdx.x * 512 + t];
  __syncthreads();
  for (int d = 1; d < 512; d <<= 1) {
    s[1 - from][t] = t >= d ? s[from][t] + s[from][t - d] : s[from][t];
    from = 1 - from;
    __syncthreads();
  }
  out[blockIdx.x * 512 + t] = s[from][t];
  if (t == 511) sums[blockIdx.x] = s[from][t];
}
extern "C" __global__ void scan_blelloch(const int* __restrict__ in, int* __restrict__ out) {
  __shared__ int s[1024];
  int t = threadIdx.x, b = blockIdx.x * 1024, o = 1;
  s[2 * t] = in[b + 2 * t]; s[2 * t + 1] = in[b + 2 * t + 1];
  for (int d = 512; d > 0; d >>= 1) {
    __syncthreads();
    if (t < d) s[o * (2 * t + 2) - 1] += s[o * (2 * t + 1) - 1];
    o *= 2;
  }
  if (t == 0) s[1023] = 0;
  for (int d = 1; d < 1024; d *= 2) {
    o >>= 1;
    __syncthreads();
    if (t < d) { int x = o * (2 * t + 1) - 1, y = o * (2 * t + 2) - 1; int v = s[x]; s[x] = s[y]; s[y] += v; }
  }
  __syncthreads();
  out[b + 2 * t] = s[2 * t]; out[b + 2 * t + 1] = s[2 * t + 1];
}
extern "C" __global__ void scan_warp_shuffle(const int* __restrict__ in, int* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
  int v = i < n ? in[i] : 0;
  for (int d = 1; d < 32; d <<= 1) { int u = __shfl_up_sync(~0u, v, d); if (lane >= d) v += u; }
  if (i < n) out[i] = v;
}
extern "C" __global__ void hist_global(const unsigned char* __restrict__ in, unsigned* __restrict__ bins, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[in[i]], 1u);
}
extern "C" __global__ void hist_shared(const unsigned char* __restrict__ in, unsigned* __restrict__ bins, int n) {
  __shared__ unsigned s[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) s[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&s[in[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], s[i]);
}
extern "C" __global__ void hist_shared_wide(const unsigned* __restrict__ in, unsigned* __restrict__ bins, int n) {
  __shared__ unsigned s[4096];
  for (int i = threadIdx.x; i < 4096; i += blockDim.x) s[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&s[in[i] & 4095], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 4096; i += blockDim.x) if (s[i]) atomicAdd(&bins[i], s[i]);
}
extern "C" __global__ void hist_four_copies(const uchar4* __restrict__ in, unsigned* __restrict__ bins, int n4) {
  __shared__ unsigned s[4][256];
  unsigned* mine = s[(threadIdx.x >> 5) & 3];
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) (&s[0][0])[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n4; i += gridDim.x * blockDim.x) {
    uchar4 v = in[i];
    atomicAdd(&mine[v.x], 1u); atomicAdd(&mine[v.y], 1u); atomicAdd(&mine[v.z], 1u); atomicAdd(&mine[v.w], 1u);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], s[0][i] + s[1][i] + s[2][i] + s[3][i]);
}
extern "C" __global__ void group_max(const int* __restrict__ key, const int* __restrict__ value, int* __restrict__ best, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicMax(&best[key[i]], value[i]);
}
extern "C" __global__ void scatter_double(const int* __restrict__ key, const double* __restrict__ value, double* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&out[key[i]], value[i]);
}
extern "C" __global__ void compact_positive(const float* __restrict__ in, float* __restrict__ out, int* __restrict__ count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
  float v = i < n ? in[i] : 0;
  unsigned m = __ballot_sync(~0u, v > 0.5f);
  int base = 0;
  if (lane == 0 && m) base = atomicAdd(count, __popc(m));
  base = __shfl_sync(~0u, base, 0);
  if (v > 0.5f) out[base + __popc(m & ((1u << lane) - 1))] = v;
}
