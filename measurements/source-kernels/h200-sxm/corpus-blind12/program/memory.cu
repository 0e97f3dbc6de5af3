// Kernels of memory: storing only, transposing by quads, copying ahead into a ring of shared memory.
#include <cuda_pipeline.h>

// A pattern stored, sixteen bytes at a time.
extern "C" __global__ void fill_quads(uint4* __restrict__ out, int quads, unsigned seed) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < quads; i += gridDim.x * blockDim.x) {
    unsigned value = i * 2654435761u ^ seed;
    out[i] = make_uint4(value, value >> 7, value << 5, ~value);
  }
}

// A matrix transposed through tiles of 64 by 64, read and written four at a time: a side is a multiple of four.
extern "C" __global__ void __launch_bounds__(256)
    transpose_quads(const float4* __restrict__ in, float4* __restrict__ out, int rows, int columns) {
  __shared__ float tile[64][65];
  int tx = threadIdx.x, row0 = blockIdx.y * 64, column0 = blockIdx.x * 64;
  for (int r = threadIdx.y; r < 64; r += blockDim.y)
    if (row0 + r < rows && column0 + 4 * tx < columns) {
      float4 v = in[(long long)(row0 + r) * (columns / 4) + column0 / 4 + tx];
      tile[4 * tx][r] = v.x;
      tile[4 * tx + 1][r] = v.y;
      tile[4 * tx + 2][r] = v.z;
      tile[4 * tx + 3][r] = v.w;
    }
  __syncthreads();
  for (int c = threadIdx.y; c < 64; c += blockDim.y)
    if (column0 + c < columns && row0 + 4 * tx < rows)
      out[(long long)(column0 + c) * (rows / 4) + row0 / 4 + tx] =
          make_float4(tile[c][4 * tx], tile[c][4 * tx + 1], tile[c][4 * tx + 2], tile[c][4 * tx + 3]);
}

#define STAGES 4

// How much a signal varies within tiles of four numbers a thread: blocks take turns at the tiles, which are copied
// asynchronously into a ring of four, three ahead.
extern "C" __global__ void __launch_bounds__(256)
    async_ring_sum(const float4* __restrict__ in, float* __restrict__ out, int tiles) {
  __shared__ float4 ring[STAGES][256];
  __shared__ float parts[8];
  int t = threadIdx.x, width = blockDim.x;
  int own = blockIdx.x < tiles ? (tiles - blockIdx.x + gridDim.x - 1) / gridDim.x : 0;
#pragma unroll
  for (int s = 0; s < STAGES - 1; ++s) {
    if (s < own)
      __pipeline_memcpy_async(&ring[s][t], &in[(blockIdx.x + (long long)s * gridDim.x) * width + t], sizeof(float4));
    __pipeline_commit();
  }
  float sum = 0.0f;
  for (int k = 0; k < own; ++k) {
    __pipeline_wait_prior(STAGES - 2);
    __syncthreads();
    int ahead = k + STAGES - 1;
    if (ahead < own)
      __pipeline_memcpy_async(&ring[ahead % STAGES][t],
                              &in[(blockIdx.x + (long long)ahead * gridDim.x) * width + t], sizeof(float4));
    __pipeline_commit();
    float4 v = ring[k % STAGES][t];
    sum += fabsf(v.y - v.x) + fabsf(v.z - v.y) + fabsf(v.w - v.z);
    if (t + 1 < width) sum += fabsf(ring[k % STAGES][t + 1].x - v.w);
  }
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) sum += __shfl_xor_sync(~0u, sum, apart);
  if (t % 32 == 0) parts[t / 32] = sum;
  __syncthreads();
  if (t > 0) return;
  for (int w = 1; w < width / 32; ++w) sum += parts[w];
  out[blockIdx.x] = sum;
}
