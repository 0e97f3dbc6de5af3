// Kernels of arrays: extremes, sums by segment, normalised exponentials, largest places, indices of indices.
#include <cuda_fp16.h>

// Bits of a double as an integer of the same order.
__device__ __forceinline__ unsigned long long ordered(double x) {
  long long bits = __double_as_longlong(x);
  return bits < 0 ? ~bits : bits ^ (1ll << 63);
}

// Smallest and largest of many doubles: two a load, shuffles, shared memory, then atomic maxima of ordered integers.
extern "C" __global__ void __launch_bounds__(1024) min_and_max(const double2* __restrict__ in,
                                                               unsigned long long* __restrict__ out, int n) {
  __shared__ double lows[32], highs[32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  int begin = blockIdx.x * blockDim.x + threadIdx.x;
  const double* each = (const double*)in;
  double low = each[n - 1], high = low;
  for (int i = begin; i < n / 2; i += gridDim.x * blockDim.x) {
    double2 v = in[i];
    low = fmin(low, fmin(v.x, v.y));
    high = fmax(high, fmax(v.x, v.y));
  }
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) {
    low = fmin(low, __shfl_down_sync(~0u, low, apart));
    high = fmax(high, __shfl_down_sync(~0u, high, apart));
  }
  if (lane == 0) {
    lows[warp] = low;
    highs[warp] = high;
  }
  __syncthreads();
  if (warp > 0) return;
  low = lows[lane < warps ? lane : 0];
  high = highs[lane < warps ? lane : 0];
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) {
    low = fmin(low, __shfl_down_sync(~0u, low, apart));
    high = fmax(high, __shfl_down_sync(~0u, high, apart));
  }
  if (lane == 0) {
    atomicMax(&out[0], ~ordered(low));
    atomicMax(&out[1], ordered(high));
  }
}

// A warp's running sums that begin anew at each head; `head` becomes whether there was one so far.
__device__ __forceinline__ int since_head(int sum, int& head, int lane) {
#pragma unroll
  for (int apart = 1; apart < 32; apart *= 2) {
    int other = __shfl_up_sync(~0u, sum, apart), before = __shfl_up_sync(~0u, head, apart);
    if (lane >= apart) {
      if (!head) sum += other;
      head |= before;
    }
  }
  return sum;
}

// Running sums that begin anew at every mark and every block: in each warp by shuffles, then over the block's warps.
extern "C" __global__ void __launch_bounds__(1024)
    segmented_scan(const int* __restrict__ values, const unsigned char* __restrict__ marks, int* __restrict__ out,
                   int n) {
  __shared__ int sums[32], heads[32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int head = i < n && marks[i] == 0;
  int sum = since_head(i < n ? values[i] : 0, head, lane);
  if (lane == 31) {
    sums[warp] = sum;
    heads[warp] = head;
  }
  __syncthreads();
  if (warp == 0) {
    int any = lane < warps && heads[lane];
    int all = since_head(lane < warps ? sums[lane] : 0, any, lane);
    sums[lane] = all;
  }
  __syncthreads();
  if (warp > 0 && !head) sum += sums[warp - 1];
  if (i < n) out[i] = sum;
}

// Softmax over the middle of three axes: a thread a column of channels, largest and sum in one pass, a second to write.
extern "C" __global__ void softmax_strided(const float* __restrict__ in, float* __restrict__ out, int channels,
                                           int inner, float sharpness) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= inner) return;
  long long base = (long long)blockIdx.y * channels * inner + i;
  float top = -INFINITY, sum = 0.0f;
  for (int c = 0; c < channels; ++c) {
    float value = in[base + (long long)c * inner] * sharpness, higher = fmaxf(top, value);
    sum = sum * __expf(top - higher) + __expf(value - higher);
    top = higher;
  }
  float part = 1.0f / sum;
  for (int c = 0; c < channels; ++c) {
    long long at = base + (long long)c * inner;
    out[at] = __expf(in[at] * sharpness - top) * part;
  }
}

// Each row's largest value and its first place, half precision at an odd pitch: a warp a row.
extern "C" __global__ void argmax_rows(const __half* __restrict__ in, int* __restrict__ places,
                                       float* __restrict__ values, int rows, int columns) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  const __half* line = in + (long long)row * columns;
  float best = -INFINITY;
  int place = columns;
  for (int c = lane; c < columns; c += 32) {
    float value = __half2float(line[c]);
    if (value > best) {
      best = value;
      place = c;
    }
  }
  for (int apart = 16; apart > 0; apart /= 2) {
    float other = __shfl_xor_sync(~0u, best, apart);
    int there = __shfl_xor_sync(~0u, place, apart);
    if (other > best || (other == best && there < place)) {
      best = other;
      place = there;
    }
  }
  if (lane == 0) {
    places[row] = place;
    values[row] = best;
  }
}

// Doubles by way of two indices: an order of rows, and each row's place in a table.
extern "C" __global__ void gather_twice(const int* __restrict__ order, const int* __restrict__ index,
                                        const double* __restrict__ table, double* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = table[index[order[i]]];
}
