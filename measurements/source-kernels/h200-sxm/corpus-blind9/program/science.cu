// Kernels of simulation and statistics: elements, advection, particles, paths, products.
#include <cuda_pipeline.h>

// Forces of bilinear quadrilaterals on their nodes, four Gauss points, added by atomics; an element a thread.
extern "C" __global__ void quad_forces(const int4* __restrict__ quads, const float2* __restrict__ shift,
                                       const float* __restrict__ u, float* __restrict__ force, int elements) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= elements) return;
  int4 q = quads[e];
  int node[4] = {q.x, q.y, q.z, q.w};
  float px[4], py[4], value[4], f[4] = {0, 0, 0, 0};
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    float2 s = __ldg(shift + node[k]);
    px[k] = (k == 1 || k == 2) + 0.3f * s.x;
    py[k] = (k >= 2) + 0.3f * s.y;
    value[k] = __ldg(u + node[k]);
  }
#pragma unroll
  for (int point = 0; point < 4; ++point) {
    float s = point & 1 ? 0.78867513f : 0.21132487f, t = point & 2 ? 0.78867513f : 0.21132487f;
    float ns[4] = {t - 1, 1 - t, t, -t}, nt[4] = {s - 1, -s, s, 1 - s};
    float xs = 0, xt = 0, ys = 0, yt = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      xs += ns[k] * px[k];
      xt += nt[k] * px[k];
      ys += ns[k] * py[k];
      yt += nt[k] * py[k];
    }
    float det = xs * yt - xt * ys, over = 1.0f / det, gx = 0, gy = 0, nx[4], ny[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      nx[k] = (yt * ns[k] - ys * nt[k]) * over;
      ny[k] = (xs * nt[k] - xt * ns[k]) * over;
      gx += value[k] * nx[k];
      gy += value[k] * ny[k];
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) f[k] += 0.25f * det * (gx * nx[k] + gy * ny[k]);
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) atomicAdd(force + node[k], f[k]);
}

__device__ __forceinline__ double minmod(double a, double b) {
  return a * b <= 0 ? 0.0 : fabs(a) < fabs(b) ? a : b;
}

// A step of advection on a torus in double, fluxes limited by minmod; a cell a thread.
extern "C" __global__ void advect_minmod(const double* __restrict__ q, double* __restrict__ out, int nx, int ny,
                                         double cx, double cy) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= nx || y >= ny) return;
  int e = x + 1 < nx ? x + 1 : 0, w = x > 0 ? x - 1 : nx - 1, ww = w > 0 ? w - 1 : nx - 1;
  int n = y + 1 < ny ? y + 1 : 0, s = y > 0 ? y - 1 : ny - 1, ss = s > 0 ? s - 1 : ny - 1;
  const double* row = q + (size_t)y * nx;
  double c = row[x], qe = row[e], qw = row[w], qww = row[ww];
  double qn = q[(size_t)n * nx + x], qs = q[(size_t)s * nx + x], qss = q[(size_t)ss * nx + x];
  double fe = c + 0.5 * (1 - cx) * minmod(c - qw, qe - c), fw = qw + 0.5 * (1 - cx) * minmod(qw - qww, c - qw);
  double fn = c + 0.5 * (1 - cy) * minmod(c - qs, qn - c), fs = qs + 0.5 * (1 - cy) * minmod(qs - qss, c - qs);
  out[(size_t)y * nx + x] = c - cx * (fe - fw) - cy * (fn - fs);
}

// Density of smoothed particles in cells as wide as the kernel: eight lanes a cell, 27 cells around.
extern "C" __global__ void sph_density(const int* __restrict__ starts, const float4* __restrict__ inside,
                                       float* __restrict__ density, int nx, int ny, int nz) {
  int cell = (blockIdx.x * blockDim.x + threadIdx.x) / 8, lane = threadIdx.x % 8;
  if (cell >= nx * ny * nz) return;
  int x = cell % nx, y = cell / nx % ny, z = cell / nx / ny, last = starts[cell + 1];
  for (int p = starts[cell] + lane; p < last; p += 8) {
    float4 own = inside[p];
    float sum = 0;
    for (int dz = -1; dz <= 1; ++dz)
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
          int ox = x + dx, oy = y + dy, oz = z + dz;
          if (ox < 0 || ox >= nx || oy < 0 || oy >= ny || oz < 0 || oz >= nz) continue;
          int other = (oz * ny + oy) * nx + ox, end = starts[other + 1];
          for (int k = starts[other]; k < end; ++k) {
            float4 its = __ldg(inside + k);
            float ax = its.x + dx - own.x, ay = its.y + dy - own.y, az = its.z + dz - own.z;
            float left = 1.0f - (ax * ax + ay * ay + az * az);
            if (left > 0) sum += its.w * left * left * left;
          }
        }
    density[p] = 1.5666815f * sum;  // 315 / (64 pi)
  }
}

__device__ __forceinline__ unsigned mixed(unsigned h) {
  h = (h ^ h >> 16) * 0x85EBCA6Bu;
  h = (h ^ h >> 13) * 0xC2B2AE35u;
  return h ^ h >> 16;
}

// What calls pay on paths of Heston's model, variance cut at zero, by xorwow and Box-Muller; a path a thread.
extern "C" __global__ void heston_paths(float* __restrict__ pay, unsigned seed, int steps, float strike, float dt,
                                        float kappa, float theta, float sigma, float rho, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned s = seed + i * 0x9E3779B9u, d = 6615241u;
  unsigned x = mixed(s), y = mixed(s + 1), z = mixed(s + 2), w = mixed(s + 3), v = mixed(s + 4);
  auto next = [&]() {
    unsigned t = x ^ (x >> 2);
    x = y;
    y = z;
    z = w;
    w = v;
    v = (v ^ (v << 4)) ^ (t ^ (t << 1));
    d += 362437u;
    return v + d;
  };
  float level = 0, variance = theta, root_dt = sqrtf(dt), rest = sqrtf(1 - rho * rho);
  for (int k = 0; k < steps; ++k) {
    float a = ((next() >> 8) + 1) * (1.0f / 16777217.0f), b = (next() >> 8) * (1.0f / 16777216.0f), sine, cosine;
    float radius = sqrtf(fmaxf(-2.0f * __logf(a), 0.0f));
    __sincosf(6.2831853f * b, &sine, &cosine);
    float one = radius * cosine, two = rho * one + rest * radius * sine;
    float held = fmaxf(variance, 0.0f), swing = sqrtf(held) * root_dt;
    level += -0.5f * held * dt + swing * one;
    variance += kappa * (theta - held) * dt + sigma * swing * two;
  }
  pay[i] = fmaxf(100.0f * __expf(level) - strike, 0.0f);
}

// A product of single precision, tiles of 64x64x16 fetched one ahead by asynchronous copies; 4x4 a thread.
extern "C" __global__ void __launch_bounds__(256) gemm_async(const float* __restrict__ a, const float* __restrict__ b,
                                                             float* __restrict__ c, int rows, int columns, int depth) {
  __shared__ __align__(16) float left[2][64][20], right[2][16][64];
  int t = threadIdx.x, tx = t % 16, ty = t / 16, first_row = blockIdx.y * 64, first_column = blockIdx.x * 64;
  const float* from_a = a + (size_t)min(first_row + t / 4, rows - 1) * depth + t % 4 * 4;
  const float* from_b = b + (size_t)ty * columns + min(first_column + tx * 4, columns - 4);
  auto fetch = [&](int stage, int k) {
    __pipeline_memcpy_async(&left[stage][t / 4][t % 4 * 4], from_a + k, 16);
    __pipeline_memcpy_async(&right[stage][ty][tx * 4], from_b + (size_t)k * columns, 16);
    __pipeline_commit();
  };
  float sum[4][4] = {};
  fetch(0, 0);
  for (int k = 0; k < depth; k += 16) {
    int stage = k / 16 & 1;
    if (k + 16 < depth) {
      fetch(stage ^ 1, k + 16);
      __pipeline_wait_prior(1);
    } else {
      __pipeline_wait_prior(0);
    }
    __syncthreads();
#pragma unroll
    for (int d = 0; d < 16; ++d) {
      float4 q = *(const float4*)&right[stage][d][tx * 4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float p = left[stage][ty * 4 + i][d];
        sum[i][0] += p * q.x;
        sum[i][1] += p * q.y;
        sum[i][2] += p * q.z;
        sum[i][3] += p * q.w;
      }
    }
    __syncthreads();
  }
  int column = first_column + tx * 4;
  if (column >= columns) return;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    int row = first_row + ty * 4 + i;
    if (row < rows)
      *(float4*)&c[(size_t)row * columns + column] = make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
  }
}

// A sparse matrix (CSR) by a dense one of 64 columns: a warp a row, entries handed round by shuffles.
extern "C" __global__ void spmm_columns(const int* __restrict__ starts, const int* __restrict__ places,
                                        const float* __restrict__ entries, const float2* __restrict__ dense,
                                        float2* __restrict__ out, int rows) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  int first = starts[row], last = starts[row + 1];
  float2 sum = make_float2(0, 0);
  for (int k = first; k < last; k += 32) {
    int place = 0, many = min(32, last - k);
    float entry = 0;
    if (lane < many) {
      place = __ldcs(places + k + lane);
      entry = __ldcs(entries + k + lane);
    }
    for (int j = 0; j < many; ++j) {
      float weight = __shfl_sync(~0u, entry, j);
      float2 v = __ldg(dense + (size_t)__shfl_sync(~0u, place, j) * 32 + lane);
      sum.x += weight * v.x;
      sum.y += weight * v.y;
    }
  }
  out[(size_t)row * 32 + lane] = sum;
}

// Ranks pushed along the edges out of each node, added by atomics; a node a thread.
extern "C" __global__ void rank_push(const int* __restrict__ starts, const int* __restrict__ targets,
                                     const float* __restrict__ rank, float* __restrict__ next, int nodes) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= nodes) return;
  int first = starts[v], last = starts[v + 1];
  float share = last > first ? 0.85f * rank[v] / (last - first) : 0.0f;
  for (int k = first; k < last; ++k) atomicAdd(next + targets[k], share);
}
