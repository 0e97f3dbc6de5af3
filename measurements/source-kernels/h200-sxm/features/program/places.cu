// Where data lies: shared, local, constant, structures, vectors, halves, hints, pitches.
#include <cassert>
#include <cstdint>
#include <cstdio>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__global__ void several_arrays(const float* x, float* out, int n, int bins) {
  extern __shared__ unsigned char raw[];
  float* values = reinterpret_cast<float*>(raw);
  int* count = reinterpret_cast<int*>(values + blockDim.x);
  double* sums = reinterpret_cast<double*>(raw + ((blockDim.x * 4 + bins * 4 + 7) & ~7u));
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int b = threadIdx.x; b < bins; b += blockDim.x) {
    count[b] = 0;
    sums[b] = 0;
  }
  values[threadIdx.x] = i < n ? x[i] : -1.f;
  __syncthreads();
  if (values[threadIdx.x] >= 0) atomicAdd(&count[(int)(values[threadIdx.x] * bins)], 1);
  __syncthreads();
  if (threadIdx.x < bins) {
    sums[threadIdx.x] = count[threadIdx.x] * 0.5;
    out[blockIdx.x * bins + threadIdx.x] = (float)sums[threadIdx.x];
  }
}

__global__ void local_counts(const unsigned char* x, int* out, int length, int rows) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  int count[16] = {0};
  for (int i = 0; i < length; ++i) count[x[i * rows + row] & 15]++;
  int best = 0;
  for (int b = 1; b < 16; ++b)
    if (count[b] > count[best]) best = b;
  out[row] = best;
}

__global__ void __launch_bounds__(256, 6) many_values(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v[64];
#pragma unroll
  for (int k = 0; k < 64; ++k) v[k] = x[k * n + i];
#pragma unroll
  for (int k = 0; k < 64; ++k) {
    float s = 0;
#pragma unroll
    for (int j = 0; j < 64; j += 9) s += v[j] * v[(j * 7 + k) & 63];
    y[k * n + i] = s;
  }
}

__global__ void rgba_to_grey(const uchar4* in, float* out, int width, int height, int pitch) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) {
    const uchar4* row = (const uchar4*)((const char*)in + (size_t)y * pitch);
    uchar4 p = row[x];
    out[y * width + x] = 0.299f * p.x + 0.587f * p.y + 0.114f * p.z;
  }
}

__global__ void double_pairs(const double2* a, const double2* b, double2* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    double2 p = a[i], q = b[i];
    out[i] = make_double2(p.x * q.x - p.y * q.y, p.x * q.y + p.y * q.x);
  }
}

__global__ void half_axpy(int n, __half a, const __half2* x, __half2* y) {
  __half2 aa = __half2half2(a);
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 2; i += blockDim.x * gridDim.x)
    y[i] = __hfma2(aa, x[i], y[i]);
}

__global__ void half_gelu(const __half* x, __half* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float v = __half2float(x[i]);
    y[i] = __float2half(0.5f * v * (1.f + tanhf(0.79788456f * (v + 0.044715f * v * v * v))));
  }
}

__global__ void bf16_rows(const __nv_bfloat16* x, const __nv_bfloat16* w, __nv_bfloat16* y,
                          int columns, float eps) {
  const __nv_bfloat162* row = (const __nv_bfloat162*)(x + (size_t)blockIdx.x * columns);
  float s = 0;
  for (int c = threadIdx.x; c < columns / 2; c += blockDim.x) {
    float2 v = __bfloat1622float2(row[c]);
    s += v.x * v.x + v.y * v.y;
  }
  __shared__ float part[32];
  for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(~0u, s, d);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
  __syncthreads();
  s = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0.f;
  if (threadIdx.x < 32) {
    for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(~0u, s, d);
    if (threadIdx.x == 0) part[0] = rsqrtf(s / columns + eps);
  }
  __syncthreads();
  float scale = part[0];
  for (int c = threadIdx.x; c < columns; c += blockDim.x)
    y[(size_t)blockIdx.x * columns + c] = __float2bfloat16(
        __bfloat162float(x[(size_t)blockIdx.x * columns + c]) * scale * __bfloat162float(w[c]));
}

__global__ void hinted_copy(const float4* __restrict__ in, const float* scale, float4* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 v = __ldcs(&in[i]);
  float s = __ldg(&scale[i & 1023]) + __ldcg(&scale[i >> 10]);
  v.x *= s;
  v.y *= s;
  v.z *= s;
  v.w *= s;
  __stcs(&out[i], v);
}

__global__ void volatile_reduce(const float* x, float* out, int n) {
  __shared__ float s[128];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  s[t] = (i < n ? x[i] : 0.f) + (i + 128 < n ? x[i + 128] : 0.f);
  __syncthreads();
  if (t < 64) s[t] += s[t + 64];
  __syncthreads();
  if (t < 32) {
    volatile float* v = s;
    v[t] += v[t + 32];
    v[t] += v[t + 16];
    v[t] += v[t + 8];
    v[t] += v[t + 4];
    v[t] += v[t + 2];
    v[t] += v[t + 1];
  }
  if (t == 0) out[blockIdx.x] = s[0];
}

__constant__ float taps[33] = {1.f, 0.5f, 0.25f};
__global__ void convolve_row(const float* in, float* out, int n) {
  __shared__ float s[256 + 32];
  int i = blockIdx.x * 256 + threadIdx.x;
  for (int k = threadIdx.x; k < 288; k += 256) {
    int at = blockIdx.x * 256 + k - 16;
    s[k] = at >= 0 && at < n ? in[at] : 0.f;
  }
  __syncthreads();
  float v = 0;
  for (int k = 0; k <= 32; ++k) v += taps[k] * s[threadIdx.x + k];
  if (i < n) out[i] = v;
}

struct Layout {
  int size[4];
  int stride[4];
  float scale;
};
__global__ void permute_axes(const float* in, float* out, Layout l, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int rest = i, from = 0;
  for (int d = 3; d >= 0; --d) {
    from += rest % l.size[d] * l.stride[d];
    rest /= l.size[d];
  }
  out[i] = in[from] * l.scale;
}

struct Chunks {
  const float* from[8];
  float* to;
  int length[8];
};
__global__ void concatenate(Chunks c, int count) {
  int k = blockIdx.y, before = 0;
  for (int j = 0; j < k; ++j) before += c.length[j];
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < c.length[k]; i += gridDim.x * blockDim.x)
    c.to[before + i] = c.from[k][i];
}

struct Particle {
  float x, y, z, vx, vy, vz, mass;
  int kind;
};
__global__ void move_particles(Particle* p, int n, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Particle q = p[i];
  if (q.kind != 0) {
    q.x += q.vx * dt;
    q.y += q.vy * dt;
    q.z += q.vz * dt;
    p[i] = q;
  }
}
__global__ void move_arrays(float* x, float* y, float* z, const float3* v, int n, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float3 w = v[i];
  x[i] += w.x * dt;
  y[i] += w.y * dt;
  z[i] += w.z * dt;
}

__global__ void reverse_rows(const float* in, float* out, int columns) {
  const float* end = in + (size_t)(blockIdx.x + 1) * columns - 1;
  float* to = out + (size_t)blockIdx.x * columns;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) to[i] = end[-i];
}

__global__ void transpose_any(const double* in, double* out, int rows, int columns) {
  __shared__ double tile[16][17];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  for (int j = 0; j < 16; j += 4)
    if (x < columns && y + j < rows)
      tile[threadIdx.y + j][threadIdx.x] = in[(long)(y + j) * columns + x];
  __syncthreads();
  x = blockIdx.y * 16 + threadIdx.x;
  y = blockIdx.x * 16 + threadIdx.y;
  for (int j = 0; j < 16; j += 4)
    if (x < rows && y + j < columns) out[(long)(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void checked_gather(const int* index, const float* in, float* out, int n, int size) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int at = index[i];
  assert(at >= 0 && at < size);
  if (at >= size) printf("index %d of %d is out of range\n", at, i);
  out[i] = in[at];
}

typedef float (*Function)(float);
__device__ float square(float v) { return v * v; }
__device__ float cube(float v) { return v * v * v; }
__device__ float root(float v) { return sqrtf(v); }
__device__ Function table[3] = {square, cube, root};
__global__ void call_by_table(const float* x, float* y, int which, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  Function f = table[which];
  if (i < n) y[i] = f(x[i]);
}

__device__ __noinline__ float weigh(const float* w, float v, int k) {
  float s = 0;
  for (int i = 0; i < k; ++i) s = s * v + w[i];
  return s;
}
__global__ void call_out(const float* w, const float* x, float* y, int k, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = weigh(w, x[i], k) - weigh(w + 4, x[i], k - 4);
}

template <typename F>
__device__ void for_each(int n, F f) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) f(i);
}
struct Complex {
  float re, im;
  __device__ Complex operator*(const Complex& o) const {
    return {re * o.re - im * o.im, re * o.im + im * o.re};
  }
};
__global__ void rotate_all(const Complex* z, Complex w, Complex* out, int n) {
  for_each(n, [=](int i) { out[i] = z[i] * w * w; });
}

__global__ void threshold_bytes(const unsigned char* in, unsigned char* out, int n, int level) {
  int i = (blockIdx.x * blockDim.x + threadIdx.x) * 2;
  for (int k = 0; k < 2; ++k)
    if (i + k < n) out[i + k] = in[i + k] > level ? 255 : 0;
}

__global__ void unaligned_pairs(const short2* in, int2* out, size_t n) {
  size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i + 1 < n) {
    short2 a = in[i], b = in[i + 1];
    out[i] = make_int2(a.x * b.y, a.y * b.x);
  }
}

__global__ void no_allocate(const int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v;
  asm volatile("ld.global.nc.L1::no_allocate.L2::128B.s32 %0, [%1];" : "=r"(v) : "l"(in + i));
  asm volatile("prefetch.global.L2 [%0];" ::"l"(in + i + 4096));
  out[i] = v ^ 0x5a5a;
}

__global__ void stack_walk(const int2* children, const float* weight, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int stack[32], top = 0;
  stack[top++] = i;
  float s = 0;
  while (top > 0) {
    int node = stack[--top];
    s += weight[node];
    int2 c = children[node];
    if (c.x > node && top < 31) stack[top++] = c.x;
    if (c.y > node && top < 31) stack[top++] = c.y;
  }
  out[i] = s;
}
