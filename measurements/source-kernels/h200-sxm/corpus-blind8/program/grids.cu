// Grids and layouts: stencils with shared memory and with branches, transposes, patches of images.

// One Jacobi step of five points in double, zero outside, through a tile of 32 x 8 with its halo.
extern "C" __global__ void jacobi_shared(const double* __restrict__ in, double* __restrict__ out, int width,
                                         int height, double rate) {
  __shared__ double tile[10][34];
  int tx = threadIdx.x, ty = threadIdx.y;
  int x = blockIdx.x * 32 + tx, y = blockIdx.y * 8 + ty;
  int at = y * width + x;
  bool inside = x < width && y < height;
  tile[ty + 1][tx + 1] = inside ? in[at] : 0.0;
  if (tx == 0) tile[ty + 1][0] = x > 0 && y < height ? in[at - 1] : 0.0;
  if (tx == 31) tile[ty + 1][33] = x + 1 < width && y < height ? in[at + 1] : 0.0;
  if (ty == 0) tile[0][tx + 1] = y > 0 && x < width ? in[at - width] : 0.0;
  if (ty == 7) tile[9][tx + 1] = y + 1 < height && x < width ? in[at + width] : 0.0;
  __syncthreads();
  if (!inside) return;
  double centre = tile[ty + 1][tx + 1];
  double around = tile[ty][tx + 1] + tile[ty + 2][tx + 1] + tile[ty + 1][tx] + tile[ty + 1][tx + 2];
  out[at] = centre + rate * (around - 4.0 * centre);
}

// Upwind advection on a periodic plane: which neighbour is read depends on the sign of the speed there.
extern "C" __global__ void advect_upwind(const float* c, const float* u, const float* v, float* out, int width,
                                         int height, float step) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int at = y * width + x;
  float speed_x = u[at] - 0.5f, speed_y = v[at] - 0.5f, here = c[at], slope_x, slope_y;
  if (speed_x > 0.0f)
    slope_x = here - c[y * width + (x + width - 1) % width];
  else
    slope_x = c[y * width + (x + 1) % width] - here;
  if (speed_y > 0.0f)
    slope_y = here - c[(y + height - 1) % height * width + x];
  else
    slope_y = c[(y + 1) % height * width + x] - here;
  out[at] = here - step * (speed_x * slope_x + speed_y * slope_y);
}

// Transpose of bytes through a tile of 32 x 32 without padding, four rows a thread.
extern "C" __global__ void transpose_bytes(const unsigned char* __restrict__ in, unsigned char* __restrict__ out,
                                           int width, int height) {
  __shared__ unsigned char tile[32][32];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8)
    if (x < width && y + k < height) tile[threadIdx.y + k][threadIdx.x] = in[(y + k) * width + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8)
    if (x < height && y + k < width) out[(y + k) * height + x] = tile[threadIdx.x][threadIdx.y + k];
}

// Transpose of floats through a tile of 32 x 32 whose columns are swizzled by their row, two rows a thread.
extern "C" __global__ void __launch_bounds__(512)
    transpose_swizzled(const float* __restrict__ in, float* __restrict__ out, int width, int height) {
  __shared__ float tile[32][32];
  int tx = threadIdx.x, ty = threadIdx.y;
  int x = blockIdx.x * 32 + tx, y = blockIdx.y * 32 + ty;
#pragma unroll
  for (int k = 0; k < 32; k += 16)
    if (x < width && y + k < height) tile[ty + k][tx ^ (ty + k)] = in[(size_t)(y + k) * width + x];
  __syncthreads();
  x = blockIdx.y * 32 + tx;
  y = blockIdx.x * 32 + ty;
#pragma unroll
  for (int k = 0; k < 32; k += 16)
    if (x < height && y + k < width) out[(size_t)(y + k) * height + x] = tile[tx][(ty + k) ^ tx];
}

// Patches of 3 x 3 of an image's channels as the columns of a matrix, zero outside; an entry a thread.
extern "C" __global__ void unfold_patches(const float* in, float* out, int total, int height, int width,
                                          int out_height, int out_width, int stride) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= total) return;
  int pixel = i % (out_height * out_width), row = i / (out_height * out_width);
  int channel = row / 9, tap = row % 9;
  int y = pixel / out_width * stride + tap / 3 - 1, x = pixel % out_width * stride + tap % 3 - 1;
  bool inside = y >= 0 && y < height && x >= 0 && x < width;
  out[i] = inside ? in[(channel * height + y) * width + x] : 0.0f;
}
