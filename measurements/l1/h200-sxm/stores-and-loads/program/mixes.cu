// Stores of warps to one to 32 lines beside loads that L1 has, and batches of such loads.
#include <cstdio>
#include <cstdlib>

__device__ __forceinline__ float load(const char* p) {
  float x;
  asm volatile("ld.global.f32 %0, [%1];" : "=f"(x) : "l"(p));
  return x;
}

__device__ __forceinline__ void store(char* p, float x) {
  asm volatile("st.global.f32 [%0], %1;" ::"l"(p), "f"(x) : "memory");
}

__device__ __forceinline__ void store(char* p, float4 x) {
  asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(p), "f"(x.x), "f"(x.y), "f"(x.z), "f"(x.w) : "memory");
}

// `times` turns of a warp: LOADS loads, then a store, nothing of which waits for another; lanes are
// `apart` bytes from group to group of `together` lanes side by side.
template <class T, int LOADS>
__global__ void mixed(char* q, char* a, int times, bool stores, int together, int apart, int load_apart, int room) {
  int lane = threadIdx.x % 32, warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  char* own = q + (size_t)warp * room + (lane / together) * apart + lane % together * sizeof(T);
  const char* from = a + (threadIdx.x / 32 % 4) * 64 + (size_t)lane * load_apart;
  T value = {};
  float sum = 0;
#pragma unroll 4
  for (int t = 0; t < times; ++t) {
#pragma unroll
    for (int n = 0; n < LOADS; ++n) sum += load(from + 4 * n);
    if (stores) store(own + (t & 1) * 4096, value);
  }
  if (sum == 12345.0f) *(float*)q = sum;
}

// `times` batches of BATCH loads that L1 has, each waited for as a whole.
template <int BATCH>
__global__ void batches(char* q, char* a, int times, int apart) {
  int lane = threadIdx.x % 32;
  const char* from = a + (size_t)lane * apart;
  float sum = 0;
  for (int t = 0; t < times; ++t) {
    float found = 0;
#pragma unroll
    for (int n = 0; n < BATCH; ++n) found += load(from + 4 * n);
    from += (int)found;  // 0: what is loaded is
    sum += found;
  }
  if (sum == 12345.0f) *(float*)q = sum;
}

int main() {
  char *q, *a;
  cudaMalloc(&q, 1ull << 30);
  cudaMalloc(&a, 1 << 20);
  cudaMemset(q, 0, 1ull << 30);
  cudaMemset(a, 0, 1 << 20);
  auto check = [] {
    cudaError_t error = cudaDeviceSynchronize();
    if (error != cudaSuccess) { printf("%s\n", cudaGetErrorString(error)); exit(1); }
  };
  int times = 1024;
  printf("kernel,blocks,warps,bytes,together,apart,loads,load_apart\n");
  auto mix = [&](int blocks, int warps, int bytes, int together, int apart, int loads, int load_apart) {
    printf("mixed,%d,%d,%d,%d,%d,%d,%d\n", blocks, warps, bytes, together, apart, loads, load_apart);
    int room = 1 << 14;
#define RUN(T, L) mixed<T, L><<<blocks, 32 * warps>>>(q, a, times, bytes > 0, together, apart, load_apart, room)
#define OF(T)                  \
  if (loads == 0) RUN(T, 0);   \
  if (loads == 1) RUN(T, 1);   \
  if (loads == 2) RUN(T, 2);   \
  if (loads == 4) RUN(T, 4);
    if (bytes <= 4) { OF(float) } else { OF(float4) }
    check();
  };
  int shapes[][3] = {{4, 1, 128}, {4, 1, 64}, {4, 2, 128}, {4, 4, 128}, {4, 32, 128}, {16, 1, 128}, {16, 2, 128}, {16, 32, 512}};
  for (auto& s : shapes) {
    mix(1, 8, s[0], s[1], s[2], 0, 0);
    for (int loads : {1, 2, 4})
      for (int load_apart : {4, 32, 128}) mix(1, 8, s[0], s[1], s[2], loads, load_apart);
  }
  for (int warps : {1, 2, 4, 16, 32})
    for (int loads : {0, 1, 4})
      for (int load_apart : {4, 128}) mix(1, warps, 4, 1, 128, loads, load_apart);
  for (int loads : {0, 1, 2})
    for (int blocks : {8, 132}) mix(blocks, 8, 4, 1, 128, loads, 128);
  for (int loads : {1, 2, 4})
    for (int load_apart : {4, 32, 128}) mix(1, 8, 0, 1, 128, loads, load_apart);
  for (int warps : {1, 2, 3, 4, 8, 16})
    for (int apart : {4, 16, 32, 128})
      for (int batch : {1, 2, 4, 8}) {
        printf("batches,1,%d,4,0,0,%d,%d\n", warps, batch, apart);
        if (batch == 1) batches<1><<<1, 32 * warps>>>(q, a, times, apart);
        if (batch == 2) batches<2><<<1, 32 * warps>>>(q, a, times, apart);
        if (batch == 4) batches<4><<<1, 32 * warps>>>(q, a, times, apart);
        if (batch == 8) batches<8><<<1, 32 * warps>>>(q, a, times, apart);
        check();
      }
}
