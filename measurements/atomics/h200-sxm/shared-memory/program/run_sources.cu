// Times of the launches of sources.toml, words cleared before each where it matters, in L2 as the launch before left it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>
#include <cuda_runtime.h>
#include "sources.cu"
typedef unsigned long long u64;
std::map<std::pair<int, int>, int*> known;
u64 s = 88172645463325252ull;
u64 draw() { s ^= s << 13; s ^= s >> 7; s ^= s << 17; return s >> 20; }
int* keys(int n, int bins) {
  int*& p = known[{n, bins}];
  if (!p) {
    std::vector<int> k(n); for (auto& x : k) x = (int)(draw() % bins);
    cudaMalloc(&p, n * 4ull); cudaMemcpy(p, k.data(), n * 4ull, cudaMemcpyHostToDevice);
  }
  return p;
}
int main() {
  cudaEvent_t a, b; cudaEventCreate(&a); cudaEventCreate(&b);
  char *data, *in, *out; int* sink; cudaMalloc(&data, 256u << 20); cudaMalloc(&in, 256u << 20); cudaMalloc(&out, 64u << 20); cudaMalloc(&sink, 4);
  std::vector<float> h(8 << 20); for (auto& x : h) x = (draw() % 1000003) / 1000003.0f;
  for (int i = 0; i < 8; ++i) cudaMemcpy(in + (size_t)i * (32u << 20), h.data(), 32u << 20, cudaMemcpyHostToDevice);
  FILE* f = fopen((std::string(getenv("OUT")) + "/sources.csv").c_str(), "w");
  fprintf(f, "launch,kernel,place,time_us\n");
  auto timed = [&](int number, const char* name, size_t clear, auto launch) {
    for (int place = 0; place < 3; ++place) {
      size_t offset = place ? draw() % (100u << 20 >> 12) << 12 : 0;
      std::vector<float> us;
      cudaMemset(data + offset, 0, 64u << 20);
      for (int r = 0; r < 5; ++r) {
        if (clear) cudaMemset(data + offset, 0, clear);
        cudaEventRecord(a); launch(data + offset); cudaEventRecord(b); cudaEventSynchronize(b); float ms; cudaEventElapsedTime(&ms, a, b); if (r) us.push_back(ms * 1000);
      }
      std::sort(us.begin(), us.end());
      fprintf(f, "%d,%s,%d,%.3f\n", number, name, place, (us[1] + us[2]) / 2);
    }
    fflush(f);
    cudaError_t e = cudaGetLastError(); if (e) { printf("%d %s %s\n", number, name, cudaGetErrorString(e)); exit(1); }
  };
#include "sources_launches.inc"
  fclose(f);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
