// C = A B in FP32: a BM x BN tile of C per block, TM elements of a column of C per thread. A value of B's
// tile, once in a register, serves TM products. M, N and K are multiples of BM, BN and BK.
//
// Launch: dim3 grid(N / BN, M / BM), block(BM * BN / TM).
#ifndef BM
#define BM 64
#endif
#ifndef BN
#define BN 64
#endif
#ifndef BK
#define BK 8
#endif
#ifndef TM
#define TM 8
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

extern "C" __global__ void gemm_blocktile_1d(const float* A, const float* B, float* C, int M, int N, int K) {
  constexpr int THREADS = BM * BN / TM;
  __shared__ float a[BM * BK];
  __shared__ float b[BK * BN];
  const int row = threadIdx.x / BN * TM, col = threadIdx.x % BN;
  A += (size_t)blockIdx.y * BM * K;
  B += blockIdx.x * BN;
  C += (size_t)blockIdx.y * BM * N + blockIdx.x * BN;
  float sum[TM] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    copy<BM, BK, THREADS>(a, A, K);
    copy<BK, BN, THREADS>(b, B, N);
    __syncthreads();
    A += BK;
    B += BK * N;
    for (int k = 0; k < BK; ++k) {
      const float right = b[k * BN + col];
#pragma unroll
      for (int i = 0; i < TM; ++i) sum[i] += a[(row + i) * BK + k] * right;
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < TM; ++i) C[(row + i) * N + col] = sum[i];
}
