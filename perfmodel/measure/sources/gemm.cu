// C = A B in FP32, one thread an element of C.

extern "C" __global__ void gemm_naive(const float* A, const float* B, float* C, int M, int N, int K) {
  const int m = blockIdx.x * blockDim.x + threadIdx.x;
  const int n = blockIdx.y * blockDim.y + threadIdx.y;
  if (m < M && n < N) {
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[m * K + k] * B[k * N + n];
    C[m * N + n] = sum;
  }
}

extern "C" __global__ void gemm_coalesced(const float* A, const float* B, float* C, int M, int N, int K) {
  const int m = blockIdx.y * 32 + threadIdx.x / 32;
  const int n = blockIdx.x * 32 + threadIdx.x % 32;
  if (m < M && n < N) {
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[m * K + k] * B[k * N + n];
    C[m * N + n] = sum;
  }
}
