// Launches whose lanes read or write sectors of their own: by distance, by pages, by block; for times.py.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
typedef unsigned u32;
typedef long long i64;
__global__ void marker_kernel() {}
__global__ void fill_all(u32 *p, size_t n) {
  for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
    u32 h = (u32)i * 747796405u + 17u;
    h ^= h >> 16; h *= 0x85ebca6bu; h ^= h >> 13;
    p[i] = h & 0x3fffffffu;
  }
}
__global__ void flush_read(const uint4 *p, size_t n, u32 *out) {
  size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    uint4 v = p[i];
    if ((v.x ^ v.y ^ v.z ^ v.w) == 0x12345678u && v.x == 77u) out[0] = v.x;
  }
}
__global__ void k_empty() {}
// what: 1 reads strided places, 2 writes dense, 3 both, 4 writes strided places, 5 reads dense, 7 both strided
__global__ void k_move(const char *in, char *out, u32 n, u32 step, i64 pitch, int what) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    i64 at = (i64)(i / 32) * pitch + (i64)(i % 32) * step;
    float v = (float)i;
    if (what == 1 || what == 3 || what == 7) v = *(const float *)(in + at);
    if (what == 5) v = ((const float *)in)[i];
    if (what == 2 || what == 3) ((float *)out)[i] = v;
    else if (what == 4 || what == 7) *(float *)(out + at) = v;
    else if (v == -123.456f) out[0] = 1;
  }
}
__global__ void k_strided(const float *in, float *out, u32 n, i64 stride) {
  i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i * stride];
}
__global__ void k_sread(const float *in, float *out, u32 n, i64 stride) {
  i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { float v = in[i * stride]; if (v == -123.456f) out[0] = v; }
}
__global__ void k_swrite(const float *in, float *out, u32 n, i64 stride) {
  i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i * stride] = (float)(u32)i;
}
__global__ void k_gather(const float *in, float *out, u32 n, u32 places) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    u32 h = i * 2891336453u + 12345u;
    h ^= h >> 16; h *= 0x85ebca6bu; h ^= h >> 13; h *= 0xc2b2ae35u; h ^= h >> 16;
    out[i] = in[__umulhi(h, places)];
  }
}
static char *IN, *OUT, *FL;
static const size_t SIZE = 5ull << 30, FB = 256ull << 20;
extern "C" const char *setup() {
  cudaMalloc(&IN, SIZE); cudaMalloc(&OUT, SIZE); cudaMalloc(&FL, FB);
  fill_all<<<1056, 256>>>((u32 *)IN, SIZE / 4); fill_all<<<1056, 256>>>((u32 *)FL, FB / 4);
  cudaMemset(OUT, 0, SIZE);
  return cudaGetErrorString(cudaDeviceSynchronize());
}
extern "C" void flush() { flush_read<<<(u32)(FB / 16 / 256), 256>>>((const uint4 *)FL, FB / 16, (u32 *)OUT); }
extern "C" void mark() { marker_kernel<<<1, 32>>>(); }
extern "C" const char *launch(int id, const i64 *p) {
  u32 b = (u32)p[0], g = (u32)p[1];
  float *in = (float *)IN, *out = (float *)OUT;
  switch (id) {
    case 0: k_empty<<<g, b>>>(); break;
    case 2: k_move<<<g, b>>>(IN, OUT, (u32)p[2], (u32)p[3], p[4], (int)p[5]); break;
    case 3: k_strided<<<g, b>>>(in, out, (u32)p[2], p[3]); break;
    case 4: k_sread<<<g, b>>>(in, out, (u32)p[2], p[3]); break;
    case 5: k_swrite<<<g, b>>>(in, out, (u32)p[2], p[3]); break;
    case 6: k_gather<<<g, b>>>(in, out, (u32)p[2], (u32)p[3]); break;
  }
  return cudaGetErrorString(cudaGetLastError());
}
extern "C" const char *timed(int id, const i64 *p, int cold, int reps, float *us) {
  cudaEvent_t b[64], e[64];
  const char *s = "";
  for (int r = 0; r < reps; r++) { cudaEventCreate(&b[r]); cudaEventCreate(&e[r]); }
  cudaDeviceSynchronize();
  for (int k = 0; k < 4; k++) flush();
  if (!cold) { launch(id, p); launch(id, p); }
  for (int r = 0; r < reps; r++) {
    if (cold) flush();
    cudaEventRecord(b[r]); s = launch(id, p); cudaEventRecord(e[r]);
  }
  cudaError_t q = cudaDeviceSynchronize();
  for (int r = 0; r < reps; r++) {
    float ms = 0; cudaEventElapsedTime(&ms, b[r], e[r]); us[r] = ms * 1000.f;
    cudaEventDestroy(b[r]); cudaEventDestroy(e[r]);
  }
  return q ? cudaGetErrorString(q) : s;
}
extern "C" const char *sequence(int id, const i64 *p, int cold, int reps) {
  const char *s = "";
  mark();
  if (!cold) { launch(id, p); launch(id, p); }
  for (int r = 0; r < reps; r++) { if (cold) flush(); s = launch(id, p); }
  cudaError_t q = cudaDeviceSynchronize();
  return q ? cudaGetErrorString(q) : s;
}
extern "C" const char *look(i64 count, void *to) { cudaMemcpy(to, OUT, count * 4, cudaMemcpyDeviceToHost); return cudaGetErrorString(cudaGetLastError()); }
