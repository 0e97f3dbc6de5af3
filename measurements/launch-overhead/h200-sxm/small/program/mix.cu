// Parts of a softmax without memory: which of them keep the schedulers from issuing every clock.
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <stdint.h>
template <int E, int WHICH> __global__ void __launch_bounds__(128) part(float* out, float m, float s, int trips) {
  float e[E], f[E];
#pragma unroll
  for (int i = 0; i < E; ++i) { e[i] = 0.37f + 0.01f * i + 0.001f * threadIdx.x; f[i] = e[i] * 0.5f; }
  float sum = s;
#pragma unroll 1
  for (int t = 0; t < trips; ++t) {
    if (WHICH == 0) {
#pragma unroll
      for (int i = 0; i < E; ++i) { e[i] = expf(e[i] - m); sum += e[i]; }
    } else if (WHICH == 1) {
#pragma unroll
      for (int i = 0; i < E; ++i) e[i] = e[i] / sum;
      sum += 0.01f;
    } else if (WHICH == 2) {
#pragma unroll
      for (int i = 0; i < E; ++i) { e[i] = e[i] * m + f[i]; f[i] = f[i] * m + sum; }
    } else if (WHICH == 3) {
#pragma unroll
      for (int i = 0; i < E; ++i) { __half h = __float2half(e[i]); e[i] = __half2float(h) * m; }
    } else if (WHICH == 4) {
      float top = -1e30f;
#pragma unroll
      for (int i = 0; i < E; ++i) top = top > e[i] ? top : e[i];
#pragma unroll
      for (int i = 0; i < E; ++i) e[i] -= top;
    } else if (WHICH == 5) {
      int k = __float_as_int(sum);
#pragma unroll
      for (int i = 0; i < E; ++i) { int a = __float_as_int(e[i]); a = (a ^ k) + (a << 3); e[i] = __int_as_float(a) ; f[i] = f[i] * m + s; f[i] = f[i] * m + s;}
      sum += 1.0f;
    } else if (WHICH == 6) {  // the whole: maximum, exponentials, sum, division
      float top = -1e30f;
#pragma unroll
      for (int i = 0; i < E; ++i) top = top > e[i] ? top : e[i];
#pragma unroll
      for (int o = 16; o; o /= 2) { float b = __shfl_xor_sync(~0u, top, o); top = top > b ? top : b; }
      float all = 0;
#pragma unroll
      for (int i = 0; i < E; ++i) { e[i] = expf(e[i] - top); all += e[i]; }
#pragma unroll
      for (int o = 16; o; o /= 2) all += __shfl_xor_sync(~0u, all, o);
#pragma unroll
      for (int i = 0; i < E; ++i) e[i] = e[i] / all;
    }
  }
  float x = sum;
#pragma unroll
  for (int i = 0; i < E; ++i) x += e[i] + f[i];
  if (x == 1.2345f) out[threadIdx.x] = x;
}
extern "C" {
int go_part(int which, int blocks, int shared, float* out, int trips) {
#define ONE(W) case W: cudaFuncSetAttribute(part<16, W>, cudaFuncAttributeMaxDynamicSharedMemorySize, 200000); part<16, W><<<blocks, 128, shared>>>(out, 0.9f, 17.0f, trips); break;
  switch (which) { ONE(0) ONE(1) ONE(2) ONE(3) ONE(4) ONE(5) ONE(6) default: return -1; }
  return cudaGetLastError();
}
}
