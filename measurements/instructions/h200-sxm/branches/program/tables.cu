// A branch through a table of eight ways, of which lanes of a warp take so many.
#include <cstdio>
#include <cuda_runtime.h>
extern "C" __global__ void through_table(float* out, const int* sel, int rounds, int ways, int by_warp) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; unsigned s = by_warp ? (threadIdx.x >> 5) & (ways - 1) : sel[i & 1023] & (ways - 1);
  float x = i * 1e-6f, y = 1.0f + x, z = 2.0f + x, a = 3.0f + x, b = x - 1.0f;
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    asm volatile("{\nT_%=: .branchtargets W0_%=,W1_%=,W2_%=,W3_%=,W4_%=,W5_%=,W6_%=,W7_%=;\nbrx.idx %6, T_%=;\nW0_%=: fma.rn.f32 %0,%0,%1,%2;fma.rn.f32 %0,%0,%1,%2;fma.rn.f32 %0,%0,%1,%2;fma.rn.f32 %0,%0,%1,%2;fma.rn.f32 %0,%0,%1,%2;fma.rn.f32 %0,%0,%1,%2;fma.rn.f32 %0,%0,%1,%2;fma.rn.f32 %0,%0,%1,%2;fma.rn.f32 %0,%0,%1,%2;fma.rn.f32 %0,%0,%1,%2;fma.rn.f32 %0,%0,%1,%2;fma.rn.f32 %0,%0,%1,%2; bra.uni E_%=;\nW1_%=: fma.rn.f32 %0,%0,%1,%3;fma.rn.f32 %0,%0,%1,%3;fma.rn.f32 %0,%0,%1,%3;fma.rn.f32 %0,%0,%1,%3;fma.rn.f32 %0,%0,%1,%3;fma.rn.f32 %0,%0,%1,%3;fma.rn.f32 %0,%0,%1,%3;fma.rn.f32 %0,%0,%1,%3;fma.rn.f32 %0,%0,%1,%3;fma.rn.f32 %0,%0,%1,%3;fma.rn.f32 %0,%0,%1,%3;fma.rn.f32 %0,%0,%1,%3; bra.uni E_%=;\nW2_%=: fma.rn.f32 %0,%0,%1,%4;fma.rn.f32 %0,%0,%1,%4;fma.rn.f32 %0,%0,%1,%4;fma.rn.f32 %0,%0,%1,%4;fma.rn.f32 %0,%0,%1,%4;fma.rn.f32 %0,%0,%1,%4;fma.rn.f32 %0,%0,%1,%4;fma.rn.f32 %0,%0,%1,%4;fma.rn.f32 %0,%0,%1,%4;fma.rn.f32 %0,%0,%1,%4;fma.rn.f32 %0,%0,%1,%4;fma.rn.f32 %0,%0,%1,%4; bra.uni E_%=;\nW3_%=: fma.rn.f32 %0,%0,%1,%5;fma.rn.f32 %0,%0,%1,%5;fma.rn.f32 %0,%0,%1,%5;fma.rn.f32 %0,%0,%1,%5;fma.rn.f32 %0,%0,%1,%5;fma.rn.f32 %0,%0,%1,%5;fma.rn.f32 %0,%0,%1,%5;fma.rn.f32 %0,%0,%1,%5;fma.rn.f32 %0,%0,%1,%5;fma.rn.f32 %0,%0,%1,%5;fma.rn.f32 %0,%0,%1,%5;fma.rn.f32 %0,%0,%1,%5; bra.uni E_%=;\nW4_%=: fma.rn.f32 %0,%0,%1,%2;fma.rn.f32 %0,%0,%1,%2;fma.rn.f32 %0,%0,%1,%2;fma.rn.f32 %0,%0,%1,%2;fma.rn.f32 %0,%0,%1,%2;fma.rn.f32 %0,%0,%1,%2;fma.rn.f32 %0,%0,%1,%2;fma.rn.f32 %0,%0,%1,%2;fma.rn.f32 %0,%0,%1,%2;fma.rn.f32 %0,%0,%1,%2;fma.rn.f32 %0,%0,%1,%2;fma.rn.f32 %0,%0,%1,%2; bra.uni E_%=;\nW5_%=: fma.rn.f32 %0,%0,%1,%3;fma.rn.f32 %0,%0,%1,%3;fma.rn.f32 %0,%0,%1,%3;fma.rn.f32 %0,%0,%1,%3;fma.rn.f32 %0,%0,%1,%3;fma.rn.f32 %0,%0,%1,%3;fma.rn.f32 %0,%0,%1,%3;fma.rn.f32 %0,%0,%1,%3;fma.rn.f32 %0,%0,%1,%3;fma.rn.f32 %0,%0,%1,%3;fma.rn.f32 %0,%0,%1,%3;fma.rn.f32 %0,%0,%1,%3; bra.uni E_%=;\nW6_%=: fma.rn.f32 %0,%0,%1,%4;fma.rn.f32 %0,%0,%1,%4;fma.rn.f32 %0,%0,%1,%4;fma.rn.f32 %0,%0,%1,%4;fma.rn.f32 %0,%0,%1,%4;fma.rn.f32 %0,%0,%1,%4;fma.rn.f32 %0,%0,%1,%4;fma.rn.f32 %0,%0,%1,%4;fma.rn.f32 %0,%0,%1,%4;fma.rn.f32 %0,%0,%1,%4;fma.rn.f32 %0,%0,%1,%4;fma.rn.f32 %0,%0,%1,%4; bra.uni E_%=;\nW7_%=: fma.rn.f32 %0,%0,%1,%5;fma.rn.f32 %0,%0,%1,%5;fma.rn.f32 %0,%0,%1,%5;fma.rn.f32 %0,%0,%1,%5;fma.rn.f32 %0,%0,%1,%5;fma.rn.f32 %0,%0,%1,%5;fma.rn.f32 %0,%0,%1,%5;fma.rn.f32 %0,%0,%1,%5;fma.rn.f32 %0,%0,%1,%5;fma.rn.f32 %0,%0,%1,%5;fma.rn.f32 %0,%0,%1,%5;fma.rn.f32 %0,%0,%1,%5; bra.uni E_%=;\nE_%=:\n}" : "+f"(x) : "f"(y), "f"(z), "f"(a), "f"(b), "f"(y), "r"(s));
    s = (s + 1) & (ways - 1);
  }
  out[i] = x + s;
}
// the same without a branch
extern "C" __global__ void no_table(float* out, const int* sel, int rounds, int ways, int by_warp) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; unsigned s = sel[i & 1023] & (ways - 1);
  float x = i * 1e-6f, y = 1.0f + x;
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    asm volatile("fma.rn.f32 %0,%0,%1,%1;fma.rn.f32 %0,%0,%1,%1;fma.rn.f32 %0,%0,%1,%1;fma.rn.f32 %0,%0,%1,%1;fma.rn.f32 %0,%0,%1,%1;fma.rn.f32 %0,%0,%1,%1;fma.rn.f32 %0,%0,%1,%1;fma.rn.f32 %0,%0,%1,%1;fma.rn.f32 %0,%0,%1,%1;fma.rn.f32 %0,%0,%1,%1;fma.rn.f32 %0,%0,%1,%1;fma.rn.f32 %0,%0,%1,%1;" : "+f"(x) : "f"(y));
    s = (s + 1) & (ways - 1);
  }
  out[i] = x + s;
}
// a table of constants read at so many places by a warp's lanes
__constant__ float table[1024];
extern "C" __global__ void constants(float* out, const int* sel, int rounds, int ways, int apart) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; int s = (threadIdx.x & (ways - 1)) * apart; float x[8] = {};
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
#pragma unroll
    for (int k = 0; k < 8; ++k) x[k] += table[(s + k * 32) & 1023];
    s = s + 4;
  }
  out[i] = x[0] + x[1] + x[2] + x[3] + x[4] + x[5] + x[6] + x[7];
}
extern "C" __global__ void constants_chain(float* out, const int* sel, int rounds, int ways, int apart) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; int s = (threadIdx.x & (ways - 1)) * apart;
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) s += __float_as_int(table[s & 1023]);
  out[i] = s;
}
int main() {
  float* out; int* sel; cudaMalloc(&out, 4 << 20); cudaMalloc(&sel, 4096); int h[1024]; unsigned x = 12345;
  for (int& v : h) { x ^= x << 13; x ^= x >> 17; x ^= x << 5; v = x >> 3; }
  cudaMemcpy(sel, h, 4096, cudaMemcpyHostToDevice);
  struct { int blocks, threads; } shapes[] = {{132, 32}, {132, 512}, {528, 512}};
  for (auto s : shapes) {
    no_table<<<s.blocks, s.threads>>>(out, sel, 64, 8, 0);
    for (int w : {1, 2, 4, 8}) through_table<<<s.blocks, s.threads>>>(out, sel, 64, w, 0);
    through_table<<<s.blocks, s.threads>>>(out, sel, 64, 8, 1);
    for (int w : {1, 2, 4, 8, 32}) constants<<<s.blocks, s.threads>>>(out, sel, 64, w, 1);
    constants<<<s.blocks, s.threads>>>(out, sel, 64, 32, 16);
    for (int w : {1, 2, 8, 32}) constants_chain<<<s.blocks, s.threads>>>(out, sel, 64, w, 1);
  }
  printf("done %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
