// Kernels of images and video: colours, warps, transforms of blocks.

// Video frames (NV12) to RGBA by the rules of BT.601; four pixels that share their colour a thread.
extern "C" __global__ void nv12_to_rgba(const uchar2* __restrict__ luma, const uchar2* __restrict__ chroma,
                                        uchar4* __restrict__ out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (2 * x >= width || 2 * y >= height) return;
  int half = width / 2;
  uchar2 uv = chroma[y * half + x];
  float u = uv.x - 128.0f, v = uv.y - 128.0f;
  float red = 1.596f * v, green = -0.392f * u - 0.813f * v, blue = 2.017f * u;
  auto byte = [](float f) { return (unsigned char)__float2int_rn(fminf(fmaxf(f, 0.0f), 255.0f)); };
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    uchar2 pair = luma[(2 * y + row) * half + x];
    float one = 1.164f * (pair.x - 16.0f), two = 1.164f * (pair.y - 16.0f);
    size_t to = (size_t)(2 * y + row) * width + 2 * x;
    out[to] = make_uchar4(byte(one + red), byte(one + green), byte(one + blue), 255);
    out[to + 1] = make_uchar4(byte(two + red), byte(two + green), byte(two + blue), 255);
  }
}

// A picture seen through a homography, bilinear, edges repeated; a pixel a thread.
extern "C" __global__ void warp_perspective(const uchar4* __restrict__ in, float4* __restrict__ out, int width,
                                            int height, float h0, float h1, float h2, float h3, float h4, float h5,
                                            float h6, float h7) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float depth = 1.0f / (h6 * x + h7 * y + 1.0f);
  float fx = fminf(fmaxf((h0 * x + h1 * y + h2) * depth, 0.0f), width - 1.0f);
  float fy = fminf(fmaxf((h3 * x + h4 * y + h5) * depth, 0.0f), height - 1.0f);
  int left = (int)fx, top = (int)fy;
  int right = min(left + 1, width - 1), bottom = min(top + 1, height - 1);
  float a = fx - left, b = fy - top;
  uchar4 p = in[top * width + left], q = in[top * width + right];
  uchar4 r = in[bottom * width + left], s = in[bottom * width + right];
  float wp = (1 - a) * (1 - b), wq = a * (1 - b), wr = (1 - a) * b, ws = a * b;
  out[y * width + x] = make_float4(
      wp * p.x + wq * q.x + wr * r.x + ws * s.x, wp * p.y + wq * q.y + wr * r.y + ws * s.y,
      wp * p.z + wq * q.z + wr * r.z + ws * s.z, wp * p.w + wq * q.w + wr * r.w + ws * s.w);
}

// Cosine transform of 8x8 pixels and its quantisation: four squares a block, rows first, in shared memory.
extern "C" __global__ void __launch_bounds__(256) dct_blocks(const unsigned char* __restrict__ in,
                                                             short* __restrict__ out, int width, float step) {
  __shared__ float tile[8][33], turned[8][33], basis[8][9];
  int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 32 + tx;
  size_t at = (size_t)(blockIdx.y * 8 + ty) * width + x;
  if (tx < 8) basis[ty][tx] = cospif((2 * tx + 1) * ty / 16.0f) * (ty ? 0.5f : 0.35355339f);
  tile[ty][tx] = x < width ? in[at] - 128.0f : 0.0f;
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 8; ++k) sum += basis[tx % 8][k] * tile[ty][(tx & ~7) + k];
  turned[ty][tx] = sum;
  __syncthreads();
  sum = 0;
#pragma unroll
  for (int k = 0; k < 8; ++k) sum += basis[ty][k] * turned[k][tx];
  if (x < width) out[at] = (short)__float2int_rn(sum / (step * (1 + tx % 8 + ty)));
}
