// Branches through a table, and by comparisons, taken 1 to 8 ways by a warp's lanes, with 2 or 12
// products on each way. Each launch prints a line: kernel, parameters. For the profiler.
#include <cstdio>
typedef unsigned u32;
#define F1 "fma.rn.f32 %0,%0,%1,%2;"
#define F2 F1 F1
#define F12 F2 F2 F2 F2 F2 F2
#define TABLE(B) "{\nT_%=: .branchtargets W0_%=,W1_%=,W2_%=,W3_%=,W4_%=,W5_%=,W6_%=,W7_%=;\nbrx.idx %3, T_%=;\n" \
  "W0_%=:" B "mul.rn.f32 %0,%0,0f3F800001; bra.uni E_%=;\nW1_%=:" B "mul.rn.f32 %0,%0,0f3F800002; bra.uni E_%=;\nW2_%=:" B "mul.rn.f32 %0,%0,0f3F800003; bra.uni E_%=;\nW3_%=:" B "mul.rn.f32 %0,%0,0f3F800004; bra.uni E_%=;\n" \
  "W4_%=:" B "mul.rn.f32 %0,%0,0f3F800005; bra.uni E_%=;\nW5_%=:" B "mul.rn.f32 %0,%0,0f3F800006; bra.uni E_%=;\nW6_%=:" B "mul.rn.f32 %0,%0,0f3F800007; bra.uni E_%=;\nW7_%=:" B "mul.rn.f32 %0,%0,0f3F800008; bra.uni E_%=;\nE_%=:\n}"
#define ONE(n, B) "setp.eq.u32 p, %3, " n "; @!p bra N" n "_%=;\n" B "mul.rn.f32 %0,%0,0f3F80000" n "; bra.uni E_%=;\nN" n "_%=:\n"
#define CHAIN(B) "{\n.reg .pred p;\n" ONE("0", B) ONE("1", B) ONE("2", B) ONE("3", B) ONE("4", B) ONE("5", B) ONE("6", B) B "mul.rn.f32 %0,%0,0f3F800009;\nE_%=:\n}"
#define KERNEL(name, CODE) \
  extern "C" __global__ void name(float* out, const int* sel, int rounds, int ways, int by_warp) { \
    int i = blockIdx.x * blockDim.x + threadIdx.x; \
    u32 s = (by_warp ? threadIdx.x >> 5 : sel[i & 1023]) & (ways - 1); \
    float x = i * 1e-6f, y = 1.0f + x, z = 2.0f + x; \
    _Pragma("unroll 1") for (int r = 0; r < rounds; ++r) { \
      asm volatile(CODE : "+f"(x) : "f"(y), "f"(z), "r"(s)); \
      s = (s + 1) & (ways - 1); \
    } \
    out[i] = x + s; \
  }
KERNEL(table_2, TABLE(F2))
KERNEL(table_12, TABLE(F12))
KERNEL(chain_2, CHAIN(F2))
KERNEL(chain_12, CHAIN(F12))
__constant__ u32 words[64];
// the constants alone: `ways` words of a table
extern "C" __global__ void words_alone(float* out, const int* sel, int rounds, int ways, int by_warp) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  u32 s = (by_warp ? threadIdx.x >> 5 : sel[i & 1023]) & (ways - 1), x = i;
  _Pragma("unroll 1") for (int r = 0; r < rounds; ++r) {
    x = x * 3 + words[s];
    s = (s + 1) & (ways - 1);
  }
  out[i] = x + s;
}
int main() {
  float* out; int* sel;
  cudaMalloc(&out, 1 << 24); cudaMalloc(&sel, 4096);
  int host[1024]; u32 h = 1;
  for (int k = 0; k < 1024; ++k) { h = h * 1664525u + 1013904223u; host[k] = h >> 20; }
  cudaMemcpy(sel, host, 4096, cudaMemcpyHostToDevice);
  table_2<<<1, 32>>>(out, sel, 2, 1, 0);
  cudaDeviceSynchronize();
#define GO(name) { printf(#name ",%d,lanes,%d,%d\n", w, warps, rounds); name<<<132 * blocks, threads>>>(out, sel, rounds, w, 0); }
#define BY(name) { printf(#name ",8,warps,%d,%d\n", warps, rounds); name<<<132 * blocks, threads>>>(out, sel, rounds, 8, 1); }
  for (int warps : {1, 4, 8, 16, 32, 64}) {
    int blocks = warps > 16 ? warps / 16 : 1, threads = warps > 16 ? 512 : warps * 32, rounds = 128;
    for (int w : {1, 2, 4, 8}) { GO(table_2) GO(table_12) GO(chain_2) GO(chain_12) GO(words_alone) }
    BY(table_2) BY(table_12) BY(chain_2) BY(chain_12)
  }
  fprintf(stderr, "%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
