// Times of kernels.cu: rows for fitting, and points in between for validation.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
#include <cuda_runtime.h>
#include "kernels.cu"
__global__ void nothing() {}
__global__ void fill(u32* p, size_t n) { for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) p[i] = hashed((u32)i); }
__global__ void flush(const uint4* p, size_t n, u32* out) { u32 s = 0; for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) s += p[i].x; if (s == 77u) *out = s; }
cudaEvent_t ea, eb;
template <class F, class G> float timed(F before, G launch, int reps) {
  std::vector<float> us;
  for (int r = 0; r <= reps; ++r) { before(); cudaEventRecord(ea); launch(); cudaEventRecord(eb); cudaEventSynchronize(eb); float ms; cudaEventElapsedTime(&ms, ea, eb); if (r) us.push_back(ms * 1000); }
  std::sort(us.begin(), us.end());
  return us[us.size() / 2];
}
int main() {
  cudaEventCreate(&ea); cudaEventCreate(&eb);
  std::string out = getenv("OUT");
  const size_t BYTES = (size_t)12 << 30, CLEAN = 256u << 20;
  char *in, *data, *clean; cudaMalloc(&in, BYTES); cudaMalloc(&data, 256u << 20); cudaMalloc(&clean, CLEAN);
  fill<<<4096, 256>>>((u32*)in, BYTES / 4); cudaMemset(data, 0, 256u << 20); cudaMemset(clean, 0, CLEAN); cudaDeviceSynchronize();
  auto no = []() {};
  FILE* f = fopen((out + "/tails.csv").c_str(), "w");
  fprintf(f, "kernel,loads,rounds,warps,block,bins,turns,time_us,use\n");
  fprintf(f, "floor,0,0,0,32,0,0,%.3f,fit\n", timed(no, [&]() { nothing<<<1, 32>>>(); }, 30));
  size_t at = 0;
  struct T { int loads, rounds, warps, block; bool fit; };
  std::vector<T> all;
  for (int loads : {1, 2, 4, 8, 16, 24, 40}) for (int rounds : {1, 2, 6, 12}) for (int warps : {64, 32, 8}) if (warps == 64 || rounds == 1) all.push_back({loads, rounds, warps, 256, true});
  for (int loads : {3, 12, 32}) for (int rounds : {1, 4, 9}) for (int warps : {64, 16}) for (int block : {128, 512}) if (warps == 64 || rounds == 1) all.push_back({loads, rounds, warps, block, false});
  for (T t : all) {
    const int blocks = 132 * t.warps * 32 / t.block * t.rounds; const size_t bytes = (size_t)blocks * t.block * 16 * t.loads;
    if (bytes > (size_t)800 << 20) continue;
    for (int kind = 0; kind < 6; ++kind) {
      u32 bins = kind < 3 ? 1 : kind == 5 ? (t.fit ? 4096 : 1500) : (t.fit ? 1u << 20 : 300000); int turns = t.fit ? (kind == 5 ? 4 : 8) : 3;
      float us = timed([&]() { at += (bytes + 255) / 256 * 256; if (at + bytes > BYTES) at = 0; flush<<<2048, 256>>>((uint4*)clean, CLEAN / 16, (u32*)data); }, [&]() {
        const uint4* p = (const uint4*)(in + at); float* o = (float*)data;
        switch (kind) {
          case 0: none<<<blocks, t.block>>>(p, o, t.loads); break;
          case 1: warp_float<<<blocks, t.block>>>(p, o, t.loads); break;
          case 2: warp_int<<<blocks, t.block>>>(p, (int*)o, t.loads); break;
          case 3: case 5: lanes_after<<<blocks, t.block>>>(p, (u32*)o, t.loads, bins, turns); break;
          case 4: lanes_within<<<blocks, t.block>>>(p, (u32*)o, t.loads, bins); break;
        }}, 5);
      const char* names[] = {"none", "warp_float", "warp_int", "lanes_after", "lanes_within", "lanes_after"};
      fprintf(f, "%s,%d,%d,%d,%d,%u,%d,%.3f,%s\n", names[kind], t.loads, t.rounds, t.warps, t.block, bins, kind == 3 || kind == 5 ? turns : 0, us, t.fit ? "fit" : "validation");
    }
  }
  fclose(f);
  f = fopen((out + "/several.csv").c_str(), "w");
  fprintf(f, "kernel,n,words,spacing,place,time_us,use\n");
  u64 s = 88172645463325252ull;
  auto draw = [&]() { s ^= s << 13; s ^= s >> 7; s ^= s << 17; return s >> 20; };
  typedef void (*K)(u32*, u32*, u64*, float*, u32, u32, u32);
  std::vector<std::pair<const char*, K>> kernels = {{"one_a", one_a}, {"one_b", one_b}, {"one_c", one_c}, {"one_d", one_d}, {"two_ab", two_ab}, {"two_ad", two_ad}, {"three_abc", three_abc}, {"four_abcd", four_abcd}};
  struct W { u32 words, spacing, n; bool fit; };
  std::vector<W> sizes;
  for (u32 words : {1u, 8u, 64u, 1024u, 16384u, 65536u, 262144u}) for (u32 spacing : {1u, 16u}) if (words * spacing <= 262144u) sizes.push_back({words, spacing, words < 64 ? 1u << 18 : 1u << 20, true});
  for (u32 words : {2u, 20u, 300u, 5000u, 100000u}) for (u32 spacing : {1u, 5u, 32u}) if (words * spacing <= 600000u) sizes.push_back({words, spacing, words < 64 ? 200000u : 700000u, false});
  for (int place = 0; place < 8; ++place) {
    u64 o[4]; for (auto& x : o) x = draw() % (60u << 20 >> 12) << 12;
    u32 *a = (u32*)(data + o[0]), *b = (u32*)(data + (64u << 20) + o[1]); u64* c = (u64*)(data + (128u << 20) + o[2] / 2); float* d = (float*)(data + (192u << 20) + o[3] / 2);
    for (W w : sizes) for (auto& [name, kernel] : kernels) {
      auto k = kernel;
      fprintf(f, "%s,%u,%u,%u,%d,%.3f,%s\n", name, w.n, w.words, w.spacing, place, timed(no, [&]() { k<<<(w.n + 255) / 256, 256>>>(a, b, c, d, w.n, w.words, w.spacing); }, 5), w.fit ? "fit" : "validation");
    }
  }
  fclose(f);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
