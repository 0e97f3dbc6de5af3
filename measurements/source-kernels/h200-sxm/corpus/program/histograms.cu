// Counting with atomics: in global and in shared memory, with and without a returned value.
extern "C" __global__ void histogram_global(const unsigned* __restrict__ keys, unsigned* __restrict__ bins, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[keys[i]], 1u);
}

extern "C" __global__ void histogram_shared(const unsigned* __restrict__ keys, unsigned* __restrict__ bins, int n) {
  __shared__ unsigned mine[256];
  for (int b = threadIdx.x; b < 256; b += blockDim.x) mine[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&mine[keys[i] & 255u], 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < 256; b += blockDim.x) atomicAdd(&bins[b], mine[b]);
}

// Keeps what is below a limit, a place a block from one atomic.
extern "C" __global__ void compact(const unsigned* __restrict__ in, unsigned* __restrict__ out, unsigned* __restrict__ count, unsigned limit, int n) {
  __shared__ unsigned here, base;
  if (threadIdx.x == 0) here = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned value = i < n ? in[i] : 0xffffffffu, place = 0;
  bool keep = value < limit;
  if (keep) place = atomicAdd(&here, 1u);
  __syncthreads();
  if (threadIdx.x == 0) base = atomicAdd(count, here);
  __syncthreads();
  if (keep) out[base + place] = value;
}

extern "C" __global__ void segment_sums(const float* __restrict__ values, const int* __restrict__ segments, float* __restrict__ sums, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&sums[segments[i]], values[i]);
}

extern "C" __global__ void maximum_by_compare(const int* __restrict__ in, int* __restrict__ best, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int value = in[i], seen = best[i & 4095];
  while (value > seen) {
    int old = atomicCAS(&best[i & 4095], seen, value);
    if (old == seen) break;
    seen = old;
  }
}
