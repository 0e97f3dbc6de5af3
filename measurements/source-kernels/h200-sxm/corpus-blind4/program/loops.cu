// Loop nests of linear algebra and fields, a thread an element, a row or a column.
// out = alpha a x + beta b x: a thread a row of both matrices.
extern "C" __global__ void gesummv_rows(const float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ x, float* __restrict__ out, int n, float alpha, float beta) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s = 0.0f, t = 0.0f;
  for (int j = 0; j < n; ++j) {
    s += a[i * n + j] * x[j];
    t += b[i * n + j] * x[j];
  }
  out[i] = alpha * s + beta * t;
}

// Magnetic field from the curl of the electric one, in place; the last row and column stay.
extern "C" __global__ void magnetic_step(const float* __restrict__ ex, const float* __restrict__ ey, float* y, int width, int height, float rate) {
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < height - 1 && j < width - 1) {
    int at = i * width + j;
    y[at] -= rate * (ex[at + 1] - ex[at] + ey[at + width] - ey[at]);
  }
}

// Mean and standard deviation of columns: a thread goes down its column twice.
extern "C" __global__ void column_spread(const float* __restrict__ data, float* __restrict__ mean, float* __restrict__ spread, int rows, int columns) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= columns) return;
  float sum = 0.0f;
  for (int i = 0; i < rows; ++i) sum += data[i * columns + j];
  float middle = sum / rows;
  float squares = 0.0f;
  for (int i = 0; i < rows; ++i) {
    float off = data[i * columns + j] - middle;
    squares += off * off;
  }
  float s = sqrtf(squares / rows);
  mean[j] = middle;
  spread[j] = s <= 0.1f ? 1.0f : s;
}

// y = alpha (a b' + b a') + beta y, a thread an element, plain.
extern "C" __global__ void rank_2k(const float* __restrict__ a, const float* __restrict__ b, float* y, int n, int m, float alpha, float beta) {
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= n || j >= n) return;
  float sum = y[i * n + j] * beta;
  for (int k = 0; k < m; ++k) sum += alpha * a[i * m + k] * b[j * m + k] + alpha * b[i * m + k] * a[j * m + k];
  y[i * n + j] = sum;
}

// Takes from each later column its part along column `pivot` of q: one pass for the product, one to subtract.
extern "C" __global__ void gram_project(const float* __restrict__ q, float* y, float* __restrict__ r, int rows, int columns, int pivot, float scale) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j <= pivot || j >= columns) return;
  float sum = 0.0f;
  for (int i = 0; i < rows; ++i) sum += q[i * columns + pivot] * y[i * columns + j];
  sum *= scale;
  r[j] = sum;
  for (int i = 0; i < rows; ++i) y[i * columns + j] -= q[i * columns + pivot] * sum;
}
