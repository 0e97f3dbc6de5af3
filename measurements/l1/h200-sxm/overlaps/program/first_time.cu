// Code that runs once: how much longer where it is not in the instruction caches.
#include <cstdio>
#include <cuda_runtime.h>

template <int N, bool WIDE>
__device__ __forceinline__ void work(float* a, float b) {
#pragma unroll
  for (int k = 0; k < N; ++k)
    asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(a[WIDE ? k % 8 : 0]) : "f"(b));
}
template <int N, bool WIDE>
__global__ void straight(float* out, float b) {
  float a[8] = {b, b, b, b, b, b, b, b};
  work<N, WIDE>(a, b);
  float s = 0;
  for (int k = 0; k < 8; ++k) s += a[k];
  out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
// The same twice over in a loop: the second time it is there.
template <int N, bool WIDE>
__global__ void twice(float* out, float b, int rounds) {
  float a[8] = {b, b, b, b, b, b, b, b};
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) work<N, WIDE>(a, b);
  float s = 0;
  for (int k = 0; k < 8; ++k) s += a[k];
  out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
// G pieces of 16 instructions, S instructions that never run between them.
template <int G, int S>
__global__ void skipping(float* out, float b, int flags) {
  float a[8] = {b, b, b, b, b, b, b, b};
#pragma unroll
  for (int g = 0; g < G; ++g) {
    work<16, false>(a, b);
    if (flags & (1 << (g & 15))) {
      work<S, false>(a, b + g);
      out[g] = a[0];
    }
  }
  float s = 0;
  for (int k = 0; k < 8; ++k) s += a[k];
  out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
// Loads from memory between pieces of code of N instructions, each waited for.
template <int G, int N>
__global__ void loading(const float* in, float* out, float b) {
  float a[8] = {b, b, b, b, b, b, b, b};
  int at = threadIdx.x;
#pragma unroll
  for (int g = 0; g < G; ++g) {
    float x;
    asm volatile("ld.global.f32 %0, [%1];" : "=f"(x) : "l"(in + at + g * 65536));
    a[0] += x;
    work<N, false>(a, b);
    at += a[0] == 1234.5f;
  }
  float s = 0;
  for (int k = 0; k < 8; ++k) s += a[k];
  out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
__constant__ float table[16000];
// A walk through constant memory, each word waited for.
__global__ void constants(float* out, int n, int step) {
  float s = 0;
  int at = 0;
#pragma unroll 1
  for (int k = 0; k < n; ++k) {
    float x = table[at];
    s += x;
    at += step + (x == 77.0f);
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
// Read at places that ptxas knows: operands of instructions.
template <int N>
__global__ void constant_operands(float* out, float b) {
  float s = b;
#pragma unroll
  for (int k = 0; k < N; ++k) s = s * b + table[k * 4];
  out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}

int main() {
  float *out, *in;
  cudaMalloc(&out, 1 << 24);
  cudaMalloc(&in, 64 << 20);
  cudaMemset(in, 0, 64 << 20);
  cudaMemset(out, 0, 1 << 24);
  int shapes[3][2] = {{1, 32}, {132, 32}, {132, 256}};
  for (auto& s : shapes) {
    int g = s[0], b = s[1];
#define RUN(...) __VA_ARGS__
    straight<64, false><<<g, b>>>(out, 0.5f);
    straight<256, false><<<g, b>>>(out, 0.5f);
    straight<1024, false><<<g, b>>>(out, 0.5f);
    straight<4096, false><<<g, b>>>(out, 0.5f);
    straight<256, true><<<g, b>>>(out, 0.5f);
    straight<1024, true><<<g, b>>>(out, 0.5f);
    straight<4096, true><<<g, b>>>(out, 0.5f);
    twice<1024, false><<<g, b>>>(out, 0.5f, 1);
    twice<1024, false><<<g, b>>>(out, 0.5f, 2);
    twice<1024, false><<<g, b>>>(out, 0.5f, 3);
    twice<1024, true><<<g, b>>>(out, 0.5f, 1);
    twice<1024, true><<<g, b>>>(out, 0.5f, 2);
    twice<1024, true><<<g, b>>>(out, 0.5f, 3);
    skipping<16, 32><<<g, b>>>(out, 0.5f, 0);
    skipping<16, 128><<<g, b>>>(out, 0.5f, 0);
    skipping<64, 32><<<g, b>>>(out, 0.5f, 0);
    skipping<16, 512><<<g, b>>>(out, 0.5f, 0);
    loading<8, 16><<<g, b>>>(in, out, 0.5f);
    loading<8, 128><<<g, b>>>(in, out, 0.5f);
    constants<<<g, b>>>(out, 16, 1);
    constants<<<g, b>>>(out, 256, 1);
    constants<<<g, b>>>(out, 1024, 1);
    constants<<<g, b>>>(out, 4096, 1);
    constants<<<g, b>>>(out, 64, 16);
    constants<<<g, b>>>(out, 256, 16);
    constants<<<g, b>>>(out, 64, 64);
    constants<<<g, b>>>(out, 192, 64);
    constant_operands<64><<<g, b>>>(out, 0.5f);
    constant_operands<256><<<g, b>>>(out, 0.5f);
    constant_operands<1024><<<g, b>>>(out, 0.5f);
  }
  cudaError_t e = cudaDeviceSynchronize();
  printf("%s\n", cudaGetErrorString(e));
}
