// A warp that loads, works, and stores before it loads again: clocks of an iteration, by where the data is.
#include <cstdio>
#include <cstdlib>

__device__ __forceinline__ float ld(const float* p) { float v; asm volatile("ld.global.f32 %0, [%1];" : "=f"(v) : "l"(p)); return v; }
__device__ __forceinline__ void st(float* p, float v) { asm volatile("st.global.f32 [%0], %1;" ::"l"(p), "f"(v)); }
__device__ __forceinline__ float fma_(float a, float b, float c) { asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(a) : "f"(b), "f"(c)); return a; }

// 0: loads only; 1: stored where it was loaded; 2: stored elsewhere; 3: as 1, with the store after the next load; 4: as 1, two loads; 5: as 2, two loads of which one is of the same word for all
template <int MODE> __global__ void turn(float* y, float* z, const float* q, int rows, int columns, float s, long long* clocks, int passes) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.0f;
  for (int pass = 0; pass < passes; ++pass) {
    long long begin = clock64();
    float kept = 0.0f;
#pragma unroll 4
    for (int i = 0; i < rows; ++i) {
      long long at = (long long)i * columns + j;
      if (MODE == 3) {
        float v = ld(y + at);
        if (i) st(y + at - columns, kept);
        kept = fma_(v, s, 0.5f);
        continue;
      }
      float v = ld(y + at);
      if (MODE == 4) { float w = ld(z + at); v = fma_(v, w, s); }
      if (MODE == 5) { float w = ld(q + i); v = fma_(v, w, s); }
      v = fma_(v, s, 0.5f);
      if (MODE == 0) sum += v;
      if (MODE == 1 || MODE == 4) st(y + at, v);
      if (MODE == 2 || MODE == 5) st(z + at, v);
    }
    if (MODE == 3) st(y + (long long)(rows - 1) * columns + j, kept);
    long long end = clock64();
    if (threadIdx.x == 0) clocks[blockIdx.x * passes + pass] = end - begin;
  }
  if (sum == 1.2345f) y[0] = sum;
}

int main() {
  size_t n = (size_t)4096 * 8448;
  float *y, *z, *q;
  long long *c, h[132 * 4];
  cudaMalloc(&y, n * 4); cudaMalloc(&z, n * 4); cudaMalloc(&q, 1 << 20); cudaMalloc(&c, 132 * 4 * 8);
  float* host = (float*)malloc(n * 4);
  for (size_t i = 0; i < n; ++i) host[i] = (float)rand() / RAND_MAX;
  cudaMemcpy(y, host, n * 4, cudaMemcpyHostToDevice); cudaMemcpy(z, host, n * 4, cudaMemcpyHostToDevice); cudaMemcpy(q, host, 1 << 20, cudaMemcpyHostToDevice);
  printf("mode,rows,columns,blocks,block,pass1,pass2,pass3,pass4\n");
  for (int rows : {128, 1024}) for (int columns : {208, 8448}) for (int blocks : {1, 32}) for (int block : {32, 64, 256}) {
    if (blocks * block > columns) continue;
    for (int mode = 0; mode < 6; ++mode) {
      for (int r = 0; r < 2; ++r) switch (mode) {
#define M(k) case k: turn<k><<<blocks, block>>>(y, z, q, rows, columns, 0.25f, c, 4); break;
        M(0) M(1) M(2) M(3) M(4) M(5)
      }
      cudaError_t e = cudaDeviceSynchronize();
      cudaMemcpy(h, c, blocks * 4 * 8, cudaMemcpyDeviceToHost);
      double p[4] = {};
      for (int b = 0; b < blocks; ++b) for (int k = 0; k < 4; ++k) p[k] += (double)h[b * 4 + k] / blocks / rows;
      printf("%d,%d,%d,%d,%d,%.1f,%.1f,%.1f,%.1f%s\n", mode, rows, columns, blocks, block, p[0], p[1], p[2], p[3], e ? cudaGetErrorString(e) : "");
    }
  }
}
