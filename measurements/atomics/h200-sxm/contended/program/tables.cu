// Random atomics over tables of 1 to 256 MiB, cold and warm, beside loads and stores at the same places.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#include <cuda_runtime.h>
typedef unsigned int u32;
typedef unsigned long long u64;
__device__ __forceinline__ u32 hashed(u32 x) { x ^= x >> 16; x *= 0x85ebca6bu; x ^= x >> 13; x *= 0xc2b2ae35u; return x ^ (x >> 16); }
// OP 0: addition, 1: addition with the old value, 2: load, 3: store, 4: float addition, 5: addition, run of `run` words
template <int OP> __global__ void tables(u32* data, u32 n, u64 words, u32 run, u32* sink) {
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  u64 place = (((u64)hashed(i / run) * (words / run)) >> 32) * run + i % run; u32 seen = 0;
  if (OP == 0) atomicAdd(data + place, 3u);
  if (OP == 1) seen = atomicAdd(data + place, 3u);
  if (OP == 2) seen = __ldcg(data + place);
  if (OP == 3) data[place] = i;
  if (OP == 4) atomicAdd((float*)data + place, 1.5f);
  if (seen == 0x12345679u) *sink = seen;
}
__global__ void flush(const uint4* in, u64 n, u32* sink) { u32 s = 0; for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x) { uint4 v = __ldcg(in + i); s ^= v.x ^ v.y ^ v.z ^ v.w; } if (s == 0x12345679u) *sink = s; }
u32 *data, *sink; uint4* big; const u64 BIG = 512ull << 20;
void clean() { flush<<<1056, 512>>>(big, BIG / 16, sink); flush<<<1056, 512>>>(big, BIG / 16, sink); }
template <int OP> void launch(u32 n, u64 words, u32 run) { tables<OP><<<(n + 255) / 256, 256>>>(data, n, words, run, sink); }
void go(int op, u32 n, u64 words, u32 run) { if (op == 0) launch<0>(n, words, run); if (op == 1) launch<1>(n, words, run); if (op == 2) launch<2>(n, words, run); if (op == 3) launch<3>(n, words, run); if (op == 4) launch<4>(n, words, run); }
int main(int argc, char** argv) {
  cudaMalloc(&data, 256ull << 20); cudaMalloc(&sink, 64); cudaMalloc(&big, BIG); cudaMemset(data, 0, 256ull << 20); cudaMemset(big, 1, BIG);
  const char* names[] = {"add", "add_returns", "load", "store", "float_add"};
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "profile") {
    for (u32 n : {262144u, 1048576u, 4194304u}) for (u64 mib : {16ull, 24ull, 32ull, 40ull, 48ull, 64ull, 96ull, 128ull, 256ull}) { go(0, n, mib << 18, 1); go(0, n, mib << 18, 1); }
    cudaDeviceSynchronize(); return 0;
  }
  if (mode == "profile_unseen") {
    for (u32 n : {500000u, 1500000u, 3000000u, 6000000u}) for (u64 mib : {12ull, 20ull, 28ull, 36ull, 56ull, 80ull, 160ull}) go(4, n, mib << 18, 1);
    cudaDeviceSynchronize(); return 0;
  }
  cudaEvent_t a, b; cudaEventCreate(&a); cudaEventCreate(&b);
  FILE* f = fopen((std::string(getenv("OUT")) + (mode == "unseen" ? "/unseen.csv" : "/tables.csv")).c_str(), "w"); fprintf(f, "op,mib,n,run,cache,time_us\n");
  if (mode == "unseen") {
    for (u64 mib : {12ull, 20ull, 28ull, 36ull, 56ull, 80ull, 160ull}) for (u32 n : {500000u, 1500000u, 3000000u, 6000000u}) {
      std::vector<float> us;
      for (int r = 0; r < 6; ++r) { cudaEventRecord(a); go(4, n, mib << 18, 1); cudaEventRecord(b); cudaEventSynchronize(b); float ms; cudaEventElapsedTime(&ms, a, b); if (r) us.push_back(ms * 1000); }
      std::sort(us.begin(), us.end()); fprintf(f, "float_add,%llu,%u,1,warm,%.3f\n", mib, n, us[2]);
    }
    fclose(f); return 0;
  }
  for (int op : {0, 1, 2, 3, 4}) for (u64 mib : {1ull, 4ull, 8ull, 16ull, 24ull, 32ull, 48ull, 64ull, 128ull, 256ull}) for (u32 n : {65536u, 262144u, 1048576u, 2097152u, 4194304u}) for (u32 run : {1u, 8u}) for (int cold : {0, 1}) {
    if (op == 1 && run > 1) continue; if (op == 4 && n != 2097152u) continue;
    std::vector<float> us;
    for (int r = 0; r < 4; ++r) { if (cold) clean(); cudaEventRecord(a); go(op, n, mib << 18, run); cudaEventRecord(b); cudaEventSynchronize(b); float ms; cudaEventElapsedTime(&ms, a, b); if (r) us.push_back(ms * 1000); }
    std::sort(us.begin(), us.end()); fprintf(f, "%s,%llu,%u,%u,%s,%.3f\n", names[op], mib, n, run, cold ? "cold" : "warm", us[1]);
  }
  fclose(f); printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
