// C = A B in FP32, one thread an element of C. The block has one dimension, and consecutive threads
// take consecutive columns of C: a warp broadcasts one element of A, and reads 128 consecutive bytes
// of B. Only the two lines that work out m and n differ from the naive product.
//
// Launch: dim3 grid(ceil(N / 32), ceil(M / 32)), block(32 * 32).

extern "C" __global__ void gemm_coalesced(const float* A, const float* B, float* C, int M, int N, int K) {
  const int m = blockIdx.y * 32 + threadIdx.x / 32;
  const int n = blockIdx.x * 32 + threadIdx.x % 32;
  if (m < M && n < N) {
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[m * K + k] * B[k * N + n];
    C[m * N + n] = sum;
  }
}
