// C = A B in FP32: a BM x BN tile of C per block, a WM x WN tile of C a warp. Its lanes stand 8 x 4 in
// that tile, and each works on several TM x TN pieces of it, so that neighbouring lanes read
// neighbouring values. M, N and K are multiples of BM, BN and BK. STAGES 2 keeps two pairs of tiles in
// shared memory, and fetches the next step's into registers while it works on this step's.
//
// Launch: dim3 grid(N / BN, M / BM), block(BM * BN / (WM * WN) * 32).
#ifndef BM
#define BM 128
#endif
#ifndef BN
#define BN 128
#endif
#ifndef BK
#define BK 16
#endif
#ifndef WM
#define WM 64
#endif
#ifndef WN
#define WN 64
#endif
#ifndef TM
#define TM 8
#endif
#ifndef TN
#define TN 4
#endif
#ifndef STAGES
#define STAGES 1
#endif

// Vectors of 16 B that each of some threads moves of so many floats, the last of them perhaps idle.
__host__ __device__ constexpr int at_least_1(int n) { return n < 1 ? 1 : n; }
__host__ __device__ constexpr int share(int floats, int threads) { return (floats / 4 + threads - 1) / threads; }

__device__ __forceinline__ float4 four(const float* p) { return *reinterpret_cast<const float4*>(p); }

// Fetches a step's tiles into registers, 16 B at a time.
template <int THREADS>
__device__ __forceinline__ void fetch(const float* A, const float* B, int N, int K, float4* left, float4* right) {
#pragma unroll
  for (int e = 0; e < share(BM * BK, THREADS); ++e) {
    const int at = e * THREADS + threadIdx.x;
    if (at < BM * BK / 4) left[e] = four(A + at / (BK / 4) * K + at % (BK / 4) * 4);
  }
#pragma unroll
  for (int e = 0; e < share(BK * BN, THREADS); ++e) {
    const int at = e * THREADS + threadIdx.x;
    if (at < BK * BN / 4) right[e] = four(B + at / (BN / 4) * N + at % (BN / 4) * 4);
  }
}

// Puts them into shared memory, A's transposed.
template <int THREADS>
__device__ __forceinline__ void put(float* a, float* b, const float4* left, const float4* right) {
#pragma unroll
  for (int e = 0; e < share(BM * BK, THREADS); ++e) {
    const int at = e * THREADS + threadIdx.x;
    if (at >= BM * BK / 4) break;
    const int m = at / (BK / 4), k = at % (BK / 4) * 4;
    a[k * BM + m] = left[e].x;
    a[(k + 1) * BM + m] = left[e].y;
    a[(k + 2) * BM + m] = left[e].z;
    a[(k + 3) * BM + m] = left[e].w;
  }
#pragma unroll
  for (int e = 0; e < share(BK * BN, THREADS); ++e) {
    const int at = e * THREADS + threadIdx.x;
    if (at < BK * BN / 4) *reinterpret_cast<float4*>(b + at * 4) = right[e];
  }
}

// Blocks of C that a thread works on: ROWS x COLS of TM x TN, at strides of DOWN and ACROSS.
template <int THREADS, int ROWS, int COLS, int DOWN, int ACROSS>
__device__ __forceinline__ void product(
    const float* A, const float* B, float* C, int N, int K, int row, int col) {
  __shared__ __align__(16) float a[STAGES][BM * BK];
  __shared__ __align__(16) float b[STAGES][BK * BN];
  float4 next_a[share(BM * BK, THREADS)], next_b[share(BK * BN, THREADS)];
  float sum[ROWS * TM][COLS * TN] = {};
#if STAGES == 2
  fetch<THREADS>(A, B, N, K, next_a, next_b);
  put<THREADS>(a[0], b[0], next_a, next_b);
  __syncthreads();
#endif
  for (int k0 = 0; k0 < K; k0 += BK) {
#if STAGES == 2
    const int now = k0 / BK % 2;
    const bool more = k0 + BK < K;
    A += BK;
    B += BK * N;
    if (more) fetch<THREADS>(A, B, N, K, next_a, next_b);
#else
    const int now = 0;
    fetch<THREADS>(A, B, N, K, next_a, next_b);
    put<THREADS>(a[0], b[0], next_a, next_b);
    __syncthreads();
    A += BK;
    B += BK * N;
#endif
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      float left[ROWS * TM], right[COLS * TN];
#pragma unroll
      for (int r = 0; r < ROWS; ++r)
#pragma unroll
        for (int i = 0; i < TM; i += 4) {
          const float4 v = four(&a[now][k * BM + row + r * DOWN + i]);
          left[r * TM + i] = v.x, left[r * TM + i + 1] = v.y;
          left[r * TM + i + 2] = v.z, left[r * TM + i + 3] = v.w;
        }
#pragma unroll
      for (int c = 0; c < COLS; ++c)
#pragma unroll
        for (int j = 0; j < TN; j += 4) {
          const float4 v = four(&b[now][k * BN + col + c * ACROSS + j]);
          right[c * TN + j] = v.x, right[c * TN + j + 1] = v.y;
          right[c * TN + j + 2] = v.z, right[c * TN + j + 3] = v.w;
        }
#pragma unroll
      for (int i = 0; i < ROWS * TM; ++i)
#pragma unroll
        for (int j = 0; j < COLS * TN; ++j) sum[i][j] += left[i] * right[j];
    }
#if STAGES == 2
    if (more) put<THREADS>(a[1 - now], b[1 - now], next_a, next_b);
#endif
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < ROWS; ++r)
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
      for (int c = 0; c < COLS; ++c)
#pragma unroll
        for (int j = 0; j < TN; j += 4) {
          const float* s = &sum[r * TM + i][c * TN + j];
          *reinterpret_cast<float4*>(C + (row + r * DOWN + i) * N + col + c * ACROSS + j) =
              make_float4(s[0], s[1], s[2], s[3]);
        }
}

extern "C" __global__ void __launch_bounds__(at_least_1(BM * BN / (WM * WN)) * 32, 1)
    gemm_warptile(const float* A, const float* B, float* C, int M, int N, int K) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int row = warp / (BN / WN) * WM + lane / 4 * TM, col = warp % (BN / WN) * WN + lane % 4 * TN;
  product<at_least_1(BM * BN / (WM * WN)) * 32, at_least_1(WM / (8 * TM)), at_least_1(WN / (4 * TN)), 8 * TM, 4 * TN>(
      A + (size_t)blockIdx.y * BM * K, B + blockIdx.x * BN,
      C + (size_t)blockIdx.y * BM * N + blockIdx.x * BN, N, K, row, col);
}
