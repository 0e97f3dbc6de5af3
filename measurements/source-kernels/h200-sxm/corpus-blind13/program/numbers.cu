// Kernels of integers, bits and complex numbers.

// Saturated sums of bytes, sixteen a thread and turn.
extern "C" __global__ void add_bytes_saturated(const uint4* __restrict__ a, const uint4* __restrict__ b,
                                               uint4* __restrict__ out, int n) {
  int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
    uint4 p = a[i], q = b[i];
    out[i] = make_uint4(__vaddus4(p.x, q.x), __vaddus4(p.y, q.y), __vaddus4(p.z, q.z), __vaddus4(p.w, q.w));
  }
}

// Transpose of a matrix of bits, rows of `wide` words: a warp takes 32 x 32 bits, halves them five times.
extern "C" __global__ void transpose_bits_warp(const unsigned* __restrict__ in, unsigned* __restrict__ out, int high,
                                               int wide) {
  int lane = threadIdx.x & 31, tile = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  if (tile >= high * wide) return;
  int row = tile / wide, column = tile % wide;
  unsigned bits = in[(size_t)(32 * row + lane) * wide + column];
  unsigned mask = 0xffffu;
#pragma unroll
  for (int w = 16; w > 0; w >>= 1) {
    unsigned other = __shfl_xor_sync(0xffffffffu, bits, w);
    if (lane & w)
      bits = (bits & ~mask) | ((other >> w) & mask);
    else
      bits = (bits & mask) | ((other & mask) << w);
    mask ^= mask << (w >> 1);
  }
  out[(size_t)(32 * column + lane) * high + row] = bits;
}

__device__ __forceinline__ unsigned long long turn(unsigned long long x, int by) {
  return (x << by) | (x >> (64 - by));
}

__device__ __forceinline__ void sip_round(unsigned long long& a, unsigned long long& b, unsigned long long& c,
                                          unsigned long long& d) {
  a += b;
  b = turn(b, 13) ^ a;
  a = turn(a, 32);
  c += d;
  d = turn(d, 16) ^ c;
  a += d;
  d = turn(d, 21) ^ a;
  c += b;
  b = turn(b, 17) ^ c;
  c = turn(c, 32);
}

// SipHash-2-4 of keys of `words` words of 64 bits, a thread a key.
extern "C" __global__ void siphash_keys(const unsigned long long* __restrict__ keys,
                                        unsigned long long* __restrict__ hashes, int n, int words,
                                        unsigned long long low, unsigned long long high) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long a = low ^ 0x736f6d6570736575ull, b = high ^ 0x646f72616e646f6dull;
  unsigned long long c = low ^ 0x6c7967656e657261ull, d = high ^ 0x7465646279746573ull;
  for (int k = 0; k < words; ++k) {
    unsigned long long word = keys[(size_t)i * words + k];
    d ^= word;
    sip_round(a, b, c, d);
    sip_round(a, b, c, d);
    a ^= word;
  }
  unsigned long long last = (unsigned long long)(8 * words) << 56;
  d ^= last;
  sip_round(a, b, c, d);
  sip_round(a, b, c, d);
  a ^= last;
  c ^= 0xff;
  for (int k = 0; k < 4; ++k) sip_round(a, b, c, d);
  hashes[i] = a ^ b ^ c ^ d;
}

// Cross-power spectrum of two images, as phase correlation has it: products of norm one.
extern "C" __global__ void complex_products(const float2* __restrict__ a, const float2* __restrict__ b,
                                            float2* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float2 p = a[i], q = b[i];
  float re = p.x * q.x + p.y * q.y, im = p.y * q.x - p.x * q.y;
  float scale = rsqrtf(re * re + im * im + 1e-20f);
  out[i] = make_float2(re * scale, im * scale);
}

// How many of the odd numbers from `first` on are primes, by trial division; a warp adds once.
extern "C" __global__ void count_primes_trial(unsigned* __restrict__ count, unsigned first, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned number = first + 2 * i;
  bool prime = i < n && number > 2;
  if (prime) {
    for (unsigned d = 3; d * d <= number; d += 2) {
      if (number % d == 0) {
        prime = false;
        break;
      }
    }
  }
  unsigned lanes = __ballot_sync(0xffffffffu, prime);
  if ((threadIdx.x & 31) == 0 && lanes) atomicAdd(count, __popc(lanes));
}

// Three choices by three bits of a key: lanes of a warp part, or all go one way, as the shift has it.
extern "C" __global__ void branch_by_bits(const unsigned* __restrict__ keys, const float* __restrict__ in,
                                          float* __restrict__ out, int n, int shift) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned key = keys[i] >> shift;
  float v = in[i];
  if (key & 1) {
    for (int k = 0; k < 12; ++k) v = v * 0.75f + sqrtf(v) * 0.25f;
  } else {
    for (int k = 0; k < 20; ++k) v = v * (1.9f - v) + 0.01f;
  }
  if (key & 2) v = expf(-v) / (1.0f + v * v);
  if (key & 4) {
    float w = logf(v + 1.5f);
    v = w * sinf(3.0f * v) + 0.5f;
  }
  out[i] = v;
}
