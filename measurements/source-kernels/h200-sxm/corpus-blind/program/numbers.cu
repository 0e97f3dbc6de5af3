// Arithmetic of many sorts: 64-bit integers, random draws, recurrences, bytes, doubles.
extern "C" __global__ void mix_words(const unsigned long long* __restrict__ in, unsigned long long* __restrict__ out, int rounds, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long x = in[i];
  for (int k = 0; k < rounds; ++k) {
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdull;
    x ^= x >> 29;
    x += (unsigned long long)i;
  }
  out[i] = x;
}

// Pairs of normal draws by Box and Muller from a generator with 32 bits of state; their sums.
extern "C" __global__ void normal_draws(float* __restrict__ out, unsigned seed, int draws, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned state = seed + i * 747796405u;
  float sum = 0.0f;
  for (int k = 0; k < draws; ++k) {
    state = state * 747796405u + 2891336453u;
    unsigned word = ((state >> ((state >> 28) + 4)) ^ state) * 277803737u;
    float u = ((word >> 8) + 1) * (1.0f / 16777217.0f);
    state = state * 747796405u + 2891336453u;
    word = ((state >> ((state >> 28) + 4)) ^ state) * 277803737u;
    float v = (word >> 8) * (1.0f / 16777216.0f), radius = sqrtf(-2.0f * __logf(u)), s, c;
    __sincosf(6.2831853f * v, &s, &c);
    sum += radius * (s + c);
  }
  out[i] = sum;
}

// Systems with three diagonals, a thread each: down with a division a row, and back up.
extern "C" __global__ void three_diagonals(const float* __restrict__ right, float* __restrict__ work, float* __restrict__ x, int rows, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float c = 0.0f, d = 0.0f;
  for (int k = 0; k < rows; ++k) {
    float m = 1.0f / (4.0f - c);
    c = m;
    d = (right[k * n + i] + d) * m;
    work[k * n + i] = c;
    x[k * n + i] = d;
  }
  for (int k = rows - 2; k >= 0; --k) {
    d = x[k * n + i] + work[k * n + i] * d;
    x[k * n + i] = d;
  }
}

// Rows of bytes times a vector of bytes, four a step, a warp a row.
extern "C" __global__ void byte_rows(const int* __restrict__ a, const int* __restrict__ x, int* __restrict__ y, int words) {
  int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32, sum = 0;
  for (int k = lane; k < words; k += 32) sum = __dp4a(a[row * words + k], x[k], sum);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, d);
  if (lane == 0) y[row] = sum;
}

// The nearest of a few centres for each point of four numbers.
extern "C" __global__ void nearest_centre(const float4* __restrict__ points, const float4* __restrict__ centres, int* __restrict__ nearest, int count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 p = points[i];
  float least = 3.4e38f;
  int best = 0;
  for (int k = 0; k < count; ++k) {
    float4 c = centres[k];
    float dx = p.x - c.x, dy = p.y - c.y, dz = p.z - c.z, dw = p.w - c.w, d = dx * dx + dy * dy + dz * dz + dw * dw;
    if (d < least) {
      least = d;
      best = k;
    }
  }
  nearest[i] = best;
}

// Kepler's equation by Newton's steps, until they are small.
extern "C" __global__ void kepler(const double* __restrict__ mean, double* __restrict__ anomaly, double e, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double m = mean[i] * 3.0, x = m, step = 1.0;
  for (int k = 0; k < 50 && fabs(step) > 1e-12; ++k) {
    double s, c;
    sincos(x, &s, &c);
    step = (x - e * s - m) / (1.0 - e * c);
    x -= step;
  }
  anomaly[i] = x;
}
