// Fills a buffer once, VECTOR bytes per thread.
//
// Launch: grid ceil(n / block), n vectors.
#ifndef VECTOR
#define VECTOR 16
#endif

#if VECTOR == 16
using Vector = uint4;
#elif VECTOR == 8
using Vector = uint2;
#elif VECTOR == 4
using Vector = unsigned;
#elif VECTOR == 2
using Vector = unsigned short;
#else
using Vector = unsigned char;
#endif

extern "C" __global__ void write(Vector* out, long long n) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = Vector{};
}
