// Clocks of a step of blocks whose warps meet at barriers: what a step does is varied one thing at a time.
#include <algorithm>
#include <cstdio>
#include <vector>
#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { printf("error %s\n", cudaGetErrorString(e)); return 1; } } while (0)
template <int V> __global__ void step(const float* __restrict__ in_, float* out, long long* clocks, int tiles, float* sink) {
  __shared__ float tile[1024];
  const volatile float* in = in_;
  const long long base = (long long)blockIdx.x * tiles * blockDim.x;
  float acc = threadIdx.x;
  tile[threadIdx.x] = acc;
  __syncthreads();
  long long first = 0;
#pragma unroll 1
  for (int t = 0; t < tiles; ++t) {
    if (t == 8) first = clock64();
    const long long at = base + (long long)t * blockDim.x + threadIdx.x;
    if (V == 0) { __syncthreads(); acc += 1.f; __syncthreads(); }
    if (V == 1) { tile[threadIdx.x] = acc; __syncthreads(); acc = 2.f * tile[blockDim.x - 1 - threadIdx.x]; __syncthreads(); }
    if (V == 2) { acc += in[at]; asm volatile("" :: "f"(acc)); __syncthreads(); }
    if (V == 3) { tile[threadIdx.x] = in[at]; __syncthreads(); acc += tile[blockDim.x - 1 - threadIdx.x]; __syncthreads(); }
    if (V == 4) { tile[threadIdx.x] = in[at]; __syncthreads(); out[at] = 2.f * tile[blockDim.x - 1 - threadIdx.x]; __syncthreads(); }
    if (V == 5) { out[at] = 2.f * in[at]; __syncthreads(); }
    if (V == 6) { tile[threadIdx.x] = in[at]; __syncthreads();
#pragma unroll
      for (int k = 0; k < 16; ++k) acc = fmaf(acc, 0.5f, tile[(threadIdx.x & ~31) + k]);
      __syncthreads(); }
    if (V == 7) { tile[threadIdx.x] = in[at]; __syncthreads();
#pragma unroll
      for (int k = 0; k < 64; ++k) acc = fmaf(acc, 0.5f, tile[(threadIdx.x & ~31) + (k & 31)] );
      __syncthreads(); }
    if (V == 8) { acc += in[at]; __syncthreads(); tile[threadIdx.x] = acc; __syncthreads(); acc = tile[threadIdx.x ^ 1]; }
    if (V == 9) {  // a reduction tree's level of shuffles between barriers
      float v = in[at];
      for (int o = 16; o > 0; o /= 2) v += __shfl_xor_sync(~0u, v, o);
      if ((threadIdx.x & 31) == 0) tile[threadIdx.x / 32] = v;
      __syncthreads();
      float s = 0; for (int w = 0; w < blockDim.x / 32; ++w) s += tile[w];
      acc += s; __syncthreads(); }
  }
  if (threadIdx.x == 0) clocks[blockIdx.x] = clock64() - first;
  if (acc == 12345.678f) *sink = acc;
}
typedef void (*K)(const float*, float*, long long*, int, float*);
int main() {
  K kernels[] = {step<0>, step<1>, step<2>, step<3>, step<4>, step<5>, step<6>, step<7>, step<8>, step<9>};
  const char* names[] = {"barriers", "shared", "load", "load-shared", "scale", "load-store", "load-16", "load-64", "load-apart", "reduce"};
  float *in, *out, *sink; long long* clocks;
  const size_t most = 256u << 20;
  CHECK(cudaMalloc(&in, most)); CHECK(cudaMalloc(&out, most)); CHECK(cudaMalloc(&sink, 4)); CHECK(cudaMalloc(&clocks, 8 * 8192));
  CHECK(cudaMemset(in, 1, most));
  printf("variant,warps,blocks,tiles,clocks,least,most,time_us\n");
  for (int v = 0; v < 10; ++v)
    for (int warps : {1, 2, 4, 8, 16, 32})
      for (int blocks : {1, 33, 132, 264, 528, 1056}) {
        if (blocks > 132 && blocks / 132 * warps > 64) continue;
        if (blocks / 132 > 8) continue;
        const int threads = 32 * warps;
        int tiles = 72;
        // what is read and written stays in L2: 2 x 8 MiB at most
        if ((size_t)blocks * tiles * threads * 4 > (12u << 20)) tiles = std::max(24, (int)((12u << 20) / ((size_t)blocks * threads * 4)));
        cudaEvent_t b, e; cudaEventCreate(&b); cudaEventCreate(&e);
        std::vector<double> found, times; double least = 1e30, greatest = 0;
        for (int r = 0; r < 9; ++r) {
          cudaEventRecord(b);
          kernels[v]<<<blocks, threads>>>(in, out, clocks, tiles, sink);
          cudaEventRecord(e); CHECK(cudaDeviceSynchronize());
          float ms; cudaEventElapsedTime(&ms, b, e);
          if (r < 3) continue;
          std::vector<long long> c(blocks);
          CHECK(cudaMemcpy(c.data(), clocks, 8 * blocks, cudaMemcpyDeviceToHost));
          std::sort(c.begin(), c.end());
          found.push_back(double(c[blocks / 2]) / (tiles - 8)); times.push_back(ms * 1e3);
          least = std::min(least, double(c[0]) / (tiles - 8)); greatest = std::max(greatest, double(c[blocks - 1]) / (tiles - 8));
        }
        std::sort(found.begin(), found.end()); std::sort(times.begin(), times.end());
        printf("%s,%d,%d,%d,%.1f,%.1f,%.1f,%.2f\n", names[v], warps, blocks, tiles, found[3], least, greatest, times[3]);
      }
}
