// Times of the launches of unseen_loops.toml, each at several places of a buffer.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
#include <cuda_runtime.h>
#include "unseen_loops.cu"
typedef unsigned long long u64;
int main() {
  cudaEvent_t a, b; cudaEventCreate(&a); cudaEventCreate(&b);
  char *data, *in, *rows, *clean; unsigned* sink; cudaMalloc(&data, 256u << 20); cudaMalloc(&in, 64u << 20); cudaMalloc(&rows, 64u << 20); cudaMalloc(&clean, 256u << 20); cudaMalloc(&sink, 4);
  u64 s = 88172645463325252ull; auto draw = [&]() { s ^= s << 13; s ^= s >> 7; s ^= s << 17; return s >> 20; };
  FILE* f = fopen((std::string(getenv("OUT")) + "/unseen_loops.csv").c_str(), "w");
  fprintf(f, "launch,kernel,cache,place,time_us\n");
  int number = 0;
  auto timed = [&](const char* name, int value, auto launch) {
    ++number;
    for (int place = 0; place < 5; ++place) {
      size_t offset = place ? draw() % (200u << 20 >> 12) << 12 : 0;
      std::vector<float> us;
      for (int r = 0; r < 4; ++r) {
        cudaMemset(data + offset, value, 8u << 20); cudaMemset(clean, r, 256u << 20);
        cudaEventRecord(a); launch(data + offset); cudaEventRecord(b); cudaEventSynchronize(b); float ms; cudaEventElapsedTime(&ms, a, b); if (r) us.push_back(ms * 1000);
      }
      std::sort(us.begin(), us.end());
      fprintf(f, "%d,%s,cold,%d,%.3f\n", number, name, place, us[1]);
    }
    fflush(f);
  };
  std::vector<double> d(2000000); for (auto& x : d) x = (draw() % 1000003) / 1000003.0;
  cudaMemcpy(in, d.data(), d.size() * 8, cudaMemcpyHostToDevice);
  struct P { int n, r; };
  for (P p : {P{5000, 3}, P{60000, 500}, P{400000, 7000}, P{2000000, 150000}}) timed("add_pairs", 0, [=](char* at) { add_pairs<<<(p.n + 127) / 128, 128>>>((double*)in, (double*)at, p.n, p.r); });
  std::vector<unsigned> k(2500000); for (auto& x : k) x = (unsigned)(draw() % 100000000);
  cudaMemcpy(rows, k.data(), k.size() * 4, cudaMemcpyHostToDevice);
  for (P p : {P{50000, 200}, P{500000, 10000}, P{2500000, 60000}, P{1000000, 800000}}) timed("group_products", 0, [=](char* at) { group_products<<<(p.n + 255) / 256, 256>>>((unsigned*)rows, (float*)at, p.n, p.r); });
  for (P p : {P{10000, 40}, P{90000, 1000}, P{600000, 5000}}) timed("bounded_count", 0, [=](char* at) { bounded_count<<<(p.n + 255) / 256, 256>>>((unsigned*)at, p.n, p.r); });
  std::vector<float> h(3000000); for (auto& x : h) x = (draw() % 1000003) / 1000003.0f;
  cudaMemcpy(in, h.data(), h.size() * 4, cudaMemcpyHostToDevice);
  for (P p : {P{700000, 500}, P{3000000, 20000}, P{2000000, 1}}) {
    std::vector<int> w(p.n); for (auto& x : w) x = (int)(draw() % p.r);
    cudaMemcpy(rows, w.data(), p.n * 4ull, cudaMemcpyHostToDevice);
    // 0x40404040 is 3.0 and more than all values
    timed("smallest", 0x40, [=](char* at) { smallest<<<(p.n + 255) / 256, 256>>>((float*)in, (int*)rows, (int*)at, p.n); });
  }
  fclose(f);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
