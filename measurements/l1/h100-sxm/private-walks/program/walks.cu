// Threads that walk through data of their own again and again, and rows that a thread each goes
// along. Arguments: none. Every launch is made once; `measure.sh` counts.
#include <cstdio>
#include <cstdlib>

// `deep` elements of each thread, a warp's side by side, `times` times.
__global__ void columns(float* out, const float* __restrict__ p, int deep, int times, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
  for (int t = 0; t < times; ++t)
#pragma unroll 1
    for (int d = 0; d < deep; ++d) s += p[(size_t)d * n + i] * t;
  out[i] = s;
}

// The same, blocks that keep in step.
__global__ void in_step(float* out, const float* __restrict__ p, int deep, int times, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
  for (int t = 0; t < times; ++t) {
#pragma unroll 1
    for (int d = 0; d < deep; ++d) s += p[(size_t)d * n + i] * t;
    __syncthreads();
  }
  out[i] = s;
}

// Rows of `w` elements, one a thread: read, written, or both, an element at a time.
template <bool READS, bool WRITES>
__global__ void rows(float* __restrict__ q, const float* __restrict__ p, int w, int pitch) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = i;
#pragma unroll 4
  for (int x = 0; x < w; ++x) {
    if (READS) s += p[(size_t)i * pitch + x];
    else s = s * 1.0001f + 1.f;
    if (WRITES) q[(size_t)i * pitch + x] = s;
  }
  if (!WRITES) q[i] = s;
}

int main() {
  cudaDeviceProp device;
  cudaGetDeviceProperties(&device, 0);
  int sms = device.multiProcessorCount;
  float *out, *p;
  size_t bytes = 1ull << 30;
  cudaMalloc(&out, bytes);
  cudaMalloc(&p, bytes);
  cudaMemset(p, 0, bytes);
  cudaMemset(out, 0, bytes);
  auto check = [] {
    cudaError_t error = cudaDeviceSynchronize();
    if (error != cudaSuccess) { printf("%s\n", cudaGetErrorString(error)); exit(1); }
  };
  printf("kernel,block,blocks,deep,times,pitch\n");
  int shapes[][2] = {{256, 8}, {1024, 2}, {128, 16}, {256, 4}, {64, 4}};
  for (auto& shape : shapes)
    for (int percent = 50; percent <= 200; percent += percent < 80 || percent >= 140 ? 20 : 5) {
      int threads = shape[0] * shape[1], n = threads * sms, times = 20;
      int deep = (int)(percent / 100. * 256 * 1024 / 4 / threads);
      printf("columns,%d,%d,%d,%d,0\n", shape[0], shape[1] * sms, deep, times);
      columns<<<shape[1] * sms, shape[0]>>>(out, p, deep, times, n);
      check();
      if (shape[0] == 256) {
        printf("in_step,%d,%d,%d,%d,0\n", shape[0], shape[1] * sms, deep, times);
        in_step<<<shape[1] * sms, shape[0]>>>(out, p, deep, times, n);
        check();
      }
    }
  for (int blocks : {8, 33, 66, 99, sms})
    for (int warps : {1, 2, 4, 8}) {
      int w = 512, pitch = 1032;
      printf("reads,%d,%d,%d,1,%d\n", 32 * warps, blocks, w, pitch);
      rows<true, false><<<blocks, 32 * warps>>>(out, p, w, pitch);
      check();
      printf("writes,%d,%d,%d,1,%d\n", 32 * warps, blocks, w, pitch);
      rows<false, true><<<blocks, 32 * warps>>>(out, p, w, pitch);
      check();
      printf("both,%d,%d,%d,1,%d\n", 32 * warps, blocks, w, pitch);
      rows<true, true><<<blocks, 32 * warps>>>(out, p, w, pitch);
      check();
    }
  fprintf(stderr, "all done\n");
}
