// Harder for a reader: ends that depend on blocks and outer loops, unsigned and wide arithmetic,
// textures, several loops that leave early, pointers that move.
#include <cstdint>
#include <cuda_fp16.h>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void split_ranges(const float* x, float* out, unsigned long long n, unsigned parts) {
  unsigned long long per = (n + parts - 1) / parts;
  unsigned long long first = blockIdx.x * per, last = first + per < n ? first + per : n;
  float s = 0;
  for (unsigned long long i = first + threadIdx.x; i < last; i += blockDim.x) s += x[i];
  for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(~0u, s, d);
  if ((threadIdx.x & 31) == 0) atomicAdd(out + blockIdx.x, s);
}

__global__ void triangle_blocks(const float* a, float* c, int n, int tile) {
  int bi = 0, rest = blockIdx.x;
  while (rest > bi) {
    rest -= bi + 1;
    ++bi;
  }
  int bj = rest;
  for (int i = threadIdx.y; i < tile; i += blockDim.y)
    for (int j = threadIdx.x; j < tile; j += blockDim.x) {
      int row = bi * tile + i, col = bj * tile + j;
      if (row < n && col <= row) c[row * n + col] = a[row * n + col] + a[col * n + row];
    }
}

__global__ void triangle_by_root(const float* x, float* out, int n) {
  long long k = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= (long long)n * (n - 1) / 2) return;
  int i = (int)((1.0 + sqrt(1.0 + 8.0 * k)) / 2.0);
  int j = (int)(k - (long long)i * (i - 1) / 2);
  out[k] = x[i] * x[j];
}

__global__ void backward_solve(const double* u, double* x, int n) {
  extern __shared__ double xs[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) xs[i] = x[blockIdx.x * n + i];
  __syncthreads();
  for (int i = n - 1; i >= 0; --i) {
    if (threadIdx.x == 0) xs[i] /= u[i * n + i];
    __syncthreads();
    double xi = xs[i];
    for (int j = threadIdx.x; j < i; j += blockDim.x) xs[j] -= u[j * n + i] * xi;
    __syncthreads();
  }
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[blockIdx.x * n + i] = xs[i];
}

__global__ void lu_in_shared(float* a, int n) {
  extern __shared__ float m[];
  float* mine = a + (size_t)blockIdx.x * n * n;
  for (int i = threadIdx.x; i < n * n; i += blockDim.x) m[i] = mine[i];
  __syncthreads();
  for (int k = 0; k < n - 1; ++k) {
    for (int i = k + 1 + threadIdx.x; i < n; i += blockDim.x) m[i * n + k] /= m[k * n + k];
    __syncthreads();
    int w = n - k - 1;
    for (int e = threadIdx.x; e < w * w; e += blockDim.x) {
      int i = k + 1 + e / w, j = k + 1 + e % w;
      m[i * n + j] -= m[i * n + k] * m[k * n + j];
    }
    __syncthreads();
  }
  for (int i = threadIdx.x; i < n * n; i += blockDim.x) mine[i] = m[i];
}

__global__ void sieve(unsigned char* composite, unsigned n) {
  unsigned p = blockIdx.x * blockDim.x + threadIdx.x + 2;
  if ((unsigned long long)p * p > n || composite[p]) return;
  for (unsigned m = p * p; m <= n; m += p) composite[m] = 1;
}

__global__ void divisors(unsigned* count, unsigned n) {
  unsigned v = blockIdx.x * blockDim.x + threadIdx.x + 1;
  if (v > n) return;
  unsigned c = 0;
  for (unsigned d = 1; (uint64_t)d * d <= v; ++d)
    if (v % d == 0) c += 1 + (d != v / d);
  count[v - 1] = c;
}

__global__ void window_maxima(const float* x, float* y, int n, int radius) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float m = -1e30f;
  for (int j = max(0, i - radius), end = min(n - 1, i + radius); j <= end; ++j) m = fmaxf(m, x[j]);
  y[i] = m;
}

__global__ void box_volume(const float* in, float* out, int3 size, int r) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
      z = blockIdx.z;
  if (x >= size.x || y >= size.y) return;
  float s = 0;
  int count = 0;
  for (int k = -r; k <= r; ++k) {
    if (z + k < 0 || z + k >= size.z) continue;
    for (int j = -r; j <= r; ++j) {
      if (y + j < 0 || y + j >= size.y) continue;
      for (int i = -r; i <= r; ++i) {
        if (x + i < 0 || x + i >= size.x) continue;
        s += in[((z + k) * size.y + y + j) * size.x + x + i];
        ++count;
      }
    }
  }
  out[(z * size.y + y) * size.x + x] = s / count;
}

__global__ void column_stride_scan(const int* in, int* out, size_t rows, size_t columns) {
  size_t c = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (c >= columns) return;
  const int* p = in + c;
  int* q = out + c;
  int s = 0;
  for (const int* end = p + rows * columns; p < end; p += columns, q += columns) {
    s += *p;
    *q = s;
  }
}

__global__ void two_pointers(const int* a, const int* b, const int* start_a, const int* start_b,
                             int* common, int pairs) {
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= pairs) return;
  int i = start_a[p], ie = start_a[p + 1], j = start_b[p], je = start_b[p + 1], c = 0;
  while (i < ie && j < je) {
    if (a[i] < b[j]) ++i;
    else if (b[j] < a[i]) ++j;
    else {
      ++c;
      ++i;
      ++j;
    }
  }
  common[p] = c;
}

__global__ void jump_flags(const float* x, int* out, int n, int tries) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (int k = 0; k < tries; ++k) {
    float v = x[(i * 31 + k * 17) % n];
    if (v > 0.9f) {
      out[i] = k;
      goto done;
    }
    if (v < 0.01f) break;
    if (k % 3 == 2) continue;
    out[i] = -k;
  }
done:
  out[i] += 1;
}

__global__ void segmented_sum(const float* v, const int* head, float* out, int n) {
  __shared__ float s[256];
  __shared__ int f[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  s[t] = i < n ? v[i] : 0;
  f[t] = i < n ? head[i] : 1;
  for (int d = 1; d < 256; d <<= 1) {
    __syncthreads();
    float a = t >= d && !f[t] ? s[t - d] : 0.f;
    int g = t >= d ? f[t - d] : 0;
    __syncthreads();
    s[t] += a;
    f[t] |= g;
  }
  if (i < n) out[i] = s[t];
}

__global__ void radix_counts(const unsigned* keys, unsigned* counts, unsigned n, unsigned shift) {
  extern __shared__ unsigned bins[];
  for (unsigned b = threadIdx.x; b < 256; b += blockDim.x) bins[b] = 0;
  __syncthreads();
  unsigned per = (n + gridDim.x - 1) / gridDim.x;
  unsigned end = min(n, (blockIdx.x + 1) * per);
  for (unsigned i = blockIdx.x * per + threadIdx.x; i < end; i += blockDim.x)
    atomicAdd(&bins[keys[i] >> shift & 0xff], 1u);
  __syncthreads();
  for (unsigned b = threadIdx.x; b < 256; b += blockDim.x) counts[b * gridDim.x + blockIdx.x] = bins[b];
}

struct Tensor4 {
  const float* data;
  long long shape[4];
  long long stride[4];
  __device__ float at(long long n, long long c, long long h, long long w) const {
    return data[n * stride[0] + c * stride[1] + h * stride[2] + w * stride[3]];
  }
};
__global__ void max_pool(Tensor4 in, float* out, long long total, int k, int s, int oh, int ow) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < total;
       i += (long long)blockDim.x * gridDim.x) {
    int w = i % ow, h = i / ow % oh;
    long long c = i / ((long long)ow * oh) % in.shape[1], n = i / ((long long)ow * oh * in.shape[1]);
    float m = -INFINITY;
    for (int y = 0; y < k; ++y)
      for (int x = 0; x < k; ++x) {
        long long yy = h * s + y, xx = w * s + x;
        if (yy < in.shape[2] && xx < in.shape[3]) m = fmaxf(m, in.at(n, c, yy, xx));
      }
    out[i] = m;
  }
}

__global__ void grouped_attention_mask(__half* score, const int* length, int rows, int columns) {
  int row = blockIdx.x;
  int visible = min(length[row / 64], row % 64 + 1);
  for (int c = threadIdx.x * 2; c < columns; c += blockDim.x * 2) {
    __half2* p = (__half2*)(score + (size_t)row * columns + c);
    if (c >= visible) *p = __float2half2_rn(-65504.f);
    else if (c + 1 >= visible) p->y = __float2half(-65504.f);
  }
}

__global__ void strings_equal(const char* a, const char* b, const unsigned* offset, int* same, int n) {
  int w = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
  if (w >= n) return;
  unsigned i = offset[w] + lane, end = offset[w + 1];
  bool equal = true;
  while (__any_sync(0xffffffffu, i < end) && equal) {
    bool differ = i < end && a[i] != b[i];
    equal = !__any_sync(0xffffffffu, differ);
    i += 32;
  }
  if (lane == 0) same[w] = equal;
}

__global__ void grid_counters(unsigned* table, const unsigned* x, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    atomicInc(&table[0], 999u);
    atomicDec(&table[32], x[i]);
    atomicXor(&table[64 + (x[i] & 15)], x[i]);
    atomicSub(&table[96], 1u);
  }
}

__global__ void odd_block_stencil(const double* __restrict__ in, double* __restrict__ out, int n) {
  extern __shared__ double tile[];
  int g = blockIdx.x * blockDim.x + threadIdx.x, l = threadIdx.x + 2;
  if (g < n) tile[l] = in[g];
  if (threadIdx.x < 2) {
    tile[threadIdx.x] = g >= 2 ? in[g - 2] : 0;
    tile[l + blockDim.x] = g + (int)blockDim.x < n ? in[g + blockDim.x] : 0;
  }
  __syncthreads();
  if (g < n) out[g] = -tile[l - 2] + 16 * tile[l - 1] - 30 * tile[l] + 16 * tile[l + 1] - tile[l + 2];
}

__global__ void quick_select(const float* x, float* out, int length, int rows) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float v[32];
  for (int i = 0; i < length; ++i) v[i] = x[row * length + i];
  int lo = 0, hi = length - 1, k = length / 2;
  while (lo < hi) {
    float pivot = v[k];
    int i = lo, j = hi;
    do {
      while (v[i] < pivot) ++i;
      while (pivot < v[j]) --j;
      if (i <= j) {
        float t = v[i];
        v[i] = v[j];
        v[j] = t;
        ++i;
        --j;
      }
    } while (i <= j);
    if (j < k) lo = i;
    if (k < i) hi = j;
  }
  out[row] = v[k];
}

__global__ void float_steps(const float* x, float* y, int n, float dt, float end) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  for (float t = 0.f; t < end; t += dt) v += dt * (1.f - v * v);
  y[i] = v;
}

__global__ void adaptive_steps(const float* x, float* y, int* taken, int n, float end) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i], t = 0, h = 0.1f;
  int steps = 0;
  while (t < end && steps < 500) {
    float k1 = -v * v, k2 = -(v + h * k1) * (v + h * k1), e = fabsf(h * (k2 - k1)) * 0.5f;
    if (e < 1e-4f) {
      v += 0.5f * h * (k1 + k2);
      t += h;
      ++steps;
    }
    h *= fminf(2.f, fmaxf(0.3f, 0.9f * sqrtf(1e-4f / (e + 1e-9f))));
  }
  y[i] = v;
  taken[i] = steps;
}

__global__ void zigzag_blocks(const short* in, short* out, int blocks) {
  __shared__ short tile[4][64];
  const unsigned char order[16] = {0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5};
  int b = blockIdx.x * 4 + threadIdx.y;
  if (b < blocks) {
    tile[threadIdx.y][threadIdx.x] = in[b * 64 + threadIdx.x];
    tile[threadIdx.y][threadIdx.x + 32] = in[b * 64 + threadIdx.x + 32];
    __syncwarp();
    if (threadIdx.x < 16) out[b * 16 + threadIdx.x] = tile[threadIdx.y][order[threadIdx.x]];
  }
}

__global__ void swizzled_product(const half* a, const half* b, float* c, int m, int n, int k, int group) {
  int tiles_m = (m + 31) / 32, tiles_n = (n + 31) / 32, per = group * tiles_n;
  int g = blockIdx.x / per, first = g * group, size = min(tiles_m - first, group);
  int tm = first + blockIdx.x % per % size, tn = blockIdx.x % per / size;
  __shared__ half as[32][34], bs[32][34];
  int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  float acc[2][2] = {};
  for (int k0 = 0; k0 < k; k0 += 32) {
    for (int e = threadIdx.x; e < 1024; e += 256) {
      int r = e / 32, q = e % 32;
      as[r][q] = tm * 32 + r < m && k0 + q < k ? a[(tm * 32 + r) * k + k0 + q] : __float2half(0.f);
      bs[r][q] = k0 + r < k && tn * 32 + q < n ? b[(k0 + r) * n + tn * 32 + q] : __float2half(0.f);
    }
    __syncthreads();
    for (int q = 0; q < 32; ++q)
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j)
          acc[i][j] += __half2float(as[ty * 2 + i][q]) * __half2float(bs[q][tx * 2 + j]);
    __syncthreads();
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) {
      int r = tm * 32 + ty * 2 + i, q = tn * 32 + tx * 2 + j;
      if (r < m && q < n) c[r * n + q] = acc[i][j];
    }
}

__global__ void gray_walk(const float* w, float* best, int bits, unsigned first) {
  unsigned i = first + blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
  for (unsigned g = i ^ i >> 1; g; g &= g - 1) s += w[__ffs(g) - 1];
  for (int d = 16; d; d >>= 1) s = fmaxf(s, __shfl_xor_sync(~0u, s, d));
  if (threadIdx.x % 32 == 0) best[(i - first) / 32] = s;
}

__global__ void knapsack(const int* weight, const int* value, int* table, int items, int capacity) {
  extern __shared__ int best[];
  int* from = best;
  int* to = best + capacity + 1;
  for (int c = threadIdx.x; c <= capacity; c += blockDim.x) from[c] = 0;
  __syncthreads();
  for (int i = 0; i < items; ++i) {
    int w = weight[blockIdx.x * items + i], v = value[blockIdx.x * items + i];
    for (int c = threadIdx.x; c <= capacity; c += blockDim.x)
      to[c] = c >= w ? max(from[c], from[c - w] + v) : from[c];
    __syncthreads();
    int* t = from;
    from = to;
    to = t;
  }
  if (threadIdx.x == 0) table[blockIdx.x] = from[capacity];
}
