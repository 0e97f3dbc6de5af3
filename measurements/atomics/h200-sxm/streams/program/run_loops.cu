// Times of the launches of loops.cu, each at several places of a buffer.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
#include <cuda_runtime.h>
#include "loops.cu"
typedef unsigned long long u64;
int main() {
  cudaEvent_t a, b; cudaEventCreate(&a); cudaEventCreate(&b);
  const size_t N = 32u << 20; char *data, *in, *rows, *big; cudaMalloc(&data, 256u << 20); cudaMalloc(&in, N * 8); cudaMalloc(&rows, N * 4); cudaMalloc(&big, 256u << 20);
  u64 s = 88172645463325252ull; auto draw = [&]() { s ^= s << 13; s ^= s >> 7; s ^= s << 17; return s >> 20; };
  FILE* f = fopen((std::string(getenv("OUT")) + "/loops.csv").c_str(), "w");
  fprintf(f, "launch,kernel,cache,place,time_us\n");
  std::vector<double> hd(4000000); for (auto& x : hd) x = (draw() % 1000003) / 1000003.0;
  std::vector<float> hf(N); for (auto& x : hf) x = 0.5f + (draw() % 1000003) / 1000003.0f;
  std::vector<int> hr(3000000);
  int number = 0;
  auto timed = [&](const char* name, auto launch) {
    ++number;
    for (int cold = 0; cold < 2; ++cold) for (int place = 0; place < 5; ++place) {
      size_t offset = place ? draw() % (200u << 20 >> 12) << 12 : 0;
      std::vector<float> us;
      for (int r = 0; r < 4; ++r) {
        cudaMemset(data + offset, 0, 8u << 20);
        if (cold) cudaMemset(big, r, 256u << 20);
        cudaEventRecord(a); launch(data + offset); cudaEventRecord(b); cudaEventSynchronize(b); float ms; cudaEventElapsedTime(&ms, a, b); if (r) us.push_back(ms * 1000);
      }
      std::sort(us.begin(), us.end());
      fprintf(f, "%d,%s,%s,%d,%.3f\n", number, name, cold ? "cold" : "warm", place, us[1]);
    }
    fflush(f);
  };
  struct A { unsigned n, a, s; int w, b; };
  for (A k : {A{32768, 1024, 1, 1, 512}, A{32768, 1024, 16, 1, 128}, A{131072, 4096, 1, 1, 128}, A{131072, 1024, 4, 0, 512}, A{32768, 4096, 1, 0, 128}, A{131072, 4096, 16, 0, 512}})
    timed("add_loop", [&](char* at) { add_loop<<<(k.n + k.b - 1) / k.b, k.b>>>((unsigned*)at, k.n, k.a, k.s, k.w); });
  cudaMemcpy(in, hd.data(), hd.size() * 8, cudaMemcpyHostToDevice);
  for (auto [n, bins] : {std::pair<int, int>{20000, 1}, {20000, 64}, {100000, 1000}, {1000000, 30000}, {4000000, 500000}})
    timed("add_double", [&](char* at) { add_double<<<(n + 255) / 256, 256>>>((double*)in, (double*)at, n, bins); });
  cudaMemcpy(in, hf.data(), hf.size() * 4, cudaMemcpyHostToDevice);
  struct M { int n, g, b; };
  for (M k : {M{4000000, 528, 256}, M{30000000, 1056, 256}, M{300000, 100, 128}})
    timed("max_float", [&](char* at) { max_float<<<k.g, k.b>>>((float*)in, (float*)at, k.n); });
  for (auto [n, m] : {std::pair<int, int>{1000000, 1000000}, {1000000, 5000}, {200000, 300}, {3000000, 100000}}) {
    for (int i = 0; i < n; ++i) hr[i] = (int)(draw() % m);
    cudaMemcpy(rows, hr.data(), n * 4ull, cudaMemcpyHostToDevice);
    timed("scatter_add", [&](char* at) { scatter_add<<<(n + 255) / 256, 256>>>((int*)rows, (float*)in, (float*)at, n); });
  }
  fclose(f);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
