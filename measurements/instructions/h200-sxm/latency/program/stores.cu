// Stores that share sectors, stores that come back to a sector late, and lanes that part many ways.
// Each launch prints a line: kernel, parameters. For the profiler: one launch each, after a warm-up.
#include <cstdio>
#include <cstdlib>
typedef unsigned u32;
__device__ __forceinline__ void put(float* at, float v) { asm volatile("st.global.f32 [%0], %1;" ::"l"(at), "f"(v) : "memory"); }
// Runs of `run` words go to places whose order is that of reversed bits.
__global__ void reversed(float* out, int bits, int run) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x, high = i / run, low = i % run;
  put(out + (size_t)(__brev(high) >> (32 - bits)) * run + low, 1.0f + i * 1e-7f);
}
// Runs of `run` words at random places of a table.
__global__ void scattered(float* out, u32 mask, int run) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x, high = i / run, low = i % run;
  u32 h = high * 2654435761u; h ^= h >> 15; h *= 2246822519u; h ^= h >> 13;
  put(out + (size_t)(h & mask) * run + low, 1.0f + i * 1e-7f);
}
// Each thread stores `words` neighbouring words, one by one, with `work` operations between.
template <int WORDS> __global__ void apart(float* out, int work) {
  size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  float v = 1.0f + i * 1e-7f;
#pragma unroll
  for (int k = 0; k < WORDS; ++k) {
    for (int w = 0; w < work; ++w) v = v * 1.0001f + 0.5f;
    put(out + i * WORDS + k, v);
  }
}
// One word a warp, neighbours side by side.
__global__ void one_lane(float* out) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x % 32 == 0) put(out + i / 32, 1.0f + i * 1e-7f);
}
// A switch with as many ways as lanes take, `times` times; each way some operations of its own.
__global__ void ways(float* out, int ways, int times) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = 1.0f + i * 1e-7f;
  int kind = (i * 5) % ways;
#pragma unroll 1
  for (int t = 0; t < times; ++t) {
    switch (kind) {
      case 0: asm volatile("mul.f32 %0, %0, 0f3F800001; add.f32 %0, %0, 0f3F800000; mul.f32 %0, %0, 0f3F000000;" : "+f"(x)); break;
      case 1: asm volatile("add.f32 %0, %0, 0f3F800001; mul.f32 %0, %0, 0f3F000000; add.f32 %0, %0, 0f3F000000;" : "+f"(x)); break;
      case 2: asm volatile("min.f32 %0, %0, 0f40800001; add.f32 %0, %0, 0f3F800000; mul.f32 %0, %0, 0f3F100000;" : "+f"(x)); break;
      case 3: asm volatile("max.f32 %0, %0, 0f3F800001; mul.f32 %0, %0, 0f3F200000; add.f32 %0, %0, 0f3F000000;" : "+f"(x)); break;
      case 4: asm volatile("mul.f32 %0, %0, 0f3F300001; add.f32 %0, %0, 0f3E800000; mul.f32 %0, %0, 0f3F400000;" : "+f"(x)); break;
      case 5: asm volatile("add.f32 %0, %0, 0f3E800001; min.f32 %0, %0, 0f40000000; add.f32 %0, %0, 0f3E000000;" : "+f"(x)); break;
      case 6: asm volatile("mul.f32 %0, %0, 0f3F500001; max.f32 %0, %0, 0f3F000000; mul.f32 %0, %0, 0f3F600000;" : "+f"(x)); break;
      default: asm volatile("add.f32 %0, %0, 0f3F000001; mul.f32 %0, %0, 0f3F400000; mul.f32 %0, %0, 0f3F700000;" : "+f"(x));
    }
    kind = (kind + (x < -1e30f)) & 7;
  }
  out[i] = x;
}
// An if and an else, `times` times, neither short; `parted` says whether lanes part.
__global__ void sides(float* out, int parted, int times) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = 1.0f + i * 1e-7f;
  bool side = parted ? i & 1 : i & 32;
#pragma unroll 1
  for (int t = 0; t < times; ++t) {
    if (side) { for (int k = 0; k < 12; ++k) asm volatile("mul.f32 %0, %0, 0f3F7FFFF0;" : "+f"(x)); }
    else { for (int k = 0; k < 12; ++k) asm volatile("add.f32 %0, %0, 0f3F7FFFF0;" : "+f"(x)); }
    side ^= x < -1e30f;
  }
  out[i] = x;
}
int main() {
  float* out;
  cudaMalloc(&out, 1ull << 29);
  cudaMemset(out, 1, 1ull << 29);
  one_lane<<<1, 32>>>(out);
  cudaDeviceSynchronize();
#define GO(...) printf("%s\n", #__VA_ARGS__)
  for (int bits : {20, 22, 23, 24, 25})
    for (int run : {1, 2, 4, 8}) {
      int low = run == 1 ? 0 : run == 2 ? 1 : run == 4 ? 2 : 3;
      printf("reversed,%d,%d\n", bits, run); reversed<<<(1 << bits) / 256, 256>>>(out, bits - low, run);
    }
  for (int bits : {20, 23, 24, 25, 26})
    for (int run : {1, 2, 4, 8}) {
      int low = run == 1 ? 0 : run == 2 ? 1 : run == 4 ? 2 : 3;
      printf("scattered,%d,%d\n", bits, run); scattered<<<(1 << 22) / 256, 256>>>(out, (1u << (bits - low)) - 1, run);
    }
  for (int n : {1 << 20, 1 << 22})
    for (int work : {0, 8, 32}) {
      printf("apart,2,%d,%d\n", n, work); apart<2><<<n / 256, 256>>>(out, work);
      printf("apart,3,%d,%d\n", n, work); apart<3><<<n / 256, 256>>>(out, work);
      printf("apart,4,%d,%d\n", n, work); apart<4><<<n / 256, 256>>>(out, work);
      printf("apart,8,%d,%d\n", n, work); apart<8><<<n / 256, 256>>>(out, work);
    }
  for (int n : {1 << 20, 1 << 24}) { printf("one_lane,%d\n", n); one_lane<<<n / 256, 256>>>(out); }
  for (int times : {64, 192})
    for (int warps : {4, 16, 64})
      for (int w : {1, 2, 4, 8}) { printf("ways,%d,%d,%d\n", w, warps, times); ways<<<132 * (warps > 16 ? 2 : 1), warps > 16 ? 1024 : warps * 32>>>(out, w, times); }
  for (int times : {64, 192})
    for (int warps : {4, 16, 64})
      for (int parted : {0, 1}) { printf("sides,%d,%d,%d\n", parted, warps, times); sides<<<132 * (warps > 16 ? 2 : 1), warps > 16 ? 1024 : warps * 32>>>(out, parted, times); }
  cudaDeviceSynchronize();
  fprintf(stderr, "%s\n", cudaGetErrorString(cudaGetLastError()));
}
