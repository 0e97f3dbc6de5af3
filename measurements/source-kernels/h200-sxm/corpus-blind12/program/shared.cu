// Kernels of shared memory: links followed, banks walked, ranks counted.

#define LINKS 8192

// Links followed in shared memory, each thread from a start of its own.
extern "C" __global__ void chase_in_shared(const int* __restrict__ links, int* __restrict__ out, int steps) {
  __shared__ int next[LINKS];
  for (int e = threadIdx.x; e < LINKS; e += blockDim.x) next[e] = links[e];
  __syncthreads();
  int thread = blockIdx.x * blockDim.x + threadIdx.x, at = thread * 37 % LINKS;
#pragma unroll 8
  for (int k = 0; k < steps; ++k) at = next[at];
  out[thread] = at;
}

#define CELLS 4096

// Cells of shared memory read at a stride between threads, which says how many of a warp meet in a bank.
extern "C" __global__ void bank_walk(const float* __restrict__ in, float* __restrict__ out, int stride, int hop,
                                     int steps) {
  __shared__ float cells[CELLS];
  for (int e = threadIdx.x; e < CELLS; e += blockDim.x) cells[e] = in[e];
  __syncthreads();
  unsigned at = threadIdx.x * stride + blockIdx.x;
  float sum = 0.0f;
#pragma unroll 4
  for (int k = 0; k < steps; ++k) {
    sum += cells[at % CELLS];
    at += hop;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

#define KEYS 256

// Sorting by counting: a thread counts the keys before its own, tile by tile in shared memory, and puts it there.
extern "C" __global__ void __launch_bounds__(KEYS)
    rank_by_counting(const unsigned* __restrict__ keys, unsigned* __restrict__ sorted, int* __restrict__ order, int n) {
  __shared__ unsigned tile[KEYS];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned mine = i < n ? keys[i] : 0u;
  int rank = 0;
  for (int first = 0; first < n; first += KEYS) {
    for (int e = threadIdx.x; e < KEYS; e += blockDim.x) tile[e] = first + e < n ? keys[first + e] : ~0u;
    __syncthreads();
#pragma unroll 16
    for (int k = 0; k < KEYS; ++k) rank += tile[k] < mine || (tile[k] == mine && first + k < i);
    __syncthreads();
  }
  if (i >= n) return;
  sorted[rank] = mine;
  order[rank] = i;
}
