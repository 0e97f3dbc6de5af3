// Prices, random draws, counts, digests.
// Prices of calls and puts; the normal distribution by a polynomial of five terms.
__device__ __forceinline__ float below_normal(float d) {
  float k = __fdividef(1.0f, 1.0f + 0.2316419f * fabsf(d));
  float tail = 0.39894228f * __expf(-0.5f * d * d) * k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
  return d > 0.0f ? 1.0f - tail : tail;
}

extern "C" __global__ void call_and_put(const float* __restrict__ stock, const float* __restrict__ strike, const float* __restrict__ years, float* __restrict__ call, float* __restrict__ put, float rate, float volatility, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float s = 5.0f + 25.0f * stock[i], x = 1.0f + 99.0f * strike[i], t = 0.25f + 9.75f * years[i];
    float root = sqrtf(t), d1 = (__logf(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root), d2 = d1 - volatility * root;
    float n1 = below_normal(d1), n2 = below_normal(d2), later = x * __expf(-rate * t);
    call[i] = s * n1 - later * n2;
    put[i] = later * (1.0f - n2) - s * (1.0f - n1);
  }
}

// How often each of 16 digits occurs in a block's 4096 keys: counters of each thread in shared memory.
extern "C" __global__ void digit_counts(const unsigned* __restrict__ keys, unsigned* __restrict__ counts, int shift) {
  __shared__ unsigned short mine[16][256];
  int t = threadIdx.x;
#pragma unroll
  for (int d = 0; d < 16; ++d) mine[d][t] = 0;
#pragma unroll
  for (int k = 0; k < 16; ++k) ++mine[keys[blockIdx.x * 4096 + k * 256 + t] >> shift & 15u][t];
  __syncthreads();
  int digit = t >> 4, part = t & 15;
  unsigned sum = 0;
#pragma unroll
  for (int k = 0; k < 16; ++k) sum += mine[digit][k * 16 + part];
#pragma unroll
  for (int step = 8; step > 0; step >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, step, 16);
  if (part == 0) counts[digit * gridDim.x + blockIdx.x] = sum;
}

// Messages of 16 words, made from the index, through 64 rounds of adding, rotating and choosing.
__device__ __forceinline__ unsigned rotated(unsigned x, int by) { return x << by | x >> (32 - by); }

extern "C" __global__ void digest_rounds(uint4* __restrict__ out, unsigned salt, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned m[16], a = 0x01234567u, b = 0x89abcdefu, c = 0xfedcba98u, d = 0x76543210u;
#pragma unroll
  for (int k = 0; k < 16; ++k) m[k] = (i + 1u) * 0x85ebca6bu ^ (k * 0xc2b2ae35u + salt);
#pragma unroll
  for (int k = 0; k < 64; ++k) {
    unsigned f = k < 16 ? (b & c) | (~b & d) : k < 32 ? (d & b) | (~d & c) : k < 48 ? b ^ c ^ d : c ^ (b | ~d);
    unsigned word = m[k < 16 ? k : k < 32 ? (5 * k + 1) % 16 : k < 48 ? (3 * k + 5) % 16 : 7 * k % 16];
    unsigned next = b + rotated(a + f + word + (k + 1) * 0x9e3779b9u, 5 + (k & 3) * 5);
    a = d;
    d = c;
    c = b;
    b = next;
  }
  out[i] = make_uint4(a, b, c, d);
}
