// C = A B in FP32 through shared memory, one thread an element of C: the block copies a tile of A and
// a tile of B, 32 x 32 each, and all its threads read them from there. M, N and K are multiples of 32.
//
// Launch: dim3 grid(N / 32, M / 32), block(32 * 32).

constexpr int TILE = 32;

extern "C" __global__ void gemm_smem(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ float a[TILE * TILE];
  __shared__ float b[TILE * TILE];
  const int row = threadIdx.x / TILE, col = threadIdx.x % TILE;
  const int m = blockIdx.y * TILE + row, n = blockIdx.x * TILE + col;
  float sum = 0.0f;
  for (int k0 = 0; k0 < K; k0 += TILE) {
    a[row * TILE + col] = A[m * K + k0 + col];
    b[row * TILE + col] = B[(k0 + row) * N + n];
    __syncthreads();
    for (int k = 0; k < TILE; ++k) sum += a[row * TILE + k] * b[k * TILE + col];
    __syncthreads();  // before the next tiles overwrite these
  }
  C[m * N + n] = sum;
}
