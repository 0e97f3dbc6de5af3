// The least of some latencies of a word every 4 KiB, by SM; what an empty kernel reads between events.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
#include <cuda_runtime.h>
typedef unsigned int u32;
__global__ void nothing() {}
__global__ void spin(int clocks) { long long t = clock64(); while (clock64() - t < clocks) ; }
__global__ void latency(const char* data, unsigned short* out, int places, int step, int turns, int only) {
  if (threadIdx.x > 0 || (only >= 0 && (int)blockIdx.x != only)) return;
  u32 sum = 0;
  for (int k = 0; k < places; ++k) {
    int at = (k + blockIdx.x * 37) % places;
    const u32* p = (const u32*)(data + (long long)at * step);
    u32 least = 65535;
    for (int t = 0; t < turns; ++t) {
      u32 v; long long start = clock64();
      asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v) : "l"(p + (start >> 62)) : "memory");
      sum += v; asm volatile("" : "+r"(sum) : : "memory");
      long long stop = clock64() + (sum == 0x7fffffffu);
      u32 spent = (u32)(stop - start);
      if (t > 0) least = min(least, spent);
    }
    out[(long long)blockIdx.x * places + at] = (unsigned short)least;
  }
}
// The same of an addition that gives the old value back: it goes where the line has its home.
__global__ void added(u32* data, unsigned short* out, int places, int step, int turns, int only) {
  if (threadIdx.x > 0 || (only >= 0 && (int)blockIdx.x != only)) return;
  u32 sum = 0;
  for (int k = 0; k < places; ++k) {
    u32* p = data + (long long)k * step / 4;
    u32 least = 65535;
    for (int t = 0; t < turns; ++t) {
      u32 v; long long start = clock64();
      asm volatile("atom.global.add.u32 %0, [%1], 1;" : "=r"(v) : "l"(p + (start >> 62)) : "memory");
      sum += v; asm volatile("" : "+r"(sum) : : "memory");
      long long stop = clock64() + (sum == 0x7fffffffu);
      least = min(least, (u32)(stop - start));
    }
    out[(long long)blockIdx.x * places + k] = (unsigned short)least;
  }
}
int main() {
  const int places = 512, step = 4096; char* data; unsigned short* out; std::string to = getenv("OUT");
  cudaMalloc(&data, places * step); cudaMemset(data, 0, places * step); cudaMalloc(&out, 132 * places * 2);
  cudaEvent_t a, b; cudaEventCreate(&a); cudaEventCreate(&b);
  FILE* f = fopen((to + "/floors.csv").c_str(), "w"); fprintf(f, "queued,time_us\n");
  for (int queued : {0, 1}) { std::vector<float> us;
    for (int r = 0; r < 40; ++r) { if (queued) spin<<<1, 1>>>(60000); cudaEventRecord(a); nothing<<<1, 32>>>(); cudaEventRecord(b); cudaEventSynchronize(b); float ms; cudaEventElapsedTime(&ms, a, b); if (r > 4) us.push_back(ms * 1000); }
    std::sort(us.begin(), us.end()); fprintf(f, "%d,%.3f\n", queued, us[us.size() / 2]); }
  fclose(f);
  f = fopen((to + "/latencies.csv").c_str(), "w"); fprintf(f, "kind,sm,mean,clocks,clocks_10,clocks_90,far_share\n");
  std::vector<unsigned short> h(132 * places);
  auto say = [&](const char* kind) {
    cudaMemcpy(h.data(), out, h.size() * 2, cudaMemcpyDeviceToHost);
    for (int s = 0; s < 132; ++s) { std::vector<int> c(h.begin() + s * places, h.begin() + (s + 1) * places); double m = 0, far = 0; for (int x : c) m += x; m /= places; std::sort(c.begin(), c.end());
      for (int x : c) far += x > (c[0] + c.back()) / 2.0; fprintf(f, "%s,%d,%.1f,%d,%d,%d,%.3f\n", kind, s, m, c[places / 2], c[places / 10], c[places * 9 / 10], far / places); } };
  latency<<<132, 32>>>(data, out, places, step, 6, -1); say("load");
  for (int s = 0; s < 132; ++s) latency<<<132, 32>>>(data, out, places, step, 4, s);
  say("load_alone");
  for (int s = 0; s < 132; ++s) added<<<132, 32>>>((u32*)data, out, places, step, 4, s);
  say("add_alone");
  // Places from near SMs: one SM's, every 256 B of 64 KiB.
  added<<<132, 32>>>((u32*)data, out, places, 256, 6, 0);
  cudaMemcpy(h.data(), out, places * 2, cudaMemcpyDeviceToHost);
  fclose(f); f = fopen((to + "/near.csv").c_str(), "w"); fprintf(f, "place,clocks\n"); for (int k = 0; k < places; ++k) fprintf(f, "%d,%d\n", k * 256, h[k]);
  fclose(f); printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
