// Functions of mathematics, atomics of every type, and small applications.
#include <cstdint>
#include <cuda_fp16.h>

__device__ float normal_cdf(float x) { return 0.5f * erfcf(-x * 0.70710678f); }
__global__ void option_prices(const float* s, const float* k, const float* t, float* call,
                              float* put, float r, float v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float root = sqrtf(t[i]);
  float d1 = (logf(s[i] / k[i]) + (r + 0.5f * v * v) * t[i]) / (v * root), d2 = d1 - v * root;
  float paid = k[i] * expf(-r * t[i]);
  call[i] = s[i] * normal_cdf(d1) - paid * normal_cdf(d2);
  put[i] = paid * normal_cdf(-d2) - s[i] * normal_cdf(-d1);
}

__global__ void gamma_correct(const float* in, float* out, float gamma, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    out[i] = powf(in[i], gamma);
}

__global__ void waves(const float* x, float* out, int n, float f) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s, c;
  sincosf(x[i] * f, &s, &c);
  out[i] = s * c + sinf(3.f * x[i]) + cosf(x[i]) + tanf(x[i]);
}

__global__ void special(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = lgammaf(x[i] + 1.5f) + erff(x[i]) + cbrtf(x[i]) + log1pf(x[i]) + expm1f(x[i]);
}

__global__ void angles(const float2* p, const float2* q, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float a = atan2f(p[i].y, p[i].x), d = hypotf(p[i].x - q[i].x, p[i].y - q[i].y);
  out[i] = fmodf(a + d * 10.f, 6.2831853f) + acosf(fminf(d, 1.f)) + asinf(q[i].x * 0.5f);
}

__global__ void doubles(const double* x, double* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = exp(-x[i]) / sqrt(1.0 + x[i] * x[i]) + sin(x[i]) * log(x[i] + 2.0);
}

__global__ void fast_sigmoid(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __fdividef(1.f, 1.f + __expf(-x[i])) * rsqrtf(x[i] + 1.f);
}

__global__ void quantise(const float* x, int8_t* q, float* scale, int columns) {
  __shared__ float most[8];
  const float* row = x + (size_t)blockIdx.x * columns;
  float m = 0;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) m = fmaxf(m, fabsf(row[c]));
  for (int d = 16; d; d >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, d));
  if ((threadIdx.x & 31) == 0) most[threadIdx.x >> 5] = m;
  __syncthreads();
  for (int w = 0; w < blockDim.x / 32; ++w) m = fmaxf(m, most[w]);
  float inverse = m > 0 ? 127.f / m : 0.f;
  for (int c = threadIdx.x; c < columns; c += blockDim.x)
    q[(size_t)blockIdx.x * columns + c] =
        (int8_t)max(-127, min(127, __float2int_rn(row[c] * inverse)));
  if (threadIdx.x == 0) scale[blockIdx.x] = m / 127.f;
}

__global__ void mandelbrot(int* out, int width, int height, int most, double x0, double y0, double d) {
  int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px >= width || py >= height) return;
  double cx = x0 + px * d, cy = y0 + py * d, x = 0, y = 0;
  int k = 0;
  while (k < most && x * x + y * y < 4.0) {
    double t = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = t;
    ++k;
  }
  out[py * width + px] = k;
}

__global__ void welford_rows(const float* x, float2* out, int columns, int rows) {
  int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  float mean = 0, m2 = 0;
  int count = 0;
  for (int c = threadIdx.x; c < columns; c += 32) {
    float v = x[(size_t)row * columns + c], d = v - mean;
    mean += d / ++count;
    m2 += d * (v - mean);
  }
  for (int off = 16; off; off >>= 1) {
    float other = __shfl_xor_sync(~0u, mean, off), m = __shfl_xor_sync(~0u, m2, off);
    int c = __shfl_xor_sync(~0u, count, off), all = count + c;
    float d = other - mean;
    if (all) {
      mean += d * c / all;
      m2 += m + d * d * count * c / all;
    }
    count = all;
  }
  if (threadIdx.x == 0) out[row] = make_float2(mean, rsqrtf(m2 / columns + 1e-5f));
}

__global__ void bin_averages(const int* bin, const double* v, double* sum, unsigned long long* count,
                             int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicAdd(&sum[bin[i]], v[i]);
    atomicAdd(&count[bin[i]], 1ull);
  }
}

__device__ void atomic_max_float(float* at, float v) {
  if (v >= 0) atomicMax((int*)at, __float_as_int(v));
  else atomicMin((unsigned*)at, __float_as_uint(v));
}
__global__ void column_maxima(const float* x, float* most, int rows, int columns) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= columns) return;
  float m = -1e30f;
  for (int r = blockIdx.y; r < rows; r += gridDim.y) m = fmaxf(m, x[(size_t)r * columns + c]);
  atomic_max_float(&most[c], m);
}

__global__ void multiply_into(double* product, const int* where, const double* factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long* at = (unsigned long long*)&product[where[i]];
  unsigned long long old = *at, seen;
  do {
    seen = old;
    old = atomicCAS(at, seen, __double_as_longlong(__longlong_as_double(seen) * factor[i]));
  } while (seen != old);
}

__global__ void push_lists(const int* key, int* head, int* next, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) next[i] = atomicExch(&head[key[i]], i);
}

__global__ void add_halves(const int* row, const __half2* v, __half2* sums, int n, int width) {
  int i = blockIdx.x * blockDim.y + threadIdx.y;
  if (i >= n) return;
  for (int c = threadIdx.x; c < width; c += 32)
    atomicAdd(&sums[row[i] * width + c], v[i * width + c]);
}

__global__ void block_counts(const int* x, int* counts, int n) {
  __shared__ int bins[64];
  if (threadIdx.x < 64) bins[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd_block(&bins[x[i] & 63], 1);
  __syncthreads();
  if (threadIdx.x < 64 && bins[threadIdx.x] > 0) atomicAdd(&counts[threadIdx.x], bins[threadIdx.x]);
}

__global__ void insert_keys(const uint32_t* keys, uint32_t* slots, uint32_t capacity, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint32_t key = keys[i] | 1, at = (key * 2654435761u) >> 8 & (capacity - 1);
  while (true) {
    uint32_t old = atomicCAS(&slots[at], 0u, key);
    if (old == 0 || old == key) return;
    at = (at + 1) & (capacity - 1);
  }
}

template <int TILE>
__global__ void product_tiled(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float as[TILE][TILE], bs[TILE][TILE + 1];
  int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
  float s = 0;
  for (int t = 0; t < (k + TILE - 1) / TILE; ++t) {
    int ka = t * TILE + threadIdx.x, kb = t * TILE + threadIdx.y;
    as[threadIdx.y][threadIdx.x] = row < m && ka < k ? a[row * k + ka] : 0.f;
    bs[threadIdx.y][threadIdx.x] = col < n && kb < k ? b[kb * n + col] : 0.f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TILE; ++i) s += as[threadIdx.y][i] * bs[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = s;
}
template __global__ void product_tiled<16>(const float*, const float*, float*, int, int, int);

__global__ void spmv_warps(const int* start, const int* column, const float* value, const float* x,
                           float* y, int rows) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
  if (row >= rows) return;
  float s = 0;
  for (int k = start[row] + lane, end = start[row + 1]; k < end; k += 32)
    s += value[k] * __ldg(&x[column[k]]);
#pragma unroll
  for (int d = 16; d > 0; d /= 2) s += __shfl_down_sync(0xffffffffu, s, d);
  if (lane == 0) y[row] = s;
}

__global__ void bfs_level(const int* start, const int* edge, int* level, int* changed, int depth,
                          int n) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n || level[v] != depth) return;
  for (int k = start[v]; k < start[v + 1]; ++k) {
    int w = edge[k];
    if (level[w] < 0) {
      level[w] = depth + 1;
      *changed = 1;
    }
  }
}

__global__ void nearest_means(const float* points, const float* means, int* label, int n, int k,
                              int dims) {
  extern __shared__ float m[];
  for (int i = threadIdx.x; i < k * dims; i += blockDim.x) m[i] = means[i];
  __syncthreads();
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= n) return;
  float best = 1e30f;
  int who = 0;
  for (int c = 0; c < k; ++c) {
    float d2 = 0;
    for (int d = 0; d < dims; ++d) {
      float d1 = points[d * n + p] - m[c * dims + d];
      d2 += d1 * d1;
    }
    if (d2 < best) {
      best = d2;
      who = c;
    }
  }
  label[p] = who;
}

__global__ void life(const unsigned char* in, unsigned char* out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int count = 0;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx)
      if (dx || dy) count += in[(y + dy + height) % height * width + (x + dx + width) % width];
  unsigned char self = in[y * width + x];
  out[y * width + x] = count == 3 || (count == 2 && self);
}

__global__ void edit_distances(const char* a, const char* b, int* out, int length, int pairs) {
  extern __shared__ int row[];
  int p = blockIdx.x, t = threadIdx.x;
  int* previous = row;
  int* current = row + length + 1;
  int* older = row + 2 * (length + 1);
  for (int d = 0; d <= 2 * length; ++d) {
    int i = t, j = d - t;
    if (i <= length && j >= 0 && j <= length) {
      int v;
      if (i == 0) v = j;
      else if (j == 0) v = i;
      else {
        int same = a[p * length + i - 1] == b[p * length + j - 1] ? 0 : 1;
        v = min(min(previous[i - 1], previous[i]) + 1, older[i - 1] + same);
      }
      current[i] = v;
    }
    __syncthreads();
    int* o = older;
    older = previous;
    previous = current;
    current = o;
    __syncthreads();
  }
  if (t == length) out[p] = previous[length];
}

__global__ void fft_small(const float2* in, float2* out, int count) {
  __shared__ float2 s[256];
  int t = threadIdx.x;
  for (int f = blockIdx.x; f < count; f += gridDim.x) {
    s[__brev(t) >> 25] = in[f * 128 + t];
    __syncthreads();
    for (int half = 1; half < 128; half *= 2) {
      float2 u, v, w;
      int k = t & (half - 1), at = (t - k) * 2 + k;
      if (t < 64) {
        sincospif(-(float)k / half, &w.y, &w.x);
        u = s[at];
        v = s[at + half];
        v = make_float2(v.x * w.x - v.y * w.y, v.x * w.y + v.y * w.x);
        s[at] = make_float2(u.x + v.x, u.y + v.y);
        s[at + half] = make_float2(u.x - v.x, u.y - v.y);
      }
      __syncthreads();
    }
    out[f * 128 + t] = s[t];
    __syncthreads();
  }
}

__global__ void heat_steps(const float* in, float* out, int nx, int ny, int nz, float c) {
  int x = blockIdx.x * blockDim.x + threadIdx.x + 1, y = blockIdx.y * blockDim.y + threadIdx.y + 1;
  if (x >= nx - 1 || y >= ny - 1) return;
  const int slice = nx * ny;
  float below = in[y * nx + x], here = in[slice + y * nx + x];
  for (int z = 1; z < nz - 1; ++z) {
    int i = z * slice + y * nx + x;
    float above = in[i + slice];
    out[i] = here + c * (above + below + in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx] - 6 * here);
    below = here;
    here = above;
  }
}

__global__ void find_word(const char* text, int n, const char* word, int length, int* found) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + length > n) return;
  for (int k = 0; k < length; ++k)
    if (text[i + k] != word[k]) return;
  atomicAdd(found, 1);
}

__global__ void attend_one(const __half* q, const __half* k, const __half* v, float* out, int length,
                           int dims) {
  extern __shared__ float score[];
  int head = blockIdx.x;
  const __half* keys = k + (size_t)head * length * dims;
  const __half* values = v + (size_t)head * length * dims;
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
  for (int t = warp; t < length; t += warps) {
    float s = 0;
    for (int d = lane; d < dims; d += 32)
      s += __half2float(q[head * dims + d]) * __half2float(keys[(size_t)t * dims + d]);
    for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
    if (lane == 0) score[t] = expf(s * rsqrtf((float)dims));
  }
  __syncthreads();
  float sum = 0;
  for (int t = 0; t < length; ++t) sum += score[t];
  for (int d = threadIdx.x; d < dims; d += blockDim.x) {
    float s = 0;
    for (int t = 0; t < length; ++t) s += score[t] * __half2float(values[(size_t)t * dims + d]);
    out[head * dims + d] = s / sum;
  }
}

__global__ void run_lengths(const int* x, int* length, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (i > 0 && x[i] == x[i - 1]) {
    length[i] = 0;
    return;
  }
  int j = i + 1;
  while (j < n && x[j] == x[i]) ++j;
  length[i] = j - i;
}

__global__ void ranked_merge(const int* a, int na, const int* b, int nb, int* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= na + nb) return;
  bool first = i < na;
  const int* other = first ? b : a;
  int key = first ? a[i] : b[i - na], size = first ? nb : na, lo = 0, count = size;
  while (count > 0) {
    int half = count / 2;
    bool less = first ? other[lo + half] < key : other[lo + half] <= key;
    lo = less ? lo + half + 1 : lo;
    count = less ? count - half - 1 : half;
  }
  out[(first ? i : i - na) + lo] = key;
}

__global__ void hit_spheres(const float4* sphere, int spheres, float* depth, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float dx = (x + 0.5f) / width - 0.5f, dy = (y + 0.5f) / height - 0.5f;
  float norm = rsqrtf(dx * dx + dy * dy + 1.f), nearest = 1e30f;
  for (int s = 0; s < spheres; ++s) {
    float4 c = sphere[s];
    float b = (c.x * dx + c.y * dy + c.z) * norm;
    float q = b * b - (c.x * c.x + c.y * c.y + c.z * c.z - c.w * c.w);
    if (q < 0.f) continue;
    float t = b - sqrtf(q);
    if (t > 1e-3f && t < nearest) nearest = t;
  }
  depth[y * width + x] = nearest;
}
