// Gathers and scatters, curves in space, iterations that end when they have converged, special functions.

struct Point {
  double x, y, z;
};

// Values of keys through a directory of pages of 64.
extern "C" __global__ void two_level_table(const unsigned* __restrict__ keys, const int* __restrict__ directory,
                                           const float* __restrict__ pages, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned key = keys[i];
  out[i] = pages[directory[key >> 6] * 64 + (key & 63)];
}

// Structures of 24 bytes to the places that a permutation gives, scaled.
extern "C" __global__ void scatter_structs(const Point* in, const int* to, Point* out, double scale, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Point p = in[i];
  p.x *= scale;
  p.y *= scale;
  p.z *= scale;
  out[to[i]] = p;
}

// Solves t exp(t) = x by Newton's method until it has converged: lanes take different numbers of steps.
extern "C" __global__ void newton_roots(const float* __restrict__ in, float* __restrict__ out, float range, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = range * in[i], t = x, change = 1.0f;
  int steps = 0;
  while (fabsf(change) > 1e-5f * (1.0f + t) && steps < 100) {
    float power = expf(t);
    change = (t * power - x) / (power * (t + 1.0f));
    t -= change;
    ++steps;
  }
  out[i] = t;
}

__device__ unsigned spread(unsigned v) {
  v = (v | v << 16) & 0x030000ff;
  v = (v | v << 8) & 0x0300f00f;
  v = (v | v << 4) & 0x030c30c3;
  return (v | v << 2) & 0x09249249;
}

// Morton codes of points in the unit cube, ten bits a side.
extern "C" __global__ void morton_codes(const float* __restrict__ x, const float* __restrict__ y,
                                        const float* __restrict__ z, unsigned* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned cx = fminf(fmaxf(x[i] * 1024.0f, 0.0f), 1023.0f);
  unsigned cy = fminf(fmaxf(y[i] * 1024.0f, 0.0f), 1023.0f);
  unsigned cz = fminf(fmaxf(z[i] * 1024.0f, 0.0f), 1023.0f);
  out[i] = spread(cx) << 2 | spread(cy) << 1 | spread(cz);
}

// Expected improvement over the best so far, and its logarithm, in double: erf, exp and log.
extern "C" __global__ void expected_improvement(const double* mean, const double* deviation, double* gain,
                                                double* logarithm, double best, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double s = deviation[i] + 0.1, u = (mean[i] - best) / s;
  double below = 0.5 * (1.0 + erf(u * 0.70710678118654752));
  double density = 0.39894228040143268 * exp(-0.5 * u * u);
  double value = s * (u * below + density);
  gain[i] = value;
  logarithm[i] = log(value + 1e-9);
}
