// Warps, groups, flags, queues and barriers.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda_pipeline.h>
namespace cg = cooperative_groups;

__global__ void tile_sums(const float* x, float* out, int n) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<16>(block);
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = i < n ? x[i] : 0.f;
  s = cg::reduce(tile, s, cg::plus<float>());
  if (tile.thread_rank() == 0) out[i / 16] = s;
}

__global__ void compact_positive(const float* x, float* out, int* count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = i < n ? x[i] : 0.f;
  bool keep = v > 0.7f;
  unsigned who = __ballot_sync(0xffffffffu, keep);
  int lane = threadIdx.x & 31, base = 0;
  if (lane == 0 && who) base = atomicAdd(count, __popc(who));
  base = __shfl_sync(0xffffffffu, base, 0);
  if (keep) out[base + __popc(who & ((1u << lane) - 1))] = v;
}

__global__ void compact_coalesced(const int* x, int* out, int* count, int n, int limit) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || x[i] >= limit) return;
  auto active = cg::coalesced_threads();
  int at;
  if (active.thread_rank() == 0) at = atomicAdd(count, active.size());
  at = active.shfl(at, 0) + active.thread_rank();
  out[at] = x[i];
}

__global__ void histogram_matched(const unsigned char* x, unsigned* bins, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned key = x[i] & 31;
  unsigned mask = __match_any_sync(__activemask(), key);
  int leader = __ffs(mask) - 1;
  if ((threadIdx.x & 31) == leader) atomicAdd(&bins[key], __popc(mask));
}

__global__ void leaders_in_turn(const int* key, float* sums, const float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int mine = key[i];
  bool done = false;
  while (!done) {
    unsigned active = __activemask();
    int first = __shfl_sync(active, mine, __ffs(active) - 1);
    if (first == mine) {
      atomicAdd(&sums[mine], x[i]);
      done = true;
    }
  }
}

__global__ void scan_warps(const int* in, int* out, int n) {
  __shared__ int totals[32];
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % warpSize,
      warp = threadIdx.x / warpSize;
  int v = i < n ? in[i] : 0;
  for (int d = 1; d < warpSize; d <<= 1) {
    int left = __shfl_up_sync(0xffffffffu, v, d);
    if (lane >= d) v += left;
  }
  if (lane == 31) totals[warp] = v;
  __syncthreads();
  if (warp == 0) {
    int t = lane < blockDim.x / 32 ? totals[lane] : 0;
    for (int d = 1; d < 32; d <<= 1) {
      int left = __shfl_up_sync(0xffffffffu, t, d);
      if (lane >= d) t += left;
    }
    totals[lane] = t;
  }
  __syncthreads();
  if (warp > 0) v += totals[warp - 1];
  if (i < n) out[i] = v;
}

__device__ unsigned arrived;
__global__ void sum_last_block(const float* x, float* partial, float* result, int n) {
  __shared__ float s[256];
  __shared__ bool last;
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) v += x[i];
  s[threadIdx.x] = v;
  __syncthreads();
  for (int k = 128; k > 0; k >>= 1) {
    if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = s[0];
    __threadfence();
    unsigned ticket = atomicInc(&arrived, gridDim.x);
    last = ticket == gridDim.x - 1;
  }
  __syncthreads();
  if (last) {
    v = 0;
    for (int i = threadIdx.x; i < gridDim.x; i += blockDim.x)
      v += *(volatile float*)&partial[i];
    s[threadIdx.x] = v;
    __syncthreads();
    for (int k = 128; k > 0; k >>= 1) {
      if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
      __syncthreads();
    }
    if (threadIdx.x == 0) {
      *result = s[0];
      arrived = 0;
    }
  }
}

__global__ void queue_blocks(const float* x, float* y, int* head, int tasks, int size) {
  __shared__ int task;
  while (true) {
    if (threadIdx.x == 0) task = atomicAdd(head, 1);
    __syncthreads();
    int t = task;
    __syncthreads();
    if (t >= tasks) break;
    for (int i = threadIdx.x; i < size; i += blockDim.x)
      y[t * size + i] = sqrtf(x[t * size + i]);
  }
}

__global__ void queue_warps(const int* work, int* done, int* head, int tasks) {
  int lane = threadIdx.x & 31;
  for (;;) {
    int t = 0;
    if (lane == 0) t = atomicAdd(head, 1);
    t = __shfl_sync(~0u, t, 0);
    if (t >= tasks) return;
    int v = work[t * 32 + lane];
    done[t * 32 + lane] = v * v;
  }
}

__global__ void two_roles(const float* x, float* y, int rounds) {
  __shared__ float buffer[2][128];
  bool producer = threadIdx.x < 128;
  int t = threadIdx.x & 127;
  for (int r = 0; r < rounds; ++r) {
    int b = r & 1, at = (blockIdx.x * rounds + r) * 128 + t;
    if (producer) {
      if (r >= 2) asm volatile("bar.sync %0, 256;" ::"r"(3 + b) : "memory");
      buffer[b][t] = x[at];
      asm volatile("bar.arrive %0, 256;" ::"r"(1 + b) : "memory");
    } else {
      asm volatile("bar.sync %0, 256;" ::"r"(1 + b) : "memory");
      y[at] = buffer[b][127 - t] * 2.f;
      if (r + 2 < rounds) asm volatile("bar.arrive %0, 256;" ::"r"(3 + b) : "memory");
    }
  }
}

__global__ void warp_transpose(const float* in, float* out) {
  __shared__ float s[4][32][33];
  int warp = threadIdx.y, lane = threadIdx.x, tile = blockIdx.x * 4 + warp;
  for (int r = 0; r < 32; ++r) s[warp][r][lane] = in[tile * 1024 + r * 32 + lane];
  __syncwarp();
  for (int r = 0; r < 32; ++r) out[tile * 1024 + r * 32 + lane] = s[warp][lane][r];
}

__global__ void warp_extremes(const unsigned* x, unsigned* least, unsigned* most, size_t n) {
  unsigned lo = 0xffffffffu, hi = 0;
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    lo = min(lo, x[i]);
    hi = max(hi, x[i]);
  }
  lo = __reduce_min_sync(0xffffffffu, lo);
  hi = __reduce_max_sync(0xffffffffu, hi);
  if (threadIdx.x % 32 == 0) {
    atomicMin(least, lo);
    atomicMax(most, hi);
  }
}

__global__ void shuffle_lookup(const int* index, const float* table, float* out, int n) {
  float mine = table[threadIdx.x & 31];
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    out[i] = __shfl_sync(__activemask(), mine, index[i]);
}

__global__ void copy_ahead(const float4* in, float4* out, int tiles) {
  __shared__ float4 stage[2][128];
  int first = blockIdx.x * tiles * 128 + threadIdx.x;
  __pipeline_memcpy_async(&stage[0][threadIdx.x], &in[first], 16);
  __pipeline_commit();
  for (int t = 0; t < tiles; ++t) {
    if (t + 1 < tiles)
      __pipeline_memcpy_async(&stage[(t + 1) & 1][threadIdx.x], &in[first + (t + 1) * 128], 16);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    float4 v = stage[t & 1][threadIdx.x ^ 1];
    v.x += v.w;
    out[first + t * 128] = v;
    __syncthreads();
  }
}

__global__ void copy_by_barrier(const int* in, int* out) {
  __shared__ alignas(16) int tile[1024];
  __shared__ cuda::barrier<cuda::thread_scope_block> ready;
  auto block = cg::this_thread_block();
  if (threadIdx.x == 0) init(&ready, blockDim.x);
  block.sync();
  cuda::memcpy_async(block, tile, in + blockIdx.x * 1024, cuda::aligned_size_t<16>(4096), ready);
  ready.arrive_and_wait();
  for (int i = threadIdx.x; i < 1024; i += blockDim.x)
    out[blockIdx.x * 1024 + i] = tile[1023 - i] + 1;
}

__global__ void raw_barriers(const float* in, float* out, int rounds) {
  __shared__ alignas(8) unsigned long long bar;
  __shared__ float s[256];
  unsigned at = (unsigned)__cvta_generic_to_shared(&bar);
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at), "r"(blockDim.x));
  __syncthreads();
  float v = in[blockIdx.x * 256 + threadIdx.x];
  for (int r = 0; r < rounds; ++r) {
    s[threadIdx.x] = v;
    unsigned long long token;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(token) : "r"(at) : "memory");
    unsigned ok = 0;
    while (!ok)
      asm volatile("{.reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                   : "=r"(ok) : "r"(at), "l"(token) : "memory");
    v += s[(threadIdx.x + 1 + r) & 255];
    __syncthreads();
  }
  out[blockIdx.x * 256 + threadIdx.x] = v;
}

__global__ void any_above(const float* x, int* flags, int n, float limit) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  bool p = i < n && x[i] > limit;
  if (__syncthreads_or(p) && threadIdx.x == 0) flags[blockIdx.x] = 1;
  int c = __syncthreads_count(p);
  if (threadIdx.x == 0) atomicAdd(&flags[gridDim.x], c);
}

__global__ void group_prefix(const int* x, int* out, int n) {
  auto grid = cg::this_grid();
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  for (unsigned long long i = grid.thread_rank(); i < n; i += grid.size()) {
    int v = x[i];
    for (int d = 1; d < warp.size(); d *= 2) {
      int left = warp.shfl_up(v, d);
      if (warp.thread_rank() >= d) v += left;
    }
    out[i] = v;
  }
}

__global__ void referenced_atomics(const int* key, int* bins, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  cuda::atomic_ref<int, cuda::thread_scope_device> bin(bins[key[i]]);
  bin.fetch_add(1, cuda::memory_order_relaxed);
}
