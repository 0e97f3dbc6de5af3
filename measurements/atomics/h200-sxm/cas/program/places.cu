// Compare-and-swap at few pieces of 256 B, at many places of a buffer: which slices they meet.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <vector>
#include <string>
#include <algorithm>
#include <cuda_runtime.h>
typedef unsigned int u32;
typedef unsigned long long u64;
// op 0: a compare-and-swap that fails; 1: an exchange; 2: an addition without an answer.
// All lanes of warp w at the word of piece w % pieces.
template <int OP> __global__ void same(u32* data, int pieces, int turns, u32* sink) {
  const u32 w = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  u32* at = data + (u64)(w % pieces) * 64;
  u32 seen = 0;
  for (int t = 0; t < turns; ++t) {
    if (OP == 0) seen += atomicCAS(at, 0xfffffff0u - seen % 8, 7u + t);
    if (OP == 1) seen += atomicExch(at, (seen & 0xffffff) + t);
    if (OP == 2) atomicAdd(at, 3u);
  }
  if (seen == 0x12345679u) *sink = seen;
}
// The loop of the library's cas-loop; tries of each lane.
__global__ void loop(u32* data, u32 n, u32 addresses, u32 spacing, int warp, u32* tries) {
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  u32* at = data + (u64)((warp ? i / 32 : i) % addresses) * spacing;
  u32 old = *(volatile u32*)at, seen, count = 1;
  while ((seen = atomicCAS(at, old, old + 1)) != old) { old = seen; ++count; }
  tries[i] = count;
}
int main() {
  u32 *data, *sink, *tries; const size_t bytes = 256u << 20; const u32 N = 1u << 20;
  cudaMalloc(&data, bytes); cudaMalloc(&sink, 64); cudaMalloc(&tries, 4u * N);
  std::vector<u32> init(bytes / 4); u64 s = 88172645463325252ull;
  for (auto& x : init) { s ^= s << 13; s ^= s >> 7; s ^= s << 17; x = (u32)(s >> 33); }
  cudaMemcpy(data, init.data(), bytes, cudaMemcpyHostToDevice);
  cudaEvent_t a, b; cudaEventCreate(&a); cudaEventCreate(&b);
  std::string out = getenv("OUT");
  std::vector<u64> offsets; for (int i = 0; i < 24; ++i) { s ^= s << 13; s ^= s >> 7; s ^= s << 17; offsets.push_back(i ? (s >> 20) % (200u << 20) / 65536 * 65536 : 0); }
  FILE* f = fopen((out + "/places.csv").c_str(), "w");
  fprintf(f, "op,pieces,offset,warps,turns,time_us\n");
  const char* names[3] = {"cas", "exchange", "add"};
  for (int op = 0; op < 3; ++op) for (int pieces : {1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024, 2048, 8192})
    for (u64 offset : offsets) {
      std::vector<float> us; const int blocks = 132 * 4, turns = 8;
      for (int r = 0; r < 4; ++r) {
        u32* at = data + offset / 4;
        cudaEventRecord(a);
        if (op == 0) same<0><<<blocks, 512>>>(at, pieces, turns, sink);
        if (op == 1) same<1><<<blocks, 512>>>(at, pieces, turns, sink);
        if (op == 2) same<2><<<blocks, 512>>>(at, pieces, turns, sink);
        cudaEventRecord(b); cudaEventSynchronize(b);
        float ms; cudaEventElapsedTime(&ms, a, b); if (r) us.push_back(ms * 1000);
      }
      std::sort(us.begin(), us.end());
      fprintf(f, "%s,%d,%llu,%d,%d,%.3f\n", names[op], pieces, offset, blocks * 16, turns, us[1]);
    }
  fclose(f);
  f = fopen((out + "/loops.csv").c_str(), "w");
  FILE* g = fopen((out + "/shares.csv").c_str(), "w");
  fprintf(f, "pattern,addresses,spacing,n,block,offset,time_us,tries,warp_tries,most_tries_of_a_piece,pieces\n");
  fprintf(g, "pattern,addresses,spacing,n,offset,piece,tries,lanes\n");
  std::vector<u32> h(N);
  for (int warp : {0, 1}) for (u32 addresses : {64, 256, 1024, 4096}) for (u32 spacing : {1, 2, 8, 32})
    for (u32 n : {16384u, 131072u, 270336u, 1048576u}) {
      if (n / addresses > 4096 || (warp && n / addresses > 2048)) continue;
      for (int k = 0; k < 6; ++k) {
        u64 offset = offsets[k]; std::vector<float> us; double sum = 0, most = 0, top = 0;
        std::vector<double> piece((size_t)addresses * spacing * 4 / 256 + 1), lanes(piece.size());
        for (int r = 0; r < 4; ++r) {
          cudaEventRecord(a);
          loop<<<n / 256, 256>>>(data + offset / 4, n, addresses, spacing, warp, tries);
          cudaEventRecord(b); cudaEventSynchronize(b);
          float ms; cudaEventElapsedTime(&ms, a, b); if (r) us.push_back(ms * 1000);
        }
        if (us.empty()) continue;
        cudaMemcpy(h.data(), tries, 4u * n, cudaMemcpyDeviceToHost);
        for (u32 i = 0; i < n; i += 32) { u32 m = 0; for (u32 l = i; l < i + 32; ++l) { m = std::max(m, h[l]); sum += h[l];
            size_t p = (size_t)((warp ? l / 32 : l) % addresses) * spacing * 4 / 256; piece[p] += h[l]; lanes[p] += 1; } most += m; }
        for (double x : piece) top = std::max(top, x);
        std::sort(us.begin(), us.end());
        fprintf(f, "%s,%u,%u,%u,256,%llu,%.3f,%.0f,%.0f,%.0f,%zu\n", warp ? "warp" : "modulo", addresses, spacing, n, offset, us[1], sum, most, top, piece.size());
        if (piece.size() <= 130 && k < 2) for (size_t p = 0; p < piece.size(); ++p) if (lanes[p] > 0)
          fprintf(g, "%s,%u,%u,%u,%llu,%zu,%.0f,%.0f\n", warp ? "warp" : "modulo", addresses, spacing, n, offset, p, piece[p], lanes[p]);
        fflush(f);
      }
    }
  fclose(f); fclose(g);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
