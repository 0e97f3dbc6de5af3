// Kernels of neural networks.
#include <cuda_fp16.h>
#include <mma.h>

// Causal attention with a running softmax: a query a thread, tiles of 32 keys and values in shared memory.
extern "C" __global__ void __launch_bounds__(64) attention_tile(const float* __restrict__ queries,
                                                                const float* __restrict__ keys,
                                                                const float* __restrict__ values,
                                                                float* __restrict__ out, int n, float scale) {
  __shared__ float4 k_tile[32][16];
  __shared__ float4 v_tile[32][16];
  int t = threadIdx.x;
  int query = blockIdx.x * 64 + t;
  long long head = (long long)blockIdx.y * n * 16;
  const float4* k_head = (const float4*)keys + head;
  const float4* v_head = (const float4*)values + head;
  float4 q[16], sum[16];
#pragma unroll
  for (int d = 0; d < 16; ++d) {
    q[d] = ((const float4*)queries)[head + query * 16 + d];
    sum[d] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  }
  float greatest = -1e30f, total = 0.0f;
  for (int base = 0; base < (blockIdx.x + 1) * 64; base += 32) {
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      int place = k * 64 + t;
      k_tile[place / 16][place % 16] = k_head[base * 16 + place];
      v_tile[place / 16][place % 16] = v_head[base * 16 + place];
    }
    __syncthreads();
    for (int j = 0; j < 32; ++j) {
      float score = 0.0f;
#pragma unroll
      for (int d = 0; d < 16; ++d) {
        float4 k = k_tile[j][d];
        score += q[d].x * k.x + q[d].y * k.y + q[d].z * k.z + q[d].w * k.w;
      }
      score = base + j <= query ? score * scale : -1e30f;
      float now = fmaxf(greatest, score);
      float keep = __expf(greatest - now), weight = __expf(score - now);
      greatest = now;
      total = total * keep + weight;
#pragma unroll
      for (int d = 0; d < 16; ++d) {
        float4 v = v_tile[j][d];
        sum[d].x = sum[d].x * keep + weight * v.x;
        sum[d].y = sum[d].y * keep + weight * v.y;
        sum[d].z = sum[d].z * keep + weight * v.z;
        sum[d].w = sum[d].w * keep + weight * v.w;
      }
    }
  }
  float share = 1.0f / total;
#pragma unroll
  for (int d = 0; d < 16; ++d)
    ((float4*)out)[head + query * 16 + d] =
        make_float4(sum[d].x * share, sum[d].y * share, sum[d].z * share, sum[d].w * share);
}

// A 3 x 3 filter for each channel, with a rim of zeros, cut off at 0 and 6.
extern "C" __global__ void depthwise_3x3(const float* __restrict__ in, const float* __restrict__ weights,
                                         float* __restrict__ out, int channels, int height, int width) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int channel = blockIdx.z % channels;
  const float* image = in + blockIdx.z * height * width;
  float sum = 0.0f;
#pragma unroll
  for (int dy = -1; dy <= 1; ++dy)
#pragma unroll
    for (int dx = -1; dx <= 1; ++dx) {
      int row = y + dy, column = x + dx;
      if (row >= 0 && row < height && column >= 0 && column < width)
        sum += image[row * width + column] * (weights[channel * 9 + dy * 3 + dx + 4] - 0.25f);
    }
  out[blockIdx.z * height * width + y * width + x] = fminf(fmaxf(sum, 0.0f), 6.0f);
}

// Batch normalisation in training: a block takes a channel, sums it, and reads it again to scale it.
extern "C" __global__ void batch_statistics(const float* __restrict__ in, const float* __restrict__ gain,
                                            const float* __restrict__ shift, float* __restrict__ mean,
                                            float* __restrict__ out, int images, int pixels) {
  __shared__ float sums[32], squares[32];
  int channel = blockIdx.x, channels = gridDim.x, t = threadIdx.x;
  float sum = 0.0f, square = 0.0f;
  for (int image = 0; image < images; ++image) {
    const float* plane = in + (image * channels + channel) * pixels;
    for (int p = t; p < pixels; p += blockDim.x) {
      float v = plane[p];
      sum += v;
      square += v * v;
    }
  }
  for (int by = 16; by > 0; by /= 2) {
    sum += __shfl_down_sync(~0u, sum, by);
    square += __shfl_down_sync(~0u, square, by);
  }
  if (t % 32 == 0) {
    sums[t / 32] = sum;
    squares[t / 32] = square;
  }
  __syncthreads();
  if (t < 32) {
    int warps = blockDim.x / 32;
    sum = t < warps ? sums[t] : 0.0f;
    square = t < warps ? squares[t] : 0.0f;
    for (int by = 16; by > 0; by /= 2) {
      sum += __shfl_down_sync(~0u, sum, by);
      square += __shfl_down_sync(~0u, square, by);
    }
    if (t == 0) {
      float count = (float)images * pixels;
      sums[0] = sum / count;
      squares[0] = rsqrtf(square / count - sums[0] * sums[0] + 1e-5f);
      mean[channel] = sums[0];
    }
  }
  __syncthreads();
  float scale = gain[channel] * squares[0], offset = shift[channel] - sums[0] * scale;
  for (int image = 0; image < images; ++image) {
    int plane = (image * channels + channel) * pixels;
    for (int p = t; p < pixels; p += blockDim.x) out[plane + p] = in[plane + p] * scale + offset;
  }
}

// A matrix of four-bit weights, a scale for each 32 of a row, times a vector: a warp a row.
extern "C" __global__ void matvec_nibbles(const uint4* __restrict__ weights, const __half* __restrict__ scales,
                                          const float4* __restrict__ x, float* __restrict__ out, int rows, int groups) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int g = lane; g < groups; g += 32) {
    uint4 packed = weights[row * groups + g];
    unsigned words[4] = {packed.x, packed.y, packed.z, packed.w};
    float part = 0.0f;
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      float4 low = x[g * 8 + w * 2], high = x[g * 8 + w * 2 + 1];
      unsigned word = words[w];
      part += low.x * ((int)(word & 15u) - 8) + low.y * ((int)(word >> 4 & 15u) - 8) +
              low.z * ((int)(word >> 8 & 15u) - 8) + low.w * ((int)(word >> 12 & 15u) - 8);
      part += high.x * ((int)(word >> 16 & 15u) - 8) + high.y * ((int)(word >> 20 & 15u) - 8) +
              high.z * ((int)(word >> 24 & 15u) - 8) + high.w * ((int)(word >> 28) - 8);
    }
    sum += part * __half2float(scales[row * groups + g]);
  }
  for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(~0u, sum, by);
  if (lane == 0) out[row] = sum;
}

// Product of halves on tensor cores: tiles of 64 x 64, four warps with 32 x 32 each, 32 deep.
extern "C" __global__ void matmul_wmma(const __half* __restrict__ a, const __half* __restrict__ b, float* __restrict__ out,
                                       int m, int n, int depth) {
  using namespace nvcuda::wmma;
  __shared__ __align__(16) __half a_tile[64][40];
  __shared__ __align__(16) __half b_tile[32][72];
  int t = threadIdx.x, warp = t / 32;
  int top = blockIdx.y * 64, left = blockIdx.x * 64;
  fragment<accumulator, 16, 16, 16, float> sum[2][2];
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) fill_fragment(sum[i][j], 0.0f);
  for (int base = 0; base < depth; base += 32) {
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      int place = k * 128 + t;
      *(uint4*)&a_tile[place / 4][place % 4 * 8] = *(const uint4*)&a[(top + place / 4) * depth + base + place % 4 * 8];
      *(uint4*)&b_tile[place / 8][place % 8 * 8] = *(const uint4*)&b[(base + place / 8) * n + left + place % 8 * 8];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 32; k += 16) {
      fragment<matrix_a, 16, 16, 16, __half, row_major> fa[2];
      fragment<matrix_b, 16, 16, 16, __half, row_major> fb[2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        load_matrix_sync(fa[i], &a_tile[warp / 2 * 32 + i * 16][k], 40);
        load_matrix_sync(fb[i], &b_tile[k][warp % 2 * 32 + i * 16], 72);
      }
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 2; ++j) mma_sync(sum[i][j], fa[i], fb[j], sum[i][j]);
    }
    __syncthreads();
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j)
      store_matrix_sync(&out[(top + warp / 2 * 32 + i * 16) * n + left + warp % 2 * 32 + j * 16], sum[i][j], n,
                        mem_row_major);
}
