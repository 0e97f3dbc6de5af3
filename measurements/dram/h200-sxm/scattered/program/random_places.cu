// Stores of single words at scattered places: random ones, and in turns over all sectors.
// Each launch prints a line: kernel, parameters. For the profiler: one launch each, after a warm-up.
#include <cstdio>
#include <cstdlib>
typedef unsigned u32;
typedef unsigned long long u64;
__device__ __forceinline__ u32 mixed(u32 h) { h ^= h >> 16; h *= 0x7feb352du; h ^= h >> 15; h *= 0x846ca68bu; return h ^ h >> 16; }
__device__ __forceinline__ void put(float* at, float v) { asm volatile("st.global.f32 [%0], %1;" ::"l"(at), "f"(v) : "memory"); }
// Runs of `run` words at random places among `places`.
__global__ void random_places(float* out, u32 places, int run) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x, high = i / run, low = i % run;
  u32 at = (u32)((u64)mixed(high) * places >> 32);
  put(out + (size_t)at * run + low, 1.0f + i * 1e-7f);
}
// The same beside a stream that is read.
__global__ void scatter_stream(float* out, const float* __restrict__ in, u32 places, int run) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x, high = i / run, low = i % run;
  u32 at = (u32)((u64)mixed(high) * places >> 32);
  put(out + (size_t)at * run + low, in[i]);
}
// Every sector in turn, `run` words of it, then all of them again with the next words; neighbouring
// threads `apart` sectors from one another.
__global__ void in_turns(float* out, u32 sectors, int run, u32 apart) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x, high = i / run, low = i % run;
  u32 turn = high / sectors, s = high % sectors;
  u32 rows = sectors / apart, at = s % rows * apart + s / rows;
  put(out + (size_t)at * 8 + turn * run + low, 1.0f + i * 1e-7f);
}
int main() {
  float *out, *in;
  cudaMalloc(&out, 1ull << 29);
  cudaMalloc(&in, 1ull << 26);
  cudaMemset(out, 1, 1ull << 29);
  cudaMemset(in, 1, 1ull << 26);
  random_places<<<1, 32>>>(out, 32, 1);
  cudaDeviceSynchronize();
  const u32 M = 1 << 18;  // words of a MiB
  for (int n : {1 << 22, 1 << 24})
    for (int m : {2, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 56, 64, 80, 96, 128, 256, 512}) {
      printf("random_places,%d,1,%d\n", m, n); random_places<<<n / 256, 256>>>(out, m * M, 1);
    }
  for (int run : {2, 4, 8})
    for (int m : {4, 8, 16, 32, 48, 64, 128, 512}) {
      printf("random_places,%d,%d,%d\n", m, run, 1 << 24); random_places<<<(1 << 24) / 256, 256>>>(out, m * M / run, run);
    }
  for (int run : {1, 2, 4})
    for (int m : {4, 8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64, 96, 128}) {
      u32 s = m * M / 8;
      printf("in_turns,%d,%d,%d\n", m, run, m * M); in_turns<<<m * M / 256, 256>>>(out, s, run, 64);
    }
  for (int m : {8, 16, 32, 48, 64, 128, 512}) {
    printf("scatter_stream,%d,1,%d\n", m, 1 << 24); scatter_stream<<<(1 << 24) / 256, 256>>>(out, in, m * M, 1);
  }
  cudaDeviceSynchronize();
  fprintf(stderr, "%s\n", cudaGetErrorString(cudaGetLastError()));
}
