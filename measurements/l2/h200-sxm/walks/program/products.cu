// Small matrix products with A, B, both or neither in L2: clocks of the busiest SM and time between events.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
typedef long long ll;
struct Log { ll* start; ll* end; int* sm; };
__device__ __forceinline__ void leave(Log g, ll begin) {
  if (g.start && threadIdx.x == 0 && threadIdx.y == 0) {
    int b = blockIdx.y * gridDim.x + blockIdx.x, s;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(s));
    g.start[b] = begin; g.end[b] = clock64(); g.sm[b] = s;
  }
}
template <bool LOG> __global__ void naive(int M, int N, int K, const float* A, const float* B, float* C, Log g) {
  ll begin = LOG ? clock64() : 0;
  int m = blockIdx.x * blockDim.x + threadIdx.x, n = blockIdx.y * blockDim.y + threadIdx.y;
  if (m < M && n < N) {
    float s = 0.f;
    for (int k = 0; k < K; k++) s += A[m * K + k] * B[k * N + n];
    C[m * N + n] = s;
  }
  if (LOG) { __syncthreads(); leave(g, begin); }
}
template <bool LOG, int ROWS> __global__ void coalesced(int M, int N, int K, const float* A, const float* B, float* C, Log g) {
  ll begin = LOG ? clock64() : 0;
  int m = blockIdx.y * ROWS + threadIdx.x / 32, n = blockIdx.x * 32 + threadIdx.x % 32;
  if (m < M && n < N) {
    float s = 0.f;
    for (int k = 0; k < K; k++) s += A[m * K + k] * B[k * N + n];
    C[m * N + n] = s;
  }
  if (LOG) { __syncthreads(); leave(g, begin); }
}
template <bool LOG, int UNROLL> __global__ void unrolled(int M, int N, int K, const float* A, const float* B, float* C, Log g) {
  ll begin = LOG ? clock64() : 0;
  int m = blockIdx.y * 32 + threadIdx.x / 32, n = blockIdx.x * 32 + threadIdx.x % 32;
  if (m < M && n < N) {
    float s = 0.f;
#pragma unroll UNROLL
    for (int k = 0; k < K; k++) s += A[m * K + k] * B[k * N + n];
    C[m * N + n] = s;
  }
  if (LOG) { __syncthreads(); leave(g, begin); }
}
template <bool LOG> __global__ void smem(int M, int N, int K, const float* A, const float* B, float* C, Log g) {
  ll begin = LOG ? clock64() : 0;
  __shared__ float a[32 * 32], b[32 * 32];
  int row = threadIdx.x / 32, col = threadIdx.x % 32, m = blockIdx.y * 32 + row, n = blockIdx.x * 32 + col;
  float s = 0.f;
  for (int k0 = 0; k0 < K; k0 += 32) {
    a[row * 32 + col] = (m < M && k0 + col < K) ? A[m * K + k0 + col] : 0.f;
    b[row * 32 + col] = (k0 + row < K && n < N) ? B[(k0 + row) * N + n] : 0.f;
    __syncthreads();
    for (int k = 0; k < 32; k++) s += a[row * 32 + k] * b[k * 32 + col];
    __syncthreads();
  }
  if (m < M && n < N) C[m * N + n] = s;
  if (LOG) { __syncthreads(); leave(g, begin); }
}
__global__ void empty() {}
__global__ void spin(ll n) { ll t = clock64(); while (clock64() - t < n) {} }
__global__ void fill(float* p, size_t n) { for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) p[i] = (float)(i % 1021) * 1e-3f; }
__global__ void touch(const float4* p, size_t n, float* out) { float s = 0; for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) s += p[i].x + p[i].w; if (s == 1.25e30f) *out = s; }

static float *A, *B, *C, *F; static Log lg; static cudaEvent_t e0, e1;
static const size_t FN = (size_t)64 << 20;
enum { NAIVE, COAL, ROWS1, ROWS2, ROWS4, ROWS8, ROWS16, UN1, UN4, UN8, UN16, SMEM };
static const char* names[] = {"naive", "coalesced", "rows1", "rows2", "rows4", "rows8", "rows16", "unroll1", "unroll4", "unroll8", "unroll16", "smem"};
template <bool L> static void go(int id, int M, int N, int K) {
  Log g = L ? lg : Log{0, 0, 0}; unsigned gm = (M + 31) / 32, gn = (N + 31) / 32;
  switch (id) {
    case NAIVE: naive<L><<<dim3(gm, gn), dim3(32, 32)>>>(M, N, K, A, B, C, g); break;
    case COAL: coalesced<L, 32><<<dim3(gn, gm), 1024>>>(M, N, K, A, B, C, g); break;
    case ROWS1: coalesced<L, 1><<<dim3(gn, M), 32>>>(M, N, K, A, B, C, g); break;
    case ROWS2: coalesced<L, 2><<<dim3(gn, (M + 1) / 2), 64>>>(M, N, K, A, B, C, g); break;
    case ROWS4: coalesced<L, 4><<<dim3(gn, (M + 3) / 4), 128>>>(M, N, K, A, B, C, g); break;
    case ROWS8: coalesced<L, 8><<<dim3(gn, (M + 7) / 8), 256>>>(M, N, K, A, B, C, g); break;
    case ROWS16: coalesced<L, 16><<<dim3(gn, (M + 15) / 16), 512>>>(M, N, K, A, B, C, g); break;
    case UN1: unrolled<L, 1><<<dim3(gn, gm), 1024>>>(M, N, K, A, B, C, g); break;
    case UN4: unrolled<L, 4><<<dim3(gn, gm), 1024>>>(M, N, K, A, B, C, g); break;
    case UN8: unrolled<L, 8><<<dim3(gn, gm), 1024>>>(M, N, K, A, B, C, g); break;
    case UN16: unrolled<L, 16><<<dim3(gn, gm), 1024>>>(M, N, K, A, B, C, g); break;
    case SMEM: smem<L><<<dim3(gn, gm), 1024>>>(M, N, K, A, B, C, g); break;
  }
}
static int count(int id, int M, int N) {
  int rows = id >= ROWS1 && id <= ROWS16 ? 1 << (id - ROWS1) : 32;
  return ((N + 31) / 32) * ((M + rows - 1) / rows);
}
static void ready(int state, int id, int M, int N, int K) {
  if (state == 4) { go<false>(id, M, N, K); go<false>(id, M, N, K); return; }
  touch<<<1056, 256>>>((float4*)F, FN / 4, C);
  if (state & 1) touch<<<264, 256>>>((float4*)A, (size_t)M * K / 4 + 1, C);
  if (state & 2) touch<<<264, 256>>>((float4*)B, (size_t)K * N / 4 + 1, C);
}
static void measure(int id, int M, int N, int K) {
  static const char* states[] = {"cold", "a", "b", "ab", "warm"};
  int n = count(id, M, N); if (n > 20000) return;
  std::vector<ll> s(n), e(n); std::vector<int> sm(n);
  for (int state = 0; state < 5; ++state) {
    std::vector<double> span, ns;
    for (int r = 0; r < 5; ++r) {
      ready(state, id, M, N, K); spin<<<1, 1>>>(20000);
      cudaEventRecord(e0); go<false>(id, M, N, K); cudaEventRecord(e1); cudaEventSynchronize(e1);
      float ms; cudaEventElapsedTime(&ms, e0, e1); ns.push_back(ms * 1e6);
      ready(state, id, M, N, K); go<true>(id, M, N, K);
      cudaMemcpy(s.data(), lg.start, n * 8, cudaMemcpyDeviceToHost); cudaMemcpy(e.data(), lg.end, n * 8, cudaMemcpyDeviceToHost); cudaMemcpy(sm.data(), lg.sm, n * 4, cudaMemcpyDeviceToHost);
      std::vector<ll> lo(256, (ll)1 << 62), hi(256, 0);
      for (int b = 0; b < n; ++b) { lo[sm[b]] = std::min(lo[sm[b]], s[b]); hi[sm[b]] = std::max(hi[sm[b]], e[b]); }
      double most = 0; for (int i = 0; i < 256; ++i) if (hi[i]) most = std::max(most, (double)(hi[i] - lo[i]));
      span.push_back(most);
    }
    std::sort(span.begin(), span.end()); std::sort(ns.begin(), ns.end());
    printf("%s,%d,%d,%d,%d,%s,%.0f,%.0f,%.0f\n", names[id], M, N, K, n, states[state], span[2], ns[2], ns[0]);
  }
  fflush(stdout);
  if (cudaError_t x = cudaGetLastError()) { printf("error %s\n", cudaGetErrorString(x)); exit(1); }
}
int main(int c, char** v) {
  float* all; cudaMalloc(&all, (size_t)3 << 28); A = all; B = all + (1 << 26); C = all + (2 << 26);
  cudaMalloc(&F, FN * 4); cudaMalloc(&lg.start, 8 * 20000); cudaMalloc(&lg.end, 8 * 20000); cudaMalloc(&lg.sm, 4 * 20000);
  cudaEventCreate(&e0); cudaEventCreate(&e1);
  fill<<<1056, 256>>>(all, (size_t)3 << 26); fill<<<1056, 256>>>(F, FN);
  if (c > 1) {  // one launch each, cold by the profiler: id M N K ...
    for (int i = 1; i + 3 < c; i += 4) { go<false>(atoi(v[i]), atoi(v[i + 1]), atoi(v[i + 2]), atoi(v[i + 3])); }
    cudaDeviceSynchronize(); return 0;
  }
  printf("kernel,M,N,K,blocks,state,clocks,ns,least_ns\n");
  std::vector<float> times; for (int r = 0; r < 9; ++r) { spin<<<1, 1>>>(20000); cudaEventRecord(e0); empty<<<1, 32>>>(); cudaEventRecord(e1); cudaEventSynchronize(e1); float ms; cudaEventElapsedTime(&ms, e0, e1); times.push_back(ms * 1e6f); }
  std::sort(times.begin(), times.end()); printf("empty,0,0,0,1,warm,0,%.0f,%.0f\n", times[4], times[0]);
  int odd[][3] = {{300, 300, 300}, {752, 437, 212}, {31, 2000, 2000}, {100, 3000, 700}, {333, 777, 1555}, {582, 445, 306}, {600, 600, 600}, {511, 511, 511}, {320, 320, 320}};
  for (auto& o : odd) for (int id : {COAL, NAIVE, SMEM}) measure(id, o[0], o[1], o[2]);
  int grids[][2] = {{1, 1}, {1, 8}, {8, 1}, {8, 8}, {1, 64}, {64, 1}, {1, 132}, {132, 1}, {11, 12}, {22, 12}, {2, 132}, {132, 2}, {1, 264}, {33, 12}, {44, 12}};
  for (int K : {256, 1024}) for (auto& g : grids) measure(COAL, 32 * g[0], 32 * g[1], K);
  for (int K : {32, 64, 128, 512, 2048, 4096}) for (int i : {3, 8, 9}) measure(COAL, 32 * grids[i][0], 32 * grids[i][1], K);
  for (int id : {ROWS1, ROWS2, ROWS4, ROWS8, ROWS16}) {
    int rows = 1 << (id - ROWS1);
    measure(id, rows, 32 * 132, 1024); measure(id, rows * 132, 32, 1024); measure(id, rows * 11, 32 * 12, 1024);
    for (int held : {2, 4, 8, 16}) if (held * rows <= 64 && held <= 32) { measure(id, rows * 11 * held, 32 * 12, 1024); measure(id, rows * held, 32 * 132, 1024); }
  }
  for (int id : {UN1, UN4, UN8, UN16}) for (int i : {0, 3, 7, 8, 9}) measure(id, 32 * grids[i][0], 32 * grids[i][1], 1024);
  for (int id : {SMEM, NAIVE}) for (int K : {256, 1024}) for (int i : {0, 3, 6, 7, 8, 9}) measure(id, 32 * grids[i][0], 32 * grids[i][1], K);
  for (int K : {4096, 8192}) measure(SMEM, 256, 256, K);
  for (int K : {290, 296, 304, 310, 330, 340, 350, 360, 380, 400}) { measure(NAIVE, 300, 300, K); measure(COAL, 300, 300, K); }
  for (int K : {256, 1024}) {
    int grids[][2] = {{396, 1}, {198, 2}, {99, 4}, {33, 12}, {12, 33}, {1, 396}, {17, 16}, {18, 16}, {20, 16}, {25, 16}, {30, 16}, {32, 16}, {36, 16}, {37, 16}, {41, 16}, {45, 16}, {49, 16}};
    for (auto& g : grids) measure(COAL, 32 * g[0], 32 * g[1], K);
    int fewer[][2] = {{99, 4}, {33, 12}, {20, 16}, {25, 16}};
    for (auto& g : fewer) { measure(ROWS16, 32 * g[0], 32 * g[1], K); measure(ROWS8, 32 * g[0], 32 * g[1], K); measure(UN4, 32 * g[0], 32 * g[1], K); }
  }
  int others[][3] = {{200, 200, 500}, {450, 333, 270}, {130, 1000, 1111}, {1700, 140, 640}, {64, 64, 3000}, {96, 4000, 300}, {900, 300, 150}, {360, 360, 2048}, {250, 780, 780}, {512, 512, 256}, {640, 480, 320}};
  for (auto& o : others) for (int id : {COAL, NAIVE, SMEM}) measure(id, o[0], o[1], o[2]);
}
