// Atomics of blocks to shared memory by where their lanes meet: each warp at words of its own, all
// warps at the same few, or at random bins; native ones, loops of the compiler and of the source.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
#include <cuda_runtime.h>
typedef unsigned long long u64;
enum Pattern { OWN, SAME, RANDOM };
const char* patterns[] = {"own", "same", "random"};
constexpr int TURNS = 8;

struct AddInt { typedef int T; static __device__ void go(int* at, int v, int&) { atomicAdd(at, v); } };
struct AddOne { typedef int T; static __device__ void go(int* at, int, int&) { atomicAdd(at, 1); } };
struct MaxInt { typedef int T; static __device__ void go(int* at, int v, int&) { atomicMax(at, v); } };
struct AddReturn { typedef int T; static __device__ void go(int* at, int v, int& s) { s += atomicAdd(at, v); } };
struct Exchange { typedef int T; static __device__ void go(int* at, int v, int& s) { s += atomicExch(at, v); } };
struct ExchangeWide { typedef u64 T; static __device__ void go(u64* at, int v, int& s) { s += (int)atomicExch(at, (u64)v); } };
struct CasOnce { typedef int T; static __device__ void go(int* at, int v, int& s) { s += atomicCAS(at, v - 1, v); } };
struct AddFloat { typedef float T; static __device__ void go(float* at, int v, int&) { atomicAdd(at, (float)v); } };
struct AddDouble { typedef double T; static __device__ void go(double* at, int v, int&) { atomicAdd(at, (double)v); } };
struct AddWide { typedef u64 T; static __device__ void go(u64* at, int v, int&) { atomicAdd(at, (u64)v); } };
struct MaxWide { typedef u64 T; static __device__ void go(u64* at, int v, int&) { atomicMax(at, (u64)v); } };
struct LoopFloat {
  typedef int T;
  static __device__ void go(int* at, int v, int& s) {
    int seen = *(volatile int*)at, tried;
    do { tried = seen; seen = atomicCAS(at, tried, __float_as_int(__int_as_float(tried) + (float)v)); ++s; } while (seen != tried);
  }
};
struct LoopWide {
  typedef u64 T;
  static __device__ void go(u64* at, int v, int& s) {
    u64 seen = *(volatile u64*)at, tried;
    do { tried = seen; seen = atomicCAS(at, tried, __double_as_longlong(__longlong_as_double(tried) + (double)v)); ++s; } while (seen != tried);
  }
};
struct LoopShort {
  typedef unsigned short T;
  static __device__ void go(unsigned short* at, int v, int& s) {
    unsigned short seen = *(volatile unsigned short*)at, tried;
    do { tried = seen; seen = atomicCAS(at, tried, (unsigned short)(tried + v)); ++s; } while (seen != tried);
  }
};
template <class Op> __global__ void run(int* out, int pattern, int m, int pitch, int amount, long long* clocks, u64* tries) {
  extern __shared__ __align__(16) unsigned char raw[];
  typedef typename Op::T T;
  T* sums = (T*)raw;
  const int warps = blockDim.x / 32, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  // own: m lanes side by side have a word; same: word threadIdx.x % m; random: one of m
  const int words = pattern == OWN ? warps * (32 / m) : m;
  for (int t = threadIdx.x; t < words * pitch; t += blockDim.x) sums[t] = 0;
  T* at[TURNS];
#pragma unroll
  for (int k = 0; k < TURNS; ++k) {
    unsigned x = (blockIdx.x * blockDim.x + threadIdx.x) * 747796405u + k * 2891336453u;
    x = ((x >> ((x >> 28) + 4)) ^ x) * 277803737u; x = (x >> 22) ^ x;
    int w = pattern == OWN ? warp * (32 / m) + lane / m : pattern == SAME ? threadIdx.x % m : (int)(x % m);
    at[k] = sums + w * pitch;
  }
  int s = 0;
  __syncthreads();
  long long start = clock64();
#pragma unroll 1
  for (int r = 0; r < 4; ++r)
#pragma unroll
    for (int k = 0; k < TURNS; ++k) Op::go(at[k], amount, s);
  __syncthreads();
  long long end = clock64();
  if (threadIdx.x == 0) { clocks[blockIdx.x * 2] = start; clocks[blockIdx.x * 2 + 1] = end; }
  int all = __reduce_add_sync(~0u, s);
  if (lane == 0) atomicAdd(tries, (u64)(unsigned)all);
  if (sums[0] == (T)12345) out[0] = 1;
}
FILE* f; int* out; long long* ck; u64* tries;
template <class Op> void go(const char* name, int pattern, int m, int pitch, int warps, int held) {
  int need = std::max(1, pattern == OWN ? warps * (32 / m) : m) * pitch * (int)sizeof(typename Op::T) + 64;
  int bytes = 227 * 1024 / held - 1024;
  bytes = std::min(bytes - bytes % 128, 200 * 1024);
  if (need > bytes) return;
  cudaFuncSetAttribute(run<Op>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  const int blocks = 132 * held;
  std::vector<double> lives, us; cudaEvent_t a, b; cudaEventCreate(&a); cudaEventCreate(&b); u64 counted = 0;
  for (int r = 0; r < 4; ++r) {
    cudaMemset(tries, 0, 8);
    cudaEventRecord(a); run<Op><<<blocks, warps * 32, bytes>>>(out, pattern, m, pitch, 1, ck, tries); cudaEventRecord(b); cudaEventSynchronize(b);
    float ms; cudaEventElapsedTime(&ms, a, b);
    std::vector<long long> h(blocks * 2); cudaMemcpy(h.data(), ck, blocks * 16ll, cudaMemcpyDeviceToHost); cudaMemcpy(&counted, tries, 8, cudaMemcpyDeviceToHost);
    double life = 0; for (int i = 0; i < blocks; ++i) life += (double)(h[i * 2 + 1] - h[i * 2]) / blocks;
    if (r) { lives.push_back(life); us.push_back(ms * 1000); }
  }
  cudaEventDestroy(a); cudaEventDestroy(b);
  std::sort(lives.begin(), lives.end()); std::sort(us.begin(), us.end());
  fprintf(f, "%s,%s,%d,%d,%d,%d,%.2f,%.0f,%.2f,%.3f\n", name, patterns[pattern], m, pitch, warps, held, us[1], lives[1], lives[1] / (4 * TURNS), (double)counted / ((double)blocks * warps * 32 * 4 * TURNS));
}
template <class Op> void all(const char* name) {
  const int shapes[][2] = {{1, 1}, {2, 1}, {4, 1}, {8, 1}, {16, 1}, {32, 1}, {8, 2}, {8, 8}, {4, 16}, {1, 32}, {32, 2}, {16, 4}};
  for (auto& s : shapes) {
    for (int m : {1, 2, 4, 8, 16, 32}) go<Op>(name, OWN, m, 1, s[0], s[1]);
    go<Op>(name, OWN, 1, 2, s[0], s[1]); go<Op>(name, OWN, 1, 8, s[0], s[1]); go<Op>(name, OWN, 1, 32, s[0], s[1]); go<Op>(name, OWN, 4, 32, s[0], s[1]);
    for (int m : {1, 3, 16, 100}) go<Op>(name, SAME, m, 1, s[0], s[1]);
    go<Op>(name, SAME, 16, 32, s[0], s[1]);
    for (int m : {2, 4, 8, 16, 64, 256, 1024, 4096}) go<Op>(name, RANDOM, m, 1, s[0], s[1]);
    fflush(f);
  }
}
int main() {
  f = fopen((std::string(getenv("OUT")) + "/places.csv").c_str(), "w");
  fprintf(f, "op,pattern,m,pitch,warps,held,time_us,life,each,tries\n");
  cudaMalloc(&out, 256); cudaMalloc(&ck, 1 << 20); cudaMalloc(&tries, 8);
  go<AddFloat>("warm", SAME, 1, 1, 8, 8);
  all<AddFloat>("add_float"); all<AddDouble>("add_double"); all<AddWide>("add_u64"); all<MaxWide>("max_u64");
  all<LoopFloat>("loop_float"); all<LoopWide>("loop_double"); all<LoopShort>("loop_short");
  all<AddInt>("add_int"); all<AddOne>("add_one"); all<MaxInt>("max_int"); all<AddReturn>("add_return"); all<Exchange>("exchange"); all<ExchangeWide>("exchange_u64"); all<CasOnce>("cas");
  fclose(f);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
