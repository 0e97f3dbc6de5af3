// C = A B in FP32, one thread an element of C. threadIdx.x runs down a column of C, so that the 32
// lanes of a warp read 32 rows of A at a stride of K floats, and store 32 rows of C at a stride of N floats.
//
// Launch: dim3 grid(ceil(M / 32), ceil(N / 32)), block(32, 32).

extern "C" __global__ void gemm_naive(const float* A, const float* B, float* C, int M, int N, int K) {
  const int m = blockIdx.x * blockDim.x + threadIdx.x;
  const int n = blockIdx.y * blockDim.y + threadIdx.y;
  if (m < M && n < N) {
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[m * K + k] * B[k * N + n];
    C[m * N + n] = sum;
  }
}
