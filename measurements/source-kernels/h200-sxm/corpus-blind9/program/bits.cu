// Kernels on integers and bytes: encodings, moduli, long numbers, searches, filters, sets.

__constant__ char letters[65] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// Base64: twelve bytes to sixteen letters a thread, the alphabet in shared memory.
extern "C" __global__ void base64_encode(const unsigned* __restrict__ in, uint4* __restrict__ out, int groups) {
  __shared__ unsigned char alphabet[64];
  if (threadIdx.x < 64) alphabet[threadIdx.x] = letters[threadIdx.x];
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= groups) return;
  unsigned a = in[3 * i], b = in[3 * i + 1], c = in[3 * i + 2];
  // three bytes each, the first one on top
  unsigned three[4] = {__byte_perm(a, 0, 0x4012), __byte_perm(a, b, 0x3345) & 0xFFFFFFu,
                       __byte_perm(b, c, 0x2234) & 0xFFFFFFu, __byte_perm(c, 0, 0x4123)};
  unsigned four[4];
#pragma unroll
  for (int k = 0; k < 4; ++k)
    four[k] = alphabet[three[k] >> 18] | alphabet[three[k] >> 12 & 63] << 8 | alphabet[three[k] >> 6 & 63] << 16 |
              (unsigned)alphabet[three[k] & 63] << 24;
  out[i] = make_uint4(four[0], four[1], four[2], four[3]);
}

__device__ __forceinline__ unsigned long long montgomery(unsigned long long a, unsigned long long b,
                                                         unsigned long long n, unsigned long long inverse) {
  unsigned long long low = a * b, high = __umul64hi(a, b), taken = __umul64hi(low * inverse, n);
  return high >= taken ? high - taken : high - taken + n;
}

// Powers modulo an odd number below 2^63 by Montgomery products of 64 bits; `square` is 2^128 modulo it.
extern "C" __global__ void montgomery_power(const unsigned long long* __restrict__ base,
                                            unsigned long long* __restrict__ out, unsigned long long modulus,
                                            unsigned long long square, unsigned long long exponent, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long inverse = modulus;
#pragma unroll
  for (int k = 0; k < 5; ++k) inverse *= 2 - modulus * inverse;
  unsigned long long power = montgomery(base[i] % modulus, square, modulus, inverse);
  unsigned long long made = montgomery(1, square, modulus, inverse);
  for (unsigned long long e = exponent; e; e >>= 1) {
    if (e & 1) made = montgomery(made, power, modulus, inverse);
    power = montgomery(power, power, modulus, inverse);
  }
  out[i] = montgomery(made, 1, modulus, inverse);
}

// Sums of numbers of 4096 bits: four words a lane by the carry flag, carries between lanes by ballots; a warp a number.
extern "C" __global__ void add_wide(const uint4* __restrict__ a, const uint4* __restrict__ b, uint4* __restrict__ sum,
                                    unsigned* __restrict__ over, int numbers) {
  int number = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (number >= numbers) return;
  uint4 p = a[(size_t)number * 32 + lane], q = b[(size_t)number * 32 + lane], s;
  unsigned carry;
  asm("add.cc.u32 %0, %5, %9;\n\t"
      "addc.cc.u32 %1, %6, %10;\n\t"
      "addc.cc.u32 %2, %7, %11;\n\t"
      "addc.cc.u32 %3, %8, %12;\n\t"
      "addc.u32 %4, 0, 0;"
      : "=&r"(s.x), "=&r"(s.y), "=&r"(s.z), "=&r"(s.w), "=r"(carry)
      : "r"(p.x), "r"(p.y), "r"(p.z), "r"(p.w), "r"(q.x), "r"(q.y), "r"(q.z), "r"(q.w));
  unsigned makes = __ballot_sync(~0u, carry);
  unsigned long long passes = __ballot_sync(~0u, (s.x & s.y & s.z & s.w) == ~0u);
  unsigned long long into = (passes + ((unsigned long long)makes << 1)) ^ passes;
  unsigned own = into >> lane & 1;
  asm("add.cc.u32 %0, %0, %4;\n\t"
      "addc.cc.u32 %1, %1, 0;\n\t"
      "addc.cc.u32 %2, %2, 0;\n\t"
      "addc.u32 %3, %3, 0;"
      : "+r"(s.x), "+r"(s.y), "+r"(s.z), "+r"(s.w)
      : "r"(own));
  sum[(size_t)number * 32 + lane] = s;
  if (lane == 0) over[number] = into >> 32;
}

// Where a pattern begins in a text, as bits, and how often: a tile of 1024 and a rim in shared memory.
extern "C" __global__ void __launch_bounds__(256) find_pattern(const unsigned char* __restrict__ text,
                                                               const unsigned char* __restrict__ pattern,
                                                               unsigned* __restrict__ marks, int* __restrict__ total,
                                                               int n, int length) {
  __shared__ unsigned char tile[1024 + 64], wanted[64];
  int first = blockIdx.x * 1024;
  for (int k = threadIdx.x; k < 1024 + 64; k += 256) tile[k] = first + k < n ? text[first + k] : 255;
  if (threadIdx.x < length) wanted[threadIdx.x] = pattern[threadIdx.x];
  __syncthreads();
  int count = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    int at = k * 256 + threadIdx.x, same = 0;
    while (same < length && tile[at + same] == wanted[same]) ++same;
    unsigned votes = __ballot_sync(~0u, same == length);
    if (threadIdx.x % 32 == 0) {
      if (first + at < n) marks[(first + at) / 32] = votes;
      count += __popc(votes);
    }
  }
  if (count) atomicAdd(total, count);
}

// Whether keys are in a cuckoo filter: four fingerprints of a byte in each of two buckets; answers as bits.
extern "C" __global__ void cuckoo_probe(const unsigned* __restrict__ filter, const unsigned* __restrict__ keys,
                                        unsigned* __restrict__ found, unsigned mask, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  bool is = false;
  if (i < n) {
    unsigned h = keys[i];
    h = (h ^ h >> 16) * 0x85EBCA6Bu;
    h = (h ^ h >> 13) * 0xC2B2AE35u;
    h ^= h >> 16;
    unsigned print = (h >> 24) % 255 + 1, one = (h * 0x9E3779B1u) & mask;
    unsigned four = print * 0x01010101u;
    is = __vcmpeq4(filter[one], four) != 0;
    if (!is) is = __vcmpeq4(filter[(one ^ print * 0x5BD1E995u) & mask], four) != 0;
  }
  unsigned votes = __ballot_sync(~0u, is);
  if (threadIdx.x % 32 == 0 && i < n) found[i / 32] = votes;
}

__device__ __forceinline__ int root_of(const int* up, int v) {
  for (int d; (d = __ldcg(up + v)) != 0;) v -= d;
  return v;
}

// Sets tied by edges, the larger root under the smaller by compare-and-swap: `up`: how far under a node its parent is.
extern "C" __global__ void union_hook(const int2* __restrict__ edges, int* up, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  int2 e = edges[i];
  int a = root_of(up, e.x), b = root_of(up, e.y);
  while (a != b) {
    int high = max(a, b), low = min(a, b);
    int old = atomicCAS(up + high, 0, high - low);
    if (old == 0) break;
    a = root_of(up, high - old);
    b = root_of(up, low);
  }
}
