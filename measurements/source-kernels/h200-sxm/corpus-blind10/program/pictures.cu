// Kernels of images: colours, shapes in bits, pooling.

__device__ __forceinline__ unsigned char luminance(uchar3 p) {
  return ((66 * p.x + 129 * p.y + 25 * p.z + 128) >> 8) + 16;
}

// Bytes of red, green and blue to a plane of luminance and one of chrominance at half of it: 2 by 2 pixels a thread.
extern "C" __global__ void yuv_from_rgb(const uchar3* __restrict__ in, uchar2* __restrict__ luma,
                                        uchar2* __restrict__ chroma, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  int columns = width / 2, rows = height / 2;
  if (x >= columns || y >= rows) return;
  int r = 2, g = 2, b = 2;
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    long long line = (long long)blockIdx.z * height + 2 * y + k;
    uchar3 p = in[line * width + 2 * x], q = in[line * width + 2 * x + 1];
    luma[line * columns + x] = make_uchar2(luminance(p), luminance(q));
    r += p.x + q.x;
    g += p.y + q.y;
    b += p.z + q.z;
  }
  r >>= 2;
  g >>= 2;
  b >>= 2;
  int u = ((-38 * r - 74 * g + 112 * b + 128) >> 8) + 128, v = ((112 * r - 94 * g - 18 * b + 128) >> 8) + 128;
  chroma[((long long)blockIdx.z * rows + y) * columns + x] = make_uchar2(u, v);
}

// A picture of bits, 32 a word, grown by three to the sides and by one up and down: a word a thread, by funnel shifts.
extern "C" __global__ void dilate_bits(const unsigned* __restrict__ in, unsigned* __restrict__ out, int words,
                                       int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= words || y >= height) return;
  unsigned before = 0, here = 0, after = 0;
  for (int row = max(y - 1, 0); row <= min(y + 1, height - 1); ++row) {
    const unsigned* line = in + (long long)row * words;
    if (x > 0) before |= line[x - 1];
    here |= line[x];
    if (x + 1 < words) after |= line[x + 1];
  }
  unsigned grown = here;
#pragma unroll
  for (int k = 1; k <= 3; ++k) grown |= __funnelshift_l(before, here, k) | __funnelshift_r(here, after, k);
  out[(long long)y * words + x] = grown;
}

// Largest of 3 by 3 at every second pixel, edges padded by one, and where in its plane it was: a result a thread.
extern "C" __global__ void max_pool_places(const float* __restrict__ in, float* __restrict__ out,
                                           int* __restrict__ places, int height, int width, int out_height,
                                           int out_width, int total) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= total) return;
  int x = i % out_width, y = i / out_width % out_height, plane = i / (out_width * out_height);
  const float* image = in + (long long)plane * height * width;
  float best = -INFINITY;
  int place = 0;
  for (int row = max(2 * y - 1, 0); row < min(2 * y + 2, height); ++row)
    for (int column = max(2 * x - 1, 0); column < min(2 * x + 2, width); ++column) {
      float value = image[row * width + column];
      if (value > best) {
        best = value;
        place = row * width + column;
      }
    }
  out[i] = best;
  places[i] = place;
}
