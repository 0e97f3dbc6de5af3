// Bit tricks, hashes, random numbers, sorting, searching, wide integers.
#include <cstdint>

__global__ void bit_features(const unsigned* x, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    unsigned v = x[i];
    out[i] = __clz(v) + 2 * __ffs(v) + 3 * __popc(v) + (int)(__brev(v) >> 27) +
             __popcll((uint64_t)v * v) + __clzll((uint64_t)v << 7);
  }
}

__global__ void swap_bytes(const uchar4* in, unsigned* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    uchar4 p = in[i];
    unsigned w = p.x | p.y << 8 | p.z << 16 | p.w << 24;
    out[i] = __byte_perm(w, 0, 0x0123) ^ __funnelshift_l(w, w, p.x & 31);
  }
}

__device__ uint32_t xorshift(uint32_t& s) {
  s ^= s << 13;
  s ^= s >> 17;
  s ^= s << 5;
  return s;
}
__global__ void throw_darts(unsigned* hits, int throws, uint32_t seed) {
  uint32_t s = seed ^ (blockIdx.x * blockDim.x + threadIdx.x + 1) * 2654435761u;
  unsigned inside = 0;
  for (int i = 0; i < throws; ++i) {
    float x = xorshift(s) * 2.3283064e-10f, y = xorshift(s) * 2.3283064e-10f;
    if (x * x + y * y < 1.f) ++inside;
  }
  inside = __reduce_add_sync(0xffffffffu, inside);
  if ((threadIdx.x & 31) == 0) atomicAdd(hits, inside);
}

__device__ uint4 philox(uint4 c, uint2 k) {
#pragma unroll
  for (int r = 0; r < 10; ++r) {
    uint32_t h0 = __umulhi(0xD2511F53u, c.x), l0 = 0xD2511F53u * c.x;
    uint32_t h1 = __umulhi(0xCD9E8D57u, c.z), l1 = 0xCD9E8D57u * c.z;
    c = make_uint4(h1 ^ c.y ^ k.x, l1, h0 ^ c.w ^ k.y, l0);
    k.x += 0x9E3779B9u;
    k.y += 0xBB67AE85u;
  }
  return c;
}
__global__ void fill_normal(float4* out, int n, unsigned long long seed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint4 r = philox(make_uint4(i, 0, 0, 0), make_uint2((unsigned)seed, (unsigned)(seed >> 32)));
  float u = (r.x + 0.5f) * 2.3283064e-10f, v = r.y * 1.4629181e-9f;
  float p = (r.z + 0.5f) * 2.3283064e-10f, q = r.w * 1.4629181e-9f;
  float a = sqrtf(-2.f * logf(u)), b = sqrtf(-2.f * logf(p));
  out[i] = make_float4(a * cosf(v), a * sinf(v), b * __cosf(q), b * __sinf(q));
}

__device__ unsigned spread(unsigned v) {
  v = (v * 0x00010001u) & 0xFF0000FFu;
  v = (v * 0x00000101u) & 0x0F00F00Fu;
  v = (v * 0x00000011u) & 0xC30C30C3u;
  return (v * 0x00000005u) & 0x49249249u;
}
struct Point {
  float x, y, z;
};
__global__ void morton_codes(const Point* p, unsigned* code, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  auto grid = [](float v) { return (unsigned)fminf(fmaxf(v * 1024.f, 0.f), 1023.f); };
  code[i] = spread(grid(p[i].x)) * 4 + spread(grid(p[i].y)) * 2 + spread(grid(p[i].z));
}

__global__ void unpack_bits(const unsigned* packed, unsigned char* out, unsigned n, int width) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned bit = i * width, word = bit >> 5, shift = bit & 31;
  unsigned long long two = packed[word] | (unsigned long long)packed[word + 1] << 32;
  out[i] = (two >> shift) & ((1u << width) - 1);
}

__constant__ unsigned crc_table[256] = {0, 0x77073096u, 0xee0e612cu, 0x990951bau};
__global__ void checksum_rows(const unsigned char* text, unsigned* crc, int rows, int length) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  unsigned c = ~0u;
  const unsigned char* p = text + (size_t)row * length;
  const unsigned char* end = p + length;
  while (p != end) c = crc_table[(c ^ *p++) & 255] ^ c >> 8;
  crc[row] = ~c;
}

__device__ uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}
__global__ void build_filter(const uint64_t* keys, unsigned* bits, int n, unsigned words) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    uint64_t h = mix(keys[i]);
    for (int k = 0; k < 3; ++k) {
      unsigned b = (unsigned)(h >> (20 * k)) % (words * 32);
      atomicOr(&bits[b >> 5], 1u << (b & 31));
    }
  }
}

__global__ void power_modulo(const uint64_t* base, uint64_t* out, uint64_t exponent,
                             uint64_t modulus, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint64_t b = base[i] % modulus, r = 1;
  for (uint64_t e = exponent; e; e >>= 1) {
    if (e & 1) r = r * b % modulus;
    b = b * b % modulus;
  }
  out[i] = r;
}

__global__ void high_products(const uint64_t* a, const uint64_t* b, uint64_t* out, size_t n) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) out[i] = __umul64hi(a[i], b[i]) ^ (a[i] * b[i]);
}

__global__ void dot_bytes(const int* a, const int* b, int* out, int words) {
  int row = blockIdx.x, s = 0;
  for (int i = threadIdx.x; i < words; i += blockDim.x)
    s = __dp4a(a[row * words + i], b[i], s);
  for (int d = 16; d > 0; d >>= 1) s += __shfl_xor_sync(0xffffffffu, s, d);
  if ((threadIdx.x & 31) == 0) atomicAdd(&out[row], s);
}

__global__ void bitonic_blocks(int* keys) {
  __shared__ int s[512];
  int t = threadIdx.x;
  s[t] = keys[blockIdx.x * 512 + t];
  s[t + 256] = keys[blockIdx.x * 512 + t + 256];
  __syncthreads();
  for (int size = 2; size <= 512; size <<= 1)
    for (int stride = size >> 1; stride > 0; stride >>= 1) {
      int at = 2 * t - (t & (stride - 1));
      bool up = (t & (size >> 1)) == 0;
      int a = s[at], b = s[at + stride];
      if ((a > b) == up) {
        s[at] = b;
        s[at + stride] = a;
      }
      __syncthreads();
    }
  keys[blockIdx.x * 512 + t] = s[t];
  keys[blockIdx.x * 512 + t + 256] = s[t + 256];
}

template <int N>
__global__ void network_sort(const float* in, float* out, int rows) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float v[N];
#pragma unroll
  for (int i = 0; i < N; ++i) v[i] = in[i * rows + row];
#pragma unroll
  for (int pass = 0; pass < N; ++pass)
#pragma unroll
    for (int i = pass & 1; i + 1 < N; i += 2) {
      float lo = fminf(v[i], v[i + 1]), hi = fmaxf(v[i], v[i + 1]);
      v[i] = lo;
      v[i + 1] = hi;
    }
  for (int i = 0; i < N; ++i) out[i * rows + row] = v[i];
}
template __global__ void network_sort<9>(const float*, float*, int);

__global__ void lower_bounds(const int* sorted, int n, const int* query, int* where, int queries) {
  int q = blockIdx.x * blockDim.x + threadIdx.x;
  if (q >= queries) return;
  int lo = 0, hi = n, key = query[q];
  while (lo < hi) {
    int mid = (lo + hi) >> 1;
    if (sorted[mid] < key) lo = mid + 1;
    else hi = mid;
  }
  where[q] = lo;
}

__global__ void print_numbers(const unsigned* x, char* text, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned v = x[i];
  char digits[10];
  int count = 0;
  do {
    digits[count++] = '0' + v % 10;
    v /= 10;
  } while (v);
  for (int k = 0; k < count; ++k) text[i * 12 + k] = digits[count - 1 - k];
  text[i * 12 + count] = '\n';
}

__global__ void divide_wide_index(const float* in, float* out, unsigned long long n,
                                  unsigned long long a, unsigned long long b) {
  unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long x = i % a, y = i / a % b, z = i / (a * b);
  out[i] = in[(x * b + y) * (n / (a * b)) + z];
}

__global__ void insertion_sorts(int* keys, int length, int rows) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  int* k = keys + row * length;
  for (int i = 1; i < length; ++i) {
    int v = k[i], j = i - 1;
    while (j >= 0 && k[j] > v) {
      k[j + 1] = k[j];
      --j;
    }
    k[j + 1] = v;
  }
}
