// Shared atomics of one warp and few: clocks of each, by operation, lanes an address, warps, iterations.
// With an argument: points chosen after the model.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
#include <cuda_runtime.h>
typedef unsigned int u32;
// OP 0: add of an amount, 1: add of the constant 1, 2: maximum, 3: exchange, 4: add with the old value used, 5: chain,
// 6: add of an amount, one an iteration, 7: store (no atomic), 8: and-bits
template <int OP> __global__ void lone(u32* out, int* clocks, int iterations, int same, int lanes, int spacing, int amount) {
  extern __shared__ u32 sums[];
  for (int t = threadIdx.x; t < 8192; t += blockDim.x) sums[t] = 0;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  // `same` lanes meet at an address; each warp its own words unless spacing is negative.
  u32* at = sums + (lane / same) * abs(spacing) + (spacing > 0 ? warp * 32 : 0);
  u32 value = amount + lane, seen = 0;
  __syncthreads();
  long long t0 = clock64();
  if (lane < lanes) {
    if (OP == 6) {
#pragma unroll 1
      for (int k = 0; k < iterations; ++k) atomicAdd(at, value);
    } else {
#pragma unroll 4
      for (int k = 0; k < iterations; ++k) {
        if (OP == 0) atomicAdd(at, value);
        if (OP == 1) atomicAdd(at, 1u);
        if (OP == 2) atomicMax(at, value + k);
        if (OP == 3) seen ^= atomicExch(at, value + k);
        if (OP == 4) seen ^= atomicAdd(at, value);
        if (OP == 5) at += atomicAdd(at, value) >> 30 >> 1;
        if (OP == 7) *(volatile u32*)at = value + k;
        if (OP == 8) atomicAnd(at, value + k);
      }
    }
  }
  __syncwarp();
  long long t1 = clock64();
  __syncthreads();
  long long t2 = clock64();
  if (lane == 0) { clocks[(blockIdx.x * (blockDim.x / 32) + warp) * 2] = (int)(t1 - t0); clocks[(blockIdx.x * (blockDim.x / 32) + warp) * 2 + 1] = (int)(t2 - t0); }
  if (threadIdx.x == 0 || seen == 0x1234567u) out[blockIdx.x] = sums[0] + (u32)(size_t)at;
}
u32* out; int* clocks; FILE* f;
template <int OP> void run(const char* name, int iterations, int same, int lanes, int warps, int spacing, int blocks) {
  cudaEvent_t a, b; cudaEventCreate(&a); cudaEventCreate(&b); std::vector<float> us; std::vector<int> first, last, h(blocks * warps * 2);
  for (int r = 0; r < 6; ++r) {
    cudaEventRecord(a); lone<OP><<<blocks, warps * 32, 32768>>>(out, clocks, iterations, same, lanes, spacing, 3); cudaEventRecord(b); cudaEventSynchronize(b);
    float ms; cudaEventElapsedTime(&ms, a, b); if (!r) continue; us.push_back(ms * 1000);
    cudaMemcpy(h.data(), clocks, h.size() * 4, cudaMemcpyDeviceToHost);
    int x = 0, y = 0; for (int i = 0; i < blocks * warps; ++i) { x = std::max(x, h[2 * i]); y = std::max(y, h[2 * i + 1]); } first.push_back(x); last.push_back(y);
  }
  std::sort(us.begin(), us.end()); std::sort(first.begin(), first.end()); std::sort(last.begin(), last.end());
  fprintf(f, "%s,%d,%d,%d,%d,%d,%d,%.3f,%d,%d,%s\n", name, iterations, same, lanes, warps, spacing, blocks, us[2], first[2], last[2], cudaGetErrorString(cudaGetLastError()));
  cudaEventDestroy(a); cudaEventDestroy(b);
}
template <int OP> void all(const char* name) {
  for (int it : {4, 8, 16, 24, 32, 40, 48, 64, 96, 128, 256, 512, 1024}) for (int same : {1, 2, 4, 8, 16, 32}) run<OP>(name, it, same, 32, 1, 1, 1);
  for (int w : {1, 2, 3, 4, 5, 6, 8, 12, 16, 32}) for (int it : {32, 256}) for (int same : {1, 8, 32}) run<OP>(name, it, same, 32, w, 1, 1);
  for (int w : {2, 4, 8}) for (int same : {1, 8, 32}) run<OP>(name, 256, same, 32, w, -1, 1);
  for (int lanes : {1, 2, 4, 8, 16, 24}) for (int same : {1, 32}) run<OP>(name, 256, same, lanes, 1, 1, 1);
  for (int spacing : {2, 4, 8, 16, 32}) run<OP>(name, 256, 1, 32, 1, spacing, 1);
  for (int blocks : {2, 132, 264, 528}) for (int same : {1, 32}) run<OP>(name, 256, same, 32, 1, 1, blocks);
  fflush(f);
}
template <int OP> void unseen(const char* name) {
  for (int same : {2, 3, 5, 6, 12, 24}) for (int w : {1, 2}) for (int it : {100, 400, 2000}) run<OP>(name, it, same, 32, w, 1, 1);
  for (int spacing : {6, 12, 24}) for (int w : {1, 2}) run<OP>(name, 700, 1, 32, w, spacing, 1);
  fflush(f);
}
int main(int argc, char**) {
  cudaMalloc(&out, 1 << 20); cudaMalloc(&clocks, 1 << 20);
  f = fopen((std::string(getenv("OUT")) + (argc > 1 ? "/lone_unseen.csv" : "/lone.csv")).c_str(), "w");
  fprintf(f, "op,iterations,same,lanes,warps,spacing,blocks,time_us,clocks,clocks_barrier,error\n");
  if (argc > 1) {
    unseen<0>("add"); unseen<1>("increment"); unseen<2>("max"); unseen<3>("exchange_returns"); unseen<4>("add_returns"); unseen<5>("chain"); unseen<6>("add_rolled"); unseen<7>("store"); unseen<8>("and");
  } else {
    all<0>("add"); all<1>("increment"); all<2>("max"); all<3>("exchange_returns"); all<4>("add_returns"); all<5>("chain"); all<6>("add_rolled"); all<7>("store"); all<8>("and");
  }
  fclose(f);
}
