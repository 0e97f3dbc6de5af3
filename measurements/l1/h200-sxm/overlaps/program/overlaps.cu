// Loads that L1 or shared memory answers beside arithmetic: how the two share an SM's time.
#include <cstdio>
#include <cuda_runtime.h>

// KIND 0: shared memory, a word a lane; 1: global memory in L1, a word a lane; 2: one word for all lanes, in L1.
// A turn: G groups of a load and FMAS multiply-adds with what came.
template <int KIND, int FMAS, int G>
__global__ void front(const float* in, float* out, int turns) {
  __shared__ float own[1024];
  own[threadIdx.x & 1023] = in[threadIdx.x & 1023];
  __syncthreads();
  float a[4] = {1.0f, 2.0f, 3.0f, 4.0f};
  unsigned shared = (unsigned)__cvta_generic_to_shared(own) + threadIdx.x % 32 * 4;
  const float* global = in + (KIND == 1 ? threadIdx.x % 32 : 0);
#pragma unroll 1
  for (int t = 0; t < turns; ++t) {
    shared ^= 1024;
    global = in + ((t & 1) * 256 + (KIND == 1 ? threadIdx.x % 32 : 0));
    float x[G];
#pragma unroll
    for (int g = 0; g < G; ++g) {
      if (KIND == 0) asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x[g]) : "r"(shared + g * 128));
      else asm volatile("ld.global.f32 %0, [%1];" : "=f"(x[g]) : "l"(global + g * 32));
    }
#pragma unroll
    for (int g = 0; g < G; ++g)
#pragma unroll
      for (int f = 0; f < FMAS; ++f) a[(g * FMAS + f) % 4] = a[(g * FMAS + f) % 4] * x[g] + x[g];
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = a[0] + a[1] + a[2] + a[3];
}

template <int KIND, int FMAS, int G>
void all(const float* in, float* out) {
  for (int blocks : {1, 2, 4, 8}) front<KIND, FMAS, G><<<132 * blocks, 256>>>(in, out, 2000 / G / blocks * 4);
}
template <int KIND>
void kinds(const float* in, float* out) {
  all<KIND, 1, 4>(in, out);
  all<KIND, 2, 1>(in, out);
  all<KIND, 2, 4>(in, out);
  all<KIND, 3, 4>(in, out);
  all<KIND, 5, 4>(in, out);
  all<KIND, 8, 4>(in, out);
  all<KIND, 3, 1>(in, out);
  all<KIND, 3, 8>(in, out);
}
int main() {
  float *out, *in;
  cudaMalloc(&out, 1 << 24);
  cudaMalloc(&in, 1 << 20);
  cudaMemset(in, 0, 1 << 20);
  kinds<0>(in, out);
  kinds<1>(in, out);
  kinds<2>(in, out);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
