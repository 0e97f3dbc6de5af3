// out = in^T of an n x n matrix in tiles of 32 x 32: blocks of 32 x 8 threads, grid n/32 x n/32.

// Straight: neighbouring threads load neighbouring elements, and store n elements away.
extern "C" __global__ void straight(float* out, const float* in, int n) {
  const int x = blockIdx.x * 32 + threadIdx.x;
  const int y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) {
    out[x * n + y + j] = in[(y + j) * n + x];
  }
}

// Through shared memory: both coalesced. PAD = 1 keeps a column of the tile in different banks.
#ifndef PAD
#define PAD 0
#endif
extern "C" __global__ void tiled(float* out, const float* in, int n) {
  __shared__ float tile[32][32 + PAD];
  const int x = blockIdx.x * 32 + threadIdx.x;
  const int y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) {
    tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
  }
  __syncthreads();
  const int column = blockIdx.y * 32 + threadIdx.x;
  const int row = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) {
    out[(row + j) * n + column] = tile[threadIdx.x][threadIdx.y + j];
  }
}
