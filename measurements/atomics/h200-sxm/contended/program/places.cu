// Atomics at few pieces of 256 B, at many places: which slices they meet; loops and histograms at many places.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
#include <cuda_runtime.h>
typedef unsigned int u32;
typedef unsigned long long u64;
__device__ __host__ __forceinline__ u32 hashed(u32 x) { x ^= x >> 16; x *= 0x85ebca6bu; x ^= x >> 13; x *= 0xc2b2ae35u; return x ^ (x >> 16); }
__global__ void same(u32* data, int pieces, int turns) {
  const u32 w = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  u32* at = data + (u64)(w % pieces) * 64;
  for (int t = 0; t < turns; ++t) atomicAdd(at, 3u);
}
template <class T> __global__ void loop(T* data, u32 n, u32 addresses, u32 spacing, int warp, u32* tries, int count) {
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  T* at = data + (u64)((warp ? i / 32 : i) % addresses) * spacing;
  T old = *(volatile T*)at, seen; u32 k = 1;
  while ((seen = atomicCAS(at, old, old + 1)) != old) { old = seen; ++k; }
  if (count) tries[i] = k;
}
__global__ void histogram(float* bins, u32 n, u32 count) {
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(bins + (u32)(((u64)hashed(i) * count) >> 32), 1.5f);
}
int main() {
  char* data; u32* tries; const size_t bytes = 512u << 20; const u32 N = 1u << 20;
  cudaMalloc(&data, bytes); cudaMalloc(&tries, 4u * N); cudaMemset(data, 0, bytes);
  cudaEvent_t a, b; cudaEventCreate(&a); cudaEventCreate(&b);
  std::string out = getenv("OUT"); u64 s = 88172645463325252ull;
  auto draw = [&]() { s ^= s << 13; s ^= s >> 7; s ^= s << 17; return s >> 20; };
  FILE* f = fopen((out + "/places.csv").c_str(), "w");
  fprintf(f, "kind,what,pieces,align,offset,time_us,tries\n");
  auto timed = [&](auto launch, int reps) { std::vector<float> us; for (int r = 0; r <= reps; ++r) { cudaEventRecord(a); launch(); cudaEventRecord(b); cudaEventSynchronize(b); float ms; cudaEventElapsedTime(&ms, a, b); if (r) us.push_back(ms * 1000); } std::sort(us.begin(), us.end()); return us[us.size() / 2]; };
  struct Group { const char* name; u64 step; int count; };
  for (Group g : {Group{"2MiB", 2u << 20, 40}, Group{"64KiB", 65536, 40}, Group{"4KiB", 4096, 40}, Group{"512B", 512, 40}})
    for (int k = 0; k < g.count; ++k) {
      u64 offset = k ? draw() % ((400u << 20) / g.step) * g.step : 0;
      for (int pieces : {3, 4, 6, 8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 256, 320, 384, 512, 768, 1024, 2048}) {
        const int blocks = 132 * 4; int turns = pieces < 24 ? 2 : 4;
        float us = timed([&] { same<<<blocks, 512>>>((u32*)(data + offset), pieces, turns); }, 3);
        fprintf(f, "add,%d,%d,%s,%llu,%.3f,\n", turns, pieces, g.name, offset, us);
      }
    }
  fflush(f);
  for (Group g : {Group{"2MiB", 2u << 20, 24}, Group{"512B", 512, 12}})
    for (int k = 0; k < g.count; ++k) {
      u64 offset = k ? draw() % ((400u << 20) / g.step) * g.step : 0;
      for (u32 bins : {700u, 1500u, 3000u, 5000u, 8000u, 12000u, 20000u, 65536u}) {
        float us = timed([&] { histogram<<<6000, 256>>>((float*)(data + offset), 1536000, bins); }, 3);
        fprintf(f, "histogram,%u,%u,%s,%llu,%.3f,\n", bins, (bins * 4 + 255) / 256, g.name, offset, us);
      }
      std::vector<u32> h(N);
      for (int wide : {0, 1}) for (int warp : {1, 0}) for (u32 n : {32768u, 131072u}) for (u32 spacing : {1u, 4u, 16u}) for (u32 addresses : {1024u, 4096u}) for (int block : {512, 128}) {
        if (k >= 6 && (block == 128 || (wide && spacing > 1))) continue;
        if (wide && addresses == 4096 && k >= 3) continue;
        auto go = [&](int count) { if (wide) loop<u64><<<n / block, block>>>((u64*)(data + offset), n, addresses, spacing, warp, tries, count); else loop<u32><<<n / block, block>>>((u32*)(data + offset), n, addresses, spacing, warp, tries, count); };
        float us = timed([&] { go(1); }, 3); double sum = 0;
        if (k < 4) { cudaMemcpy(h.data(), tries, 4u * n, cudaMemcpyDeviceToHost); for (u32 i = 0; i < n; ++i) sum += h[i]; }
        fprintf(f, "loop,%d-%s-%u-%u-%d,%u,%s,%llu,%.3f,%.0f\n", wide ? 64 : 32, warp ? "warp" : "modulo", n, addresses, block, spacing, g.name, offset, us, sum);
      }
    }
  fclose(f);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
