// Sets about the size of L2 that SMs read again and again, launch after launch: how long they take to settle.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "../../../../../perfmodel/measure/sources/residency.cu"
#define R(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { fprintf(stderr, "%d %s\n", __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)
typedef unsigned u32;
__global__ void noise(u32 *p, size_t n, u32 k) {
  size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { u32 x = (u32)i * 2654435761u + k; x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; p[i] = 0x3f800000u | (x >> 9); }
}
__global__ void sweep_read(const uint4 *p, long long n, u32 *out) {
  u32 s = 0;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) { uint4 v = p[i]; s += v.x ^ v.y ^ v.z ^ v.w; }
  if (s == 0x7a3c1d55u) out[0] = s;
}
__global__ void nothing() {}
static cudaStream_t s;
static u32 *fl, *sink;
static size_t FB = 256ull << 20;
static void flush() { noise<<<FB / 1024, 256, 0, s>>>(fl, FB / 4, 77); sweep_read<<<264, 1024, 0, s>>>((uint4 *)fl, FB / 16, sink); }
int main(int c, char **v) {
  std::string what = v[1];
  R(cudaSetDevice(0)); R(cudaStreamCreate(&s)); R(cudaMalloc(&fl, FB)); R(cudaMalloc(&sink, 4096));
  for (int i = 0; i < 60; ++i) flush();
  R(cudaStreamSynchronize(s));
  if (what == "knee") {
    float4 *big; R(cudaMalloc(&big, 512ull << 20)); noise<<<(512ull << 20) / 1024, 256, 0, s>>>((u32 *)big, (512ull << 20) / 4, 3);
    printf("buffer,mib,iterations,shift,launch,us\n");
    for (int buffer = 0; buffer < 4; ++buffer) {
      float4 *in = big + (buffer == 1 ? (256ull << 20) / 16 : 0), *own = nullptr;
      for (int mib : {40, 44, 46, 48, 50, 52, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 66, 68, 72}) {
        if (buffer > 1) { R(cudaMalloc(&own, (size_t)mib << 20)); noise<<<((size_t)mib << 20) / 1024, 256, 0, s>>>((u32 *)own, ((size_t)mib << 20) / 4, 9); in = own; }
        for (int it : {1024 / mib, 4, 68}) {
          if (it != 1024 / mib && (buffer == 1 || mib % 4)) continue;
          int launches = it == 4 ? 40 : it == 68 ? 8 : 24;
          std::vector<cudaEvent_t> e(launches + 1);
          for (auto &x : e) R(cudaEventCreate(&x));
          for (int again = 0; again < 2; ++again) {
            flush(); flush();
            R(cudaEventRecord(e[0], s));
            for (int k = 0; k < launches; ++k) { working_set_read<<<264, 1024, 0, s>>>(in, (float *)sink, (long long)mib << 16, it, 0); R(cudaEventRecord(e[k + 1], s)); }
            R(cudaStreamSynchronize(s));
            for (int k = 0; k < launches; ++k) { float ms; R(cudaEventElapsedTime(&ms, e[k], e[k + 1])); printf("%d%s,%d,%d,0,%d,%.2f\n", buffer, again ? "b" : "a", mib, it, k, ms * 1e3); }
          }
          for (auto &x : e) R(cudaEventDestroy(x));
        }
        if (own) { R(cudaFree(own)); own = nullptr; }
      }
    }
  }
  if (what == "count") {  // under the profiler, one pass: the same launches
    float4 *big; R(cudaMalloc(&big, 512ull << 20)); noise<<<(512ull << 20) / 1024, 256, 0, s>>>((u32 *)big, (512ull << 20) / 4, 3);
    for (int mib : {48, 52, 54, 56, 57, 58, 59, 60, 62, 64}) { flush(); for (int k = 0; k < 8; ++k) working_set_read<<<264, 1024, 0, s>>>(big, (float *)sink, (long long)mib << 16, 1024 / mib, 0); R(cudaStreamSynchronize(s)); }
  }
  if (what == "empty") {
    cudaEvent_t a[64], b[64];
    for (int i = 0; i < 64; ++i) { R(cudaEventCreate(&a[i])); R(cudaEventCreate(&b[i])); }
    auto line = [&](const char *name, std::vector<float> t) { std::sort(t.begin(), t.end()); size_t q = t.size() - 1; printf("%s,%zu", name, t.size()); for (double f : {0.0, .1, .25, .5, .75, .9, 1.0}) printf(",%.3f", t[(size_t)(f * q)]); printf("\n"); };
    printf("how,n,min,q10,q25,q50,q75,q90,max\n");
    for (int round = 0; round < 5; ++round) {
      for (int gap : {0, 10, 100, 1000}) {  // microseconds that the host waits between
        std::vector<float> t, med;
        for (int m = 0; m < 40; ++m) {
          std::vector<float> u;
          for (int i = 0; i < 21; ++i) {
            if (gap) { auto x = std::chrono::steady_clock::now(); while (std::chrono::duration<double>(std::chrono::steady_clock::now() - x).count() < gap * 1e-6) ; }
            R(cudaEventRecord(a[0], s)); nothing<<<1, 32, 0, s>>>(); R(cudaEventRecord(b[0], s)); R(cudaEventSynchronize(b[0]));
            float ms; R(cudaEventElapsedTime(&ms, a[0], b[0])); u.push_back(ms * 1e3f); t.push_back(ms * 1e3f);
          }
          std::sort(u.begin(), u.end()); med.push_back(u[10]);
        }
        line(("each waited for, gap " + std::to_string(gap)).c_str(), t); line(("  medians of 21, gap " + std::to_string(gap)).c_str(), med);
      }
      std::vector<float> t, med;
      for (int how = 0; how < 2; ++how) {
        t.clear(); med.clear();
        for (int m = 0; m < 40; ++m) {
          std::vector<float> u;
          if (how) flush();
          for (int i = 0; i < 21; ++i) { R(cudaEventRecord(a[i], s)); nothing<<<1, 32, 0, s>>>(); R(cudaEventRecord(b[i], s)); }
          R(cudaStreamSynchronize(s));
          for (int i = 0; i < 21; ++i) { float ms; R(cudaEventElapsedTime(&ms, a[i], b[i])); u.push_back(ms * 1e3f); t.push_back(ms * 1e3f); }
          std::sort(u.begin(), u.end()); med.push_back(u[10]);
        }
        line(how ? "queued behind a flush" : "one after the other", t); line("  medians of 21", med);
      }
    }
  }
  R(cudaStreamSynchronize(s));
}
