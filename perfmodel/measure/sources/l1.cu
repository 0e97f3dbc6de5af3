// L1: a warp's load of one pattern, over and over, with all of it in L1.
#ifndef VECTOR
#define VECTOR uint
#endif

#if WIDTH == 16
#define LOAD(p) asm volatile("ld.global.ca.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(p))
#elif WIDTH == 8
#define LOAD(p) asm volatile("ld.global.ca.v2.u32 {%0,%1}, [%2];" : "=r"(a), "=r"(b) : "l"(p))
#else
#define LOAD(p) asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(a) : "l"(p))
#endif

// Lane l of every warp loads at l % inner * WIDTH + l / inner * pitch bytes; clocks a warp request.
extern "C" __global__ void l1_pattern(const char* data, int stride, int inner, int pitch, int iterations,
                                      long long* clocks, unsigned* out) {
  const int lane = threadIdx.x % 32;
  const char* at = data + lane % inner * stride + lane / inner * pitch;
  unsigned a = 0, b = 0, c = 0, d = 0, s = 0;
  long long start = 0;
  for (int i = -2; i < iterations; ++i) {
    if (i == 0) {
      __syncthreads();
      start = clock64();
    }
#pragma unroll
    for (int u = 0; u < 8; ++u) {  // a line further each time: no load repeats the one before
      LOAD(at + u * 128);
      s = s * 3 + (a ^ b ^ c ^ d);
    }
  }
  __syncthreads();
  if (threadIdx.x == 0)
    clocks[blockIdx.x] = (clock64() - start) * 1000 / ((long long)blockDim.x / 32 * 8 * iterations);
  if (s == 0x12345679u) out[0] = s;
}
