#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
#include <algorithm>
#include "raised.cu"
typedef unsigned long long u64;
int main(int argc, char** argv) {
  const int N = 8 << 20; int *in, *best, *big; cudaMalloc(&in, 4 * N); cudaMalloc(&best, 64 << 20); cudaMalloc(&big, 512 << 20);
  std::vector<int> h(N); u64 s = 88172645463325252ull; for (auto& x : h) { s ^= s << 13; s ^= s >> 7; s ^= s << 17; x = (int)((s >> 20) % 1000000); }
  cudaMemcpy(in, h.data(), 4 * N, cudaMemcpyHostToDevice);
  const bool profiled = argc > 1; cudaEvent_t a, b; cudaEventCreate(&a); cudaEventCreate(&b);
  FILE* f = profiled ? stdout : fopen((std::string(getenv("OUT")) + "/raised.csv").c_str(), "w");
  fprintf(f, "kernel,words,n,offset,time_us\n");
  for (unsigned words : {1024u, 3000u, 4096u, 16384u, 50000u, 262144u}) for (int n : {1 << 20, 4 << 20, 8 << 20}) for (int op = 0; op < 2; ++op) {
    std::vector<float> us;
    for (int k = 0; k < (profiled ? 1 : 10); ++k) {
      int* at = best + (size_t)k * 524288 ;
      cudaMemset(at, 0, 4 * words); cudaMemset(big, k, 512 << 20);
      cudaEventRecord(a);
      if (op == 0) by_compare<<<(n + 255) / 256, 256>>>(in, at, words, n); else by_maximum<<<(n + 255) / 256, 256>>>(in, at, words, n);
      cudaEventRecord(b); cudaEventSynchronize(b); float ms; cudaEventElapsedTime(&ms, a, b); us.push_back(ms * 1000);
      if (!profiled) fprintf(f, "%s,%u,%d,%d,%.3f\n", op ? "by_maximum" : "by_compare", words, n, k * 2, ms * 1000);
    }
  }
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
