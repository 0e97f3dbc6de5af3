// Kernels of images and grids.

// The mean of a window about each pixel of a row, straight from global memory.
extern "C" __global__ void window_mean_rows(const float* __restrict__ in, float* __restrict__ out, int width,
                                            int radius) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= width) return;
  const float* row = in + (size_t)blockIdx.y * width;
  int first = max(x - radius, 0), last = min(x + radius, width - 1);
  float sum = 0.0f;
  for (int k = first; k <= last; ++k) sum += row[k];
  out[(size_t)blockIdx.y * width + x] = sum / (last - first + 1);
}

#define WIDE 32
#define HIGH 8

// A step of a plate's bending: the biharmonic operator's 13 points, by a tile with two cells of halo.
extern "C" __global__ void __launch_bounds__(WIDE* HIGH)
    biharmonic_13(const float* __restrict__ u, float* __restrict__ out, int width, int height, float rate) {
  __shared__ float s[HIGH + 4][WIDE + 4];
  int left = blockIdx.x * WIDE - 2, top = blockIdx.y * HIGH - 2;
  for (int e = threadIdx.y * WIDE + threadIdx.x; e < (HIGH + 4) * (WIDE + 4); e += WIDE * HIGH) {
    int r = e / (WIDE + 4), c = e % (WIDE + 4), y = top + r, x = left + c;
    bool inside = x >= 0 && x < width && y >= 0 && y < height;
    s[r][c] = inside ? u[(size_t)y * width + x] : 0.0f;
  }
  __syncthreads();
  int x = blockIdx.x * WIDE + threadIdx.x, y = blockIdx.y * HIGH + threadIdx.y;
  if (x >= width || y >= height) return;
  int r = threadIdx.y + 2, c = threadIdx.x + 2;
  float near = s[r - 1][c] + s[r + 1][c] + s[r][c - 1] + s[r][c + 1];
  float across = s[r - 1][c - 1] + s[r - 1][c + 1] + s[r + 1][c - 1] + s[r + 1][c + 1];
  float far = s[r - 2][c] + s[r + 2][c] + s[r][c - 2] + s[r][c + 2];
  out[(size_t)y * width + x] = s[r][c] - rate * (20.0f * s[r][c] - 8.0f * near + 2.0f * across + far);
}

#define OUTER 16
#define INNER (2 * OUTER + 3)

__constant__ float binomial[5] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};

// The next level of a Gaussian pyramid of bytes: blurred along rows, then down columns, every second pixel kept.
extern "C" __global__ void __launch_bounds__(OUTER* OUTER)
    pyramid_down(const unsigned char* __restrict__ in, unsigned char* __restrict__ out, int width, int height) {
  __shared__ unsigned char tile[INNER][INNER + 1];
  __shared__ float blurred[INNER][OUTER];
  int tx = threadIdx.x, ty = threadIdx.y;
  int left = 2 * OUTER * blockIdx.x - 2, top = 2 * OUTER * blockIdx.y - 2;
  for (int r = ty; r < INNER; r += OUTER)
    for (int c = tx; c < INNER; c += OUTER) {
      int y = min(max(top + r, 0), height - 1), x = min(max(left + c, 0), width - 1);
      tile[r][c] = in[(size_t)y * width + x];
    }
  __syncthreads();
  for (int r = ty; r < INNER; r += OUTER) {
    float sum = 0.0f;
    for (int k = 0; k < 5; ++k) sum += binomial[k] * tile[r][2 * tx + k];
    blurred[r][tx] = sum;
  }
  __syncthreads();
  int x = blockIdx.x * OUTER + tx, y = blockIdx.y * OUTER + ty, across = (width + 1) / 2;
  if (x >= across || y >= (height + 1) / 2) return;
  float sum = 0.5f;
  for (int k = 0; k < 5; ++k) sum += binomial[k] * blurred[2 * ty + k][tx];
  out[(size_t)y * across + x] = (unsigned char)sum;
}

__device__ __forceinline__ float strength(const float* __restrict__ gx, const float* __restrict__ gy, size_t at) {
  float x = gx[at] - 0.5f, y = gy[at] - 0.5f;
  return x * x + y * y;
}

// Canny's thinning: a pixel stays if it is the strongest along its gradient; 2 over the high threshold, 1 over the low.
extern "C" __global__ void edge_thinning(const float* __restrict__ gx, const float* __restrict__ gy,
                                         unsigned char* __restrict__ edges, int width, int height, float low,
                                         float high) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  size_t at = (size_t)y * width + x;
  unsigned char kind = 0;
  if (x > 0 && x < width - 1 && y > 0 && y < height - 1) {
    float here = strength(gx, gy, at);
    if (here > low) {
      float dx = gx[at] - 0.5f, dy = gy[at] - 0.5f;
      int step;
      if (fabsf(dy) < 0.41421356f * fabsf(dx))
        step = 1;
      else if (fabsf(dy) > 2.41421356f * fabsf(dx))
        step = width;
      else
        step = dx * dy > 0.0f ? width + 1 : width - 1;
      if (here >= strength(gx, gy, at - step) && here >= strength(gx, gy, at + step)) kind = here > high ? 2 : 1;
    }
  }
  edges[at] = kind;
}
