// Kernels whose blocks read the same: how many of the sectors that come into L1 does L2 see, cold and warm?
#include <cstdio>
#include <cstring>
#include <vector>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
// Bodies one by one; own: 0 computed, 1 from the same buffer, 2 from a buffer of its own
template <int OWN>
__global__ void merged_plain(const float4* __restrict__ bodies, const float4* __restrict__ mine, float4* __restrict__ forces, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 me = OWN == 1 ? bodies[i % n] : OWN == 2 ? mine[i] : make_float4(i, i * 2, i * 3, 1);
  float fx = 0, fy = 0, fz = 0;
  for (int j = 0; j < n; ++j) {
    float4 other = bodies[j];
    float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
    float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-4f);
    float s = other.w * inverse * inverse * inverse;
    fx += s * dx; fy += s * dy; fz += s * dz;
  }
  forces[i] = make_float4(fx, fy, fz, 0);
}
template <int OWN>
__global__ void merged_bodies(const float4* __restrict__ bodies, const float4* __restrict__ mine, float4* __restrict__ forces, int n) {
  extern __shared__ float4 tile[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 me = OWN == 1 ? bodies[i % n] : OWN == 2 ? mine[i] : make_float4(i, i * 2, i * 3, 1);
  float fx = 0, fy = 0, fz = 0;
  for (int base = 0; base < n; base += blockDim.x) {
    tile[threadIdx.x] = bodies[base + threadIdx.x];
    __syncthreads();
#pragma unroll 8
    for (int j = 0; j < blockDim.x; ++j) {
      float dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
      float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-4f);
      float s = tile[j].w * inverse * inverse * inverse;
      fx += s * dx; fy += s * dy; fz += s * dz;
    }
    __syncthreads();
  }
  forces[i] = make_float4(fx, fy, fz, 0);
}
// Products of square tiles of 16 or 32, a thread an element
template <int T>
__global__ void merged_product(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n, int k) {
  __shared__ float ta[T][T], tb[T][T];
  int column = blockIdx.x * T + threadIdx.x, row = blockIdx.y * T + threadIdx.y;
  float sum = 0;
  for (int s = 0; s < k; s += T) {
    ta[threadIdx.y][threadIdx.x] = a[(size_t)row * k + s + threadIdx.x];
    tb[threadIdx.y][threadIdx.x] = b[(size_t)(s + threadIdx.y) * n + column];
    __syncthreads();
#pragma unroll
    for (int j = 0; j < T; ++j) sum += ta[threadIdx.y][j] * tb[j][threadIdx.x];
    __syncthreads();
  }
  c[(size_t)row * n + column] = sum;
}
// A matrix times a vector that all blocks read: a warp a row
__global__ void merged_vector(const float4* __restrict__ a, const float4* __restrict__ x, float* __restrict__ y, int quads) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  float sum = 0;
  for (int q = lane; q < quads; q += 32) {
    float4 m = a[(size_t)row * quads + q], v = x[q];
    sum += m.x * v.x + m.y * v.y + m.z * v.z + m.w * v.w;
  }
  for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (!lane) y[row] = sum;
}
// One new token: a block a query head and sequence; `group` heads share keys and values
__global__ void __launch_bounds__(128) merged_decode(const __half* __restrict__ keys, const __half* __restrict__ values, float* __restrict__ out, int group, int tokens) {
  extern __shared__ float scores[];
  int pair = blockIdx.x / group, pairs = gridDim.x / group, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float top = -1e30f;
  for (int t = warp; t < tokens; t += 4) {
    uint2 raw = ((const uint2*)(keys + (((size_t)blockIdx.y * pairs + pair) * tokens + t) * 128))[lane];
    float2 ka = __half22float2(*(__half2*)&raw.x), kb = __half22float2(*(__half2*)&raw.y);
    float dot = lane * ka.x + 2 * ka.y + kb.x + 3 * kb.y;
    for (int d = 16; d; d /= 2) dot += __shfl_xor_sync(~0u, dot, d);
    if (!lane) scores[t] = dot;
    top = fmaxf(top, dot);
  }
  __syncthreads();
  float kept = 0;
#pragma unroll 4
  for (int t = 0; t < tokens; ++t) kept += __expf(scores[t] - top) * __half2float(values[(((size_t)blockIdx.y * pairs + pair) * tokens + t) * 128 + threadIdx.x]);
  out[((size_t)blockIdx.y * gridDim.x + blockIdx.x) * 128 + threadIdx.x] = kept;
}
// Tiles of data that `share` neighbouring blocks read, or all
__global__ void __launch_bounds__(256) merged_tile(const uint4* __restrict__ in, unsigned* out, int share, int tiles, int work) {
  extern __shared__ uint4 held[];
  const uint4* p = in + (size_t)(blockIdx.x / share) * tiles * 256;
  float x = threadIdx.x;
  for (int t = 0; t < tiles; ++t) {
    held[threadIdx.x] = p[t * 256 + threadIdx.x];
    __syncthreads();
    float y = __uint_as_float(held[(threadIdx.x + t) & 255].x & 0x3fffffff);
    for (int w = 0; w < work; ++w) x = fmaf(x, y, 0.5f);
    __syncthreads();
  }
  if (x == 1.2345f) out[blockIdx.x] = 1;
}
int main(int argc, char** argv) {
  bool warm = argc > 1 && !strcmp(argv[1], "warm");
  char *p, *q, *r; size_t bytes = 512ull << 20;
  cudaMalloc(&p, bytes); cudaMalloc(&q, bytes); cudaMalloc(&r, bytes);
  std::vector<unsigned> h(64 << 20 >> 2); unsigned s = 1;
  for (auto& x : h) { s ^= s << 13; s ^= s >> 17; s ^= s << 5; x = (s & 0x007fffff) | 0x3f000000; }
  for (size_t o = 0; o < bytes; o += 64 << 20) { cudaMemcpy(p + o, h.data(), 64 << 20, cudaMemcpyHostToDevice); cudaMemcpy(q + o, h.data(), 64 << 20, cudaMemcpyHostToDevice); }
  printf("kind,own,n,m,k,grid_x,grid_y,block,resident,work\n");
  auto twice = [&](auto f) { f(); if (warm) f(); cudaDeviceSynchronize(); };
  // warm: each launch comes twice, both are profiled; the second counts
  for (int grid : {32, 64, 128, 264}) for (int n : {4096, 16384}) {
    if (grid == 264 && n == 16384) continue;
#define BODY(K, OWN, BLOCK, NAME) { printf(NAME ",%d,%d,0,0,%d,1,%d,0,0\n", OWN, n, grid, BLOCK); twice([&] { K<OWN><<<grid, BLOCK, BLOCK * 16>>>((float4*)p, (float4*)q, (float4*)r, n); }); }
    BODY(merged_plain, 0, 256, "plain") BODY(merged_plain, 1, 256, "plain") BODY(merged_plain, 2, 256, "plain")
    BODY(merged_bodies, 0, 128, "bodies") BODY(merged_bodies, 1, 128, "bodies") BODY(merged_bodies, 2, 128, "bodies")
  }
  for (int n : {128, 256, 512, 1024, 2048}) for (int k : {256, 1024}) {
    if (n == 2048 && k == 1024) continue;
    printf("product,0,%d,%d,%d,%d,%d,256,0,0\n", n, n, k, n / 16, n / 16);
    twice([&] { merged_product<16><<<dim3(n / 16, n / 16), dim3(16, 16)>>>((float*)p, (float*)q, (float*)r, n, k); });
    printf("product,0,%d,%d,%d,%d,%d,1024,0,0\n", n, n, k, n / 32, n / 32);
    twice([&] { merged_product<32><<<dim3(n / 32, n / 32), dim3(32, 32)>>>((float*)p, (float*)q, (float*)r, n, k); });
  }
  for (int rows : {512, 1056, 4096, 16384}) for (int quads : {1024, 4096}) {
    printf("vector,0,%d,%d,0,%d,1,256,0,0\n", rows, quads, rows / 8);
    twice([&] { merged_vector<<<rows / 8, 256>>>((float4*)p, (float4*)q, (float*)r, quads); });
  }
  cudaFuncSetAttribute(merged_decode, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10);
  for (int group : {1, 4, 8}) for (int seqs : {1, 4, 32}) for (int tokens : {512, 4096}) {
    if (seqs == 32 && tokens == 4096 && group == 1) continue;
    printf("decode,%d,%d,0,0,32,%d,128,0,0\n", group, tokens, seqs);
    twice([&] { merged_decode<<<dim3(32, seqs), 128, tokens * 4>>>((__half*)p, (__half*)q, (float*)r, group, tokens); });
  }
  cudaFuncSetAttribute(merged_tile, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10);
  for (int share : {1 << 20, 4, 16}) for (int resident : {1, 2, 4, 8}) for (int work : {20, 100, 300}) for (int waves : {1, 3}) {
    if (share == 4 && (waves == 3 || resident > 2)) continue;
    int blocks = 132 * resident * waves, tiles = 64;
    printf("tile,%d,%d,0,0,%d,1,256,%d,%d\n", share, tiles, blocks, resident, work);
    size_t sh = resident == 1 ? 120 << 10 : resident == 2 ? 100 << 10 : resident == 4 ? 50 << 10 : 24 << 10;
    twice([&] { merged_tile<<<blocks, 256, sh>>>((uint4*)p, (unsigned*)r, share, tiles, work); });
  }
  fprintf(stderr, "%s\n", cudaGetErrorString(cudaGetLastError()));
}
