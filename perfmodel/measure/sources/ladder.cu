// C = A B in FP32 through shared memory: the rungs of the ladder above gemm.cu.
// BM x BN is a block's tile of C, BK the depth of a step, TM x TN a thread's tile of C. M, N and K are
// multiples of the tile. STAGES 2 fetches the next step's tiles while it works on this one's.

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
#ifndef WM
#define WM 64
#endif
#ifndef WN
#define WN 64
#endif
#ifndef TILE
#define TILE 32
#endif
#ifndef STAGES
#define STAGES 1
#endif

// One element of C a thread; tiles of A, B and C are TILE x TILE.
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
    __syncthreads();
  }
  C[m * N + n] = sum;
}

// Copies a ROWS x COLS tile of a matrix whose rows are `width` floats long, one float a thread at a time.
template <int ROWS, int COLS, int THREADS>
__device__ __forceinline__ void copy(float* tile, const float* matrix, int width) {
#pragma unroll
  for (int e = 0; e < ROWS * COLS; e += THREADS) {
    const int at = e + threadIdx.x;
    if (at < ROWS * COLS) tile[at] = matrix[at / COLS * width + at % COLS];
  }
}

// TM elements of a column of C a thread.
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

// A TM x TN tile of C a thread.
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

// Blocks of C that a thread works on: ROWS x COLS of TM x TN, DOWN and ACROSS apart.
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

// As blocktile_2d, with loads and stores of 16 B.
extern "C" __global__ void __launch_bounds__(BM * BN / (TM * TN), 1)
    gemm_vectorized(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = threadIdx.x / (BN / TN) * TM, col = threadIdx.x % (BN / TN) * TN;
  product<BM * BN / (TM * TN), 1, 1, 0, 0>(
      A + (size_t)blockIdx.y * BM * K, B + blockIdx.x * BN,
      C + (size_t)blockIdx.y * BM * N + blockIdx.x * BN, N, K, row, col);
}


// A WM x WN tile of C a warp, whose lanes stand 8 x 4; each works on several TM x TN of it.
extern "C" __global__ void __launch_bounds__(at_least_1(BM * BN / (WM * WN)) * 32, 1)
    gemm_warptile(const float* A, const float* B, float* C, int M, int N, int K) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int row = warp / (BN / WN) * WM + lane / 4 * TM, col = warp % (BN / WN) * WN + lane % 4 * TN;
  product<at_least_1(BM * BN / (WM * WN)) * 32, at_least_1(WM / (8 * TM)), at_least_1(WN / (4 * TN)), 8 * TM, 4 * TN>(
      A + (size_t)blockIdx.y * BM * K, B + blockIdx.x * BN,
      C + (size_t)blockIdx.y * BM * N + blockIdx.x * BN, N, K, row, col);
}
