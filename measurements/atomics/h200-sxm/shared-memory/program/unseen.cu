#include <cuda_fp16.h>
#include <cuda_bf16.h>
// Sums of values by label in shared memory, each block its own; then one addition a bin.
extern "C" __global__ void weighted_bins(const int* __restrict__ labels, const float* __restrict__ values, float* totals, int n, int bins) {
  extern __shared__ float mine[];
  for (int b = threadIdx.x; b < bins; b += blockDim.x) mine[b] = 0.f;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(mine + labels[i], values[i]);
  __syncthreads();
  for (int b = threadIdx.x; b < bins; b += blockDim.x) atomicAdd(totals + b, mine[b]);
}
// Counts and sums of squares of groups, in doubles.
extern "C" __global__ void group_moments(const int* __restrict__ group, const double* __restrict__ x, double* moments, int n, int groups) {
  extern __shared__ double part[];
  for (int g = threadIdx.x; g < 2 * groups; g += blockDim.x) part[g] = 0.0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    double v = x[i];
    atomicAdd(part + 2 * group[i], v);
    atomicAdd(part + 2 * group[i] + 1, v * v);
  }
  __syncthreads();
  for (int g = threadIdx.x; g < 2 * groups; g += blockDim.x) atomicAdd(moments + g, part[g]);
}
// The largest value of each row's columns, block by block, as floats by compare-and-swap.
extern "C" __global__ void shared_products(const float* __restrict__ x, const int* __restrict__ keys, float* out, int n, int bins) {
  __shared__ int held[1024];
  for (int b = threadIdx.x; b < bins; b += blockDim.x) held[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    int* at = held + keys[i];
    int old = *at, assumed;
do {
  assumed = old;
  old = atomicCAS(at, assumed, __float_as_int(fmaf(x[i], 0.5f, __int_as_float(assumed) + 1.f)));
} while (assumed != old);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < bins; b += blockDim.x) out[blockIdx.x * bins + b] = __int_as_float(held[b]);
}
// Integers: smallest and largest of each bin, and a bit for who was there.
extern "C" __global__ void bin_ranges(const int* __restrict__ keys, const int* __restrict__ values, int* out, int n, int bins) {
  extern __shared__ int range[];
  for (int b = threadIdx.x; b < 3 * bins; b += blockDim.x) range[b] = b < bins ? 2147483647 : 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    int k = keys[i], v = values[i];
    atomicMin(range + k, v); atomicMax(range + bins + k, v); atomicOr(range + 2 * bins + k, 1 << (v & 31));
  }
  __syncthreads();
  for (int b = threadIdx.x; b < 3 * bins; b += blockDim.x) out[blockIdx.x * 3 * bins + b] = range[b];
}
// One running total of a block: everybody adds, in doubles or floats.
extern "C" __global__ void block_total(const float* __restrict__ x, float* totals, int n) {
  __shared__ float total;
  if (threadIdx.x == 0) total = 0.f;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&total, x[i]);
  __syncthreads();
  if (threadIdx.x == 0) totals[blockIdx.x] = total;
}
// Each warp has its own few bins; lanes meet in them.
extern "C" __global__ void warp_bins(const int* __restrict__ keys, float* out, int n, int bins) {
  extern __shared__ float bins_of_all[];
  float* mine = bins_of_all + threadIdx.x / 32 * bins;
  for (int b = threadIdx.x % 32; b < bins; b += 32) mine[b] = 0.f;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(mine + keys[i], 1.5f);
  __syncthreads();
for (int b = threadIdx.x; b < bins * (int)blockDim.x / 32; b += blockDim.x) out[blockIdx.x * (bins * blockDim.x / 32) + b] = bins_of_all[b];
}
// Global: maxima at a computed place, unsigned counts with a limit, pairs of floats, a vote by bits.
extern "C" __global__ void row_maxima(const float* __restrict__ x, int* best, int n, int rows) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicMax(best + i % rows, __float_as_int(x[i]));
}
extern "C" __global__ void ring_slots(unsigned* heads, unsigned* slots, int n, int rings) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) slots[i] = atomicInc(heads + i / 64 % rings, 1023u);
}
extern "C" __global__ void add_pairs(const float2* __restrict__ x, float2* sums, int n, int rows) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(sums + i / 16 % rows, x[i]);
}
extern "C" __global__ void add_quads(const float4* __restrict__ x, float4* sums, int n, int rows) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(sums + i % rows, x[i]);
}
extern "C" __global__ void half_sums(const float* __restrict__ x, __half* sums, int n, int rows) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(sums + i % rows, __float2half(x[i]));
}
extern "C" __global__ void bf16_pairs(const float* __restrict__ x, __nv_bfloat162* sums, int n, int rows) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(sums + i % rows, __float2bfloat162_rn(x[i]));
}
extern "C" __global__ void ticket_of_all(int* next, int* out, int n, int lots) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = atomicAdd(next + i % lots, 1);
}
// Locks as sources write them: a warp's first lane takes a lock, does little, and frees it.
extern "C" __global__ void lock_swap(int* locks, volatile float* sums, int warps, int count, int spacing) {
  int w = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (w >= warps || threadIdx.x % 32) return;
  int* lock = locks + (size_t)(w % count) * spacing;
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  __threadfence();
  sums[w % count] = sums[w % count] + 1.f;
  __threadfence();
  atomicExch(lock, 0);
}
extern "C" __global__ void lock_exchange(int* locks, volatile float* sums, int warps, int count, int spacing) {
  int w = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (w >= warps || threadIdx.x % 32) return;
  int* lock = locks + (size_t)(w % count) * spacing;
  while (atomicExch(lock, 1)) {
  }
  volatile float* s = sums + w % count * 4;
  s[0] = s[0] + 1.f;
  s[1] = s[1] + 2.f;
  s[2] = s[2] + 3.f;
  __threadfence();
  *(volatile int*)lock = 0;
}
extern "C" __global__ void lock_pause(int* locks, volatile float* sums, int warps, int count, int spacing) {
  int w = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (w >= warps || threadIdx.x % 32) return;
  int* lock = locks + (size_t)(w % count) * spacing;
  while (atomicCAS(lock, 0, 1) != 0) __nanosleep(100);
  sums[w % count] = sums[w % count] + 1.f;
  __threadfence();
  atomicExch(lock, 0);
}
extern "C" __global__ void lock_block(int* locks, volatile float* sums, int count) {
  if (threadIdx.x == 0) {
    int* lock = locks + blockIdx.x % count * 32;
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    sums[blockIdx.x % count] = sums[blockIdx.x % count] + 1.f;
    __threadfence();
    atomicExch(lock, 0);
  }
  __syncthreads();
}
extern "C" __global__ void tickets_fence(unsigned* next, volatile unsigned* now, volatile float* sums, int warps, int count, int spacing) {
  int w = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (w >= warps || threadIdx.x % 32) return;
  size_t p = (size_t)(w % count) * spacing;
  unsigned mine = atomicAdd(next + p, 1u);
  while (now[p] != mine) {
  }
  __threadfence();
  sums[w % count] = sums[w % count] + 1.f;
  __threadfence();
  now[p] = mine + 1;
}
