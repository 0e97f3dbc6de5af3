// Kernels of textbooks on memory: windows, tables, strides, a transpose.

// A window of a matrix into another one; both have a pitch of their own, in elements.
extern "C" __global__ void submatrix_copy(const float* __restrict__ in, float* __restrict__ out, int rows, int columns,
                                          int in_pitch, int out_pitch, int top, int left) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < columns && y < rows) out[(size_t)y * out_pitch + x] = in[(size_t)(top + y) * in_pitch + left + x];
}

// Every column divided by its norm, in place: a thread a column, a stripe of the rows each block.
extern "C" __global__ void columns_scaled_double(double* __restrict__ a, const double* __restrict__ norms, int rows,
                                                 int columns) {
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= columns) return;
  double scale = 1.0 / (norms[column] + 1.0);
  for (int row = blockIdx.y; row < rows; row += gridDim.y) a[(size_t)row * columns + column] *= scale;
}

#define TILE 32
#define LINES 8

// Transpose by tiles, the blocks in diagonal order, so that those that run together write to other rows.
extern "C" __global__ void transpose_diagonal_order(const float* __restrict__ in, float* __restrict__ out, int width,
                                                    int height) {
  __shared__ float tile[TILE][TILE + 1];
  int bx, by;
  if (width == height) {
    by = blockIdx.x;
    bx = (blockIdx.x + blockIdx.y) % gridDim.x;
  } else {
    int block = blockIdx.x + gridDim.x * blockIdx.y;
    by = block % gridDim.y;
    bx = (block / gridDim.y + by) % gridDim.x;
  }
  int x = bx * TILE + threadIdx.x, y = by * TILE + threadIdx.y;
  int from = x + y * width;
  x = by * TILE + threadIdx.x;
  y = bx * TILE + threadIdx.y;
  int to = x + y * height;
  for (int i = 0; i < TILE; i += LINES) tile[threadIdx.y + i][threadIdx.x] = in[from + i * width];
  __syncthreads();
  for (int i = 0; i < TILE; i += LINES) out[to + i * height] = tile[threadIdx.x][threadIdx.y + i];
}

#define ROWS 8

// The greater of each pair of two vectors, as a table: four columns and eight rows a thread.
extern "C" __global__ void outer_maximum_table(const float* __restrict__ a, const float4* __restrict__ b,
                                               float4* __restrict__ out, int rows, int quads) {
  int quad = blockIdx.x * blockDim.x + threadIdx.x;
  if (quad >= quads) return;
  float4 v = b[quad];
  int first = blockIdx.y * ROWS;
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    int row = first + r;
    if (row < rows) {
      float u = a[row];
      out[(size_t)row * quads + quad] = make_float4(fmaxf(u, v.x), fmaxf(u, v.y), fmaxf(u, v.z), fmaxf(u, v.w));
    }
  }
}

// The sum of every k-th element: warps by shuffles, blocks in shared memory, all by one atomic a block.
extern "C" __global__ void sum_every_kth(const float* __restrict__ in, float* __restrict__ out, int n, int k) {
  __shared__ float parts[32];
  float sum = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[(size_t)i * k];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, d);
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (lane == 0) parts[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    sum = lane < (blockDim.x + 31) / 32 ? parts[lane] : 0.0f;
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (lane == 0) atomicAdd(out, sum);
  }
}
