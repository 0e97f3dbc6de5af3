// C = A B in FP32: a BM x BN tile of C per block, a TM x TN tile of C per thread. A value of A's tile
// serves TN products, and one of B's tile TM. M, N and K are multiples of BM, BN and BK.
//
// Launch: dim3 grid(N / BN, M / BM), block(BM * BN / (TM * TN)).
#ifndef BM
#define BM 128
#endif
#ifndef BN
#define BN 128
#endif
#ifndef BK
#define BK 8
#endif
#ifndef TM
#define TM 8
#endif
#ifndef TN
#define TN 8
#endif

// Copies a ROWS x COLS tile of a matrix with rows of `width` floats, one float per thread at a time.
template <int ROWS, int COLS, int THREADS>
__device__ __forceinline__ void copy(float* tile, const float* matrix, int width) {
#pragma unroll
  for (int e = 0; e < ROWS * COLS; e += THREADS) {
    const int at = e + threadIdx.x;
    if (at < ROWS * COLS) tile[at] = matrix[at / COLS * width + at % COLS];
  }
}

extern "C" __global__ void __launch_bounds__(BM * BN / (TM * TN), 1)
    gemm_blocktile_2d(const float* A, const float* B, float* C, int M, int N, int K) {
  constexpr int THREADS = BM * BN / (TM * TN);
  __shared__ float a[BM * BK];
  __shared__ float b[BK * BN];
  const int row = threadIdx.x / (BN / TN) * TM, col = threadIdx.x % (BN / TN) * TN;
  A += (size_t)blockIdx.y * BM * K;
  B += blockIdx.x * BN;
  C += (size_t)blockIdx.y * BM * N + blockIdx.x * BN;
  float sum[TM][TN] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    copy<BM, BK, THREADS>(a, A, K);
    copy<BK, BN, THREADS>(b, B, N);
    __syncthreads();
    A += BK;
    B += BK * N;
    for (int k = 0; k < BK; ++k) {
      float left[TM], right[TN];
#pragma unroll
      for (int i = 0; i < TM; ++i) left[i] = a[(row + i) * BK + k];
#pragma unroll
      for (int j = 0; j < TN; ++j) right[j] = b[k * BN + col + j];
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) sum[i][j] += left[i] * right[j];
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; ++j) C[(row + i) * N + col + j] = sum[i][j];
}
