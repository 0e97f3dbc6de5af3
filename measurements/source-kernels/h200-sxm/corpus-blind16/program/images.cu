// Kernels of images and video.

__device__ __forceinline__ unsigned char to_byte(float v) { return (unsigned char)fminf(fmaxf(v + 0.5f, 0.0f), 255.0f); }

// Pictures of three interleaved bytes as brightness and halved colour differences (4:2:0): a thread two pixels square.
extern "C" __global__ void chroma_halved(const unsigned char* __restrict__ rgb, unsigned char* __restrict__ luma,
                                         unsigned char* __restrict__ blue, unsigned char* __restrict__ red, int width,
                                         int height) {
  int x = 2 * (blockIdx.x * blockDim.x + threadIdx.x), y = 2 * (blockIdx.y * blockDim.y + threadIdx.y);
  if (x >= width || y >= height) return;
  float r = 0.0f, g = 0.0f, b = 0.0f;
  for (int dy = 0; dy < 2; ++dy) {
    for (int dx = 0; dx < 2; ++dx) {
      int pixel = (y + dy) * width + x + dx;
      float pr = rgb[3 * pixel], pg = rgb[3 * pixel + 1], pb = rgb[3 * pixel + 2];
      luma[pixel] = to_byte(0.299f * pr + 0.587f * pg + 0.114f * pb);
      r += pr;
      g += pg;
      b += pb;
    }
  }
  r *= 0.25f;
  g *= 0.25f;
  b *= 0.25f;
  int at = (y / 2) * (width / 2) + x / 2;
  blue[at] = to_byte(-0.168736f * r - 0.331264f * g + 0.5f * b + 128.0f);
  red[at] = to_byte(0.5f * r - 0.418688f * g - 0.081312f * b + 128.0f);
}

// Boxes of a detector: corners from anchors (centre and size) and differences, within the image, and a score each.
extern "C" __global__ void boxes_from_anchors(const float4* __restrict__ anchors, const float4* __restrict__ deltas,
                                              const float* __restrict__ logits, float4* __restrict__ boxes,
                                              float* __restrict__ scores, int per_image, int n, float width,
                                              float height) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 a = anchors[i % per_image], d = deltas[i];
  float x = a.x + d.x * a.z, y = a.y + d.y * a.w;
  float w = 0.5f * a.z * expf(fminf(d.z, 4.135f)), h = 0.5f * a.w * expf(fminf(d.w, 4.135f));
  boxes[i] = make_float4(fmaxf(x - w, 0.0f), fmaxf(y - h, 0.0f), fminf(x + w, width), fminf(y + h, height));
  scores[i] = 1.0f / (1.0f + expf(-logits[i]));
}

// A curve for each of three colours, by tables in shared memory; the fourth byte stays. Four pixels a turn.
extern "C" __global__ void curve_table_rgba(const uint4* __restrict__ in, uint4* __restrict__ out,
                                            const unsigned char* __restrict__ curves, int n) {
  __shared__ unsigned char table[3][256];
  for (int e = threadIdx.x; e < 3 * 256; e += blockDim.x) table[e / 256][e % 256] = curves[e];
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    uint4 four = in[i];
    unsigned pixel[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
    for (int p = 0; p < 4; ++p) {
      unsigned v = pixel[p];
      pixel[p] = table[0][v & 255] | table[1][v >> 8 & 255] << 8 | table[2][v >> 16 & 255] << 16 | (v & 0xff000000u);
    }
    out[i] = make_uint4(pixel[0], pixel[1], pixel[2], pixel[3]);
  }
}

// Best place of each block of 16 x 16 bytes within eight pixels of its own in the last frame: a thread a place.
extern "C" __global__ void __launch_bounds__(256)
    motion_search_sad(const unsigned char* __restrict__ frame, const unsigned char* __restrict__ last,
                      unsigned* __restrict__ best, int width, int height) {
  __shared__ unsigned ours[16][4], theirs[32][9];
  __shared__ unsigned least[8];
  int t = threadIdx.x, left = blockIdx.x * 16, top = blockIdx.y * 16;
  unsigned char* bytes = (unsigned char*)ours;
  bytes[t] = frame[(top + t / 16) * width + left + t % 16];
  for (int e = t; e < 32 * 32; e += 256) {
    int y = min(max(top - 8 + e / 32, 0), height - 1), x = min(max(left - 8 + e % 32, 0), width - 1);
    ((unsigned char*)theirs[e / 32])[e % 32] = last[y * width + x];
  }
  if (t < 32) theirs[t][8] = 0;
  __syncthreads();
  int dx = t % 16, dy = t / 16, word = dx / 4, shift = dx % 4 * 8;
  unsigned sum = 0;
#pragma unroll 4
  for (int r = 0; r < 16; ++r) {
    unsigned low = theirs[dy + r][word];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      unsigned high = theirs[dy + r][word + k + 1];
      sum += __vsadu4(ours[r][k], __funnelshift_r(low, high, shift));
      low = high;
    }
  }
  unsigned found = sum << 8 | t;
  for (int d = 16; d > 0; d >>= 1) found = min(found, __shfl_xor_sync(0xffffffffu, found, d));
  if (t % 32 == 0) least[t / 32] = found;
  __syncthreads();
  if (t == 0) {
    for (int w = 1; w < 8; ++w) found = min(found, least[w]);
    best[blockIdx.y * gridDim.x + blockIdx.x] = found;
  }
}

#define FAR 65535

// How far each pixel is from the next one of its row that is set: a warp a row, by ballots from both ends.
extern "C" __global__ void distance_rows_binary(const unsigned char* __restrict__ in, unsigned short* __restrict__ out,
                                                int rows, int width, unsigned char level) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  const unsigned char* x = in + (size_t)row * width;
  unsigned short* y = out + (size_t)row * width;
  int near = -FAR;
  for (int first = 0; first < width; first += 32) {
    int at = first + lane;
    unsigned set = __ballot_sync(0xffffffffu, at < width && x[at] >= level);
    unsigned before = set & (0xffffffffu >> (31 - lane));
    int place = before ? first + 31 - __clz(before) : near;
    if (at < width) y[at] = min(at - place, FAR);
    if (set) near = first + 31 - __clz(set);
  }
  near = 2 * FAR;
  for (int first = (width - 1) / 32 * 32; first >= 0; first -= 32) {
    int at = first + lane;
    unsigned set = __ballot_sync(0xffffffffu, at < width && x[at] >= level);
    unsigned after = set & (0xffffffffu << lane);
    int place = after ? first + __ffs(after) - 1 : near;
    if (at < width) y[at] = min((int)y[at], min(place - at, FAR));
    if (set) near = first + __ffs(set) - 1;
  }
}
