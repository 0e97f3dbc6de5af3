// Kernels of textbooks on memory: strides, banks, transposes, atomics.

#include <cuda_fp16.h>

// The norm of each row, a thread a row: neighbouring threads read a row's length apart.
extern "C" __global__ void row_norms_thread(const float* __restrict__ in, float* __restrict__ out, int rows,
                                            int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const float* mine = in + (size_t)row * columns;
  float sum = 0.0f;
  for (int k = 0; k < columns; ++k) sum += mine[k] * mine[k];
  out[row] = sqrtf(sum);
}

#define SIDE 64

// Transpose of halves, two a load and two a store; blocks of 32 x 8 threads. Rows and columns are even.
extern "C" __global__ void __launch_bounds__(256)
    transpose_half_pairs(const __half2* __restrict__ in, __half2* __restrict__ out, int rows, int columns) {
  __shared__ __align__(4) __half tile[SIDE][SIDE + 2];
  int left = blockIdx.x * SIDE, top = blockIdx.y * SIDE;
  int x = left + 2 * threadIdx.x;
  for (int r = threadIdx.y; r < SIDE; r += 8) {
    if (x < columns && top + r < rows) {
      __half2 pair = in[((size_t)(top + r) * columns + x) / 2];
      *(__half2*)&tile[r][2 * threadIdx.x] = pair;
    }
  }
  __syncthreads();
  int y = top + 2 * threadIdx.x;
  for (int r = threadIdx.y; r < SIDE; r += 8) {
    if (y < rows && left + r < columns) {
      __half2 pair = __halves2half2(tile[2 * threadIdx.x][r], tile[2 * threadIdx.x + 1][r]);
      out[((size_t)(left + r) * rows + y) / 2] = pair;
    }
  }
}

#define CELLS 1024

// Doubles in shared memory read with a stride: how many passes a read takes depends on it.
extern "C" __global__ void shared_stride_reads(const double* __restrict__ in, double* __restrict__ out, int stride,
                                               int rounds) {
  __shared__ double cells[CELLS];
  for (int k = threadIdx.x; k < CELLS; k += blockDim.x) cells[k] = in[(size_t)blockIdx.x * CELLS + k];
  __syncthreads();
  double sum = 0.0;
  int place = threadIdx.x * stride;
  for (int k = 0; k < rounds; ++k) {
    sum += cells[place & (CELLS - 1)];
    place += 1;
  }
  out[(size_t)blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Counts of keys, the counters `pitch` words apart.
extern "C" __global__ void counters_spread(const unsigned* __restrict__ keys, unsigned* __restrict__ counters, int n,
                                           unsigned bins, int pitch) {
  int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
    unsigned bin = keys[i] % bins;
    atomicAdd(&counters[bin * pitch], 1u);
  }
}

// Even values into one list, odd ones into another: a block counts its own, then takes room in both.
extern "C" __global__ void append_by_parity(const unsigned* __restrict__ in, unsigned* __restrict__ even,
                                            unsigned* __restrict__ odd, unsigned* __restrict__ counts, int n) {
  __shared__ unsigned many[2], begin[2];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x < 2) many[threadIdx.x] = 0;
  __syncthreads();
  unsigned value = 0, parity = 0, place = 0;
  if (i < n) {
    value = in[i];
    parity = value & 1;
    place = atomicAdd(&many[parity], 1u);
  }
  __syncthreads();
  if (threadIdx.x < 2) begin[threadIdx.x] = atomicAdd(&counts[threadIdx.x], many[threadIdx.x]);
  __syncthreads();
  if (i >= n) return;
  unsigned* list = parity ? odd : even;
  list[begin[parity] + place] = value;
}
