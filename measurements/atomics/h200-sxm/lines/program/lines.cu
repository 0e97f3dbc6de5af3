// Additions of the whole GPU to few addresses side by side: how long L2 takes for a warp's packets, by
// how many addresses there are, how far apart, of what type, and where they lie.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

template <class T> __device__ T one() { return (T)1; }
template <> __device__ __half2 one<__half2>() { return __floats2half2_rn(1.f, 0.f); }
template <class T> __device__ bool odd(T v) { return v == (T)-7; }
template <> __device__ bool odd<__half2>(__half2 v) { return __low2float(v) == -7.f; }

template <class T, bool RETURNS> __global__ void add(T* data, unsigned n, unsigned addresses, unsigned spacing, T* out) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  T* at = data + (i % addresses) * spacing;
  if (RETURNS) { T old = atomicAdd(at, one<T>()); if (odd(old)) out[0] = old; }
  else atomicAdd(at, one<T>());
}
FILE* f;
char* buffer;
void* out;
cudaEvent_t a, b;

template <class T, bool R> void go(const char* name, int addresses, int spacing, long long offset) {
  if ((long long)(addresses - 1) * spacing * sizeof(T) > 16384) return;
  unsigned n = 1 << 18;
  float us[3];
  for (int r = 0; r < 3; r++) {
    cudaEventRecord(a);
    add<T, R><<<n / 256, 256>>>((T*)(buffer + offset), n, addresses, spacing, (T*)out);
    cudaEventRecord(b);
    cudaEventSynchronize(b);
    float ms; cudaEventElapsedTime(&ms, a, b); us[r] = ms * 1000;
  }
  std::sort(us, us + 3);
  fprintf(f, "%s,%d,%d,%d,%lld,%u,%.2f,%.4f\n", name, (int)R, addresses, spacing, offset, n, us[1], (us[1] - 3.0) * 1980 / (n / 32));
}
int main() {
  f = fopen((std::string(getenv("OUT")) + "/lines.csv").c_str(), "w");
  fprintf(f, "dtype,returns,addresses,spacing,offset,n,time_us,clocks_a_warp\n");
  cudaMalloc(&buffer, 512 << 20); cudaMalloc(&out, 256); cudaMemset(buffer, 0, 512 << 20);
  cudaEventCreate(&a); cudaEventCreate(&b);
  go<int, false>("warm", 64, 1, 0);
  for (int m = 1; m <= 80; m++)
    for (int s : {1, 2, 3, 4, 8, 16, 32, 64}) {
      go<int, false>("int32", m, s, 0);
      if (s == 1 || s == 2 || s == 8 || s == 64) {
        go<unsigned long long, false>("uint64", m, s, 0);
        go<float, false>("float32", m, s, 0);
        go<double, false>("float64", m, s, 0);
        go<__half2, false>("half2", m, s, 0);
        go<int, true>("int32", m, s, 0);
        go<__half2, true>("half2", m, s, 0);
      }
    }
  for (long long offset : {32ll, 128ll, 4096ll, 61800448ll, 190185472ll, 300007424ll})
    for (int m : {1, 3, 5, 7, 8, 12, 16, 20, 24, 31, 32, 33, 40, 48, 50, 64, 80, 100, 150, 400})
      for (int s : {1, 8, 16, 32, 64}) { go<int, false>("int32", m, s, offset); go<float, false>("float32", m, s, offset); }
  fclose(f);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
