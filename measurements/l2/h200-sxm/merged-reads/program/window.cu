// When are reads of the same data by SMs of one group answered by one read of L2? SMs read at set
// clocks: the SMs' clocks are compared first, and each step starts at its own time on each SM.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <string>
#include <algorithm>
#include <cuda_runtime.h>
__device__ __forceinline__ unsigned sm() { unsigned r; asm volatile("mov.u32 %0, %%smid;" : "=r"(r)); return r; }

// Offsets of the SMs' clocks from that of SM 0, by messages both ways.
__global__ void clocks(long long* box, long long* best, int sms) {
  if (threadIdx.x) return;
  unsigned me = sm();
  volatile long long* b = box;
  for (int p = 1; p < sms; ++p) {
    if (me != 0 && (int)me != p) continue;
    long long there = 1ll << 60, back = 1ll << 60;
    for (int r = 0; r < 32; ++r) {
      volatile long long* ping = b + (p * 64 + r * 2) * 16;
      volatile long long* pong = b + (p * 64 + r * 2 + 1) * 16;
      if (me == 0) {
        *ping = clock64();
        long long got;
        while (!(got = *pong)) {}
        back = min(back, clock64() - got);
      } else {
        long long got;
        while (!(got = *ping)) {}
        there = min(there, clock64() - got);
        *pong = clock64();
      }
    }
    if (me == 0) best[p * 2] = back; else best[p * 2 + 1] = there;
  }
}
__global__ void places(int* where) {
  extern __shared__ int held[];
  if (!threadIdx.x) where[blockIdx.x] = sm();
  long long t = clock64();
  while (clock64() - t < 200000) {}
}
__global__ void flush(uint4* p, size_t n) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) p[i] = make_uint4(i, i * 7, i * 13, 1);
}
// delay[sm]: clocks after the step's time, or -1 for SMs that take no part, -2 for the one that reads all first
__global__ void __launch_bounds__(32) merged_paced(const char* in, unsigned* out, const int* delay, const unsigned* masks,
                                                  const long long* off, long long* flag, int taken, int steps, int period) {
  unsigned me = sm();
  int mine = delay[me];
  if (mine == -1) return;
  volatile long long* f = flag;
  unsigned sum = 0;
  if (mine == -2) {
#pragma unroll 8
    for (int s = 0; s < steps; ++s) sum += __ldcg((const unsigned*)(in + (size_t)s * 1024 + threadIdx.x * 32));
    if (sum == 0x12345678u) out[1] = sum;
  }
  __syncwarp();
  if (!threadIdx.x) {
    __threadfence();
    if (atomicAdd((unsigned long long*)flag + 16, 1ull) == (unsigned)taken - 1) *f = clock64() - off[me] + 40000;
  }
  if (mine < 0) return;
  long long t0;
  while (!(t0 = *f)) __nanosleep(2000);
  t0 += off[me] + mine;
  bool reads = masks[me] >> (threadIdx.x & 3) & 1;
  for (int s = 0; s < steps; ++s) {
    while (clock64() < t0) {}
    if (reads) {
      unsigned v;
      asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(v) : "l"(in + (size_t)s * 1024 + threadIdx.x * 32));
      sum += v;
    }
    if (sum == 0x12345678u) out[0] = sum;
    t0 += period;
  }
  if (sum == 0x12345678u) out[0] = sum;
}
int main(int, char**) {
  const int SMS = 132;
  char* in; unsigned* out; int* delay; unsigned* masks; long long *box, *best, *off, *flag; uint4* other; int* where;
  size_t bytes = 1ull << 30, big = 192ull << 20;
  cudaMalloc(&in, bytes); cudaMemset(in, 3, bytes); cudaMalloc(&out, 64); cudaMalloc(&delay, 1024); cudaMalloc(&masks, 1024);
  cudaMalloc(&box, SMS * 64 * 16 * 8); cudaMalloc(&best, SMS * 16); cudaMalloc(&off, SMS * 8); cudaMalloc(&flag, 1024);
  cudaMalloc(&other, big); cudaMalloc(&where, 4 * 132 * 16);
  std::vector<long long> o(SMS);
  auto compare = [&](bool print) {
    cudaMemset(box, 0, SMS * 64 * 16 * 8); cudaMemset(best, 0, SMS * 16);
    cudaFuncSetAttribute(clocks, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10);
    clocks<<<SMS, 32, 200 << 10>>>(box, best, SMS);
    std::vector<long long> b(SMS * 2);
    cudaMemcpy(b.data(), best, SMS * 16, cudaMemcpyDeviceToHost);
    for (int p = 0; p < SMS; ++p) o[p] = p ? (b[p * 2 + 1] - b[p * 2]) / 2 : 0;
    if (print) { for (int p = 0; p < SMS; ++p) fprintf(stderr, "clock %d %lld trip %lld\n", p, o[p], p ? (b[p * 2] + b[p * 2 + 1]) / 2 : 0); }
    cudaMemcpy(off, o.data(), SMS * 8, cudaMemcpyHostToDevice);
  };
  compare(true);
  // Which SMs are of one group: clusters of 16 blocks lie in one.
  std::vector<int> group(SMS); for (int i = 0; i < SMS; ++i) group[i] = i;
  cudaFuncSetAttribute(places, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  cudaFuncSetAttribute(places, cudaFuncAttributeMaxDynamicSharedMemorySize, 120 << 10);
  auto find = [&](int i) { while (group[i] != i) i = group[i]; return i; };
  for (int size : {16, 8, 4, 2}) {
    for (int r = 0; r < 6; ++r) {
      cudaLaunchConfig_t c = {}; c.gridDim = dim3(size * (132 / size)); c.blockDim = dim3(32); c.dynamicSmemBytes = 120 << 10;
      cudaLaunchAttribute a[1]; a[0].id = cudaLaunchAttributeClusterDimension; a[0].val.clusterDim.x = size; a[0].val.clusterDim.y = a[0].val.clusterDim.z = 1;
      c.attrs = a; c.numAttrs = 1;
      cudaError_t e = cudaLaunchKernelEx(&c, places, where);
      if (e != cudaSuccess) { fprintf(stderr, "cluster %d %s\n", size, cudaGetErrorString(e)); cudaGetLastError(); break; }
      std::vector<int> w(c.gridDim.x); cudaMemcpy(w.data(), where, 4 * w.size(), cudaMemcpyDeviceToHost);
      for (size_t i = 0; i < w.size(); ++i) { int a = find(w[i]), b = find(w[i / size * size]); group[std::max(a, b)] = std::min(a, b); }
    }
  }
  for (int i = 0; i < SMS; ++i) fprintf(stderr, "group %d %d\n", i, find(i));
  // Where blocks go: with 1, 2, 4, 8 on an SM
  for (int k : {1, 2, 4, 8}) for (int r = 0; r < 2; ++r) {
    cudaFuncSetAttribute(places, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10);
    places<<<132 * k, 32, (k == 1 ? 120 : k == 2 ? 100 : k == 4 ? 50 : 24) << 10>>>(where);
    std::vector<int> w(132 * k); cudaMemcpy(w.data(), where, 4 * w.size(), cudaMemcpyDeviceToHost);
    fprintf(stderr, "place %d:", k); for (int x : w) fprintf(stderr, " %d", x); fprintf(stderr, "\n");
  }
  std::vector<int> mates; for (int i = 0; i < SMS; ++i) if (find(i) == find(0)) mates.push_back(i);
  std::vector<int> rest; for (int i = 0; i < SMS; ++i) if (find(i) != find(0)) rest.push_back(i);
  int mark = 0;
  auto run = [&](const char* what, std::vector<int> sms, std::vector<int> delays, std::vector<unsigned> m, bool warm, int steps, int period) {
    std::vector<int> d(256, -1); std::vector<unsigned> k(256, 15);
    for (size_t i = 0; i < sms.size(); ++i) { d[sms[i]] = delays[i]; k[sms[i]] = m.empty() ? 15 : m[i]; }
    int taken = sms.size();
    if (warm) { d[rest[20]] = -2; ++taken; }
    cudaMemcpy(delay, d.data(), 1024, cudaMemcpyHostToDevice); cudaMemcpy(masks, k.data(), 1024, cudaMemcpyHostToDevice);
    cudaMemset(flag, 0, 1024);
    flush<<<264, 1024>>>(other, big / 16);
    size_t at = ((size_t)mark * (1 << 20)) % bytes;
    cudaFuncSetAttribute(merged_paced, cudaFuncAttributeMaxDynamicSharedMemorySize, 120 << 10);
    merged_paced<<<SMS, 32, 120 << 10>>>(in + at, out, delay, masks, off, flag, taken, steps, period);
    cudaError_t e = cudaDeviceSynchronize();
    std::string ds, ss, ms; for (size_t i = 0; i < sms.size(); ++i) { ds += (i ? " " : "") + std::to_string(delays[i]); ss += (i ? " " : "") + std::to_string(sms[i]); if (!m.empty()) ms += (i ? " " : "") + std::to_string(m[i]); }
    printf("%s,%d,%s,%s,%s,%d,%d,%d,%s\n", what, (int)sms.size(), ss.c_str(), ds.c_str(), ms.c_str(), (int)warm, steps, period, cudaGetErrorString(e));
    ++mark;
  };
  printf("point,n,sms,delays,masks,warm,steps,period,error\n");
  const int STEPS = 256, PERIOD = 6000;
  std::vector<int> scan = {0, 10, 20, 30, 50, 75, 100, 125, 150, 175, 200, 225, 250, 275, 300, 350, 400, 500, 600, 700, 800, 1000, 1500};
  int a = mates[0];
  for (int far = 0; far < 2; ++far) for (int d : scan) run(far ? "same group" : "same TPC", {a, mates[far ? 4 : 1]}, {3000, 3000 + d}, {}, true, STEPS, PERIOD);
  for (int d : scan) run("same group first", {a, mates[4]}, {3000 + d, 3000}, {}, true, STEPS, PERIOD);
  for (int d : scan) run("same group cold", {a, mates[4]}, {3000, 3000 + d}, {}, false, STEPS, PERIOD);
  // How many
  for (int n = 1; n <= (int)mates.size(); ++n) {
    std::vector<int> s(mates.begin(), mates.begin() + n);
    run("many", s, std::vector<int>(n, 3000), {}, true, STEPS, PERIOD);
  }
  for (int n = 3; n <= (int)mates.size(); n += 3) {
    std::vector<int> s; for (int i = 0; i < n; ++i) s.push_back(mates[(i * 5) % mates.size()]);
    run("many mixed", s, std::vector<int>(n, 3000), {}, true, STEPS, PERIOD);
  }
  // SMs one after the other
  for (int n : {3, 8, 16}) for (int d : {5, 10, 20, 40, 60, 80, 120, 160, 240, 320}) {
    std::vector<int> s(mates.begin(), mates.begin() + std::min(n, (int)mates.size())), x;
    for (size_t i = 0; i < s.size(); ++i) x.push_back(1000 + d * i);
    run("chain", s, x, {}, true, STEPS, PERIOD);
  }
  // Which parts of a line
  for (auto m : std::vector<std::vector<unsigned>>{{15, 15}, {3, 12}, {1, 15}, {15, 1}, {3, 6}, {1, 1}, {1, 2}, {7, 15}}) {
    run("parts", {a, mates[4]}, {3000, 3000}, m, true, STEPS, PERIOD);
    run("parts after", {a, mates[4]}, {3000, 3060}, m, true, STEPS, PERIOD);
    run("parts cold", {a, mates[4]}, {3000, 3060}, m, false, STEPS, PERIOD);
  }
  for (int n : {4, 8, 16}) run("random", std::vector<int>(mates.begin(), mates.begin() + std::min(n, (int)mates.size())), std::vector<int>(std::min(n, (int)mates.size()), 3000), {}, false, STEPS, PERIOD);
  compare(true);
  fprintf(stderr, "%s\n", cudaGetErrorString(cudaGetLastError()));
}
