// Asynchronous copies from L1 to shared memory beside shared loads; fetches of textures that stay in L1.
#include <cstdio>
#include <cstdint>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>
#define OK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { printf("ERR %s: %s\n", #x, cudaGetErrorString(e_)); } } while (0)
enum { CA, CG, ZERO, GLOAD, SLOAD, SSTORE };
// KIND of a memory instruction of BYTES a lane, EXTRA shared loads of 4 B beside each; `apart` is how
// many times BYTES lanes are apart in shared memory, `from_apart` the same in global memory
template <int KIND, int BYTES, int EXTRA> __global__ void copies(const char* __restrict__ in, float* out, int rounds, int apart, int from_apart) {
  extern __shared__ __align__(16) char s[];
  int t = threadIdx.x;
  unsigned base = (unsigned)__cvta_generic_to_shared(s);
  unsigned to = base + (t * BYTES * apart) % 65536;
  const char* from = in + (t & 255) * BYTES * from_apart;
  unsigned side = base + (t & 255) * 4;
  unsigned x = t, y = 0, z = 0, w = 0;
  for (int r = 0; r < rounds; ++r) {
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      if (KIND == CA) asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" :: "r"(to), "l"(from + k * 4096), "n"(BYTES));
      if (KIND == CG) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(from + k * 4096));
      if (KIND == ZERO) asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" :: "r"(to), "l"(from + k * 4096), "n"(BYTES), "r"(rounds >> 20));
      if (KIND == GLOAD) {
        if (BYTES == 4) asm volatile("ld.global.b32 %0,[%1];" : "=r"(x) : "l"(from + k * 4096));
        if (BYTES == 8) asm volatile("ld.global.v2.b32 {%0,%1},[%2];" : "=r"(x), "=r"(y) : "l"(from + k * 4096));
        if (BYTES == 16) asm volatile("ld.global.v4.b32 {%0,%1,%2,%3},[%4];" : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "l"(from + k * 4096));
      }
      if (KIND == SSTORE) {
        if (BYTES == 4) asm volatile("st.shared.b32 [%0],%1;" :: "r"(to), "r"(t));
        if (BYTES == 8) asm volatile("st.shared.v2.b32 [%0],{%1,%1};" :: "r"(to), "r"(t));
        if (BYTES == 16) asm volatile("st.shared.v4.b32 [%0],{%1,%1,%1,%1};" :: "r"(to), "r"(t));
      }
      if (KIND == SLOAD) asm volatile("ld.shared.b32 %0,[%1];" : "=r"(x) : "r"(to));
#pragma unroll
      for (int e = 0; e < EXTRA; ++e) asm volatile("ld.shared.b32 %0,[%1];" : "=r"(y) : "r"(side + 1024 * e));
    }
    if (KIND == CA || KIND == CG || KIND == ZERO) asm volatile("cp.async.commit_group; cp.async.wait_group 1;");
  }
  if (KIND == CA || KIND == CG || KIND == ZERO) asm volatile("cp.async.wait_all;");
  __syncthreads();
  out[blockIdx.x * blockDim.x + t] = s[t] + x + y + z + w;
}
// fetches by index from linear memory that stays in L1: 8 a round, none needs another
template <class T, int WAYS> __global__ void fetch_line(cudaTextureObject_t tex, const T* __restrict__ plain, float* out, int rounds, int stride) {
  int t = (threadIdx.x & 127) * stride, sum = 0;
  for (int r = 0; r < rounds; ++r) {
    T v[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) { int at = (t + k * 32 + r) & 1023; v[k] = WAYS ? tex1Dfetch<T>(tex, at) : __ldg(plain + at); }
#pragma unroll
    for (int k = 0; k < 8; ++k) sum += *(int*)&v[k];
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
// each fetch needs the one before
template <int WAYS> __global__ void chase_line(cudaTextureObject_t tex, const int* __restrict__ plain, float* out, int rounds) {
  int at = threadIdx.x & 31;
  for (int r = 0; r < rounds; ++r) at = WAYS ? tex1Dfetch<int>(tex, at) : __ldg(plain + at);
  out[blockIdx.x * blockDim.x + threadIdx.x] = at;
}
__global__ void fetch_plane(cudaTextureObject_t tex, float* out, int rounds, float off) {
  float x = (threadIdx.x & 15) + off, y = (threadIdx.x >> 4 & 7) + off, sum = 0;
  for (int r = 0; r < rounds; ++r) {
    float v[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) v[k] = tex2D<float>(tex, x + (k & 3), y + (r & 7));
#pragma unroll
    for (int k = 0; k < 8; ++k) sum += v[k];
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
__global__ void chase_plane(cudaTextureObject_t tex, float* out, int rounds) {
  float x = (threadIdx.x & 7) + 0.5f, y = (threadIdx.x >> 3 & 3) + 0.5f, v = 0;
  for (int r = 0; r < rounds; ++r) v = tex2D<float>(tex, x + v, y);
  out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
// one fetch a thread from far: index by stride, with the same through plain loads
template <int WAYS> __global__ void stream_line(cudaTextureObject_t tex, const float* __restrict__ plain, float* out, int stride) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, at = (i * (unsigned)stride) & ((1u << 25) - 1);
  out[i] = WAYS ? tex1Dfetch<float>(tex, (int)at) : __ldg(plain + at);
}
template <class T> cudaTextureObject_t line(void* p, size_t bytes) {
  cudaResourceDesc r; memset(&r, 0, sizeof r); cudaTextureDesc d; memset(&d, 0, sizeof d);
  r.resType = cudaResourceTypeLinear; r.res.linear.devPtr = p; r.res.linear.desc = cudaCreateChannelDesc<T>(); r.res.linear.sizeInBytes = bytes;
  d.readMode = cudaReadModeElementType; cudaTextureObject_t t = 0; OK(cudaCreateTextureObject(&t, &r, &d, 0)); return t;
}
int main() {
  char* in; float* out; const size_t big = 128u << 20, few = 68u << 20;
  OK(cudaMalloc(&in, big)); OK(cudaMalloc(&out, few)); OK(cudaMemset(in, 0, big));
  int R = 64;
#define RUN(K, B, E, A, F) { auto* f = copies<K, B, E>; OK(cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, 81920)); \
    for (int t : {128, 1024}) { f<<<132, t, 81920>>>(in, out, R, A, F); } }
  RUN(CA, 4, 0, 1, 1) RUN(CA, 8, 0, 1, 1) RUN(CA, 16, 0, 1, 1)
  RUN(CA, 4, 1, 1, 1) RUN(CA, 8, 1, 1, 1) RUN(CA, 16, 1, 1, 1)
  RUN(CA, 4, 2, 1, 1) RUN(CA, 8, 2, 1, 1) RUN(CA, 16, 2, 1, 1)
  RUN(CA, 4, 4, 1, 1) RUN(CA, 8, 4, 1, 1) RUN(CA, 16, 4, 1, 1)
  RUN(CA, 4, 0, 2, 1) RUN(CA, 8, 0, 2, 1) RUN(CA, 16, 0, 2, 1)
  RUN(CA, 4, 0, 4, 1) RUN(CA, 4, 0, 1, 2) RUN(CA, 8, 0, 1, 2) RUN(CA, 4, 0, 1, 4)
  RUN(ZERO, 4, 0, 1, 1) RUN(ZERO, 8, 0, 1, 1) RUN(ZERO, 16, 0, 1, 1)
  RUN(CG, 16, 0, 1, 1) RUN(CG, 16, 2, 1, 1)
  RUN(GLOAD, 4, 0, 1, 1) RUN(GLOAD, 8, 0, 1, 1) RUN(GLOAD, 16, 0, 1, 1) RUN(GLOAD, 4, 0, 1, 2)
  RUN(GLOAD, 4, 1, 1, 1) RUN(GLOAD, 16, 2, 1, 1)
  RUN(SSTORE, 4, 0, 1, 1) RUN(SSTORE, 8, 0, 1, 1) RUN(SSTORE, 16, 0, 1, 1) RUN(SLOAD, 4, 0, 1, 1) RUN(SLOAD, 4, 1, 1, 1)
  auto t1 = line<float>(in, big), t2 = line<float2>(in, big), t4 = line<float4>(in, big), ti = line<int>(in, big);
#define FETCH(T, X) for (int t : {32, 128, 1024}) for (int s : {1, 2, 8}) { if (s > 1 && t < 1024) continue; \
    fetch_line<T, 1><<<132, t>>>(X, (const T*)in, out, R, s); fetch_line<T, 0><<<132, t>>>(X, (const T*)in, out, R, s); }
  FETCH(float, t1) FETCH(float2, t2) FETCH(float4, t4)
  chase_line<1><<<132, 32>>>(ti, (const int*)in, out, 512); chase_line<0><<<132, 32>>>(ti, (const int*)in, out, 512);
  for (int s : {1, 2, 4, 8, 33}) { stream_line<1><<<4096, 256>>>(t1, (const float*)in, out, s); stream_line<0><<<4096, 256>>>(t1, (const float*)in, out, s); }
  stream_line<1><<<65536, 256>>>(t1, (const float*)in, out, 1); stream_line<0><<<65536, 256>>>(t1, (const float*)in, out, 1);
  for (int linear = 0; linear < 2; ++linear) {
    cudaArray_t array; cudaChannelFormatDesc c = cudaCreateChannelDesc<float>(); OK(cudaMallocArray(&array, &c, 256, 256));
    OK(cudaMemcpy2DToArray(array, 0, 0, in, 1024, 1024, 256, cudaMemcpyDeviceToDevice));
    cudaResourceDesc r; memset(&r, 0, sizeof r); cudaTextureDesc d; memset(&d, 0, sizeof d);
    r.resType = cudaResourceTypeArray; r.res.array.array = array; d.readMode = cudaReadModeElementType;
    d.filterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint; d.addressMode[0] = d.addressMode[1] = cudaAddressModeClamp;
    cudaTextureObject_t p = 0; OK(cudaCreateTextureObject(&p, &r, &d, 0));
    for (float off : {0.5f, 0.0f}) for (int t : {128, 1024}) fetch_plane<<<132, t>>>(p, out, R, off);
    chase_plane<<<132, 32>>>(p, out, 512);
  }
  OK(cudaDeviceSynchronize());
  printf("done\n");
}
