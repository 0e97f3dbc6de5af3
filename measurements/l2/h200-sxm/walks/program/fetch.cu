// Code that a launch runs for the first time: straight code by its length; hops over code that never runs.
#include <cstdio>
#include <cstdlib>

#define FMA4 asm volatile("fma.rn.f32 %0,%0,%4,%5; fma.rn.f32 %1,%1,%4,%5; fma.rn.f32 %2,%2,%4,%5; fma.rn.f32 %3,%3,%4,%5;" : "+f"(a), "+f"(b), "+f"(c), "+f"(d) : "f"(m), "f"(k));

// As many multiply-adds in a row as N says.
template <int N> __global__ void straight(float* out, const float* in, float m, int never) {
  float a = in[threadIdx.x], b = a + 1, c = a + 2, d = a + 3, k = 0.5f;
#pragma unroll
  for (int i = 0; i < N / 4; ++i) FMA4
  out[blockIdx.x * blockDim.x + threadIdx.x] = a + b + c + d;
}

// HOPS times 16 multiply-adds, each behind GAP others that are jumped over.
template <int HOPS, int GAP> __global__ void hops(float* out, const float* in, float m, int never) {
  float a = in[threadIdx.x], b = a + 1, c = a + 2, d = a + 3, k = 0.5f;
#pragma unroll
  for (int h = 0; h < HOPS; ++h) {
    if (never == h) {
#pragma unroll
      for (int i = 0; i < GAP / 4; ++i) FMA4
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) FMA4
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = a + b + c + d;
}

// The same work in a loop of 64.
__global__ void looped(float* out, const float* in, float m, int trips) {
  float a = in[threadIdx.x], b = a + 1, c = a + 2, d = a + 3, k = 0.5f;
#pragma unroll 1
  for (int t = 0; t < trips; ++t) {
#pragma unroll
    for (int i = 0; i < 16; ++i) FMA4
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = a + b + c + d;
}

int main() {
  float *in, *out, host[1024];
  for (int i = 0; i < 1024; ++i) host[i] = (float)rand() / RAND_MAX;
  cudaMalloc(&in, 4096);
  cudaMalloc(&out, 1056 * 1024 * 4);
  cudaMemcpy(in, host, 4096, cudaMemcpyHostToDevice);
  const float m = 0.999f;
  const int shapes[][2] = {{1, 32}, {132, 256}, {528, 256}};
  for (auto& s : shapes)
    for (int r = 0; r < 2; ++r) {
#define S(N) straight<N><<<s[0], s[1]>>>(out, in, m, -1);
      S(16) S(64) S(128) S(256) S(384) S(512) S(768) S(1024) S(1536)
#define H(N, G) hops<N, G><<<s[0], s[1]>>>(out, in, m, -1);
      H(2, 64) H(4, 64) H(8, 64) H(16, 64) H(4, 256) H(8, 256) H(16, 256) H(4, 16) H(8, 16) H(16, 16)
      for (int t : {1, 2, 4, 6, 8, 12, 16, 24}) looped<<<s[0], s[1]>>>(out, in, m, t);
    }
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  cudaMemcpy(host, out, 4096, cudaMemcpyDeviceToHost);
  printf("%g %g\n", host[0], host[31]);
}
