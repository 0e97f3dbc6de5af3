// What a launch costs besides its work: code that is met for the first time, parameters, pages.
#include <cuda_runtime.h>
#include <stdint.h>
template <int N> __device__ __forceinline__ void work(float& a, float& b, float& c, float& d, float m) {
#pragma unroll
  for (int i = 0; i < N / 4; ++i) {
    asm volatile("fma.rn.f32 %0, %0, %1, %0;" : "+f"(a) : "f"(m));
    asm volatile("fma.rn.f32 %0, %0, %1, %0;" : "+f"(b) : "f"(m));
    asm volatile("fma.rn.f32 %0, %0, %1, %0;" : "+f"(c) : "f"(m));
    asm volatile("fma.rn.f32 %0, %0, %1, %0;" : "+f"(d) : "f"(m));
  }
}
template <int N> __global__ void straight(float* out, float m) {
  float a = threadIdx.x, b = a + 1, c = a + 2, d = a + 3;
  work<N>(a, b, c, d, m);
  if (a + b + c + d == 1.2345f) out[threadIdx.x] = a;
}
__global__ void looped(float* out, float m, int trips) {
  float a = threadIdx.x, b = a + 1, c = a + 2, d = a + 3;
#pragma unroll 1
  for (int i = 0; i < trips; ++i) work<64>(a, b, c, d, m);
  if (a + b + c + d == 1.2345f) out[threadIdx.x] = a;
}
template <int W> struct Words { int v[W]; };
template <int W> __global__ void words(int* out, Words<W> p) {
  int s = 0;
#pragma unroll
  for (int i = 0; i < (W < 8 ? W : 8); ++i) s += p.v[i * (W / (W < 8 ? W : 8))];
  out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
// mode 0: loads, 1: stores, 2: a load of dense data and a store; 16 B a lane, a row a block
template <int MODE> __global__ void rows(uint4* far, const uint4* near_, int64_t pitch) {
  uint4 v = {1u + threadIdx.x, 2, 3, blockIdx.x};
  uint4* place = far + blockIdx.x * pitch + threadIdx.x;
  if (MODE == 0) {
    v = *place;
    if (v.x == 0x12345678u && v.y == 0x9abcdef0u) *place = v;
  } else {
    if (MODE == 2) v = near_[blockIdx.x * blockDim.x + threadIdx.x];
    *place = v;
  }
}
extern "C" {
int go_straight(int n, int blocks, int threads, float* out) {
  float m = 0.25f;
  switch (n) {
    case 64: straight<64><<<blocks, threads>>>(out, m); break;
    case 256: straight<256><<<blocks, threads>>>(out, m); break;
    case 512: straight<512><<<blocks, threads>>>(out, m); break;
    case 768: straight<768><<<blocks, threads>>>(out, m); break;
    case 1024: straight<1024><<<blocks, threads>>>(out, m); break;
    case 1536: straight<1536><<<blocks, threads>>>(out, m); break;
    case 2048: straight<2048><<<blocks, threads>>>(out, m); break;
    case 3072: straight<3072><<<blocks, threads>>>(out, m); break;
    case 4096: straight<4096><<<blocks, threads>>>(out, m); break;
    case 6144: straight<6144><<<blocks, threads>>>(out, m); break;
    case 8192: straight<8192><<<blocks, threads>>>(out, m); break;
    default: return -1;
  }
  return cudaGetLastError();
}
int go_looped(int n, int blocks, int threads, float* out) {
  looped<<<blocks, threads>>>(out, 0.25f, n / 64);
  return cudaGetLastError();
}
int go_words(int w, int blocks, int threads, int* out) {
  if (w == 1) { Words<1> p{}; p.v[0] = 5; words<1><<<blocks, threads>>>(out, p); }
  else if (w == 64) { Words<64> p{}; p.v[8] = 5; words<64><<<blocks, threads>>>(out, p); }
  else if (w == 256) { Words<256> p{}; p.v[32] = 5; words<256><<<blocks, threads>>>(out, p); }
  else { Words<1000> p{}; p.v[125] = 5; words<1000><<<blocks, threads>>>(out, p); }
  return cudaGetLastError();
}
int go_rows(int mode, int blocks, int threads, uint4* far, uint4* near_, int64_t pitch) {
  if (mode == 0) rows<0><<<blocks, threads>>>(far, near_, pitch);
  if (mode == 1) rows<1><<<blocks, threads>>>(far, near_, pitch);
  if (mode == 2) rows<2><<<blocks, threads>>>(far, near_, pitch);
  return cudaGetLastError();
}
}
