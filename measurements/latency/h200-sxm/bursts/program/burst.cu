// Bursts of loads whose lanes touch sectors of their own, from L2: by SMs, by who asked before, by places, in one round and many.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>
#define R(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { fprintf(stderr, "%d %s\n", __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)
typedef unsigned u32;
typedef unsigned long long u64;
typedef long long i64;
__device__ __forceinline__ u32 mix(u32 h) { h ^= h >> 16; h *= 0x85ebca6bu; h ^= h >> 13; h *= 0xc2b2ae35u; h ^= h >> 16; return h; }
// A warp's r-th load: lane's place is step bytes from its neighbour's, or hashed (places > 0). Times stay in shared memory until the end.
__global__ void burst(const char *in, uint2 *log, float *out, int rounds, u32 step, i64 turn, u32 places, int meet) {
  extern __shared__ uint2 seen[];
  u32 lane = threadIdx.x % 32, w = threadIdx.x / 32, warps = blockDim.x / 32;
  i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
  __syncthreads();
#pragma unroll 1
  for (int r = 0; r < rounds; r++) {
    i64 at = places ? (i64)__umulhi(mix((u32)i * 2891336453u + (u32)(r * turn) * 77u), places) * 32 : i * step + r * turn;
    const char *p = in + at;
    if (meet) __syncthreads();
    u32 a, b;
    float v;
    asm volatile("mov.u32 %0,%%clock;" : "=r"(a)::"memory");
    asm volatile("ld.global.cg.f32 %0,[%1];" : "=f"(v) : "l"(p) : "memory");
    s += v;
    asm volatile("mov.u32 %0,%%clock;" : "=r"(b) : "f"(s) : "memory");
    if (lane == 0) seen[r * warps + w] = make_uint2(a, b);
  }
  __syncthreads();
  for (u32 k = threadIdx.x; k < rounds * warps; k += blockDim.x) log[(size_t)blockIdx.x * rounds * warps + k] = seen[k];
  if (s == -123.456f) out[0] = s;
}
__global__ void plain(const char *in, float *out, u32 n, u32 step) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { float v = *(const float *)(in + (size_t)i * step); if (v == -123.456f) out[0] = v; }
}
__global__ void fill(u32 *p, size_t n) { for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) p[i] = mix((u32)i) & 0x3fffffffu; }
__global__ void spin(u32 clocks) { u64 a = clock64(); while (clock64() - a < clocks) ; }
int main() {
  char *in; float *out; uint2 *log; R(cudaMalloc(&in, 1ull << 30)); R(cudaMalloc(&out, 1 << 20)); R(cudaMalloc(&log, 64 << 20));
  fill<<<1056, 256>>>((u32 *)in, (1ull << 30) / 4); R(cudaDeviceSynchronize());
  for (int i = 0; i < 200; i++) fill<<<1056, 256>>>((u32 *)in, (1ull << 28) / 4);
  R(cudaDeviceSynchronize());
  R(cudaFuncSetAttribute(burst, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10));
  cudaEvent_t ea, eb; R(cudaEventCreate(&ea)); R(cudaEventCreate(&eb));
  printf("blocks,warps,step,turn,places,meet,rounds,round,begin50,warp10,warp50,warp90,warp100,block50,block100,whole50,whole100\n");
  auto q = [](std::vector<u32> &v, double f) { std::sort(v.begin(), v.end()); return v[(size_t)(f * (v.size() - 1))]; };
  auto row = [&](int g, int w, u32 step, i64 turn, u32 places, int meet, int rounds) {
    size_t n = (size_t)g * w * rounds;
    std::vector<uint2> h(n);
    const int reps = 5;
    std::vector<std::vector<u32>> begin(rounds), lat(rounds), blk(rounds);
    std::vector<u32> whole;
    std::vector<std::vector<u32>> most(rounds);
    for (int rep = -2; rep < reps; rep++) {
      burst<<<g, 32 * w, rounds * w * 8>>>(in, log, out, rounds, step, turn, places, meet);
      R(cudaDeviceSynchronize());
      if (rep < 0) continue;
      R(cudaMemcpy(h.data(), log, n * 8, cudaMemcpyDeviceToHost));
      for (int b = 0; b < g; b++) {
        u32 t0 = h[(size_t)b * rounds * w].x, last = 0;
        for (int k = 0; k < w; k++) t0 = std::min(t0, h[(size_t)b * rounds * w + k].x);
        for (int r = 0; r < rounds; r++) {
          u32 a0 = ~0u, a1 = 0, b1 = 0;
          for (int k = 0; k < w; k++) { uint2 x = h[((size_t)b * rounds + r) * w + k]; a0 = std::min(a0, x.x); a1 = std::max(a1, x.x); b1 = std::max(b1, x.y); lat[r].push_back(x.y - x.x); }
          begin[r].push_back(a1 - a0); blk[r].push_back(b1 - a0); last = b1;
        }
        whole.push_back(last - t0);
      }
    }
    for (int r = 0; r < rounds; r++) printf("%d,%d,%u,%lld,%u,%d,%d,%d,%u,%u,%u,%u,%u,%u,%u,%u,%u\n", g, w, step, (long long)turn, places, meet, rounds, r, q(begin[r], .5), q(lat[r], .1), q(lat[r], .5), q(lat[r], .9), q(lat[r], 1), q(blk[r], .5), q(blk[r], 1), q(whole, .5), q(whole, 1));
  };
  // the same places again (turn 0): who asks again; other places
  for (int g : {1, 16, 33, 66, 132, 264}) for (int w : {1, 8, 16, 32}) {
    i64 all = (i64)g * w * 32 * 128;
    row(g, w, 128, 0, 0, 1, 6);
    if (all * 4 <= 24 << 20) row(g, w, 128, all, 0, 1, 4);
    row(g, w, 32, 0, 0, 1, 4);
    row(g, w, 4, 0, 0, 1, 4);
    row(g, w, 0, 0, 65536, 1, 4);   // hashed, the same each round
    row(g, w, 0, 1, 65536, 1, 4);   // hashed, others each round
  }
  // no meeting: a loop of loads
  for (int g : {132, 264}) for (int w : {8, 16, 32}) for (u32 step : {4u, 32u, 64u, 128u}) row(g, w, step, 0, 0, 0, 16);
  for (int g : {132, 264}) for (int w : {8, 16, 32}) row(g, w, 0, 1, 65536, 0, 16);
  // times of launches in several rounds: blocks an SM by shared memory
  R(cudaFuncSetAttribute(plain, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10));
  fprintf(stderr, "shared,block,blocks,step,us\n");
  for (int shared : {0, 50, 100, 200}) for (int block : {256, 1024}) for (int blocks : {132, 264, 528, 1056, 2112}) for (u32 step : {4u, 32u, 64u, 96u, 128u, 132u}) {
    if ((size_t)blocks * block * step > 30u << 20) continue;
    std::vector<float> t;
    for (int r = -2; r < 21; r++) {
      spin<<<1, 1>>>(40000);
      R(cudaEventRecord(ea)); plain<<<blocks, block, shared << 10>>>(in, out, blocks * block, step); R(cudaEventRecord(eb)); R(cudaEventSynchronize(eb));
      float ms; R(cudaEventElapsedTime(&ms, ea, eb)); if (r >= 0) t.push_back(ms * 1e3f);
    }
    std::sort(t.begin(), t.end());
    fprintf(stderr, "%d,%d,%d,%u,%.3f\n", shared, block, blocks, step, t[10]);
  }
}
