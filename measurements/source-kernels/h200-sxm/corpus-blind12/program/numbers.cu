// Kernels of numbers: sums without lost digits, a series of divisions, long divisions.

__device__ __forceinline__ void add_exactly(float& sum, float& rest, float value) {
  float more = sum + value, back = more - sum;
  rest += (sum - (more - back)) + (value - back);
  sum = more;
}

// A sum that keeps what rounding drops beside it: threads, then shuffles, then the warps of a block; a pair a block.
extern "C" __global__ void __launch_bounds__(1024)
    sum_compensated(const float* __restrict__ in, float2* __restrict__ out, int n) {
  __shared__ float2 parts[32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  float sum = 0.0f, rest = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    add_exactly(sum, rest, in[i]);
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) {
    float other = __shfl_down_sync(~0u, sum, apart), left = __shfl_down_sync(~0u, rest, apart);
    add_exactly(sum, rest, other);
    rest += left;
  }
  if (lane == 0) parts[warp] = make_float2(sum, rest);
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int w = 1; w < warps; ++w) {
    add_exactly(sum, rest, parts[w].x);
    rest += parts[w].y;
  }
  out[blockIdx.x] = make_float2(sum, rest);
}

// Leibniz's series for pi in double precision: a division a term, four terms at once, one atomic addition a block.
extern "C" __global__ void __launch_bounds__(256) leibniz_double(double* __restrict__ out, int terms) {
  __shared__ double parts[8];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  double sum = 0.0;
#pragma unroll 4
  for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < terms; k += gridDim.x * blockDim.x) {
    double term = 4.0 / (2.0 * k + 1.0);
    sum += k % 2 ? -term : term;
  }
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) sum += __shfl_xor_sync(~0u, sum, apart);
  if (lane == 0) parts[warp] = sum;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int w = 1; w < blockDim.x / 32; ++w) sum += parts[w];
  atomicAdd(out, sum);
}

// Quotients and remainders of 64-bit numbers.
extern "C" __global__ void divide_wide(const unsigned long long* __restrict__ tops,
                                       const unsigned long long* __restrict__ bottoms,
                                       unsigned long long* __restrict__ quotients,
                                       unsigned long long* __restrict__ rests, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long top = tops[i], bottom = bottoms[i] | 1ull;
  quotients[i] = top / bottom;
  rests[i] = top % bottom;
}
