// Threads that walk a row each: reading, storing beside, going over it again, in place.

extern "C" __global__ void row_sums(float* out, const float* __restrict__ a, int rows, int columns) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float s = 0.0f;
  for (int j = 0; j < columns; j++) s += a[(size_t)r * columns + j];
  out[r] = s;
}

extern "C" __global__ void row_prefixes(float* __restrict__ out, const float* __restrict__ a, int rows, int columns) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float s = 0.0f;
  for (int j = 0; j < columns; j++) {
    s += a[(size_t)r * columns + j];
    out[(size_t)r * columns + j] = s;
  }
}

// Two passes of reading.
extern "C" __global__ void row_deviations(float* out, const float* __restrict__ a, int rows, int columns) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float s = 0.0f, q = 0.0f;
  for (int j = 0; j < columns; j++) s += a[(size_t)r * columns + j];
  s /= columns;
  for (int j = 0; j < columns; j++) {
    float d = a[(size_t)r * columns + j] - s;
    q += d * d;
  }
  out[r] = q;
}

// A pass that reads, one that reads and stores, one that reads and stores what was stored.
extern "C" __global__ void row_shares(float* out, const float* a, int rows, int columns) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  const float* x = a + (size_t)r * columns;
  float* y = out + (size_t)r * columns;
  float most = -1e30f;
  for (int j = 0; j < columns; j++) most = x[j] > most ? x[j] : most;
  float s = 0.0f;
  for (int j = 0; j < columns; j++) {
    float v = x[j] - most;
    y[j] = v;
    s += v;
  }
  for (int j = 0; j < columns; j++) y[j] *= s;
}

// Each element from the one before it, in place.
extern "C" __global__ void row_recurrence(float* x, const float* __restrict__ a, int rows, int columns) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  for (int j = 1; j < columns; j++)
    x[(size_t)r * columns + j] -= x[(size_t)r * columns + j - 1] * a[(size_t)r * columns + j];
}

// A moving sum: reads at two places of a row, one store.
extern "C" __global__ void row_windows(float* __restrict__ out, const float* __restrict__ a, int rows, int columns) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  const float* x = a + (size_t)r * columns;
  float s = 0.0f;
  for (int j = 0; j < columns; j++) {
    s += x[j];
    if (j >= 8) s -= x[j - 8];
    out[(size_t)r * columns + j] = s;
  }
}
