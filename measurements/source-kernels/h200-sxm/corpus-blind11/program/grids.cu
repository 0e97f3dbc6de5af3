// Kernels of grids and pictures: relaxation by colours, steps of time in shared memory, enlarging, equalising.
#include <cuda_fp16.h>

// Half a sweep of successive over-relaxation where it stands: the cells of one colour of a chequerboard.
extern "C" __global__ void seidel_red_black(float* __restrict__ y, const float* __restrict__ source, int width,
                                            int height, int colour, float relax) {
  int row = blockIdx.y * blockDim.y + threadIdx.y + 1;
  int column = 2 * (blockIdx.x * blockDim.x + threadIdx.x) + 1 + (row + colour) % 2;
  if (row >= height - 1 || column >= width - 1) return;
  int at = row * width + column;
  float around = y[at - 1] + y[at + 1] + y[at - width] + y[at + width];
  float old = y[at];
  y[at] = old + relax * (0.25f * (around - source[at]) - old);
}

#define MOST_THREADS 512

// Several steps of heat along a line in one launch: a block's cells and a halo as wide as the steps in shared memory.
extern "C" __global__ void __launch_bounds__(MOST_THREADS)
    stencil_in_time(const float* __restrict__ in, float* __restrict__ out, int n, int steps, float rate) {
  __shared__ float now[2][MOST_THREADS];
  int t = threadIdx.x, inner = blockDim.x - 2 * steps;
  int i = blockIdx.x * inner + t - steps;
  now[0][t] = i >= 0 && i < n ? in[i] : 0.0f;
  __syncthreads();
  for (int step = 0; step < steps; ++step) {
    const float* from = now[step % 2];
    float value = from[t];
    if (t > 0 && t < blockDim.x - 1 && i > 0 && i < n - 1)
      value += rate * (from[t - 1] - 2.0f * value + from[t + 1]);
    now[(step + 1) % 2][t] = value;
    __syncthreads();
  }
  if (t >= steps && t < steps + inner && i < n) out[i] = now[steps % 2][t];
}

// Pictures of channels last enlarged twofold, bilinear between centres: two channels a thread.
extern "C" __global__ void upsample_twice_nhwc(const __half2* __restrict__ in, __half2* __restrict__ out, int height,
                                               int width, int pairs, int total) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= total) return;
  int c = i % pairs, x = i / pairs % (2 * width), rest = i / pairs / (2 * width);
  int y = rest % (2 * height), picture = rest / (2 * height);
  float fx = fmaxf(0.5f * (x + 0.5f) - 0.5f, 0.0f), fy = fmaxf(0.5f * (y + 0.5f) - 0.5f, 0.0f);
  int x0 = (int)fx, y0 = (int)fy, x1 = min(x0 + 1, width - 1), y1 = min(y0 + 1, height - 1);
  fx -= x0;
  fy -= y0;
  const __half2* top = in + ((long long)picture * height + y0) * width * pairs + c;
  const __half2* bottom = in + ((long long)picture * height + y1) * width * pairs + c;
  float2 p = __half22float2(top[(long long)x0 * pairs]), q = __half22float2(top[(long long)x1 * pairs]);
  float2 r = __half22float2(bottom[(long long)x0 * pairs]), s = __half22float2(bottom[(long long)x1 * pairs]);
  float a = (1.0f - fy) * (1.0f - fx), b = (1.0f - fy) * fx, d = fy * (1.0f - fx), e = fy * fx;
  out[i] = __floats2half2_rn(a * p.x + b * q.x + d * r.x + e * s.x, a * p.y + b * q.y + d * r.y + e * s.y);
}

// The first step of contrast-limited equalising: a block a tile counts its grey levels in shared memory, cuts what is
// above the limit and spreads it, and writes the tile's table of new levels.
extern "C" __global__ void equalise_tiles(const uchar4* __restrict__ image, unsigned char* __restrict__ tables,
                                          int width, int tile_width, int tile_height, int limit) {
  __shared__ int bins[256];
  __shared__ int excess;
  int fours = tile_width / 4, area = tile_width * tile_height;
  const uchar4* corner = image + (long long)blockIdx.y * tile_height * (width / 4) + blockIdx.x * fours;
  for (int b = threadIdx.x; b < 256; b += blockDim.x) bins[b] = 0;
  if (threadIdx.x == 0) excess = 0;
  __syncthreads();
  for (int e = threadIdx.x; e < fours * tile_height; e += blockDim.x) {
    uchar4 grey = corner[(long long)(e / fours) * (width / 4) + e % fours];
    atomicAdd(&bins[grey.x], 1);
    atomicAdd(&bins[grey.y], 1);
    atomicAdd(&bins[grey.z], 1);
    atomicAdd(&bins[grey.w], 1);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < 256; b += blockDim.x)
    if (bins[b] > limit) {
      atomicAdd(&excess, bins[b] - limit);
      bins[b] = limit;
    }
  __syncthreads();
  if (threadIdx.x >= 32) return;
  int lane = threadIdx.x, extra = excess / 256, upto[8], sum = 0;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    sum += bins[8 * lane + k] + extra;
    upto[k] = sum;
  }
  int before = sum;
#pragma unroll
  for (int apart = 1; apart < 32; apart *= 2) {
    int other = __shfl_up_sync(~0u, before, apart);
    if (lane >= apart) before += other;
  }
  before -= sum;
  unsigned char* table = tables + 256ll * (blockIdx.y * gridDim.x + blockIdx.x);
#pragma unroll
  for (int k = 0; k < 8; ++k) table[8 * lane + k] = ((before + upto[k]) * 255 + area / 2) / area;
}
