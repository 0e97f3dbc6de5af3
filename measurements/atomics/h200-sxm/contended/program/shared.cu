// Shared loads and stores of few warps, with conflicts: clocks of each.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
#include <cuda_runtime.h>
typedef unsigned int u32;
// OP 0: load, 1: load of 8 B, 2: load of 16 B, 3: store, 4: store of 8 B, 5: store of 16 B, 6: atomic, 7: loads and stores in turn
template <int OP> __global__ void lone(u32* out, int* clocks, int iterations, int spacing, int amount) {
  extern __shared__ __align__(16) u32 sums[];
  for (int t = threadIdx.x; t < 8192; t += blockDim.x) sums[t] = t * 2654435761u;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const u32 at = (u32)__cvta_generic_to_shared(sums + lane * spacing + warp * 4);
  u32 a = amount, b = lane, c = warp, d = 7, s = 0;
  __syncthreads();
  long long t0 = clock64();
#pragma unroll 8
  for (int k = 0; k < iterations; ++k) {
    if (OP == 0 || OP == 7) { asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(a) : "r"(at)); s ^= a; }
    if (OP == 1) { asm volatile("ld.volatile.shared.v2.u32 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(at)); s ^= a ^ b; }
    if (OP == 2) { asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at)); s ^= a ^ b ^ c ^ d; }
    if (OP == 3 || OP == 7) asm volatile("st.volatile.shared.u32 [%0], %1;" : : "r"(at), "r"(d));
    if (OP == 4) asm volatile("st.volatile.shared.v2.u32 [%0], {%1, %2};" : : "r"(at), "r"(d), "r"(d));
    if (OP == 5) asm volatile("st.volatile.shared.v4.u32 [%0], {%1, %1, %1, %1};" : : "r"(at), "r"(d));
    if (OP == 6) asm volatile("red.shared.add.u32 [%0], %1;" : : "r"(at), "r"(d));
  }
  __syncwarp();
  long long t1 = clock64();
  if (lane == 0) clocks[blockIdx.x * (blockDim.x / 32) + warp] = (int)(t1 - t0);
  if (s == 0x1234567u) out[blockIdx.x] = s + a + b + c + d;
}
u32* out; int* clocks; FILE* f;
template <int OP> void run(const char* name, int iterations, int warps, int spacing) {
  cudaEvent_t a, b; cudaEventCreate(&a); cudaEventCreate(&b); std::vector<float> us; std::vector<int> first, h(warps);
  for (int r = 0; r < 6; ++r) {
    cudaEventRecord(a); lone<OP><<<1, warps * 32, 40000>>>(out, clocks, iterations, spacing, 3); cudaEventRecord(b); cudaEventSynchronize(b);
    float ms; cudaEventElapsedTime(&ms, a, b); if (!r) continue; us.push_back(ms * 1000);
    cudaMemcpy(h.data(), clocks, h.size() * 4, cudaMemcpyDeviceToHost); first.push_back(*std::max_element(h.begin(), h.end()));
  }
  std::sort(us.begin(), us.end()); std::sort(first.begin(), first.end());
  fprintf(f, "%s,%d,%d,%d,%.3f,%d,%s\n", name, iterations, warps, spacing, us[2], first[2], cudaGetErrorString(cudaGetLastError()));
  cudaEventDestroy(a); cudaEventDestroy(b);
}
template <int OP> void all(const char* name) {
  for (int w : {1, 2, 3, 4, 8, 16}) for (int s : {0, 1, 2, 4, 8, 16, 32}) { if ((OP == 1 || OP == 4) && s % 2) continue; if ((OP == 2 || OP == 5) && s % 4) continue; run<OP>(name, 1024, w, s); }
}
int main() {
  cudaMalloc(&out, 1 << 20); cudaMalloc(&clocks, 1 << 20);
  f = fopen((std::string(getenv("OUT")) + "/lone2.csv").c_str(), "w"); fprintf(f, "op,iterations,warps,spacing,time_us,clocks,error\n");
  all<0>("load"); all<1>("load8"); all<2>("load16"); all<3>("store"); all<4>("store8"); all<5>("store16"); all<6>("add"); all<7>("load_store"); fclose(f);
}
