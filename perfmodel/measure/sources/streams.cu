// Streams: copies, reads, writes and mixtures, dense, strided or in runs.
// VECTOR is the type that a thread moves at once; UNROLL its loads in flight.
#ifndef VECTOR
#define VECTOR uint4
#endif
#ifndef UNROLL
#define UNROLL 1
#endif

using Vector = VECTOR;

__device__ __forceinline__ unsigned fold(unsigned char v) { return v; }
__device__ __forceinline__ unsigned fold(unsigned short v) { return v; }
__device__ __forceinline__ unsigned fold(unsigned v) { return v; }
__device__ __forceinline__ unsigned fold(uint2 v) { return v.x ^ v.y; }
__device__ __forceinline__ unsigned fold(uint4 v) { return v.x ^ v.y ^ v.z ^ v.w; }

extern "C" __global__ void copy(const Vector* in, Vector* out, long long n) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}

// The sum is never `never`, but the compiler cannot know: it keeps the load.
extern "C" __global__ void read(const Vector* in, unsigned* out, long long n, int never) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    const unsigned s = fold(in[i]);
    if (s == (unsigned)never) out[0] = s;
  }
}

extern "C" __global__ void write(Vector* out, long long n) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = Vector{};
}

// Of every `period` vectors the first `reads` are read and all others written.
extern "C" __global__ void mixture(uint4* data, unsigned* out, long long n, int period, int reads) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const long long chunk = i / 4096;  // whole blocks read or write
  if (chunk % period < reads) {
    const uint4 v = data[i];
    if (fold(v) == 0x12345679u) out[0] = v.x;
  } else {
    data[i] = make_uint4(unsigned(i), 1u, 2u, 3u);
  }
}

extern "C" __global__ void strided_copy(const float* in, float* out, int n, int stride, int offset) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[(long long)i * stride + offset];
}

extern "C" __global__ void run_copy(const float* in, float* out, int n, int run, int pitch) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[(long long)(i / run) * pitch + i % run];
}

// A fixed grid walks over the data; a thread issues UNROLL loads before it uses the first.
extern "C" __global__ void __launch_bounds__(1024) read_gridstride(const Vector* in, unsigned* out, long long n) {
  const long long step = (long long)gridDim.x * blockDim.x;
  unsigned s = 0;
#pragma unroll 1  // UNROLL alone says how many loads are in flight
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step * UNROLL) {
    Vector v[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u)
      if (i + u * step < n) v[u] = in[i + u * step];
      else v[u] = Vector{};
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) s ^= fold(v[u]);
  }
  if (s == 0x12345679u) out[0] = s;
}

extern "C" __global__ void __launch_bounds__(1024) copy_gridstride(const Vector* in, Vector* out, long long n) {
  const long long step = (long long)gridDim.x * blockDim.x;
#pragma unroll 1  // UNROLL alone says how many loads are in flight
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step * UNROLL) {
    Vector v[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u)
      if (i + u * step < n) v[u] = in[i + u * step];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u)
      if (i + u * step < n) out[i + u * step] = v[u];
  }
}

// The same set over and over, shared out among all threads, past L1.
extern "C" __global__ void working_set_write(uint4* out, long long n, int iterations) {
  const long long step = (long long)gridDim.x * blockDim.x;
  for (int r = 0; r < iterations; ++r)
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
      out[i] = make_uint4(r, unsigned(i), 2u, 3u);
}
