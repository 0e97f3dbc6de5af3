// The second launch of decode-attention: a block a head weighs the partial sums of the parts of the
// context by their largest scores and adds them up, a column per thread. scales has the largest score of
// a part, and the sum of its exponentials.
//
// Launch: grid batch * heads, block WIDTH.
#include <cuda_fp16.h>

#ifndef WIDTH
#define WIDTH 128
#endif

extern "C" __global__ void decode_combine(const float* __restrict__ partial, const float* __restrict__ scales,
                                          __half* __restrict__ out, int parts) {
  const float* sums = partial + (size_t)blockIdx.x * parts * WIDTH;
  const float2* own = reinterpret_cast<const float2*>(scales) + (size_t)blockIdx.x * parts;
  float top = -1e30f, total = 0.0f, result = 0.0f;
  for (int s = 0; s < parts; ++s) top = fmaxf(top, own[s].x);
  for (int s = 0; s < parts; ++s) {
    const float2 scale = own[s];
    const float weight = __expf(scale.x - top);
    total += weight * scale.y;
    result += weight * sums[s * WIDTH + threadIdx.x];
  }
  out[blockIdx.x * WIDTH + threadIdx.x] = __float2half(result / total);
}
