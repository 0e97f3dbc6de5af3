// Kernels of image networks: depthwise convolution, layout, resizing, statistics of channels.
#include <cuda_fp16.h>

// Depthwise convolution of 3 x 3 with bias and ReLU6, channels last: four channels of a pixel a thread.
extern "C" __global__ void depthwise_nhwc(const float4* __restrict__ in, const float4* __restrict__ taps,
                                          const float4* __restrict__ bias, float4* __restrict__ out, int total,
                                          int height, int width, int out_height, int out_width, int quads,
                                          int stride) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= total) return;
  int c = i % quads, x = i / quads % out_width, y = i / (quads * out_width) % out_height;
  int image = i / (quads * out_width * out_height);
  float4 sum = bias[c];
#pragma unroll
  for (int dy = 0; dy < 3; ++dy) {
    int sy = y * stride + dy - 1;
    if (sy < 0 || sy >= height) continue;
#pragma unroll
    for (int dx = 0; dx < 3; ++dx) {
      int sx = x * stride + dx - 1;
      if (sx < 0 || sx >= width) continue;
      float4 v = in[((image * height + sy) * width + sx) * quads + c], w = taps[(dy * 3 + dx) * quads + c];
      sum.x += v.x * w.x;
      sum.y += v.y * w.y;
      sum.z += v.z * w.z;
      sum.w += v.w * w.w;
    }
  }
  sum.x = fminf(fmaxf(sum.x, 0.0f), 6.0f);
  sum.y = fminf(fmaxf(sum.y, 0.0f), 6.0f);
  sum.z = fminf(fmaxf(sum.z, 0.0f), 6.0f);
  sum.w = fminf(fmaxf(sum.w, 0.0f), 6.0f);
  out[i] = sum;
}

// Planes of floats to halves with channels last, through tiles of 32 x 32.
extern "C" __global__ void nchw_to_nhwc(const float* __restrict__ in, __half* __restrict__ out, int channels,
                                        int pixels) {
  __shared__ float tile[32][33];
  int p = blockIdx.x * 32 + threadIdx.x, c0 = blockIdx.y * 32;
  size_t image = (size_t)blockIdx.z * channels * pixels;
  for (int r = threadIdx.y; r < 32; r += blockDim.y)
    if (c0 + r < channels && p < pixels) tile[r][threadIdx.x] = in[image + (size_t)(c0 + r) * pixels + p];
  __syncthreads();
  int c = c0 + threadIdx.x, p0 = blockIdx.x * 32;
  for (int r = threadIdx.y; r < 32; r += blockDim.y)
    if (c < channels && p0 + r < pixels)
      out[image + (size_t)(p0 + r) * channels + c] = __float2half(tile[threadIdx.x][r]);
}

// Photographs to the input of a network: bilinear, bytes of three colours to planes, less the mean over the deviation.
extern "C" __global__ void resize_normalise(const unsigned char* __restrict__ in, float* __restrict__ out, int height,
                                            int width, int out_height, int out_width, float scale_y, float scale_x) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= out_width || y >= out_height) return;
  float fx = fmaxf((x + 0.5f) * scale_x - 0.5f, 0.0f), fy = fmaxf((y + 0.5f) * scale_y - 0.5f, 0.0f);
  int x0 = min((int)fx, width - 1), y0 = min((int)fy, height - 1);
  int x1 = min(x0 + 1, width - 1), y1 = min(y0 + 1, height - 1);
  float ax = fx - x0, ay = fy - y0;
  const float mean[3] = {0.485f, 0.456f, 0.406f}, deviation[3] = {0.229f, 0.224f, 0.225f};
  const unsigned char* image = in + (size_t)blockIdx.z * height * width * 3;
#pragma unroll
  for (int c = 0; c < 3; ++c) {
    float a = image[(y0 * width + x0) * 3 + c], b = image[(y0 * width + x1) * 3 + c];
    float d = image[(y1 * width + x0) * 3 + c], e = image[(y1 * width + x1) * 3 + c];
    float top = a + ax * (b - a), bottom = d + ax * (e - d);
    float v = (top + ay * (bottom - top)) / 255.0f;
    out[((size_t)(blockIdx.z * 3 + c) * out_height + y) * out_width + x] = (v - mean[c]) / deviation[c];
  }
}

__device__ __forceinline__ void join(float& mean, float& spread, float& count, float mean2, float spread2,
                                     float count2) {
  float all = count + count2;
  if (all == 0.0f) return;
  float apart = mean2 - mean, share = count2 / all;
  mean += apart * share;
  spread += spread2 + apart * apart * count * share;
  count = all;
}

// Mean and variance of every channel over images and pixels by Welford's updates: a block a channel.
extern "C" __global__ void welford_channels(const float* __restrict__ in, float* __restrict__ means,
                                            float* __restrict__ variances, int images, int channels, int pixels) {
  __shared__ float across[3][32];
  int channel = blockIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float mean = 0.0f, spread = 0.0f, count = 0.0f;
  for (int n = 0; n < images; ++n) {
    const float* plane = in + ((size_t)n * channels + channel) * pixels;
    for (int i = threadIdx.x; i < pixels; i += blockDim.x) {
      float v = plane[i], apart = v - mean;
      count += 1.0f;
      mean += apart / count;
      spread += apart * (v - mean);
    }
  }
  for (int apart = 16; apart > 0; apart /= 2)
    join(mean, spread, count, __shfl_down_sync(~0u, mean, apart), __shfl_down_sync(~0u, spread, apart),
         __shfl_down_sync(~0u, count, apart));
  if (lane == 0) {
    across[0][warp] = mean;
    across[1][warp] = spread;
    across[2][warp] = count;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < blockDim.x / 32; ++w) join(mean, spread, count, across[0][w], across[1][w], across[2][w]);
    means[channel] = mean;
    variances[channel] = spread / count;
  }
}
