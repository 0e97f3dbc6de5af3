// Transposes and other permutations of axes.
extern "C" __global__ void transpose_plain(const float* __restrict__ in, float* __restrict__ out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) out[x * height + y] = in[y * width + x];
}

template <int PAD>
__device__ void through_tile(const float* __restrict__ in, float* __restrict__ out, int width, int height, float (*tile)[32 + PAD]) {
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
#pragma unroll
  for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
#pragma unroll
  for (int j = 0; j < 32; j += 8) out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

extern "C" __global__ void transpose_tile(const float* __restrict__ in, float* __restrict__ out, int width, int height) {
  __shared__ float tile[32][32];
  through_tile<0>(in, out, width, height, tile);
}

extern "C" __global__ void transpose_padded(const float* __restrict__ in, float* __restrict__ out, int width, int height) {
  __shared__ float tile[32][33];
  through_tile<1>(in, out, width, height, tile);
}

// in[a][b][c] to out[b][c][a]
extern "C" __global__ void rotate_axes(const float* __restrict__ in, float* __restrict__ out, int na, int nb, int nc) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= na * nb * nc) return;
  int c = i % nc, b = i / nc % nb, a = i / (nc * nb);
  out[(b * nc + c) * na + a] = in[i];
}

extern "C" __global__ void interleave(const float* __restrict__ red, const float* __restrict__ green, const float* __restrict__ blue, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[3 * i] = red[i];
  out[3 * i + 1] = green[i];
  out[3 * i + 2] = blue[i];
}
