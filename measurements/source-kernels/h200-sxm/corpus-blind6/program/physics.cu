// Physics, finance and filters.

#define SIZE 512

// Cyclic reduction of tridiagonal systems of 512 in shared memory: a block a system, an equation a thread and step.
extern "C" __global__ void __launch_bounds__(256) cyclic_reduction(const float* __restrict__ lower,
                                                                   const float* __restrict__ middle,
                                                                   const float* __restrict__ upper,
                                                                   const float* __restrict__ right,
                                                                   float* __restrict__ out) {
  __shared__ float a[SIZE], b[SIZE], c[SIZE], d[SIZE], x[SIZE];
  int t = threadIdx.x, from = blockIdx.x * SIZE;
  for (int i = t; i < SIZE; i += 256) {
    a[i] = i > 0 ? lower[from + i] : 0.0f;
    b[i] = middle[from + i] + 2.5f;
    c[i] = i < SIZE - 1 ? upper[from + i] : 0.0f;
    d[i] = right[from + i];
  }
  int stride = 1;
  for (int left = SIZE / 2; left > 1; left /= 2) {
    __syncthreads();
    stride *= 2;
    if (t < left) {
      int i = stride * t + stride - 1, before = i - stride / 2, after = i + stride / 2;
      float k = a[i] / b[before];
      if (i == SIZE - 1) {
        b[i] -= c[before] * k;
        d[i] -= d[before] * k;
        a[i] = -a[before] * k;
      } else {
        float l = c[i] / b[after];
        b[i] -= c[before] * k + a[after] * l;
        d[i] -= d[before] * k + d[after] * l;
        a[i] = -a[before] * k;
        c[i] = -c[after] * l;
      }
    }
  }
  __syncthreads();
  if (t == 0) {
    int i = SIZE / 2 - 1, j = SIZE - 1;
    float whole = b[i] * b[j] - c[i] * a[j];
    x[i] = (d[i] * b[j] - c[i] * d[j]) / whole;
    x[j] = (b[i] * d[j] - d[i] * a[j]) / whole;
  }
  for (int left = 2; left < SIZE; left *= 2) {
    int half = stride / 2;
    __syncthreads();
    if (t < left) {
      int i = stride * t + half - 1;
      float rest = d[i] - c[i] * x[i + half];
      if (t > 0) rest -= a[i] * x[i - half];
      x[i] = rest / b[i];
    }
    stride = half;
  }
  __syncthreads();
  for (int i = t; i < SIZE; i += 256) out[from + i] = x[i];
}

__device__ __forceinline__ void along(float h, float p, float q, float* f) {
  float u = p / h;
  f[0] = p;
  f[1] = p * u + 4.905f * h * h;
  f[2] = q * u;
}

// A step of shallow water by Lax and Friedrichs: depth and two momenta, edges repeated.
extern "C" __global__ void shallow_water(const float* __restrict__ h, const float* __restrict__ p,
                                         const float* __restrict__ q, float* __restrict__ h_out,
                                         float* __restrict__ p_out, float* __restrict__ q_out, int width, int height,
                                         float step) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int west = y * width + max(x - 1, 0), east = y * width + min(x + 1, width - 1);
  int north = max(y - 1, 0) * width + x, south = min(y + 1, height - 1) * width + x;
  float hw = h[west] + 1.0f, he = h[east] + 1.0f, hn = h[north] + 1.0f, hs = h[south] + 1.0f;
  float pw = p[west], pe = p[east], pn = p[north], ps = p[south];
  float qw = q[west], qe = q[east], qn = q[north], qs = q[south];
  float fw[3], fe[3], gn[3], gs[3];
  along(hw, pw, qw, fw);
  along(he, pe, qe, fe);
  along(hn, qn, pn, gn);
  along(hs, qs, ps, gs);
  int at = y * width + x;
  h_out[at] = 0.25f * (hw + he + hn + hs) - step * (fe[0] - fw[0] + gs[0] - gn[0]);
  p_out[at] = 0.25f * (pw + pe + pn + ps) - step * (fe[1] - fw[1] + gs[2] - gn[2]);
  q_out[at] = 0.25f * (qw + qe + qn + qs) - step * (fe[2] - fw[2] + gs[1] - gn[1]);
}

__device__ __forceinline__ float draw(unsigned& state) {
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return ((float)(state >> 8) + 0.5f) * 5.9604644775390625e-8f;
}

// Options on the mean of a price by random paths: a path a thread, two normal draws at a time, a sum a block.
extern "C" __global__ void __launch_bounds__(256) asian_paths(float* __restrict__ out, unsigned seed, int steps,
                                                              float drift, float spread, float strike) {
  __shared__ float parts[8];
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned state = (i + seed) * 2654435761u;
  state ^= state >> 16;
  state = state * 0x7feb352du | 1u;
  float price = 100.0f, mean = 0.0f;
  for (int step = 0; step < steps; step += 2) {
    float radius = sqrtf(-2.0f * logf(draw(state))), sine, cosine;
    sincospif(2.0f * draw(state), &sine, &cosine);
    price *= expf(drift + spread * radius * sine);
    mean += price;
    price *= expf(drift + spread * radius * cosine);
    mean += price;
  }
  float pay = fmaxf(mean / steps - strike, 0.0f);
  for (int apart = 16; apart > 0; apart /= 2) pay += __shfl_down_sync(~0u, pay, apart);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = pay;
  __syncthreads();
  if (threadIdx.x == 0) {
    float sum = 0.0f;
    for (int w = 0; w < 8; ++w) sum += parts[w];
    out[blockIdx.x] = sum;
  }
}

// A recursive filter down the columns and up again, in double precision: a column a thread.
extern "C" __global__ void recursive_columns(const double* __restrict__ in, double* __restrict__ out, int width,
                                             int height, double a0, double a1, double b1, double b2) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= width) return;
  double last = 0.0, y1 = 0.0, y2 = 0.0;
  for (int y = 0; y < height; ++y) {
    double v = in[y * width + x], next = a0 * v + a1 * last + b1 * y1 + b2 * y2;
    out[y * width + x] = next;
    last = v;
    y2 = y1;
    y1 = next;
  }
  double x1 = 0.0, x2 = 0.0;
  y1 = y2 = 0.0;
  for (int y = height - 1; y >= 0; --y) {
    double next = a1 * x1 + a0 * x2 + b1 * y1 + b2 * y2;
    x2 = x1;
    x1 = in[y * width + x];
    out[y * width + x] += next;
    y2 = y1;
    y1 = next;
  }
}
