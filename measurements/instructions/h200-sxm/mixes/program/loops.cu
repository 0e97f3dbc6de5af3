// Loops of straight code of so many instructions of 16 bytes: clocks of each iteration, by warps an SM.
#include <cuda_runtime.h>

#include <cstdio>
template <int N>
__global__ void __launch_bounds__(1024) body(long long* clocks, float* out, float m, int turns) {
  float x[4] = {threadIdx.x * 0.1f, 1.0f, 2.0f, 3.0f};
  __syncthreads();
#pragma unroll 1
  for (int k = 0; k < turns; ++k) {
    long long begin = clock64();
#pragma unroll
    for (int j = 0; j < N; ++j) asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(x[j % 4]) : "f"(m));
    long long end = clock64();
    if (threadIdx.x % 32 == 0 && threadIdx.x / 32 == (k % (blockDim.x / 32)))
      clocks[blockIdx.x * turns + k] = end - begin;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = x[0] + x[1] + x[2] + x[3];
}
// the same work with both branches of a switch that warps take apart, so that warps are at different places
template <int N>
void run(long long* clk, float* out) {
  for (int blocks : {1, 132})
    for (int warps : {1, 2, 4, 8, 16, 32}) {
      long long h[12];
      for (int r = 0; r < 2; ++r) {
        body<N><<<blocks, 32 * warps>>>(clk, out, 0.5f, 12);
        cudaMemcpy(h, clk, sizeof h, cudaMemcpyDeviceToHost);
        double s = 0;
        for (int k = 4; k < 12; ++k) s += h[k];
        printf("%d,%d,%d,%d,%.4f,%.4f,%.4f\n", N, blocks, warps, r, (double)h[0] / N, (double)h[1] / N, s / 8 / N);
      }
    }
}
int main() {
  long long* clk;
  float* out;
  cudaMalloc(&clk, 8 * 12 * 132);
  cudaMalloc(&out, 4 * 1024 * 132);
  printf("instructions,blocks,warps,launch,first,second,later\n");
  run<256>(clk, out);
  run<512>(clk, out);
  run<1024>(clk, out);
  run<1536>(clk, out);
  run<2048>(clk, out);
  run<2560>(clk, out);
  run<3072>(clk, out);
  run<4096>(clk, out);
  run<6144>(clk, out);
  run<7168>(clk, out);
  run<8192>(clk, out);
  run<9216>(clk, out);
  run<12288>(clk, out);
  run<16384>(clk, out);
  fprintf(stderr, "%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
