// Additions of blocks to shared addresses, which the compiler makes loops of compare-and-swap:
// how long from one success to the next, with so many warps of a block and so many blocks of an SM.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
#include <cuda_runtime.h>

template <class T> __global__ void loops(T* out, int addresses, int turns, T amount, long long* clocks) {
  extern __shared__ __align__(16) unsigned char raw[];
  T* sums = (T*)raw;
  for (int t = threadIdx.x; t < addresses; t += blockDim.x) sums[t] = 0;
  T* mine = sums + threadIdx.x % addresses;
  __syncthreads();
  long long start = clock64();
  for (int k = 0; k < turns; k++) atomicAdd(mine, amount);
  __syncthreads();
  long long end = clock64();
  if (threadIdx.x == 0) {
    clocks[blockIdx.x * 2ll] = start;
    clocks[blockIdx.x * 2ll + 1] = end;
    if (sums[0] == (T)-1) out[0] = sums[0];
  }
}

FILE* f;
long long* ck;
void* out;

template <class T> void go(const char* name, int warps, int held, int waves, int addresses, int turns, int sms) {
  int bytes = 227 * 1024 / held - 1024;
  bytes -= bytes % 128;
  bytes = std::min(bytes, 200 * 1024);
  if (held == 32) bytes = 4096;
  cudaFuncSetAttribute(loops<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  cudaFuncSetAttribute(loops<T>, cudaFuncAttributePreferredSharedMemoryCarveout, 100);
  int found = 0;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&found, loops<T>, warps * 32, bytes);
  int blocks = sms * held * waves;
  cudaEvent_t a, b;
  cudaEventCreate(&a); cudaEventCreate(&b);
  std::vector<float> us;
  std::vector<double> lives, longest, spans;
  for (int r = 0; r < 5; r++) {
    cudaEventRecord(a);
    loops<T><<<blocks, warps * 32, bytes>>>((T*)out, addresses, turns, (T)1, ck);
    cudaEventRecord(b);
    cudaEventSynchronize(b);
    float ms; cudaEventElapsedTime(&ms, a, b);
    us.push_back(ms * 1000);
    std::vector<long long> h(blocks * 2);
    cudaMemcpy(h.data(), ck, blocks * 16ll, cudaMemcpyDeviceToHost);
    double life = 0, most = 0;
    for (int i = 0; i < blocks; i++) { double d = h[i * 2 + 1] - h[i * 2]; life += d / blocks; most = std::max(most, d); }
    lives.push_back(life); longest.push_back(most);
  }
  auto mid = [](auto v) { std::sort(v.begin(), v.end()); return (double)v[v.size() / 2]; };
  double each = (double)warps * 32 * turns / addresses;
  fprintf(f, "%s,%d,%d,%d,%d,%d,%d,%d,%.2f,%.0f,%.0f,%.2f,%.2f,%.2f\n", name, warps, held, found, waves, addresses, turns, sms,
          mid(us), mid(lives), mid(longest), mid(lives) / each, *std::min_element(lives.begin(), lives.end()) / each,
          *std::max_element(lives.begin(), lives.end()) / each);
  fflush(f);
}
template <class T> void all(const char* name) {
  const int heldof[] = {1, 2, 4, 8, 16, 32};
  for (int waves : {1, 8})
    for (int warps : {1, 2, 4, 8, 12, 16, 24, 32})
      for (int held : heldof)
        if (warps * held <= 64) go<T>(name, warps, held, waves, 1, 1, 132);
  // five blocks of 12 warps and so on, as without a limit
  go<T>(name, 12, 5, 8, 1, 1, 132); go<T>(name, 6, 10, 8, 1, 1, 132); go<T>(name, 3, 21, 8, 1, 1, 132); go<T>(name, 20, 3, 8, 1, 1, 132);
  // again and again by the same threads
  for (int warps : {1, 2, 4, 8, 16, 32})
    for (int held : {1, 2, 8})
      if (warps * held <= 64) go<T>(name, warps, held, 1, 1, 16, 132);
  // several addresses
  for (int m : {2, 4, 8, 16, 32, 64, 128, 256})
    for (int warps : {1, 4, 8, 16, 32})
      for (int held : {1, 2, 8})
        if (warps * held <= 64 && m <= warps * 32) { go<T>(name, warps, held, 1, m, 1, 132); go<T>(name, warps, held, 1, m, 32, 132); if (held * warps == 64 || held == 8) go<T>(name, warps, held, 8, m, 1, 132); }
  // one SM
  for (int warps : {1, 2, 4, 8, 16, 32}) go<T>(name, warps, 1, 1, 1, 16, 1);
}
int main(int argc, char** argv) {
  f = fopen((std::string(getenv("OUT")) + "/shared_loops.csv").c_str(), "w");
  fprintf(f, "dtype,warps,held,found,waves,addresses,turns,sms,time_us,life,longest,each,each_min,each_max\n");
  cudaMalloc(&out, 256); cudaMalloc(&ck, 64 << 20);
  go<float>("warm", 8, 8, 8, 1, 1, 132);
  all<float>("float32");
  all<double>("float64");
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
