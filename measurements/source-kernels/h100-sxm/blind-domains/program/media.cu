// Pictures, sound, text and bytes.

#include <cuda_fp16.h>
#include <stdint.h>

__device__ __forceinline__ uint8_t to_byte(float v) {
  return (uint8_t)fminf(fmaxf(v + 0.5f, 0.0f), 255.0f);
}

__device__ __forceinline__ float luma(uchar4 p) {
  return 0.2126f * p.x + 0.7152f * p.y + 0.0722f * p.z;
}

// Bytes of blue, green and red to L*a*b*.
extern "C" __global__ void lab_from_bgr(float* __restrict__ lab, const uint8_t* __restrict__ bgr,
                                        int pixels) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= pixels) return;
  float v[3];
#pragma unroll
  for (int c = 0; c < 3; c++) {
    float s = bgr[(size_t)i * 3 + c] * (1.0f / 255.0f);
    v[c] = s > 0.04045f ? __powf((s + 0.055f) / 1.055f, 2.4f) : s / 12.92f;
  }
  float x = (0.4124f * v[2] + 0.3576f * v[1] + 0.1805f * v[0]) / 0.9505f;
  float y = 0.2126f * v[2] + 0.7152f * v[1] + 0.0722f * v[0];
  float z = (0.0193f * v[2] + 0.1192f * v[1] + 0.9505f * v[0]) / 1.089f;
  x = x > 0.008856f ? cbrtf(x) : 7.787f * x + 0.13793f;
  y = y > 0.008856f ? cbrtf(y) : 7.787f * y + 0.13793f;
  z = z > 0.008856f ? cbrtf(z) : 7.787f * z + 0.13793f;
  lab[(size_t)i * 3] = 116.0f * y - 16.0f;
  lab[(size_t)i * 3 + 1] = 500.0f * (x - y);
  lab[(size_t)i * 3 + 2] = 200.0f * (y - z);
}

// Three histograms of 256 bins at once, counted in shared memory.
extern "C" __global__ void histograms_rgb(uint32_t* __restrict__ bins,
                                          const uchar4* __restrict__ image, int pixels) {
  __shared__ uint32_t held[768];
  for (int b = threadIdx.x; b < 768; b += blockDim.x) held[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < pixels; i += gridDim.x * blockDim.x) {
    uchar4 p = image[i];
    atomicAdd(&held[p.x], 1u);
    atomicAdd(&held[256 + p.y], 1u);
    atomicAdd(&held[512 + p.z], 1u);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < 768; b += blockDim.x) atomicAdd(&bins[b], held[b]);
}

// Size and direction of the gradient of bytes, after Scharr.
extern "C" __global__ void scharr_directions(__half* __restrict__ size,
                                             uint8_t* __restrict__ sector,
                                             const uint8_t* __restrict__ in, int width,
                                             int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int l = max(x - 1, 0), r = min(x + 1, width - 1);
  const uint8_t* up = in + (size_t)max(y - 1, 0) * width;
  const uint8_t* at = in + (size_t)y * width;
  const uint8_t* down = in + (size_t)min(y + 1, height - 1) * width;
  int a = __ldg(up + l), b = __ldg(up + x), c = __ldg(up + r);
  int d = __ldg(at + l), e = __ldg(at + r);
  int f = __ldg(down + l), g = __ldg(down + x), h = __ldg(down + r);
  float gx = 3.0f * (c - a) + 10.0f * (e - d) + 3.0f * (h - f);
  float gy = 3.0f * (f - a) + 10.0f * (g - b) + 3.0f * (h - c);
  float ax = fabsf(gx), ay = fabsf(gy);
  size_t to = (size_t)y * width + x;
  size[to] = __float2half(sqrtf(gx * gx + gy * gy));
  sector[to] = ay < 0.414f * ax ? 0 : (ax < 0.414f * ay ? 2 : (gx * gy > 0.0f ? 1 : 3));
}

// Smooths one image by the edges of another, any radius.
extern "C" __global__ void joint_bilateral(float* __restrict__ out, const float* __restrict__ in,
                                           const float* __restrict__ guide, int width, int height,
                                           int radius, float spread, float contrast) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float centre = guide[y * width + x], sum = 0.0f, weights = 0.0f;
  for (int dy = -radius; dy <= radius; dy++) {
    int v = min(max(y + dy, 0), height - 1);
    for (int dx = -radius; dx <= radius; dx++) {
      int u = min(max(x + dx, 0), width - 1);
      float d = guide[v * width + u] - centre;
      float w = __expf(-spread * (float)(dx * dx + dy * dy) - contrast * d * d);
      sum += w * in[v * width + u];
      weights += w;
    }
  }
  out[y * width + x] = sum / weights;
}

// Box filter down columns: a thread keeps a running sum over a strip of rows.
extern "C" __global__ void box_strips(uint8_t* __restrict__ out, const uint8_t* __restrict__ in,
                                      int width, int height, int radius, int strip) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= width) return;
  int first = blockIdx.y * strip, last = min(first + strip, height);
  int sum = 0;
  for (int y = first - radius; y < first + radius; y++)
    sum += in[(size_t)min(max(y, 0), height - 1) * width + x];
  float scale = 1.0f / (float)(2 * radius + 1);
  for (int y = first; y < last; y++) {
    sum += in[(size_t)min(y + radius, height - 1) * width + x];
    out[(size_t)y * width + x] = to_byte(sum * scale);
    sum -= in[(size_t)max(y - radius, 0) * width + x];
  }
}

// Least byte over a window of a row, which lies in dynamic shared memory.
extern "C" __global__ void erode_row_window(uint8_t* __restrict__ out,
                                            const uint8_t* __restrict__ in, int width,
                                            int radius) {
  extern __shared__ uint8_t line[];
  size_t row = (size_t)blockIdx.y * width;
  int first = blockIdx.x * blockDim.x;
  int span = blockDim.x + 2 * radius;
  for (int i = threadIdx.x; i < span; i += blockDim.x) {
    int x = first + i - radius;
    line[i] = x >= 0 && x < width ? in[row + x] : 255;
  }
  __syncthreads();
  int x = first + threadIdx.x;
  if (x >= width) return;
  int least = 255;
  for (int i = 0; i <= 2 * radius; i++) least = min(least, (int)line[threadIdx.x + i]);
  out[row + x] = (uint8_t)least;
}

// Second pass of an integral image: sums down columns, in place.
extern "C" __global__ void integral_down(uint32_t* __restrict__ sums, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= width) return;
  uint32_t total = 0;
  for (int y = 0; y < height; y++) {
    total += sums[(size_t)y * width + x];
    sums[(size_t)y * width + x] = total;
  }
}

// Coefficients of 8x8 blocks, times their steps, back to bytes; four blocks a thread block.
extern "C" __global__ void inverse_dct_bytes(uint8_t* __restrict__ out,
                                             const short* __restrict__ coefficient,
                                             const float* __restrict__ step,
                                             const float* __restrict__ basis, int across,
                                             int blocks) {
  __shared__ float wave[64];
  __shared__ float a[4][64], b[4][64];
  int t = threadIdx.x, u = t & 7, v = t >> 3, slot = threadIdx.y;
  int block = blockIdx.x * 4 + slot;
  if (slot == 0) wave[t] = basis[t];
  if (block < blocks) a[slot][t] = coefficient[(size_t)block * 64 + t] * step[t];
  __syncthreads();
  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k < 8; k++) sum += a[slot][v * 8 + k] * wave[k * 8 + u];
  b[slot][t] = sum;
  __syncthreads();
  sum = 128.0f;
#pragma unroll
  for (int k = 0; k < 8; k++) sum += b[slot][k * 8 + u] * wave[k * 8 + v];
  if (block >= blocks) return;
  size_t row = (size_t)(block / across) * 8 + v;
  out[row * across * 8 + (block % across) * 8 + u] = to_byte(sum);
}

// Where a block of 16x16 bytes moved to: each thread tries a place, the best of a block wins.
extern "C" __global__ void motion_search(int2* __restrict__ best, const uint8_t* __restrict__ now,
                                         const uint8_t* __restrict__ before, int width, int height,
                                         int range) {
  __shared__ uint32_t mine[64];
  __shared__ unsigned long long winner;
  int x0 = blockIdx.x * 16, y0 = blockIdx.y * 16;
  if (threadIdx.x < 64) {
    const uint8_t* p = now + (size_t)(y0 + threadIdx.x / 4) * width + x0 + threadIdx.x % 4 * 4;
    mine[threadIdx.x] = p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
  }
  if (threadIdx.x == 0) winner = ~0ull;
  __syncthreads();
  int side = 2 * range + 1;
  for (int c = threadIdx.x; c < side * side; c += blockDim.x) {
    int x = x0 + c % side - range, y = y0 + c / side - range;
    if (x < 0 || y < 0 || x + 16 > width || y + 16 > height) continue;
    unsigned total = 0;
    for (int row = 0; row < 16; row++) {
      const uint8_t* p = before + (size_t)(y + row) * width + x;
#pragma unroll
      for (int q = 0; q < 4; q++) {
        uint32_t word = p[q * 4] | p[q * 4 + 1] << 8 | p[q * 4 + 2] << 16 |
                        (uint32_t)p[q * 4 + 3] << 24;
        total += __vsadu4(mine[row * 4 + q], word);
      }
    }
    atomicMin(&winner, (unsigned long long)total << 32 | (unsigned)c);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    int c = (int)(winner & 0xffffffffu);
    best[blockIdx.y * gridDim.x + blockIdx.x] = make_int2(c % side - range, c / side - range);
  }
}

// Planes of Y, U and V at half size to planes of red, green and blue: four pixels a thread.
extern "C" __global__ void planes_from_yuv420(__half* __restrict__ rgb,
                                              const uint8_t* __restrict__ luma_plane,
                                              const uint8_t* __restrict__ u_plane,
                                              const uint8_t* __restrict__ v_plane, int half_width,
                                              int half_height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= half_width || y >= half_height) return;
  int width = 2 * half_width;
  size_t plane = (size_t)width * half_height * 2;
  float u = u_plane[y * half_width + x] - 128.0f, v = v_plane[y * half_width + x] - 128.0f;
  float red = 1.402f * v, green = -0.3441f * u - 0.7141f * v, blue = 1.772f * u;
#pragma unroll
  for (int row = 0; row < 2; row++) {
    size_t at = (size_t)(2 * y + row) * width + 2 * x;
    uchar2 l = *(const uchar2*)(luma_plane + at);
    float a = l.x, b = l.y, scale = 1.0f / 255.0f;
    *(__half2*)(rgb + at) = __floats2half2_rn((a + red) * scale, (b + red) * scale);
    *(__half2*)(rgb + plane + at) = __floats2half2_rn((a + green) * scale, (b + green) * scale);
    *(__half2*)(rgb + 2 * plane + at) = __floats2half2_rn((a + blue) * scale, (b + blue) * scale);
  }
}

// Lays premultiplied pixels over others, where they are not clear.
extern "C" __global__ void lay_premultiplied(uchar4* __restrict__ under,
                                             const uchar4* __restrict__ over, int pixels) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < pixels; i += gridDim.x * blockDim.x) {
    uchar4 top = over[i];
    if (top.w == 0) continue;
    uchar4 low = under[i];
    int rest = 255 - top.w;
    low.x = (uint8_t)min(255, top.x + (low.x * rest + 127) / 255);
    low.y = (uint8_t)min(255, top.y + (low.y * rest + 127) / 255);
    low.z = (uint8_t)min(255, top.z + (low.z * rest + 127) / 255);
    low.w = (uint8_t)(top.w + (low.w * rest + 127) / 255);
    under[i] = low;
  }
}

// Smaller image whose pixels are means over areas, with parts of pixels at their edges.
extern "C" __global__ void shrink_by_area(uchar4* __restrict__ out, const uchar4* __restrict__ in,
                                          int in_width, int in_height, int out_width,
                                          int out_height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= out_width || y >= out_height) return;
  float sx = (float)in_width / out_width, sy = (float)in_height / out_height;
  float left = x * sx, right = left + sx, upper = y * sy, lower = upper + sy;
  int u0 = (int)left, u1 = min((int)ceilf(right), in_width);
  int v0 = (int)upper, v1 = min((int)ceilf(lower), in_height);
  float r = 0.0f, g = 0.0f, b = 0.0f, area = 0.0f;
  for (int v = v0; v < v1; v++) {
    float tall = fminf(v + 1.0f, lower) - fmaxf((float)v, upper);
    for (int u = u0; u < u1; u++) {
      float w = tall * (fminf(u + 1.0f, right) - fmaxf((float)u, left));
      uchar4 p = in[(size_t)v * in_width + u];
      r += w * p.x;
      g += w * p.y;
      b += w * p.z;
      area += w;
    }
  }
  float scale = 1.0f / fmaxf(area, 1e-6f);
  out[(size_t)y * out_width + x] =
      make_uchar4(to_byte(r * scale), to_byte(g * scale), to_byte(b * scale), 255);
}

// Colours through a table in three dimensions, linear between its entries.
extern "C" __global__ void grade_by_cube(float4* __restrict__ image,
                                         const float4* __restrict__ cube, int side, int pixels) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= pixels) return;
  float4 p = image[i];
  float top = (float)(side - 1);
  float r = fminf(fmaxf(p.x, 0.0f), 1.0f) * top;
  float g = fminf(fmaxf(p.y, 0.0f), 1.0f) * top;
  float b = fminf(fmaxf(p.z, 0.0f), 1.0f) * top;
  int r0 = min((int)r, side - 2), g0 = min((int)g, side - 2), b0 = min((int)b, side - 2);
  float fr = r - r0, fg = g - g0, fb = b - b0;
  float4 sum = make_float4(0.0f, 0.0f, 0.0f, p.w);
#pragma unroll
  for (int corner = 0; corner < 8; corner++) {
    int dr = corner & 1, dg = corner >> 1 & 1, db = corner >> 2;
    float w = (dr ? fr : 1.0f - fr) * (dg ? fg : 1.0f - fg) * (db ? fb : 1.0f - fb);
    float4 v = __ldg(cube + ((b0 + db) * side + g0 + dg) * side + r0 + dr);
    sum.x += w * v.x;
    sum.y += w * v.y;
    sum.z += w * v.z;
  }
  image[i] = sum;
}

// Filter of two channels of sound; taps and samples in shared memory.
extern "C" __global__ void stereo_filter(float2* __restrict__ out, const float2* __restrict__ in,
                                         const float* __restrict__ tap, int samples, int taps) {
  extern __shared__ float2 sound[];
  float* held = (float*)(sound + blockDim.x + taps - 1);
  int first = blockIdx.x * blockDim.x;
  for (int i = threadIdx.x; i < taps; i += blockDim.x) held[i] = tap[i];
  for (int i = threadIdx.x; i < blockDim.x + taps - 1; i += blockDim.x) {
    int at = first + i - (taps - 1);
    sound[i] = at >= 0 && at < samples ? in[at] : make_float2(0.0f, 0.0f);
  }
  __syncthreads();
  int i = first + threadIdx.x;
  if (i >= samples) return;
  float left = 0.0f, right = 0.0f;
  for (int k = 0; k < taps; k++) {
    float2 s = sound[threadIdx.x + taps - 1 - k];
    left += held[k] * s.x;
    right += held[k] * s.y;
  }
  out[i] = make_float2(left, right);
}

// Overlapping frames of samples of 16 bits, each under a window.
extern "C" __global__ void frames_under_window(float* __restrict__ frame,
                                               const short* __restrict__ sound,
                                               const float* __restrict__ window, int length,
                                               int hop) {
  size_t f = blockIdx.x;
  const short* from = sound + f * hop;
  for (int i = threadIdx.x; i < length; i += blockDim.x)
    frame[f * length + i] = from[i] * (1.0f / 32768.0f) * window[i];
}

// Four letters of base64 to three bytes; counts what is no such letter.
extern "C" __global__ void base64_decode(uint8_t* __restrict__ out, int* wrong,
                                         const uchar4* __restrict__ text,
                                         const uint8_t* __restrict__ value, int quads) {
  __shared__ uint8_t of[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) of[i] = value[i];
  __syncthreads();
  int q = blockIdx.x * blockDim.x + threadIdx.x;
  bool bad = false;
  if (q < quads) {
    uchar4 t = text[q];
    uint32_t a = of[t.x], b = of[t.y], c = of[t.z], d = of[t.w];
    bad = ((a | b | c | d) & 0x80) != 0;
    uint32_t bits = a << 18 | b << 12 | c << 6 | d;
    out[(size_t)q * 3] = (uint8_t)(bits >> 16);
    out[(size_t)q * 3 + 1] = (uint8_t)(bits >> 8);
    out[(size_t)q * 3 + 2] = (uint8_t)bits;
  }
  unsigned votes = __ballot_sync(0xffffffffu, bad);
  if ((threadIdx.x & 31) == 0 && votes) atomicAdd(wrong, __popc(votes));
}

// Occurrences of a word of up to 32 letters by shifts of a mask, a chunk a thread.
extern "C" __global__ void shift_or_count(int* total, const uint8_t* __restrict__ text,
                                          const uint32_t* __restrict__ mask, int bytes, int chunk,
                                          int word) {
  __shared__ uint32_t masks[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) masks[i] = mask[i];
  __syncthreads();
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  int first = t * chunk, last = min(first + chunk + word - 1, bytes);
  uint32_t state = ~0u, done = 1u << (word - 1);
  int count = 0;
  for (int i = first; i < last; i++) {
    state = state << 1 | masks[text[i]];
    if (!(state & done)) count++;
  }
  if (count) atomicAdd(total, count);
}

// Adler's checksum of chunks, a warp for each.
extern "C" __global__ void adler_chunks(uint32_t* __restrict__ sum,
                                        const uint8_t* __restrict__ data, int chunk, int chunks) {
  int c = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  int lane = threadIdx.x & 31;
  if (c >= chunks) return;
  const uint8_t* from = data + (size_t)c * chunk;
  unsigned long long a = 0, b = 0;
  for (int i = lane; i < chunk; i += 32) {
    unsigned v = from[i];
    a += v;
    b += (unsigned long long)(chunk - i) * v;
  }
  for (int offset = 16; offset > 0; offset >>= 1) {
    a += __shfl_down_sync(0xffffffffu, a, offset);
    b += __shfl_down_sync(0xffffffffu, b, offset);
  }
  if (lane == 0) sum[c] = (uint32_t)((b + chunk) % 65521) << 16 | (uint32_t)((a + 1) % 65521);
}

// Golomb and Rice's codes of streams of equal room, a stream a thread.
extern "C" __global__ void rice_decode(int* __restrict__ out, const uint32_t* __restrict__ words,
                                       int streams, int room, int values, int k) {
  int s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s >= streams) return;
  const uint32_t* from = words + (size_t)s * room;
  int at = 0, bits = room * 32;
  for (int v = 0; v < values; v++) {
    int quotient = 0;
    while (at < bits && quotient < 24 && (from[at >> 5] >> (at & 31) & 1)) {
      quotient++;
      at++;
    }
    at++;
    int rest = 0;
    for (int j = 0; j < k && at < bits; j++, at++)
      rest = rest << 1 | (from[at >> 5] >> (at & 31) & 1);
    int code = quotient << k | rest;
    out[(size_t)v * streams + s] = (code >> 1) ^ -(code & 1);
  }
}

// Ranks keys of a block by four bits and writes them to where the block's digits begin.
extern "C" __global__ void nibble_scatter(uint32_t* __restrict__ out,
                                          const uint32_t* __restrict__ in,
                                          const int* __restrict__ begin, int n, int shift) {
  __shared__ int of_warp[32][16];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  uint32_t key = i < n ? in[i] : 0xffffffffu;
  int digit = key >> shift & 15;
  unsigned peers = 0xffffffffu;
#pragma unroll
  for (int b = 0; b < 4; b++) {
    unsigned votes = __ballot_sync(0xffffffffu, digit >> b & 1);
    peers &= digit >> b & 1 ? votes : ~votes;
  }
  int rank = __popc(peers & ((1u << lane) - 1));
  if (lane < 16) of_warp[warp][lane] = 0;
  __syncwarp();
  if (rank == 0) of_warp[warp][digit] = __popc(peers);
  __syncthreads();
  if (threadIdx.x < 16) {
    int total = 0;
    for (int w = 0; w < blockDim.x / 32; w++) {
      int held = of_warp[w][threadIdx.x];
      of_warp[w][threadIdx.x] = total;
      total += held;
    }
  }
  __syncthreads();
  if (i >= n) return;
  int to = begin[digit * gridDim.x + blockIdx.x] + of_warp[warp][digit] + rank;
  if (to < n) out[to] = key;
}

// Kuwahara's filter: the mean of that quarter of the window which varies least.
extern "C" __global__ void kuwahara(float* __restrict__ out, const float* __restrict__ in,
                                    int width, int height, int radius) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float least = 1.0e30f, mean = 0.0f;
  float count = (float)((radius + 1) * (radius + 1));
  for (int quarter = 0; quarter < 4; quarter++) {
    int left = x - (quarter & 1 ? 0 : radius), upper = y - (quarter & 2 ? 0 : radius);
    float sum = 0.0f, squares = 0.0f;
    for (int j = 0; j <= radius; j++) {
      int v = min(max(upper + j, 0), height - 1);
      for (int i = 0; i <= radius; i++) {
        float p = in[(size_t)v * width + min(max(left + i, 0), width - 1)];
        sum += p;
        squares += p * p;
      }
    }
    float variance = squares - sum * sum / count;
    if (variance < least) {
      least = variance;
      mean = sum / count;
    }
  }
  out[(size_t)y * width + x] = mean;
}

// Contrast by tables of tiles, bilinear between the four tiles about a pixel.
extern "C" __global__ void contrast_by_tiles(uint8_t* __restrict__ out,
                                             const uint8_t* __restrict__ in,
                                             const uint8_t* __restrict__ curve, int width,
                                             int height, int tiles_x, int tiles_y) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float u = (x + 0.5f) * tiles_x / width - 0.5f, v = (y + 0.5f) * tiles_y / height - 0.5f;
  int left = max((int)floorf(u), 0), upper = max((int)floorf(v), 0);
  int right = min((int)floorf(u) + 1, tiles_x - 1), lower = min((int)floorf(v) + 1, tiles_y - 1);
  float fu = u - floorf(u), fv = v - floorf(v);
  int p = in[(size_t)y * width + x];
  float a = curve[(upper * tiles_x + left) * 256 + p];
  float b = curve[(upper * tiles_x + right) * 256 + p];
  float c = curve[(lower * tiles_x + left) * 256 + p];
  float d = curve[(lower * tiles_x + right) * 256 + p];
  float high = a + fu * (b - a), low = c + fu * (d - c);
  out[(size_t)y * width + x] = to_byte(high + fv * (low - high));
}

// Missing lines of a field, along the direction in which the lines about them agree best.
extern "C" __global__ void missing_lines(uchar4* __restrict__ frame,
                                         const uchar4* __restrict__ field, int width, int lines) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y;
  if (x >= width) return;
  const uchar4* above = field + (size_t)y * width;
  const uchar4* below = field + (size_t)min(y + 1, lines - 1) * width;
  uchar4 here = above[x];
  frame[(size_t)(2 * y) * width + x] = here;
  uchar4 p = here, q = below[x];
  float best = fabsf(luma(p) - luma(q)) - 1.0f;
  for (int d = -2; d <= 2; d++) {
    if (d == 0) continue;
    uchar4 s = above[min(max(x + d, 0), width - 1)], t = below[min(max(x - d, 0), width - 1)];
    float differ = fabsf(luma(s) - luma(t));
    if (differ < best) {
      best = differ;
      p = s;
      q = t;
    }
  }
  frame[(size_t)(2 * y + 1) * width + x] =
      make_uchar4((p.x + q.x + 1) >> 1, (p.y + q.y + 1) >> 1, (p.z + q.z + 1) >> 1, 255);
}
