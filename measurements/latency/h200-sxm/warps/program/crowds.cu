// Warps that wait for a load and then compute, again and again: by chains of the arithmetic, blocks of an SM, turns and
// where the data is. main: times between events, and the clocks of blocks from their first instruction to their last.
#include <algorithm>
#include <cstdio>
#include <cuda_runtime.h>
#include <vector>
static const int THREADS = 128;
// INSTRUCTIONS multiply-adds in CHAINS chains a turn; each begins with the loaded value.
template <int INSTRUCTIONS, int CHAINS>
__global__ void __launch_bounds__(THREADS) crowd(const float* __restrict__ in, float* out, int turns, unsigned mask, unsigned step, int* clocks) {
  long long start = clock64();
  unsigned at = blockIdx.x * THREADS + threadIdx.x;
  float sums[8] = {1.f, 2.f, 3.f, 4.f, 5.f, 6.f, 7.f, 8.f};
#pragma unroll 1
  for (int k = 0; k < turns; k++) {
    float v = __ldcg(in + (at & mask));
#pragma unroll
    for (int i = 0; i < INSTRUCTIONS / CHAINS; i++)
#pragma unroll
      for (int c = 0; c < CHAINS; c++) sums[c] = sums[c] * v + (1.f + .25f * c);
    float all = 0.f;
#pragma unroll
    for (int c = 0; c < CHAINS; c++) all = c ? fmaxf(all, sums[c]) : sums[0];
    at += step + (all == 123.25f);
  }
  float all = 0.f;
#pragma unroll
  for (int c = 0; c < CHAINS; c++) all += sums[c];
  if (all == -1.25f) out[0] = all;
  if (threadIdx.x == 0) clocks[blockIdx.x] = (int)(clock64() - start);
}
__global__ void empty() {}
__global__ void fill(float* p, size_t n) {
  for (size_t i = (size_t)blockIdx.x * 256 + threadIdx.x; i < n; i += (size_t)gridDim.x * 256) p[i] = 1e-3f * ((unsigned)i * 2654435761u >> 24);
}
static float *in, *out, *flushed;
static int* clocks;
static const size_t DATA = (size_t)1 << 28, FLUSH = (size_t)1 << 26;
template <class F> static float timed(F f, bool cold) {
  const int R = 7; cudaEvent_t b[R], e[R]; std::vector<float> t;
  for (int r = 0; r < R; r++) { cudaEventCreate(b + r); cudaEventCreate(e + r); }
  for (int r = 0; r < 3; r++) f();
  for (int r = 0; r < R; r++) {
    if (cold) fill<<<4096, 256>>>(flushed, FLUSH);
    cudaEventRecord(b[r]); f(); cudaEventRecord(e[r]);
  }
  cudaDeviceSynchronize();
  for (int r = 0; r < R; r++) { float ms; cudaEventElapsedTime(&ms, b[r], e[r]); t.push_back(ms * 1000); cudaEventDestroy(b[r]); cudaEventDestroy(e[r]); }
  std::sort(t.begin(), t.end()); return t[R / 2];
}
static int found[132 * 128];
template <int I, int C> static void one(int blocks, int turns, bool far) {
  unsigned mask = far ? (unsigned)DATA - 1 : (1u << 20) - 1;
  auto f = [=] { crowd<I, C><<<blocks, THREADS>>>(in, out, turns, mask, far ? 2162688u : 16896u, clocks); };
  float t = timed(f, far);
  cudaMemcpy(found, clocks, sizeof(int) * blocks, cudaMemcpyDeviceToHost);
  double mean = 0; int most = 0, least = 1 << 30;
  for (int b = 0; b < blocks; b++) { mean += found[b]; most = std::max(most, found[b]), least = std::min(least, found[b]); }
  printf("%d,%d,%d,%d,%s,%.3f,%.0f,%d,%d\n", I, C, blocks, turns, far ? "dram" : "l2", t, mean / blocks, most, least); fflush(stdout);
}
template <int I, int C> static void all() {
  for (int per : {1, 2, 4, 6, 8, 12, 16})
    for (int n : {2, 24, 192}) one<I, C>(132 * per, n, false);
  for (int per : {1, 4, 8, 16})
    for (int n : {2, 24}) one<I, C>(132 * per, n, true);
  for (int rounds : {2, 3, 6}) one<I, C>(132 * 16 * rounds, 24, false);
  one<I, C>(132 * 24, 24, false);
}
int main() {
  cudaMalloc(&in, 4 * DATA); cudaMalloc(&out, 1024); cudaMalloc(&flushed, 4 * FLUSH); cudaMalloc(&clocks, sizeof found);
  fill<<<4096, 256>>>(in, DATA);
  printf("instructions,chains,blocks,turns,data,time_us,mean_clocks,most_clocks,least_clocks\n0,0,1,0,l2,%.3f,0,0,0\n", timed([] { empty<<<1, 32>>>(); }, false));
  all<48, 1>(); all<48, 4>(); all<96, 1>(); all<96, 2>(); all<96, 8>(); all<192, 1>(); all<192, 8>();
  printf("end,%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
