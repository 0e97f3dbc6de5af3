// Everyday kernels, for blocks that are no whole warps or whose rows are no powers of two.

#include <stdint.h>

// A thread sums each row.
extern "C" __global__ void rows_by_threads(float* out, const float* __restrict__ a, int rows,
                                           int columns) {
  int r = (blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float s = 0.0f;
  for (int j = 0; j < columns; j++) s += a[(size_t)r * columns + j];
  out[r] = s;
}

// A block sums each row.
extern "C" __global__ void rows_by_blocks(float* out, const float* __restrict__ a, int columns) {
  extern __shared__ float part[];
  float s = 0.0f;
  for (int j = threadIdx.x; j < columns; j += blockDim.x) s += a[(size_t)blockIdx.x * columns + j];
  part[threadIdx.x] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int t = 1; t < blockDim.x; t++) s += part[t];
    out[blockIdx.x] = s;
  }
}

// One element a thread of a stream.
extern "C" __global__ void stream_triad(float* __restrict__ a, const float* __restrict__ b,
                                        const float* __restrict__ c, float s, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = b[i] + s * c[i];
}

// A picture's elements, a block a tile of it.
extern "C" __global__ void picture_scale(float* __restrict__ out, const float* __restrict__ in,
                                         int width, int height, float s) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) out[(size_t)y * width + x] = s * in[(size_t)y * width + x];
}

// Columns become rows without a tile between.
extern "C" __global__ void turn_straight(float* __restrict__ out, const float* __restrict__ in,
                                         int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) out[(size_t)x * height + y] = in[(size_t)y * width + x];
}

// The same by a tile of a block's size.
extern "C" __global__ void turn_by_tiles(float* __restrict__ out, const float* __restrict__ in,
                                         int width, int height) {
  extern __shared__ float tile[];
  int side = blockDim.x;
  int x = blockIdx.x * side + threadIdx.x, y = blockIdx.y * side + threadIdx.y;
  if (x < width && y < height) tile[threadIdx.y * (side + 1) + threadIdx.x] = in[(size_t)y * width + x];
  __syncthreads();
  x = blockIdx.y * side + threadIdx.x, y = blockIdx.x * side + threadIdx.y;
  if (x < height && y < width) out[(size_t)y * height + x] = tile[threadIdx.x * (side + 1) + threadIdx.y];
}

// Seven points of a volume, a thread each.
extern "C" __global__ void seven_points(float* __restrict__ out, const float* __restrict__ in, int nx,
                                        int ny, int nz) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < 1 || y < 1 || z < 1 || x >= nx - 1 || y >= ny - 1 || z >= nz - 1) return;
  size_t i = ((size_t)z * ny + y) * nx + x, plane = (size_t)nx * ny;
  out[i] = 0.4f * in[i] + 0.1f * (in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx] + in[i - plane] + in[i + plane]);
}

// Counts of bytes, by tables of blocks.
extern "C" __global__ void counts_by_blocks(unsigned* __restrict__ total, const uint8_t* __restrict__ data,
                                            int n) {
  __shared__ unsigned table[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) table[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&table[data[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    if (table[i]) atomicAdd(&total[i], table[i]);
}

// Elements of a table that others choose.
extern "C" __global__ void chosen_elements(double* __restrict__ out, const double* __restrict__ table,
                                           const int* __restrict__ at, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    out[i] = table[at[i]];
}

// A product of matrices, an element a thread.
extern "C" __global__ void product_by_elements(float* __restrict__ c, const float* __restrict__ a,
                                               const float* __restrict__ b, int m, int n, int k) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= m || column >= n) return;
  float s = 0.0f;
  for (int i = 0; i < k; i++) s += a[(size_t)row * k + i] * b[(size_t)i * n + column];
  c[(size_t)row * n + column] = s;
}

// A matrix times a vector, a group of threads along each row.
extern "C" __global__ void vector_by_groups(float* __restrict__ y, const float* __restrict__ a,
                                            const float* __restrict__ x, int rows, int columns) {
  extern __shared__ float part[];
  int row = blockIdx.x * blockDim.y + threadIdx.y;
  float s = 0.0f;
  if (row < rows)
    for (int j = threadIdx.x; j < columns; j += blockDim.x) s += a[(size_t)row * columns + j] * x[j];
  part[threadIdx.y * blockDim.x + threadIdx.x] = s;
  __syncthreads();
  if (threadIdx.x == 0 && row < rows) {
    for (int t = 1; t < blockDim.x; t++) s += part[threadIdx.y * blockDim.x + t];
    y[row] = s;
  }
}

// Structures of six words, a thread each.
extern "C" __global__ void move_bodies(float* __restrict__ bodies, int n, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float* body = bodies + (size_t)i * 6;
  for (int k = 0; k < 3; k++) body[k] += dt * body[k + 3];
}
