// What L1 has of data that warps come back to: lists that threads walk along while they read at
// random places, in batches and one after the other; a table read at random beside streams; tables
// that all blocks walk through, some loads at a time and one after the other.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

// Each thread has `length` words in a row; for each it reads R words of a table at random places.
// APART: each step waits for the one before, else four steps are asked for together.
template <int R, bool APART>
__global__ void reused_lists(const int* __restrict__ lists, const int* __restrict__ table, int* __restrict__ out, int length, unsigned mask) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int* own = lists + (size_t)i * length;
  int sum = 0;
  for (int k = 0; k < length; k += 4) {
    int links[4];
    if (APART) {
#pragma unroll
      for (int u = 0; u < 4; ++u) {
        int link = own[k + u + (sum == 0x7fffffff)];
        int next = 0;
#pragma unroll
        for (int r = 0; r < R; ++r) next += table[(link * 2654435761u + r * 40503u * 64) >> 7 & mask];
        sum += R ? next : link;
      }
    } else {
#pragma unroll
      for (int u = 0; u < 4; ++u) links[u] = own[k + u];
#pragma unroll
      for (int u = 0; u < 4; ++u) {
#pragma unroll
        for (int r = 0; r < R; ++r) sum += table[(links[u] * 2654435761u + r * 40503u * 64) >> 7 & mask];
        if (!R) sum += links[u];
      }
    }
  }
  out[i] = sum;
}

// A warp goes along its own row of S arrays, a word a lane, and reads a table at random places.
template <int S>
__global__ void reused_table(const int* __restrict__ streams, size_t apart, const int* __restrict__ table, int* __restrict__ out, int steps, unsigned words) {
  int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32, sum = 0;
  size_t at = (size_t)warp * steps * 32 + lane;
  for (int k = 0; k < steps; ++k, at += 32) {
    unsigned place = (unsigned)at * 2654435761u;
    place ^= place >> 15; place *= 2246822519u; place ^= place >> 13;
#pragma unroll
    for (int s = 0; s < S; ++s) { int v = streams[s * apart + at]; if (s == 0) place ^= (unsigned)v; else sum += v; }
    sum += table[__umulhi(place * 3266489917u, words)];
  }
  if (sum == 123456789) out[0] = sum; else if (lane == 0) out[warp] = sum;
}

// All threads walk through the same table, 16 B a step, G loads at a time; APART: each waits.
template <int G, bool APART>
__global__ void reused_walk(const float4* __restrict__ table, float* __restrict__ out, int n, int work) {
  float x = threadIdx.x, y = blockIdx.x;
  for (int k = 0; k < n; k += G) {
    float4 a[G];
    if (!APART) {
#pragma unroll
      for (int g = 0; g < G; ++g) a[g] = table[k + g];
    }
#pragma unroll
    for (int g = 0; g < G; ++g) {
      if (APART) a[g] = table[k + g + (y == 1.25e30f)];
      y = fmaf(a[g].x, x, y); y = fmaf(a[g].y, x, y); y = fmaf(a[g].z, x, y); y = fmaf(a[g].w, x, y);
#pragma unroll 1
      for (int w = 0; w < work; ++w) y = fmaf(y, x, a[g].x);
    }
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = y;
}

int main() {
  char *a, *b, *c; size_t bytes = 1ull << 30;
  cudaMalloc(&a, bytes); cudaMalloc(&b, 64 << 20); cudaMalloc(&c, 64 << 20);
  std::vector<unsigned> h(16 << 20); unsigned s = 1;
  for (auto& x : h) { s ^= s << 13; s ^= s >> 17; s ^= s << 5; x = s; }
  for (size_t o = 0; o < bytes; o += 64 << 20) cudaMemcpy(a + o, h.data(), 64 << 20, cudaMemcpyHostToDevice);
  cudaMemcpy(b, h.data() + 5, 60 << 20, cudaMemcpyHostToDevice);
  printf("kernel,apart,at_once,beside,table,grid,block,steps,shared\n");
#define L(R, AP) for (int block : {128, 256}) for (int length : {16, 32}) for (int kib : {4096, 64}) { \
    if (kib == 64 && R == 0) continue; \
    int grid = 132 * 2048 / block * 2; \
    printf("lists,%d,4,%d,%d,%d,%d,%d,0\n", AP, R, kib << 10, grid, block, length); \
    reused_lists<R, AP><<<grid, block>>>((int*)a, (int*)b, (int*)c, length, (kib << 8) - 1); cudaDeviceSynchronize(); }
  L(0, true) L(1, true) L(2, true) L(4, true) L(0, false) L(1, false) L(2, false) L(4, false)
#define S(N) for (int kib : {32, 64, 128, 192, 256, 384, 512, 1024}) for (int shared : {0, 24}) { \
    if (shared && kib != 64 && kib != 128 && kib != 256) continue; \
    int grid = 132 * 8 * 2, steps = 24; \
    printf("table,0,1,%d,%d,%d,256,%d,%d\n", N, kib << 10, grid, steps, shared << 10); \
    reused_table<N><<<grid, 256, shared << 10>>>((int*)a, 64 << 20, (int*)b, (int*)c, steps, kib << 8); cudaDeviceSynchronize(); }
  S(0) S(1) S(2) S(4)
#define W(G, AP) for (int grid : {64, 132, 1056}) for (int work : {0, 16}) { \
    printf("walk,%d,%d,%d,%d,%d,256,%d,0\n", AP, G, work, 4096 * 16, grid, 4096); \
    reused_walk<G, AP><<<grid, 256>>>((float4*)a, (float*)c, 4096, work); cudaDeviceSynchronize(); }
  W(1, false) W(2, false) W(4, false) W(8, false) W(4, true) W(8, true)
  fprintf(stderr, "%s\n", cudaGetErrorString(cudaGetLastError()));
}
