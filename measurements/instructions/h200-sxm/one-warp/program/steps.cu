// Rows that a thread each walks along, in step or not; tables in shared memory read at places that conflict.
// Prints: what,bytes,pitch,warps,blocks,cache,clocks (of a turn, mean over blocks, median of the repeats)
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>
#define OK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { printf("ERR %s: %s\n", #x, cudaGetErrorString(e_)); exit(1); } } while (0)
// Each turn waits for the last: the address has its value in it, which is nothing.
template <int WORDS> __global__ void rows(const char* in, float* out, long long* clocks, int turns, int pitch) {
  const char* row = in + (size_t)(blockIdx.x * blockDim.x + threadIdx.x) * pitch;
  unsigned x = 0;
  __syncthreads();
  long long begin = clock64();
#pragma unroll 1
  for (int k = 0; k < turns; ++k) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (WORDS == 1) asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(a) : "l"(row + x));
    else asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(row + x));
    x = a + b + c + d;
    row += 4 * WORDS;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = x;
  __syncthreads();
  if (threadIdx.x == 0) clocks[blockIdx.x] = clock64() - begin;
}
// WAYS lanes meet in a bank; 0: places at random among 256 words
template <int WAYS> __global__ void conflicts(unsigned* out, long long* clocks, int turns, unsigned seed) {
  __shared__ unsigned table[1024];
  for (int k = threadIdx.x; k < 1024; k += blockDim.x) table[k] = WAYS ? 0 : (k + seed) * 2654435761u >> 24;
  __syncthreads();
  unsigned lane = threadIdx.x & 31, own = WAYS ? (lane % WAYS) * 32 + lane / (WAYS ? WAYS : 1) : lane * 7, x = WAYS ? 0 : own;
  long long begin = clock64();
#pragma unroll 1
  for (int k = 0; k < turns; ++k) {
#pragma unroll
    for (int j = 0; j < 8; ++j) x = WAYS ? table[own + x] : table[(x * 5 + lane * 13 + j) & 255];
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = x;
  __syncthreads();
  if (threadIdx.x == 0) clocks[blockIdx.x] = clock64() - begin;
}
// Loads of L1 of which WAYS lines a warp: latency of each in a chain
template <int WAYS> __global__ void fans(const unsigned* in, unsigned* out, long long* clocks, int turns) {
  unsigned lane = threadIdx.x & 31, own = (lane % WAYS) * 32 + lane / WAYS, x = 0;
  for (int k = 0; k < 2; ++k) { unsigned v; asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(v) : "l"(in + own + x)); x = v; }
  long long begin = clock64();
#pragma unroll 1
  for (int k = 0; k < turns; ++k) {
#pragma unroll
    for (int j = 0; j < 8; ++j) { unsigned v; asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(v) : "l"(in + own + x)); x = v; }
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = x;
  __syncthreads();
  if (threadIdx.x == 0) clocks[blockIdx.x] = clock64() - begin;
}
char* in; float* out; long long* clocks; char* flush;
template <class F> double each(int blocks, bool cold, F launch) {
  std::vector<double> v;
  for (int r = 0; r < 4; ++r) {
    if (cold) OK(cudaMemset(flush, r, 256u << 20));
    launch();
    OK(cudaDeviceSynchronize());
    std::vector<long long> c(blocks);
    OK(cudaMemcpy(c.data(), clocks, 8 * blocks, cudaMemcpyDeviceToHost));
    double s = 0; for (auto x : c) s += x;
    if (r) v.push_back(s / blocks);
  }
  std::sort(v.begin(), v.end());
  return v[1];
}
template <int WORDS> void walk() {
  const int turns = 64;
  for (int pitch : {1024, 1024 + 4 * WORDS, 1024 + 32, 4096, 8})
    for (int warps : {1, 4}) for (int blocks : {1, 132}) for (bool cold : {true, false}) {
      double c = each(blocks, cold, [&] { rows<WORDS><<<blocks, warps * 32>>>(in, out, clocks, turns, pitch < 16 ? 4 * WORDS : pitch); });
      printf("rows,%d,%d,%d,%d,%s,%.1f\n", 4 * WORDS, pitch < 16 ? 4 * WORDS : pitch, warps, blocks, cold ? "cold" : "warm", c / turns);
    }
}
template <int WAYS> void banks() {
  for (int warps : {1, 4, 8, 16}) {
    double c = each(1, false, [&] { conflicts<WAYS><<<1, warps * 32>>>((unsigned*)out, clocks, 256, 7); });
    printf("banks,4,%d,%d,1,warm,%.2f\n", WAYS, warps, c / 2048);
    if (WAYS) {
      c = each(1, false, [&] { fans<WAYS ? WAYS : 1><<<1, warps * 32>>>((const unsigned*)in, (unsigned*)out, clocks, 256); });
      printf("lines,4,%d,%d,1,warm,%.2f\n", WAYS, warps, c / 2048);
    }
  }
}
int main() {
  OK(cudaMalloc(&in, 256u << 20)); OK(cudaMemset(in, 0, 256u << 20)); OK(cudaMalloc(&out, 1 << 20)); OK(cudaMalloc(&clocks, 8192)); OK(cudaMalloc(&flush, 256u << 20));
  printf("what,bytes,pitch,warps,blocks,cache,clocks\n");
  walk<1>(); walk<4>();
  banks<1>(); banks<2>(); banks<4>(); banks<8>(); banks<16>(); banks<32>(); banks<0>();
}
