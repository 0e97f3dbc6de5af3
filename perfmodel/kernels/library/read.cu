// Reads a buffer once, VECTOR bytes per thread. What is read is never `never`, but the compiler cannot
// know: it keeps the load, and nothing is stored.
//
// Launch: grid ceil(n / block), n vectors; never = 0x12345679.
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

__device__ __forceinline__ unsigned fold(unsigned char v) { return v; }
__device__ __forceinline__ unsigned fold(unsigned short v) { return v; }
__device__ __forceinline__ unsigned fold(unsigned v) { return v; }
__device__ __forceinline__ unsigned fold(uint2 v) { return v.x ^ v.y; }
__device__ __forceinline__ unsigned fold(uint4 v) { return v.x ^ v.y ^ v.z ^ v.w; }

extern "C" __global__ void read(const Vector* in, unsigned* out, long long n, int never) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    const unsigned s = fold(in[i]);
    if (s == (unsigned)never) out[0] = s;
  }
}
