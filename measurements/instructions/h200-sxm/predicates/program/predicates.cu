// Predicated memory instructions, divergent branches, short blocks, trees, far stores: written by a script.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
struct Limits { int l[8]; };
extern "C" __global__ void masked_lds(volatile unsigned* g, Limits limits, int rounds) {
  __shared__ unsigned s[2048];
  int t = threadIdx.x;
  unsigned v = t;
  s[t] = t; s[t + 1024] = t;
  __syncthreads();
  unsigned* mine = (unsigned*)g + (blockIdx.x * blockDim.x + t) % 262144;
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    if (t < limits.l[0]) { v += s[t + 4 * 0]; }
    if (t < limits.l[1]) { v += s[t + 4 * 1]; }
    if (t < limits.l[2]) { v += s[t + 4 * 2]; }
    if (t < limits.l[3]) { v += s[t + 4 * 3]; }
    if (t < limits.l[4]) { v += s[t + 4 * 4]; }
    if (t < limits.l[5]) { v += s[t + 4 * 5]; }
    if (t < limits.l[6]) { v += s[t + 4 * 6]; }
    if (t < limits.l[7]) { v += s[t + 4 * 7]; }
    __syncwarp();
  }
  if (v == 0xdeadbeefu) g[t] = v + s[t];
}
extern "C" __global__ void masked_sts(volatile unsigned* g, Limits limits, int rounds) {
  __shared__ unsigned s[2048];
  int t = threadIdx.x;
  unsigned v = t;
  s[t] = t; s[t + 1024] = t;
  __syncthreads();
  unsigned* mine = (unsigned*)g + (blockIdx.x * blockDim.x + t) % 262144;
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    if (t < limits.l[0]) { s[t + 4 * 0] = v + 0; }
    if (t < limits.l[1]) { s[t + 4 * 1] = v + 1; }
    if (t < limits.l[2]) { s[t + 4 * 2] = v + 2; }
    if (t < limits.l[3]) { s[t + 4 * 3] = v + 3; }
    if (t < limits.l[4]) { s[t + 4 * 4] = v + 4; }
    if (t < limits.l[5]) { s[t + 4 * 5] = v + 5; }
    if (t < limits.l[6]) { s[t + 4 * 6] = v + 6; }
    if (t < limits.l[7]) { s[t + 4 * 7] = v + 7; }
    __syncwarp();
  }
  if (v == 0xdeadbeefu) g[t] = v + s[t];
}
extern "C" __global__ void masked_both(volatile unsigned* g, Limits limits, int rounds) {
  __shared__ unsigned s[2048];
  int t = threadIdx.x;
  unsigned v = t;
  s[t] = t; s[t + 1024] = t;
  __syncthreads();
  unsigned* mine = (unsigned*)g + (blockIdx.x * blockDim.x + t) % 262144;
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    if (t < limits.l[0]) { s[t] += s[t + 4 * 0 + 4]; }
    if (t < limits.l[1]) { s[t] += s[t + 4 * 1 + 4]; }
    if (t < limits.l[2]) { s[t] += s[t + 4 * 2 + 4]; }
    if (t < limits.l[3]) { s[t] += s[t + 4 * 3 + 4]; }
    if (t < limits.l[4]) { s[t] += s[t + 4 * 4 + 4]; }
    if (t < limits.l[5]) { s[t] += s[t + 4 * 5 + 4]; }
    if (t < limits.l[6]) { s[t] += s[t + 4 * 6 + 4]; }
    if (t < limits.l[7]) { s[t] += s[t + 4 * 7 + 4]; }
    __syncwarp();
  }
  if (v == 0xdeadbeefu) g[t] = v + s[t];
}
extern "C" __global__ void masked_ldg(volatile unsigned* g, Limits limits, int rounds) {
  __shared__ unsigned s[2048];
  int t = threadIdx.x;
  unsigned v = t;
  s[t] = t; s[t + 1024] = t;
  __syncthreads();
  unsigned* mine = (unsigned*)g + (blockIdx.x * blockDim.x + t) % 262144;
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    if (t < limits.l[0]) { v += mine[32 * 0]; }
    if (t < limits.l[1]) { v += mine[32 * 1]; }
    if (t < limits.l[2]) { v += mine[32 * 2]; }
    if (t < limits.l[3]) { v += mine[32 * 3]; }
    if (t < limits.l[4]) { v += mine[32 * 4]; }
    if (t < limits.l[5]) { v += mine[32 * 5]; }
    if (t < limits.l[6]) { v += mine[32 * 6]; }
    if (t < limits.l[7]) { v += mine[32 * 7]; }
    __syncwarp();
  }
  if (v == 0xdeadbeefu) g[t] = v + s[t];
}
extern "C" __global__ void masked_stg(volatile unsigned* g, Limits limits, int rounds) {
  __shared__ unsigned s[2048];
  int t = threadIdx.x;
  unsigned v = t;
  s[t] = t; s[t + 1024] = t;
  __syncthreads();
  unsigned* mine = (unsigned*)g + (blockIdx.x * blockDim.x + t) % 262144;
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    if (t < limits.l[0]) { mine[32 * 0] = v + 0; }
    if (t < limits.l[1]) { mine[32 * 1] = v + 1; }
    if (t < limits.l[2]) { mine[32 * 2] = v + 2; }
    if (t < limits.l[3]) { mine[32 * 3] = v + 3; }
    if (t < limits.l[4]) { mine[32 * 4] = v + 4; }
    if (t < limits.l[5]) { mine[32 * 5] = v + 5; }
    if (t < limits.l[6]) { mine[32 * 6] = v + 6; }
    if (t < limits.l[7]) { mine[32 * 7] = v + 7; }
    __syncwarp();
  }
  if (v == 0xdeadbeefu) g[t] = v + s[t];
}
extern "C" __global__ void masked_reds(volatile unsigned* g, Limits limits, int rounds) {
  __shared__ unsigned s[2048];
  int t = threadIdx.x;
  unsigned v = t;
  s[t] = t; s[t + 1024] = t;
  __syncthreads();
  unsigned* mine = (unsigned*)g + (blockIdx.x * blockDim.x + t) % 262144;
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    if (t < limits.l[0]) { atomicAdd(s + t + 4 * 0, v); }
    if (t < limits.l[1]) { atomicAdd(s + t + 4 * 1, v); }
    if (t < limits.l[2]) { atomicAdd(s + t + 4 * 2, v); }
    if (t < limits.l[3]) { atomicAdd(s + t + 4 * 3, v); }
    if (t < limits.l[4]) { atomicAdd(s + t + 4 * 4, v); }
    if (t < limits.l[5]) { atomicAdd(s + t + 4 * 5, v); }
    if (t < limits.l[6]) { atomicAdd(s + t + 4 * 6, v); }
    if (t < limits.l[7]) { atomicAdd(s + t + 4 * 7, v); }
    __syncwarp();
  }
  if (v == 0xdeadbeefu) g[t] = v + s[t];
}
extern "C" __global__ void masked_mul(volatile unsigned* g, Limits limits, int rounds) {
  __shared__ unsigned s[2048];
  int t = threadIdx.x;
  unsigned v = t;
  s[t] = t; s[t + 1024] = t;
  __syncthreads();
  unsigned* mine = (unsigned*)g + (blockIdx.x * blockDim.x + t) % 262144;
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    if (t < limits.l[0]) { v = v * v + 0; }
    if (t < limits.l[1]) { v = v * v + 1; }
    if (t < limits.l[2]) { v = v * v + 2; }
    if (t < limits.l[3]) { v = v * v + 3; }
    if (t < limits.l[4]) { v = v * v + 4; }
    if (t < limits.l[5]) { v = v * v + 5; }
    if (t < limits.l[6]) { v = v * v + 6; }
    if (t < limits.l[7]) { v = v * v + 7; }
    __syncwarp();
  }
  if (v == 0xdeadbeefu) g[t] = v + s[t];
}
extern "C" __global__ void switch_2(float* out, int ways, float a, int rounds) {
  int lane = threadIdx.x & 31;
  int kind = lane % ways;
  float x = threadIdx.x;
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    switch (kind) {case 0: asm volatile("fma.rn.f32 %0, %0, %1, 0f3f800000;\nfma.rn.f32 %0, %0, %1, 0f3f800100;" : "+f"(x) : "f"(a)); break; case 1: asm volatile("fma.rn.f32 %0, %0, %1, 0f3f801000;\nfma.rn.f32 %0, %0, %1, 0f3f801100;" : "+f"(x) : "f"(a)); break; case 2: asm volatile("fma.rn.f32 %0, %0, %1, 0f3f802000;\nfma.rn.f32 %0, %0, %1, 0f3f802100;" : "+f"(x) : "f"(a)); break; case 3: asm volatile("fma.rn.f32 %0, %0, %1, 0f3f803000;\nfma.rn.f32 %0, %0, %1, 0f3f803100;" : "+f"(x) : "f"(a)); break; case 4: asm volatile("fma.rn.f32 %0, %0, %1, 0f3f804000;\nfma.rn.f32 %0, %0, %1, 0f3f804100;" : "+f"(x) : "f"(a)); break; case 5: asm volatile("fma.rn.f32 %0, %0, %1, 0f3f805000;\nfma.rn.f32 %0, %0, %1, 0f3f805100;" : "+f"(x) : "f"(a)); break; case 6: asm volatile("fma.rn.f32 %0, %0, %1, 0f3f806000;\nfma.rn.f32 %0, %0, %1, 0f3f806100;" : "+f"(x) : "f"(a)); break; case 7: asm volatile("fma.rn.f32 %0, %0, %1, 0f3f807000;\nfma.rn.f32 %0, %0, %1, 0f3f807100;" : "+f"(x) : "f"(a)); break;}
    kind = (kind + 1) % ways;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}
extern "C" __global__ void chain_2(float* out, int ways, float a, int rounds) {
  int lane = threadIdx.x & 31;
  int kind = lane % ways;
  float x = threadIdx.x;
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    if (kind == 0) { asm volatile("fma.rn.f32 %0, %0, %1, 0f3f800000;\nfma.rn.f32 %0, %0, %1, 0f3f800100;" : "+f"(x) : "f"(a)); } else if (kind == 1) { asm volatile("fma.rn.f32 %0, %0, %1, 0f3f801000;\nfma.rn.f32 %0, %0, %1, 0f3f801100;" : "+f"(x) : "f"(a)); } else if (kind == 2) { asm volatile("fma.rn.f32 %0, %0, %1, 0f3f802000;\nfma.rn.f32 %0, %0, %1, 0f3f802100;" : "+f"(x) : "f"(a)); } else if (kind == 3) { asm volatile("fma.rn.f32 %0, %0, %1, 0f3f803000;\nfma.rn.f32 %0, %0, %1, 0f3f803100;" : "+f"(x) : "f"(a)); } else if (kind == 4) { asm volatile("fma.rn.f32 %0, %0, %1, 0f3f804000;\nfma.rn.f32 %0, %0, %1, 0f3f804100;" : "+f"(x) : "f"(a)); } else if (kind == 5) { asm volatile("fma.rn.f32 %0, %0, %1, 0f3f805000;\nfma.rn.f32 %0, %0, %1, 0f3f805100;" : "+f"(x) : "f"(a)); } else if (kind == 6) { asm volatile("fma.rn.f32 %0, %0, %1, 0f3f806000;\nfma.rn.f32 %0, %0, %1, 0f3f806100;" : "+f"(x) : "f"(a)); } else if (kind == 7) { asm volatile("fma.rn.f32 %0, %0, %1, 0f3f807000;\nfma.rn.f32 %0, %0, %1, 0f3f807100;" : "+f"(x) : "f"(a)); }
    kind = (kind + 1) % ways;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}
extern "C" __global__ void switch_16(float* out, int ways, float a, int rounds) {
  int lane = threadIdx.x & 31;
  int kind = lane % ways;
  float x = threadIdx.x;
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    switch (kind) {case 0: asm volatile("fma.rn.f32 %0, %0, %1, 0f3f800000;\nfma.rn.f32 %0, %0, %1, 0f3f800100;\nfma.rn.f32 %0, %0, %1, 0f3f800200;\nfma.rn.f32 %0, %0, %1, 0f3f800300;\nfma.rn.f32 %0, %0, %1, 0f3f800400;\nfma.rn.f32 %0, %0, %1, 0f3f800500;\nfma.rn.f32 %0, %0, %1, 0f3f800600;\nfma.rn.f32 %0, %0, %1, 0f3f800700;\nfma.rn.f32 %0, %0, %1, 0f3f800800;\nfma.rn.f32 %0, %0, %1, 0f3f800900;\nfma.rn.f32 %0, %0, %1, 0f3f800a00;\nfma.rn.f32 %0, %0, %1, 0f3f800b00;\nfma.rn.f32 %0, %0, %1, 0f3f800c00;\nfma.rn.f32 %0, %0, %1, 0f3f800d00;\nfma.rn.f32 %0, %0, %1, 0f3f800e00;\nfma.rn.f32 %0, %0, %1, 0f3f800f00;" : "+f"(x) : "f"(a)); break; case 1: asm volatile("fma.rn.f32 %0, %0, %1, 0f3f801000;\nfma.rn.f32 %0, %0, %1, 0f3f801100;\nfma.rn.f32 %0, %0, %1, 0f3f801200;\nfma.rn.f32 %0, %0, %1, 0f3f801300;\nfma.rn.f32 %0, %0, %1, 0f3f801400;\nfma.rn.f32 %0, %0, %1, 0f3f801500;\nfma.rn.f32 %0, %0, %1, 0f3f801600;\nfma.rn.f32 %0, %0, %1, 0f3f801700;\nfma.rn.f32 %0, %0, %1, 0f3f801800;\nfma.rn.f32 %0, %0, %1, 0f3f801900;\nfma.rn.f32 %0, %0, %1, 0f3f801a00;\nfma.rn.f32 %0, %0, %1, 0f3f801b00;\nfma.rn.f32 %0, %0, %1, 0f3f801c00;\nfma.rn.f32 %0, %0, %1, 0f3f801d00;\nfma.rn.f32 %0, %0, %1, 0f3f801e00;\nfma.rn.f32 %0, %0, %1, 0f3f801f00;" : "+f"(x) : "f"(a)); break; case 2: asm volatile("fma.rn.f32 %0, %0, %1, 0f3f802000;\nfma.rn.f32 %0, %0, %1, 0f3f802100;\nfma.rn.f32 %0, %0, %1, 0f3f802200;\nfma.rn.f32 %0, %0, %1, 0f3f802300;\nfma.rn.f32 %0, %0, %1, 0f3f802400;\nfma.rn.f32 %0, %0, %1, 0f3f802500;\nfma.rn.f32 %0, %0, %1, 0f3f802600;\nfma.rn.f32 %0, %0, %1, 0f3f802700;\nfma.rn.f32 %0, %0, %1, 0f3f802800;\nfma.rn.f32 %0, %0, %1, 0f3f802900;\nfma.rn.f32 %0, %0, %1, 0f3f802a00;\nfma.rn.f32 %0, %0, %1, 0f3f802b00;\nfma.rn.f32 %0, %0, %1, 0f3f802c00;\nfma.rn.f32 %0, %0, %1, 0f3f802d00;\nfma.rn.f32 %0, %0, %1, 0f3f802e00;\nfma.rn.f32 %0, %0, %1, 0f3f802f00;" : "+f"(x) : "f"(a)); break; case 3: asm volatile("fma.rn.f32 %0, %0, %1, 0f3f803000;\nfma.rn.f32 %0, %0, %1, 0f3f803100;\nfma.rn.f32 %0, %0, %1, 0f3f803200;\nfma.rn.f32 %0, %0, %1, 0f3f803300;\nfma.rn.f32 %0, %0, %1, 0f3f803400;\nfma.rn.f32 %0, %0, %1, 0f3f803500;\nfma.rn.f32 %0, %0, %1, 0f3f803600;\nfma.rn.f32 %0, %0, %1, 0f3f803700;\nfma.rn.f32 %0, %0, %1, 0f3f803800;\nfma.rn.f32 %0, %0, %1, 0f3f803900;\nfma.rn.f32 %0, %0, %1, 0f3f803a00;\nfma.rn.f32 %0, %0, %1, 0f3f803b00;\nfma.rn.f32 %0, %0, %1, 0f3f803c00;\nfma.rn.f32 %0, %0, %1, 0f3f803d00;\nfma.rn.f32 %0, %0, %1, 0f3f803e00;\nfma.rn.f32 %0, %0, %1, 0f3f803f00;" : "+f"(x) : "f"(a)); break; case 4: asm volatile("fma.rn.f32 %0, %0, %1, 0f3f804000;\nfma.rn.f32 %0, %0, %1, 0f3f804100;\nfma.rn.f32 %0, %0, %1, 0f3f804200;\nfma.rn.f32 %0, %0, %1, 0f3f804300;\nfma.rn.f32 %0, %0, %1, 0f3f804400;\nfma.rn.f32 %0, %0, %1, 0f3f804500;\nfma.rn.f32 %0, %0, %1, 0f3f804600;\nfma.rn.f32 %0, %0, %1, 0f3f804700;\nfma.rn.f32 %0, %0, %1, 0f3f804800;\nfma.rn.f32 %0, %0, %1, 0f3f804900;\nfma.rn.f32 %0, %0, %1, 0f3f804a00;\nfma.rn.f32 %0, %0, %1, 0f3f804b00;\nfma.rn.f32 %0, %0, %1, 0f3f804c00;\nfma.rn.f32 %0, %0, %1, 0f3f804d00;\nfma.rn.f32 %0, %0, %1, 0f3f804e00;\nfma.rn.f32 %0, %0, %1, 0f3f804f00;" : "+f"(x) : "f"(a)); break; case 5: asm volatile("fma.rn.f32 %0, %0, %1, 0f3f805000;\nfma.rn.f32 %0, %0, %1, 0f3f805100;\nfma.rn.f32 %0, %0, %1, 0f3f805200;\nfma.rn.f32 %0, %0, %1, 0f3f805300;\nfma.rn.f32 %0, %0, %1, 0f3f805400;\nfma.rn.f32 %0, %0, %1, 0f3f805500;\nfma.rn.f32 %0, %0, %1, 0f3f805600;\nfma.rn.f32 %0, %0, %1, 0f3f805700;\nfma.rn.f32 %0, %0, %1, 0f3f805800;\nfma.rn.f32 %0, %0, %1, 0f3f805900;\nfma.rn.f32 %0, %0, %1, 0f3f805a00;\nfma.rn.f32 %0, %0, %1, 0f3f805b00;\nfma.rn.f32 %0, %0, %1, 0f3f805c00;\nfma.rn.f32 %0, %0, %1, 0f3f805d00;\nfma.rn.f32 %0, %0, %1, 0f3f805e00;\nfma.rn.f32 %0, %0, %1, 0f3f805f00;" : "+f"(x) : "f"(a)); break; case 6: asm volatile("fma.rn.f32 %0, %0, %1, 0f3f806000;\nfma.rn.f32 %0, %0, %1, 0f3f806100;\nfma.rn.f32 %0, %0, %1, 0f3f806200;\nfma.rn.f32 %0, %0, %1, 0f3f806300;\nfma.rn.f32 %0, %0, %1, 0f3f806400;\nfma.rn.f32 %0, %0, %1, 0f3f806500;\nfma.rn.f32 %0, %0, %1, 0f3f806600;\nfma.rn.f32 %0, %0, %1, 0f3f806700;\nfma.rn.f32 %0, %0, %1, 0f3f806800;\nfma.rn.f32 %0, %0, %1, 0f3f806900;\nfma.rn.f32 %0, %0, %1, 0f3f806a00;\nfma.rn.f32 %0, %0, %1, 0f3f806b00;\nfma.rn.f32 %0, %0, %1, 0f3f806c00;\nfma.rn.f32 %0, %0, %1, 0f3f806d00;\nfma.rn.f32 %0, %0, %1, 0f3f806e00;\nfma.rn.f32 %0, %0, %1, 0f3f806f00;" : "+f"(x) : "f"(a)); break; case 7: asm volatile("fma.rn.f32 %0, %0, %1, 0f3f807000;\nfma.rn.f32 %0, %0, %1, 0f3f807100;\nfma.rn.f32 %0, %0, %1, 0f3f807200;\nfma.rn.f32 %0, %0, %1, 0f3f807300;\nfma.rn.f32 %0, %0, %1, 0f3f807400;\nfma.rn.f32 %0, %0, %1, 0f3f807500;\nfma.rn.f32 %0, %0, %1, 0f3f807600;\nfma.rn.f32 %0, %0, %1, 0f3f807700;\nfma.rn.f32 %0, %0, %1, 0f3f807800;\nfma.rn.f32 %0, %0, %1, 0f3f807900;\nfma.rn.f32 %0, %0, %1, 0f3f807a00;\nfma.rn.f32 %0, %0, %1, 0f3f807b00;\nfma.rn.f32 %0, %0, %1, 0f3f807c00;\nfma.rn.f32 %0, %0, %1, 0f3f807d00;\nfma.rn.f32 %0, %0, %1, 0f3f807e00;\nfma.rn.f32 %0, %0, %1, 0f3f807f00;" : "+f"(x) : "f"(a)); break;}
    kind = (kind + 1) % ways;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}
extern "C" __global__ void chain_16(float* out, int ways, float a, int rounds) {
  int lane = threadIdx.x & 31;
  int kind = lane % ways;
  float x = threadIdx.x;
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    if (kind == 0) { asm volatile("fma.rn.f32 %0, %0, %1, 0f3f800000;\nfma.rn.f32 %0, %0, %1, 0f3f800100;\nfma.rn.f32 %0, %0, %1, 0f3f800200;\nfma.rn.f32 %0, %0, %1, 0f3f800300;\nfma.rn.f32 %0, %0, %1, 0f3f800400;\nfma.rn.f32 %0, %0, %1, 0f3f800500;\nfma.rn.f32 %0, %0, %1, 0f3f800600;\nfma.rn.f32 %0, %0, %1, 0f3f800700;\nfma.rn.f32 %0, %0, %1, 0f3f800800;\nfma.rn.f32 %0, %0, %1, 0f3f800900;\nfma.rn.f32 %0, %0, %1, 0f3f800a00;\nfma.rn.f32 %0, %0, %1, 0f3f800b00;\nfma.rn.f32 %0, %0, %1, 0f3f800c00;\nfma.rn.f32 %0, %0, %1, 0f3f800d00;\nfma.rn.f32 %0, %0, %1, 0f3f800e00;\nfma.rn.f32 %0, %0, %1, 0f3f800f00;" : "+f"(x) : "f"(a)); } else if (kind == 1) { asm volatile("fma.rn.f32 %0, %0, %1, 0f3f801000;\nfma.rn.f32 %0, %0, %1, 0f3f801100;\nfma.rn.f32 %0, %0, %1, 0f3f801200;\nfma.rn.f32 %0, %0, %1, 0f3f801300;\nfma.rn.f32 %0, %0, %1, 0f3f801400;\nfma.rn.f32 %0, %0, %1, 0f3f801500;\nfma.rn.f32 %0, %0, %1, 0f3f801600;\nfma.rn.f32 %0, %0, %1, 0f3f801700;\nfma.rn.f32 %0, %0, %1, 0f3f801800;\nfma.rn.f32 %0, %0, %1, 0f3f801900;\nfma.rn.f32 %0, %0, %1, 0f3f801a00;\nfma.rn.f32 %0, %0, %1, 0f3f801b00;\nfma.rn.f32 %0, %0, %1, 0f3f801c00;\nfma.rn.f32 %0, %0, %1, 0f3f801d00;\nfma.rn.f32 %0, %0, %1, 0f3f801e00;\nfma.rn.f32 %0, %0, %1, 0f3f801f00;" : "+f"(x) : "f"(a)); } else if (kind == 2) { asm volatile("fma.rn.f32 %0, %0, %1, 0f3f802000;\nfma.rn.f32 %0, %0, %1, 0f3f802100;\nfma.rn.f32 %0, %0, %1, 0f3f802200;\nfma.rn.f32 %0, %0, %1, 0f3f802300;\nfma.rn.f32 %0, %0, %1, 0f3f802400;\nfma.rn.f32 %0, %0, %1, 0f3f802500;\nfma.rn.f32 %0, %0, %1, 0f3f802600;\nfma.rn.f32 %0, %0, %1, 0f3f802700;\nfma.rn.f32 %0, %0, %1, 0f3f802800;\nfma.rn.f32 %0, %0, %1, 0f3f802900;\nfma.rn.f32 %0, %0, %1, 0f3f802a00;\nfma.rn.f32 %0, %0, %1, 0f3f802b00;\nfma.rn.f32 %0, %0, %1, 0f3f802c00;\nfma.rn.f32 %0, %0, %1, 0f3f802d00;\nfma.rn.f32 %0, %0, %1, 0f3f802e00;\nfma.rn.f32 %0, %0, %1, 0f3f802f00;" : "+f"(x) : "f"(a)); } else if (kind == 3) { asm volatile("fma.rn.f32 %0, %0, %1, 0f3f803000;\nfma.rn.f32 %0, %0, %1, 0f3f803100;\nfma.rn.f32 %0, %0, %1, 0f3f803200;\nfma.rn.f32 %0, %0, %1, 0f3f803300;\nfma.rn.f32 %0, %0, %1, 0f3f803400;\nfma.rn.f32 %0, %0, %1, 0f3f803500;\nfma.rn.f32 %0, %0, %1, 0f3f803600;\nfma.rn.f32 %0, %0, %1, 0f3f803700;\nfma.rn.f32 %0, %0, %1, 0f3f803800;\nfma.rn.f32 %0, %0, %1, 0f3f803900;\nfma.rn.f32 %0, %0, %1, 0f3f803a00;\nfma.rn.f32 %0, %0, %1, 0f3f803b00;\nfma.rn.f32 %0, %0, %1, 0f3f803c00;\nfma.rn.f32 %0, %0, %1, 0f3f803d00;\nfma.rn.f32 %0, %0, %1, 0f3f803e00;\nfma.rn.f32 %0, %0, %1, 0f3f803f00;" : "+f"(x) : "f"(a)); } else if (kind == 4) { asm volatile("fma.rn.f32 %0, %0, %1, 0f3f804000;\nfma.rn.f32 %0, %0, %1, 0f3f804100;\nfma.rn.f32 %0, %0, %1, 0f3f804200;\nfma.rn.f32 %0, %0, %1, 0f3f804300;\nfma.rn.f32 %0, %0, %1, 0f3f804400;\nfma.rn.f32 %0, %0, %1, 0f3f804500;\nfma.rn.f32 %0, %0, %1, 0f3f804600;\nfma.rn.f32 %0, %0, %1, 0f3f804700;\nfma.rn.f32 %0, %0, %1, 0f3f804800;\nfma.rn.f32 %0, %0, %1, 0f3f804900;\nfma.rn.f32 %0, %0, %1, 0f3f804a00;\nfma.rn.f32 %0, %0, %1, 0f3f804b00;\nfma.rn.f32 %0, %0, %1, 0f3f804c00;\nfma.rn.f32 %0, %0, %1, 0f3f804d00;\nfma.rn.f32 %0, %0, %1, 0f3f804e00;\nfma.rn.f32 %0, %0, %1, 0f3f804f00;" : "+f"(x) : "f"(a)); } else if (kind == 5) { asm volatile("fma.rn.f32 %0, %0, %1, 0f3f805000;\nfma.rn.f32 %0, %0, %1, 0f3f805100;\nfma.rn.f32 %0, %0, %1, 0f3f805200;\nfma.rn.f32 %0, %0, %1, 0f3f805300;\nfma.rn.f32 %0, %0, %1, 0f3f805400;\nfma.rn.f32 %0, %0, %1, 0f3f805500;\nfma.rn.f32 %0, %0, %1, 0f3f805600;\nfma.rn.f32 %0, %0, %1, 0f3f805700;\nfma.rn.f32 %0, %0, %1, 0f3f805800;\nfma.rn.f32 %0, %0, %1, 0f3f805900;\nfma.rn.f32 %0, %0, %1, 0f3f805a00;\nfma.rn.f32 %0, %0, %1, 0f3f805b00;\nfma.rn.f32 %0, %0, %1, 0f3f805c00;\nfma.rn.f32 %0, %0, %1, 0f3f805d00;\nfma.rn.f32 %0, %0, %1, 0f3f805e00;\nfma.rn.f32 %0, %0, %1, 0f3f805f00;" : "+f"(x) : "f"(a)); } else if (kind == 6) { asm volatile("fma.rn.f32 %0, %0, %1, 0f3f806000;\nfma.rn.f32 %0, %0, %1, 0f3f806100;\nfma.rn.f32 %0, %0, %1, 0f3f806200;\nfma.rn.f32 %0, %0, %1, 0f3f806300;\nfma.rn.f32 %0, %0, %1, 0f3f806400;\nfma.rn.f32 %0, %0, %1, 0f3f806500;\nfma.rn.f32 %0, %0, %1, 0f3f806600;\nfma.rn.f32 %0, %0, %1, 0f3f806700;\nfma.rn.f32 %0, %0, %1, 0f3f806800;\nfma.rn.f32 %0, %0, %1, 0f3f806900;\nfma.rn.f32 %0, %0, %1, 0f3f806a00;\nfma.rn.f32 %0, %0, %1, 0f3f806b00;\nfma.rn.f32 %0, %0, %1, 0f3f806c00;\nfma.rn.f32 %0, %0, %1, 0f3f806d00;\nfma.rn.f32 %0, %0, %1, 0f3f806e00;\nfma.rn.f32 %0, %0, %1, 0f3f806f00;" : "+f"(x) : "f"(a)); } else if (kind == 7) { asm volatile("fma.rn.f32 %0, %0, %1, 0f3f807000;\nfma.rn.f32 %0, %0, %1, 0f3f807100;\nfma.rn.f32 %0, %0, %1, 0f3f807200;\nfma.rn.f32 %0, %0, %1, 0f3f807300;\nfma.rn.f32 %0, %0, %1, 0f3f807400;\nfma.rn.f32 %0, %0, %1, 0f3f807500;\nfma.rn.f32 %0, %0, %1, 0f3f807600;\nfma.rn.f32 %0, %0, %1, 0f3f807700;\nfma.rn.f32 %0, %0, %1, 0f3f807800;\nfma.rn.f32 %0, %0, %1, 0f3f807900;\nfma.rn.f32 %0, %0, %1, 0f3f807a00;\nfma.rn.f32 %0, %0, %1, 0f3f807b00;\nfma.rn.f32 %0, %0, %1, 0f3f807c00;\nfma.rn.f32 %0, %0, %1, 0f3f807d00;\nfma.rn.f32 %0, %0, %1, 0f3f807e00;\nfma.rn.f32 %0, %0, %1, 0f3f807f00;" : "+f"(x) : "f"(a)); }
    kind = (kind + 1) % ways;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

extern "C" __global__ void short_blocks(float* out, float a, float b, int links) {
  float x = threadIdx.x;
#pragma unroll 16
  for (int i = 0; i < links; ++i) x = fmaf(x, a, b);
  if (x == 12345.678f) out[threadIdx.x] = x;
}
extern "C" __global__ void read_blocks(const float* in, float* out, float a, float b, int links) {
  float x = in[(size_t)blockIdx.x * blockDim.x + threadIdx.x];
#pragma unroll 16
  for (int i = 0; i < links; ++i) x = fmaf(x, a, b);
  if (x == 12345.678f) out[threadIdx.x] = x;
}
template <int B> __device__ void tree(const float* in, float* out) {
  __shared__ float part[B];
  int t = threadIdx.x;
  part[t] = in[(size_t)blockIdx.x * B + t];
  __syncthreads();
  for (int half = B / 2; half > 0; half >>= 1) {
    if (t < half) part[t] += part[t + half];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = part[0];
}
template <int B> __device__ void tree_warp(const float* in, float* out) {
  __shared__ float part[B];
  int t = threadIdx.x;
  part[t] = in[(size_t)blockIdx.x * B + t] + in[(size_t)(blockIdx.x + gridDim.x) * B + t];
  __syncthreads();
  for (int half = B / 2; half > 16; half >>= 1) {
    if (t < half) part[t] += part[t + half];
    __syncthreads();
  }
  if (t < 32) {
    float v = part[t];
    for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d);
    if (t == 0) out[blockIdx.x] = v;
  }
}
extern "C" __global__ void tree_64(const float* in, float* out) { tree<64>(in, out); }
extern "C" __global__ void tree_128(const float* in, float* out) { tree<128>(in, out); }
extern "C" __global__ void tree_512(const float* in, float* out) { tree<512>(in, out); }
extern "C" __global__ void tree_1024(const float* in, float* out) { tree<1024>(in, out); }
extern "C" __global__ void tree_warp_128(const float* in, float* out) { tree_warp<128>(in, out); }
extern "C" __global__ void tree_warp_256(const float* in, float* out) { tree_warp<256>(in, out); }
extern "C" __global__ void tree_warp_1024(const float* in, float* out) { tree_warp<1024>(in, out); }

extern "C" __global__ void diffuse(const float* in, float* out, int steps) {
  __shared__ float line[2][258];
  int t = threadIdx.x;
  line[0][t + 1] = in[blockIdx.x * 256 + t];
  if (t == 0) line[0][0] = line[1][0] = 0.0f, line[0][257] = line[1][257] = 0.0f;
  __syncthreads();
  int from = 0;
  for (int s = 0; s < steps; ++s) {
    line[1 - from][t + 1] = 0.5f * line[from][t + 1] + 0.25f * (line[from][t] + line[from][t + 2]);
    from = 1 - from;
    __syncthreads();
  }
  out[blockIdx.x * 256 + t] = line[from][t + 1];
}
extern "C" __global__ void far_stores(float* out, int rows, int columns) {
  size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  out[(i % rows) * columns + i / rows] = (float)i;
}
extern "C" __global__ void fill(float* p, size_t n) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
    unsigned h = (unsigned)i * 2654435761u; h ^= h >> 15; h *= 2246822519u; h ^= h >> 13;
    p[i] = 1.0f + (h & 0x7fffff) / 8388608.0f;
  }
}
#define RUN(label, call) do { for (int r = 0; r < 2; ++r) { call; } cudaError_t e = cudaDeviceSynchronize(); printf("POINT %s %s\n", label, cudaGetErrorString(e)); } while (0)
int main() {
  float *in, *out; unsigned* g;
  size_t n = 1 << 25;
  cudaMalloc(&in, n * 4); cudaMalloc(&out, n * 4); cudaMalloc(&g, 1 << 22);
  cudaMemset(g, 1, 1 << 22);
  fill<<<1024, 256>>>(in, n);
  char name[200];
  { Limits l; for (int k = 0; k < 8; ++k) l.l[k] = 0; sprintf(name, "masked lds threads=0"); RUN(name, (masked_lds<<<264, 1024>>>(g, l, 64))); }
  { Limits l; for (int k = 0; k < 8; ++k) l.l[k] = 32; sprintf(name, "masked lds threads=32"); RUN(name, (masked_lds<<<264, 1024>>>(g, l, 64))); }
  { Limits l; for (int k = 0; k < 8; ++k) l.l[k] = 1024; sprintf(name, "masked lds threads=1024"); RUN(name, (masked_lds<<<264, 1024>>>(g, l, 64))); }
  { Limits l; for (int k = 0; k < 8; ++k) l.l[k] = 0; sprintf(name, "masked sts threads=0"); RUN(name, (masked_sts<<<264, 1024>>>(g, l, 64))); }
  { Limits l; for (int k = 0; k < 8; ++k) l.l[k] = 32; sprintf(name, "masked sts threads=32"); RUN(name, (masked_sts<<<264, 1024>>>(g, l, 64))); }
  { Limits l; for (int k = 0; k < 8; ++k) l.l[k] = 1024; sprintf(name, "masked sts threads=1024"); RUN(name, (masked_sts<<<264, 1024>>>(g, l, 64))); }
  { Limits l; for (int k = 0; k < 8; ++k) l.l[k] = 0; sprintf(name, "masked both threads=0"); RUN(name, (masked_both<<<264, 1024>>>(g, l, 64))); }
  { Limits l; for (int k = 0; k < 8; ++k) l.l[k] = 32; sprintf(name, "masked both threads=32"); RUN(name, (masked_both<<<264, 1024>>>(g, l, 64))); }
  { Limits l; for (int k = 0; k < 8; ++k) l.l[k] = 1024; sprintf(name, "masked both threads=1024"); RUN(name, (masked_both<<<264, 1024>>>(g, l, 64))); }
  { Limits l; for (int k = 0; k < 8; ++k) l.l[k] = 0; sprintf(name, "masked ldg threads=0"); RUN(name, (masked_ldg<<<264, 1024>>>(g, l, 64))); }
  { Limits l; for (int k = 0; k < 8; ++k) l.l[k] = 32; sprintf(name, "masked ldg threads=32"); RUN(name, (masked_ldg<<<264, 1024>>>(g, l, 64))); }
  { Limits l; for (int k = 0; k < 8; ++k) l.l[k] = 0; sprintf(name, "masked stg threads=0"); RUN(name, (masked_stg<<<264, 1024>>>(g, l, 64))); }
  { Limits l; for (int k = 0; k < 8; ++k) l.l[k] = 32; sprintf(name, "masked stg threads=32"); RUN(name, (masked_stg<<<264, 1024>>>(g, l, 64))); }
  { Limits l; for (int k = 0; k < 8; ++k) l.l[k] = 1024; sprintf(name, "masked stg threads=1024"); RUN(name, (masked_stg<<<264, 1024>>>(g, l, 64))); }
  { Limits l; for (int k = 0; k < 8; ++k) l.l[k] = 0; sprintf(name, "masked reds threads=0"); RUN(name, (masked_reds<<<264, 1024>>>(g, l, 64))); }
  { Limits l; for (int k = 0; k < 8; ++k) l.l[k] = 32; sprintf(name, "masked reds threads=32"); RUN(name, (masked_reds<<<264, 1024>>>(g, l, 64))); }
  { Limits l; for (int k = 0; k < 8; ++k) l.l[k] = 1024; sprintf(name, "masked reds threads=1024"); RUN(name, (masked_reds<<<264, 1024>>>(g, l, 64))); }
  { Limits l; for (int k = 0; k < 8; ++k) l.l[k] = 0; sprintf(name, "masked mul threads=0"); RUN(name, (masked_mul<<<264, 1024>>>(g, l, 64))); }
  { Limits l; for (int k = 0; k < 8; ++k) l.l[k] = 32; sprintf(name, "masked mul threads=32"); RUN(name, (masked_mul<<<264, 1024>>>(g, l, 64))); }
  { Limits l; for (int k = 0; k < 8; ++k) l.l[k] = 1024; sprintf(name, "masked mul threads=1024"); RUN(name, (masked_mul<<<264, 1024>>>(g, l, 64))); }
  sprintf(name, "switch body=2 ways=1 full"); RUN(name, ((switch_2<<<264, 1024>>>(out, 1, 0.999f, 64))));
  sprintf(name, "switch body=2 ways=1 lone"); RUN(name, ((switch_2<<<132, 32>>>(out, 1, 0.999f, 256))));
  sprintf(name, "switch body=2 ways=2 full"); RUN(name, ((switch_2<<<264, 1024>>>(out, 2, 0.999f, 64))));
  sprintf(name, "switch body=2 ways=2 lone"); RUN(name, ((switch_2<<<132, 32>>>(out, 2, 0.999f, 256))));
  sprintf(name, "switch body=2 ways=4 full"); RUN(name, ((switch_2<<<264, 1024>>>(out, 4, 0.999f, 64))));
  sprintf(name, "switch body=2 ways=4 lone"); RUN(name, ((switch_2<<<132, 32>>>(out, 4, 0.999f, 256))));
  sprintf(name, "switch body=2 ways=8 full"); RUN(name, ((switch_2<<<264, 1024>>>(out, 8, 0.999f, 64))));
  sprintf(name, "switch body=2 ways=8 lone"); RUN(name, ((switch_2<<<132, 32>>>(out, 8, 0.999f, 256))));
  sprintf(name, "chain body=2 ways=1 full"); RUN(name, ((chain_2<<<264, 1024>>>(out, 1, 0.999f, 64))));
  sprintf(name, "chain body=2 ways=1 lone"); RUN(name, ((chain_2<<<132, 32>>>(out, 1, 0.999f, 256))));
  sprintf(name, "chain body=2 ways=2 full"); RUN(name, ((chain_2<<<264, 1024>>>(out, 2, 0.999f, 64))));
  sprintf(name, "chain body=2 ways=2 lone"); RUN(name, ((chain_2<<<132, 32>>>(out, 2, 0.999f, 256))));
  sprintf(name, "chain body=2 ways=4 full"); RUN(name, ((chain_2<<<264, 1024>>>(out, 4, 0.999f, 64))));
  sprintf(name, "chain body=2 ways=4 lone"); RUN(name, ((chain_2<<<132, 32>>>(out, 4, 0.999f, 256))));
  sprintf(name, "chain body=2 ways=8 full"); RUN(name, ((chain_2<<<264, 1024>>>(out, 8, 0.999f, 64))));
  sprintf(name, "chain body=2 ways=8 lone"); RUN(name, ((chain_2<<<132, 32>>>(out, 8, 0.999f, 256))));
  sprintf(name, "switch body=16 ways=1 full"); RUN(name, ((switch_16<<<264, 1024>>>(out, 1, 0.999f, 64))));
  sprintf(name, "switch body=16 ways=1 lone"); RUN(name, ((switch_16<<<132, 32>>>(out, 1, 0.999f, 256))));
  sprintf(name, "switch body=16 ways=2 full"); RUN(name, ((switch_16<<<264, 1024>>>(out, 2, 0.999f, 64))));
  sprintf(name, "switch body=16 ways=2 lone"); RUN(name, ((switch_16<<<132, 32>>>(out, 2, 0.999f, 256))));
  sprintf(name, "switch body=16 ways=4 full"); RUN(name, ((switch_16<<<264, 1024>>>(out, 4, 0.999f, 64))));
  sprintf(name, "switch body=16 ways=4 lone"); RUN(name, ((switch_16<<<132, 32>>>(out, 4, 0.999f, 256))));
  sprintf(name, "switch body=16 ways=8 full"); RUN(name, ((switch_16<<<264, 1024>>>(out, 8, 0.999f, 64))));
  sprintf(name, "switch body=16 ways=8 lone"); RUN(name, ((switch_16<<<132, 32>>>(out, 8, 0.999f, 256))));
  sprintf(name, "chain body=16 ways=1 full"); RUN(name, ((chain_16<<<264, 1024>>>(out, 1, 0.999f, 64))));
  sprintf(name, "chain body=16 ways=1 lone"); RUN(name, ((chain_16<<<132, 32>>>(out, 1, 0.999f, 256))));
  sprintf(name, "chain body=16 ways=2 full"); RUN(name, ((chain_16<<<264, 1024>>>(out, 2, 0.999f, 64))));
  sprintf(name, "chain body=16 ways=2 lone"); RUN(name, ((chain_16<<<132, 32>>>(out, 2, 0.999f, 256))));
  sprintf(name, "chain body=16 ways=4 full"); RUN(name, ((chain_16<<<264, 1024>>>(out, 4, 0.999f, 64))));
  sprintf(name, "chain body=16 ways=4 lone"); RUN(name, ((chain_16<<<132, 32>>>(out, 4, 0.999f, 256))));
  sprintf(name, "chain body=16 ways=8 full"); RUN(name, ((chain_16<<<264, 1024>>>(out, 8, 0.999f, 64))));
  sprintf(name, "chain body=16 ways=8 lone"); RUN(name, ((chain_16<<<132, 32>>>(out, 8, 0.999f, 256))));
  sprintf(name, "short block=64 links=0 blocks=33792"); RUN(name, (short_blocks<<<33792, 64>>>(out, 0.999f, 0.1f, 0)));
  sprintf(name, "short block=64 links=16 blocks=33792"); RUN(name, (short_blocks<<<33792, 64>>>(out, 0.999f, 0.1f, 16)));
  sprintf(name, "short block=64 links=48 blocks=33792"); RUN(name, (short_blocks<<<33792, 64>>>(out, 0.999f, 0.1f, 48)));
  sprintf(name, "short block=64 links=96 blocks=33792"); RUN(name, (short_blocks<<<33792, 64>>>(out, 0.999f, 0.1f, 96)));
  sprintf(name, "short block=64 links=160 blocks=33792"); RUN(name, (short_blocks<<<33792, 64>>>(out, 0.999f, 0.1f, 160)));
  sprintf(name, "short block=64 links=256 blocks=33792"); RUN(name, (short_blocks<<<33792, 64>>>(out, 0.999f, 0.1f, 256)));
  sprintf(name, "short block=64 links=400 blocks=33792"); RUN(name, (short_blocks<<<33792, 64>>>(out, 0.999f, 0.1f, 400)));
  sprintf(name, "short block=64 links=640 blocks=33792"); RUN(name, (short_blocks<<<33792, 64>>>(out, 0.999f, 0.1f, 640)));
  sprintf(name, "short block=256 links=0 blocks=33792"); RUN(name, (short_blocks<<<33792, 256>>>(out, 0.999f, 0.1f, 0)));
  sprintf(name, "short block=256 links=16 blocks=33792"); RUN(name, (short_blocks<<<33792, 256>>>(out, 0.999f, 0.1f, 16)));
  sprintf(name, "short block=256 links=48 blocks=33792"); RUN(name, (short_blocks<<<33792, 256>>>(out, 0.999f, 0.1f, 48)));
  sprintf(name, "short block=256 links=96 blocks=33792"); RUN(name, (short_blocks<<<33792, 256>>>(out, 0.999f, 0.1f, 96)));
  sprintf(name, "short block=256 links=160 blocks=33792"); RUN(name, (short_blocks<<<33792, 256>>>(out, 0.999f, 0.1f, 160)));
  sprintf(name, "short block=256 links=256 blocks=33792"); RUN(name, (short_blocks<<<33792, 256>>>(out, 0.999f, 0.1f, 256)));
  sprintf(name, "short block=256 links=400 blocks=33792"); RUN(name, (short_blocks<<<33792, 256>>>(out, 0.999f, 0.1f, 400)));
  sprintf(name, "short block=256 links=640 blocks=33792"); RUN(name, (short_blocks<<<33792, 256>>>(out, 0.999f, 0.1f, 640)));
  sprintf(name, "short block=1024 links=0 blocks=8448"); RUN(name, (short_blocks<<<8448, 1024>>>(out, 0.999f, 0.1f, 0)));
  sprintf(name, "short block=1024 links=16 blocks=8448"); RUN(name, (short_blocks<<<8448, 1024>>>(out, 0.999f, 0.1f, 16)));
  sprintf(name, "short block=1024 links=48 blocks=8448"); RUN(name, (short_blocks<<<8448, 1024>>>(out, 0.999f, 0.1f, 48)));
  sprintf(name, "short block=1024 links=96 blocks=8448"); RUN(name, (short_blocks<<<8448, 1024>>>(out, 0.999f, 0.1f, 96)));
  sprintf(name, "short block=1024 links=160 blocks=8448"); RUN(name, (short_blocks<<<8448, 1024>>>(out, 0.999f, 0.1f, 160)));
  sprintf(name, "short block=1024 links=256 blocks=8448"); RUN(name, (short_blocks<<<8448, 1024>>>(out, 0.999f, 0.1f, 256)));
  sprintf(name, "short block=1024 links=400 blocks=8448"); RUN(name, (short_blocks<<<8448, 1024>>>(out, 0.999f, 0.1f, 400)));
  sprintf(name, "short block=1024 links=640 blocks=8448"); RUN(name, (short_blocks<<<8448, 1024>>>(out, 0.999f, 0.1f, 640)));
  sprintf(name, "read block=64 links=0 blocks=33792"); RUN(name, (read_blocks<<<33792, 64>>>(in, out, 0.999f, 0.1f, 0)));
  sprintf(name, "read block=64 links=64 blocks=33792"); RUN(name, (read_blocks<<<33792, 64>>>(in, out, 0.999f, 0.1f, 64)));
  sprintf(name, "read block=64 links=256 blocks=33792"); RUN(name, (read_blocks<<<33792, 64>>>(in, out, 0.999f, 0.1f, 256)));
  sprintf(name, "read block=256 links=0 blocks=33792"); RUN(name, (read_blocks<<<33792, 256>>>(in, out, 0.999f, 0.1f, 0)));
  sprintf(name, "read block=256 links=64 blocks=33792"); RUN(name, (read_blocks<<<33792, 256>>>(in, out, 0.999f, 0.1f, 64)));
  sprintf(name, "read block=256 links=256 blocks=33792"); RUN(name, (read_blocks<<<33792, 256>>>(in, out, 0.999f, 0.1f, 256)));
  sprintf(name, "tree block=64"); RUN(name, (tree_64<<<131072, 64>>>(in, out)));
  sprintf(name, "tree block=64 few"); RUN(name, (tree_64<<<132, 64>>>(in, out)));
  sprintf(name, "tree block=128"); RUN(name, (tree_128<<<65536, 128>>>(in, out)));
  sprintf(name, "tree block=128 few"); RUN(name, (tree_128<<<132, 128>>>(in, out)));
  sprintf(name, "tree block=512"); RUN(name, (tree_512<<<16384, 512>>>(in, out)));
  sprintf(name, "tree block=512 few"); RUN(name, (tree_512<<<132, 512>>>(in, out)));
  sprintf(name, "tree block=1024"); RUN(name, (tree_1024<<<8192, 1024>>>(in, out)));
  sprintf(name, "tree block=1024 few"); RUN(name, (tree_1024<<<132, 1024>>>(in, out)));
  sprintf(name, "tree_warp block=128"); RUN(name, (tree_warp_128<<<65536, 128>>>(in, out)));
  sprintf(name, "tree_warp block=256"); RUN(name, (tree_warp_256<<<32768, 256>>>(in, out)));
  sprintf(name, "tree_warp block=1024"); RUN(name, (tree_warp_1024<<<8192, 1024>>>(in, out)));
  sprintf(name, "diffuse blocks=132"); RUN(name, (diffuse<<<132, 256>>>(in, out, 200)));
  sprintf(name, "diffuse blocks=1056"); RUN(name, (diffuse<<<1056, 256>>>(in, out, 200)));
  sprintf(name, "diffuse blocks=4224"); RUN(name, (diffuse<<<4224, 256>>>(in, out, 200)));
  sprintf(name, "far rows=2^8"); RUN(name, (far_stores<<<65536, 256>>>(out, 1 << 8, (1 << 24) >> 8)));
  sprintf(name, "far rows=2^12"); RUN(name, (far_stores<<<65536, 256>>>(out, 1 << 12, (1 << 24) >> 12)));
  sprintf(name, "far rows=2^16"); RUN(name, (far_stores<<<65536, 256>>>(out, 1 << 16, (1 << 24) >> 16)));
  sprintf(name, "far rows=2^18"); RUN(name, (far_stores<<<65536, 256>>>(out, 1 << 18, (1 << 24) >> 18)));
  sprintf(name, "far rows=2^19"); RUN(name, (far_stores<<<65536, 256>>>(out, 1 << 19, (1 << 24) >> 19)));
  sprintf(name, "far rows=2^20"); RUN(name, (far_stores<<<65536, 256>>>(out, 1 << 20, (1 << 24) >> 20)));
  sprintf(name, "far rows=2^21"); RUN(name, (far_stores<<<65536, 256>>>(out, 1 << 21, (1 << 24) >> 21)));
  sprintf(name, "far rows=2^22"); RUN(name, (far_stores<<<65536, 256>>>(out, 1 << 22, (1 << 24) >> 22)));
  return 0;
}
