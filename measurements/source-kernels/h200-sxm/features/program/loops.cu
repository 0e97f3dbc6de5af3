// Loops as users write them: indices of every integer type, ends from everywhere.
#include <cstddef>
#include <cstdint>

template <typename T>
__global__ void axpy_wide(size_t n, T a, const T* __restrict__ x, T* __restrict__ y) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
       i += (size_t)gridDim.x * blockDim.x)
    y[i] = a * x[i] + y[i];
}
template __global__ void axpy_wide<float>(size_t, float, const float*, float*);
template __global__ void axpy_wide<double>(size_t, double, const double*, double*);

__global__ void scale_signed_wide(long long n, float a, float* x) {
  long long stride = (long long)blockDim.x * gridDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
    x[i] *= a;
}

__global__ void row_sums_unsigned(const float* m, float* sums, unsigned rows, unsigned columns) {
  __shared__ float part[256];
  for (unsigned row = blockIdx.x; row < rows; row += gridDim.x) {
    float s = 0;
    for (unsigned c = threadIdx.x; c < columns; c += blockDim.x) s += m[row * columns + c];
    part[threadIdx.x] = s;
    __syncthreads();
    for (unsigned k = blockDim.x / 2; k > 0; k >>= 1) {
      if (threadIdx.x < k) part[threadIdx.x] += part[threadIdx.x + k];
      __syncthreads();
    }
    if (threadIdx.x == 0) sums[row] = part[0];
    __syncthreads();
  }
}

__global__ void lower_times_vector(const float* l, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s = 0;
  for (int j = 0; j <= i; ++j) s += l[(size_t)j * n + i] * x[j];
  y[i] = s;
}

__global__ void pairs_above(const float* x, float* y, int n) {
  for (int i = blockIdx.x; i < n; i += gridDim.x) {
    float s = 0;
    for (int j = i + 1 + threadIdx.x; j < n; j += blockDim.x) {
      float d = x[i] - x[j];
      s += d * d;
    }
    atomicAdd(&y[i], s);
  }
}

__global__ void running_backwards(const float* x, float* y, unsigned rows, unsigned n) {
  unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float s = 0;
  for (unsigned i = n; i-- > 0;) {
    s = 0.5f * s + x[i * rows + row];
    y[i * rows + row] = s;
  }
}

__global__ void collatz_steps(uint64_t first, unsigned* steps, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint64_t v = first + i;
  unsigned count = 0;
  while (v != 1) {
    v = (v & 1) ? 3 * v + 1 : v >> 1;
    ++count;
  }
  steps[i] = count;
}

__global__ void greatest_divisors(const unsigned* a, const unsigned* b, unsigned* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    unsigned x = a[i], y = b[i];
    while (y) {
      unsigned r = x % y;
      x = y;
      y = r;
    }
    out[i] = x;
  }
}

__global__ void newton_roots(const float* x, float* y, int n, float tolerance) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i], r = 1.f, change;
  do {
    float next = 0.5f * (r + v / r);
    change = fabsf(next - r);
    r = next;
  } while (change > tolerance * r);
  y[i] = r;
}

__global__ void rows_of_sparse(const unsigned long long* start, const int* column,
                               const double* value, const double* x, double* y,
                               unsigned long long rows) {
  unsigned long long row = blockIdx.x * 1ull * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  double s = 0;
  for (unsigned long long k = start[row]; k < start[row + 1]; ++k) s += value[k] * x[column[k]];
  y[row] = s;
}

__device__ float apply(int op, float a, float b) {
  switch (op) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return a * b;
    case 3: return a / b;
    case 4: return fmaxf(a, b);
    case 5: return fminf(a, b);
    case 6: return sqrtf(fabsf(a * b));
    default: return 0.f;
  }
}
__global__ void interpret(const int* op, const float* a, const float* b, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = apply(op[i], a[i], b[i]);
}

__global__ void volume_edges(const float* in, float* out, int nx, int ny, int nz) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
      z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= nx || y >= ny || z >= nz) return;
  int i = (z * ny + y) * nx + x;
  float v = in[i];
  float left = x > 0 ? in[i - 1] : v, down = y > 0 ? in[i - nx] : v,
        back = z > 0 ? in[i - nx * ny] : v;
  out[i] = 3.f * v - left - down - back;
}

__global__ void halving_ceil(const float* x, float* out, int n) {
  extern __shared__ float s[];
  int t = threadIdx.x;
  s[t] = t < n ? x[blockIdx.x * n + t] : 0.f;
  __syncthreads();
  for (int m = n; m > 1; m = (m + 1) / 2) {
    int half = (m + 1) / 2;
    if (t + half < m) s[t] += s[t + half];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}

__global__ void doubling_scan(const int* in, int* out, int n) {
  extern __shared__ int buffer[];
  int t = threadIdx.x, from = 0;
  buffer[t] = in[blockIdx.x * n + t];
  __syncthreads();
  for (int d = 1; d < n; d *= 2) {
    int to = 1 - from;
    buffer[to * n + t] = t >= d ? buffer[from * n + t] + buffer[from * n + t - d]
                                : buffer[from * n + t];
    from = to;
    __syncthreads();
  }
  out[blockIdx.x * n + t] = buffer[from * n + t];
}

__global__ void thirds(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
  for (int j = 1; j <= i; j *= 3) s += x[i / j];
  if (i < n) y[i] = s;
}

__global__ void uneven_repeats(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  for (int k = 0; k < (int)(threadIdx.x % 7) + 1; ++k) v = v * 1.01f + 0.5f;
  for (unsigned k = blockIdx.x & 3; k < 6; ++k) v = sqrtf(v + 1.f);
  x[i] = v;
}

__global__ void ragged_means(const int* length, const float* values, float* means, int pitch) {
  float s = 0;
  int count = length[blockIdx.x];
  for (int j = threadIdx.x; j < count; j += blockDim.x) s += values[blockIdx.x * pitch + j];
  __shared__ float part[4];
  for (int d = 16; d; d /= 2) s += __shfl_down_sync(~0u, s, d);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x == 0) means[blockIdx.x] = (part[0] + part[1] + part[2] + part[3]) / count;
}

__global__ void one_thread_chain(const int* next, int* out, int steps) {
  int at = blockIdx.x;
  for (int i = 0; i < steps; ++i) at = next[at];
  out[blockIdx.x] = at;
}

__global__ void cholesky_small(float* a, int n, int count) {
  int m = blockIdx.x * blockDim.x + threadIdx.x;
  if (m >= count) return;
#define A(i, j) a[((i) * n + (j)) * count + m]
  for (int j = 0; j < n; ++j) {
    float d = A(j, j);
    for (int k = 0; k < j; ++k) d -= A(j, k) * A(j, k);
    d = sqrtf(d);
    A(j, j) = d;
    for (int i = j + 1; i < n; ++i) {
      float s = A(i, j);
      for (int k = 0; k < j; ++k) s -= A(i, k) * A(j, k);
      A(i, j) = s / d;
    }
  }
#undef A
}
