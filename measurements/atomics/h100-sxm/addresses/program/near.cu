// Loops of compare-and-swap, and spin locks, of few and many blocks at words on the near and the far side of L2; additions that return to so many pieces of 256 B.
#include "launched.cuh"

__global__ void lock(char* data, u32 n, u32 m, u32 pitch) {
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int* at = (int*)(data + (u64)(i % m) * pitch);
  bool done = false;
  while (!done) if (atomicCAS(at, 0, 1) == 0) { ((volatile int*)at)[1] += 1; __threadfence(); atomicExch(at, 0); done = true; }
}
__global__ void where(u32* sm) { if (threadIdx.x == 0) { u32 s; asm("mov.u32 %0, %%smid;" : "=r"(s)); sm[blockIdx.x] = s; } }
__global__ void chain(char* data, u32 stride, u32 places, long long* clocks, u32 which) {
  u32 s; asm("mov.u32 %0, %%smid;" : "=r"(s)); if (s != which || threadIdx.x) return;
  for (u32 p = 0; p < places; ++p) { int* at = (int*)(data + (u64)p * stride); int v = 0; for (int k = 0; k < 3; ++k) v = atomicCAS(at, v, v);
    long long t = clock64(); for (int k = 0; k < 8; ++k) v = atomicCAS(at, v, v); clocks[p] = (clock64() - t) / 8 + (v == 77); }
}
template <class F> float timed(F go, int repeats) {
  static cudaEvent_t a, b; if (!a) { cudaEventCreate(&a); cudaEventCreate(&b); }
  go(); std::vector<float> us;
  for (int r = 0; r < repeats; ++r) { wait<<<1, 1>>>(60000); cudaEventRecord(a); go(); cudaEventRecord(b); cudaEventSynchronize(b); float ms; cudaEventElapsedTime(&ms, a, b); us.push_back(ms * 1000); }
  std::sort(us.begin(), us.end()); return us[us.size() / 2];
}
int main(int argc, char** argv) {
  const bool counted = argc > 1;
  const u64 room = 64ull << 20;
  cudaMalloc(&data, room); cudaMalloc(&sink, 64); cudaMalloc(&tries, 16384); cudaMemset(data, 0, room);
  if (counted) {
    for (u32 m : {16u, 24u, 32u, 40u, 48u, 56u, 64u, 80u, 96u, 112u, 128u, 256u, 512u}) for (int op : {0, 4}) go(op, 0, data, 1 << 20, m, 256);
    for (int op : {0, 4}) for (u32 m : {2048u, 4096u, 16384u}) go(op, 0, data, 1 << 20, m, 4);
    for (int op : {0, 4}) for (u32 pitch : {4u, 16u}) go(op, 1, data, 1 << 20, 65536, pitch);
    for (int op : {2}) for (u32 m : {500u, 512u}) go(op, 1, data, 1 << 20, m, 64);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize())); return 0;
  }
  const std::string out = getenv("OUT");
  u32* sm; cudaMalloc(&sm, 4096); u32 sms[132]; where<<<132, 256>>>(sm); cudaMemcpy(sms, sm, sizeof sms, cudaMemcpyDeviceToHost);
  FILE* f = fopen((out + "/sides.csv").c_str(), "w"); fprintf(f, "block,sm,offset,cycles\n");
  long long* clocks; cudaMalloc(&clocks, 4096); long long host[64];
  for (u32 b : {0u, 1u, 2u, 3u, 7u, 15u, 16u, 17u, 31u, 64u, 131u}) { chain<<<528, 32>>>(data, 4096, 24, clocks, sms[b]); cudaMemcpy(host, clocks, sizeof host, cudaMemcpyDeviceToHost); for (int p = 0; p < 24; ++p) fprintf(f, "%u,%u,%d,%lld\n", b, sms[b], p * 4096, host[p]); }
  fclose(f);
  f = fopen((out + "/near.csv").c_str(), "w"); fprintf(f, "op,pattern,addresses,pitch,offset,n,tries,warp_tries,time_us\n");
  static u64 cnt[2048];
  auto loops = [&](int p, u32 m, u32 pitch, u64 offset, u32 n) {
    float us = timed([&] { clear<<<8, 256>>>(tries, 2048); go(6, p, data + offset, n, m, pitch); }, 1);
    us = timed([&] { go(6, p, data + offset, n, m, pitch); }, 3);
    clear<<<8, 256>>>(tries, 2048); go(6, p, data + offset, n, m, pitch); cudaMemcpy(cnt, tries, 16384, cudaMemcpyDeviceToHost);
    u64 sum = 0, most = 0; for (int k = 0; k < 1024; ++k) { sum += cnt[k]; most += cnt[1024 + k]; }
    fprintf(f, "cas,%s,%u,%u,%llu,%u,%llu,%llu,%.3f\n", patterns[p], m, pitch, (unsigned long long)offset, n, (unsigned long long)sum, (unsigned long long)most, us);
  };
  for (int k = 0; k < 8; ++k) for (int p = 0; p < 2; ++p) for (u32 m : {1u, 4u, 8u, 32u, 64u, 256u}) for (u32 pitch : {4u, 64u}) for (u32 n : {32u, 128u, 256u, 512u, 1024u, 2048u, 4096u, 8192u, 16384u})
    if (n <= 1024 * m && n * 8 >= m && (m > 1 || pitch == 4)) loops(p, m, pitch, k * 4096ull, n);
  cudaMemset(data, 0, room);
  for (int k = 0; k < 8; ++k) for (u32 m : {1u, 4u, 8u, 32u, 128u}) for (u32 pitch : {8u, 128u}) for (u32 n : {32u, 64u, 256u, 1024u, 4096u})
    if (n <= 256 * m && (m > 1 || pitch == 8)) fprintf(f, "lock,modulo,%u,%u,%d,%u,0,0,%.3f\n", m, pitch, k * 4096, n, timed([&] { lock<<<(n + 255) / 256, 256>>>(data + k * 4096, n, m, pitch); }, 2));
  fclose(f);
  f = fopen((out + "/answers.csv").c_str(), "w"); fprintf(f, "op,pattern,addresses,pitch,offset,n,time_us\n");
  for (int op : {0, 4}) for (int p : {0, 1}) for (u32 m = 16; m <= 160; m += 4) for (u64 offset : {0ull, 32768ull * 5, 512ull})
    fprintf(f, "%s,%s,%u,256,%llu,%u,%.3f\n", ops[op], patterns[p], m, (unsigned long long)offset, 1 << 20, timed([&] { go(op, p, data + offset, 1 << 20, m, 256); }, 3));
  for (int op : {0, 1, 2, 4, 5}) for (u32 pitch : {4u, 8u, 16u, 32u, 64u}) for (u32 n : {32768u, 131072u, 619776u, 2097152u, 8388608u})
    if ((op != 2 && op != 5) || pitch > 4) fprintf(f, "%s,warp,%u,%u,0,%u,%.3f\n", ops[op], 1000003, pitch, n, timed([&] { go(op, 1, data, n, std::min(1000003u, (u32)(room / pitch - 64)), pitch); }, 3));
  fclose(f); printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
