// Words that a thread stores one by one into places of its own: how many sectors L2 gets of them.
#include <cstdio>
#include <cstdlib>

template <int STRIDE, int COUNT, bool LOADED>
__global__ void store_apart(float* y, const float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = LOADED ? x[i] : i * 0.37f;
#pragma unroll
  for (int k = 0; k < COUNT; ++k) y[(size_t)i * STRIDE + k] = v + k;
}

template <int COUNT>
__global__ void store_if(float* y, const float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
#pragma unroll
  for (int k = 0; k < COUNT; ++k)
    if (v > 0.1f * k) y[(size_t)i * COUNT + k] = v + k;
}

template <int COUNT>
__global__ void store_bytes(unsigned char* y, const float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
#pragma unroll
  for (int k = 0; k < COUNT; ++k) y[(size_t)i * COUNT + k] = (unsigned char)(v * (k + 1) * 99.f);
}

float *y, *x;
const int n = 1 << 19;
#define RUN(...) __VA_ARGS__<<<n / 256, 256>>>(y, x, n)
template <int STRIDE>
void strided() {
  RUN(store_apart<STRIDE, 1, false>);
  if (STRIDE >= 2) RUN(store_apart<STRIDE, 2, false>);
  if (STRIDE >= 3) RUN(store_apart<STRIDE, 3, false>);
  if (STRIDE >= 4) RUN(store_apart<STRIDE, 4, false>);
  if (STRIDE >= 6) RUN(store_apart<STRIDE, 6, false>);
  if (STRIDE >= 8) RUN(store_apart<STRIDE, 8, false>);
  if (STRIDE >= 2) RUN(store_apart<STRIDE, 2, true>);
  if (STRIDE >= 4) RUN(store_apart<STRIDE, 4, true>);
  if (STRIDE >= 8) RUN(store_apart<STRIDE, 8, true>);
}
int main() {
  cudaMalloc(&y, (size_t)n * 128);
  cudaMalloc(&x, n * 4);
  float* h = (float*)malloc(n * 4);
  for (int i = 0; i < n; ++i) h[i] = rand() / (float)RAND_MAX;
  cudaMemcpy(x, h, n * 4, cudaMemcpyHostToDevice);
  strided<2>();
  strided<3>();
  strided<4>();
  strided<5>();
  strided<6>();
  strided<8>();
  strided<12>();
  strided<16>();
  strided<32>();
  RUN(store_if<2>);
  RUN(store_if<4>);
  RUN(store_if<8>);
  store_bytes<1><<<n / 256, 256>>>((unsigned char*)y, x, n);
  store_bytes<2><<<n / 256, 256>>>((unsigned char*)y, x, n);
  store_bytes<3><<<n / 256, 256>>>((unsigned char*)y, x, n);
  store_bytes<4><<<n / 256, 256>>>((unsigned char*)y, x, n);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
