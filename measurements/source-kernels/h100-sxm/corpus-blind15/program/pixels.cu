// Pixels and planes: blending, colours, pooling, activations.

__device__ __forceinline__ unsigned char over(unsigned top, unsigned below, unsigned alpha) {
  unsigned t = below * (255u - alpha) + 128u;
  return (unsigned char)min(top + ((t + (t >> 8)) >> 8), 255u);
}

// One picture over another; colours are multiplied by their alpha already.
extern "C" __global__ void alpha_over(const uchar4* __restrict__ top, const uchar4* __restrict__ below, uchar4* __restrict__ out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int i = y * width + x;
  uchar4 t = top[i], b = below[i];
  out[i] = make_uchar4(over(t.x, b.x, t.w), over(t.y, b.y, t.w), over(t.z, b.z, t.w), over(t.w, b.w, t.w));
}

// Three bytes a pixel to planes of hue, saturation and value.
extern "C" __global__ void hsv_from_rgb(const unsigned char* __restrict__ rgb, float* __restrict__ hue, float* __restrict__ saturation, float* __restrict__ value, int pixels) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= pixels) return;
  float r = rgb[3 * i] / 255.0f, g = rgb[3 * i + 1] / 255.0f, b = rgb[3 * i + 2] / 255.0f;
  float most = fmaxf(r, fmaxf(g, b)), least = fminf(r, fminf(g, b));
  float range = most - least;
  float h = 0.0f;
  if (range > 0.0f) {
    if (most == r)
      h = (g - b) / range;
    else if (most == g)
      h = 2.0f + (b - r) / range;
    else
      h = 4.0f + (r - g) / range;
    if (h < 0.0f) h += 6.0f;
  }
  hue[i] = 60.0f * h;
  saturation[i] = most > 0.0f ? range / most : 0.0f;
  value[i] = most;
}

// Windows of three by three, every second pixel; pixels past an edge don't count.
extern "C" __global__ void average_pool_stride_two(const float* __restrict__ in, float* __restrict__ out, int width, int height, int out_width, int out_height) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= out_width * out_height) return;
  int ox = i % out_width, oy = i / out_width;
  const float* plane = in + (long long)blockIdx.y * width * height;
  int x0 = max(2 * ox - 1, 0), x1 = min(2 * ox + 2, width);
  int y0 = max(2 * oy - 1, 0), y1 = min(2 * oy + 2, height);
  float sum = 0.0f;
  for (int y = y0; y < y1; ++y)
    for (int x = x0; x < x1; ++x) sum += plane[y * width + x];
  out[(long long)blockIdx.y * out_width * out_height + i] = sum / ((x1 - x0) * (y1 - y0));
}

// Planes of several channels, less a bias; each channel has its own slope below zero.
extern "C" __global__ void prelu_channels(const float* __restrict__ in, const float* __restrict__ bias, const float* __restrict__ slope, float* __restrict__ out, int channels, int plane, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int c = (i / plane) % channels;
  float v = in[i] - bias[c];
  out[i] = v > 0.0f ? v : slope[c] * v;
}

__device__ __forceinline__ float swish(float v, float beta) { return v / (1.0f + __expf(-beta * v)); }

// Four columns a thread, a row a block in y.
extern "C" __global__ void swish_bias_rows(const float4* __restrict__ in, const float4* __restrict__ bias, float4* __restrict__ out, float beta, int quads) {
  int q = blockIdx.x * blockDim.x + threadIdx.x;
  if (q >= quads) return;
  long long at = (long long)blockIdx.y * quads + q;
  float4 v = in[at], b = bias[q];
  out[at] = make_float4(swish(v.x + b.x, beta), swish(v.y + b.y, beta), swish(v.z + b.z, beta), swish(v.w + b.w, beta));
}
