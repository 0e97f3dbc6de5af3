#define ID (blockIdx.x * blockDim.x + threadIdx.x)
typedef unsigned long long word;
__device__ __forceinline__ word rot(word x, int r) { return x >> r | x << (64 - r); }
__device__ __forceinline__ unsigned rol(unsigned x, int r) { return x << r | x >> (32 - r); }
// BLAKE2b's compression, a block a thread
extern "C" __global__ void __launch_bounds__(128) blake2b(const word* __restrict__ in, word* __restrict__ out, int n) {
  const unsigned char S[12][16] = {
      {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
      {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
      {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
      {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
      {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
      {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3}};
  const word IV[8] = {0x6a09e667f3bcc908ull, 0xbb67ae8584caa73bull, 0x3c6ef372fe94f82bull, 0xa54ff53a5f1d36f1ull,
                      0x510e527fade682d1ull, 0x9b05688c2b3e6c1full, 0x1f83d9abfb41bd6bull, 0x5be0cd19137e2179ull};
  int i = ID;
  if (i >= n) return;
  word m[16], v[16];
#pragma unroll
  for (int k = 0; k < 16; ++k) m[k] = in[(long long)k * n + i];
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    v[k] = IV[k];
    v[k + 8] = IV[k];
  }
  v[0] ^= 0x01010040ull;
  v[12] ^= 128;
  v[14] = ~v[14];
#pragma unroll
  for (int r = 0; r < 12; ++r) {
#define G(a, b, c, d, x, y)    \
  v[a] += v[b] + x;            \
  v[d] = rot(v[d] ^ v[a], 32); \
  v[c] += v[d];                \
  v[b] = rot(v[b] ^ v[c], 24); \
  v[a] += v[b] + y;            \
  v[d] = rot(v[d] ^ v[a], 16); \
  v[c] += v[d];                \
  v[b] = rot(v[b] ^ v[c], 63);
    G(0, 4, 8, 12, m[S[r][0]], m[S[r][1]])
    G(1, 5, 9, 13, m[S[r][2]], m[S[r][3]]) G(2, 6, 10, 14, m[S[r][4]], m[S[r][5]])
        G(3, 7, 11, 15, m[S[r][6]], m[S[r][7]]) G(0, 5, 10, 15, m[S[r][8]], m[S[r][9]])
            G(1, 6, 11, 12, m[S[r][10]], m[S[r][11]]) G(2, 7, 8, 13, m[S[r][12]], m[S[r][13]])
                G(3, 4, 9, 14, m[S[r][14]], m[S[r][15]])
  }
#pragma unroll
  for (int k = 0; k < 8; ++k) out[(long long)k * n + i] = IV[k] ^ v[k] ^ v[k + 8];
}
// SipHash-2-4 of short messages
extern "C" __global__ void siphash(const word* __restrict__ in, word* __restrict__ out, int n, int words) {
  int i = ID;
  if (i >= n) return;
  word a = 0x736f6d6570736575ull ^ 5, b = 0x646f72616e646f6dull ^ 9, c = 0x6c7967656e657261ull ^ 5,
       d = 0x7465646279746573ull ^ 9;
#define SIP           \
  a += b;             \
  b = rot(b, 51) ^ a; \
  a = rot(a, 32);     \
  c += d;             \
  d = rot(d, 48) ^ c; \
  a += d;             \
  d = rot(d, 43) ^ a; \
  c += b;             \
  b = rot(b, 47) ^ c; \
  c = rot(c, 32);
  for (int k = 0; k < words; ++k) {
    word m = in[(long long)k * n + i];
    d ^= m;
    SIP SIP a ^= m;
  }
  c ^= 255;
  SIP SIP SIP SIP out[i] = a ^ b ^ c ^ d;
}
// ChaCha20 keystream over data
extern "C" __global__ void chacha(const uint4* __restrict__ in, uint4* __restrict__ out, int n, unsigned k0,
                                  unsigned k1) {
  int i = ID;
  if (i >= n) return;
  unsigned s[16] = {0x61707865u, 0x3320646eu, 0x79622d32u, 0x6b206574u, k0,          k1, k0 + 1, k1 + 1,
                    k0 + 2,      k1 + 2,      k0 + 3,      k1 + 3,      (unsigned)i, 0u, 1u,     2u},
           x[16];
#pragma unroll
  for (int k = 0; k < 16; ++k) x[k] = s[k];
#pragma unroll 1
  for (int r = 0; r < 10; ++r) {
#define Q(a, b, c, d)          \
  x[a] += x[b];                \
  x[d] = rol(x[d] ^ x[a], 16); \
  x[c] += x[d];                \
  x[b] = rol(x[b] ^ x[c], 12); \
  x[a] += x[b];                \
  x[d] = rol(x[d] ^ x[a], 8);  \
  x[c] += x[d];                \
  x[b] = rol(x[b] ^ x[c], 7);
    Q(0, 4, 8, 12)
    Q(1, 5, 9, 13) Q(2, 6, 10, 14) Q(3, 7, 11, 15) Q(0, 5, 10, 15) Q(1, 6, 11, 12) Q(2, 7, 8, 13) Q(3, 4, 9, 14)
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    uint4 v = in[i * 4ll + k];
    out[i * 4ll + k] = make_uint4(v.x ^ (x[4 * k] + s[4 * k]), v.y ^ (x[4 * k + 1] + s[4 * k + 1]),
                                  v.z ^ (x[4 * k + 2] + s[4 * k + 2]), v.w ^ (x[4 * k + 3] + s[4 * k + 3]));
  }
}
// xxHash64 of rows of 8 words, rounds of products of 64 bits
extern "C" __global__ void xxh64(const word* __restrict__ in, word* __restrict__ out, int n, int rounds) {
  const word P1 = 0x9E3779B185EBCA87ull, P2 = 0xC2B2AE3D27D4EB4Full, P3 = 0x165667B19E3779F9ull;
  int i = ID;
  if (i >= n) return;
  word h = in[i] + P3;
  for (int k = 0; k < rounds; ++k) {
    word v = h * P2;
    v = rot(v, 33) * P1;
    h ^= v;
    h = rot(h, 37) * P1 + P3;
  }
  h ^= h >> 33;
  h *= P2;
  h ^= h >> 29;
  h *= P3;
  h ^= h >> 32;
  out[i] = h;
}
// MD5 of one word keys that count up: search for the smallest digest
extern "C" __global__ void __launch_bounds__(256) md5_search(unsigned* __restrict__ best, unsigned start, int each) {
  unsigned least = ~0u;
  for (int t = 0; t < each; ++t) {
    unsigned key = start + ID * each + t, a = 0x67452301u, b = 0xefcdab89u, c = 0x98badcfeu, d = 0x10325476u;
    unsigned m[16] = {key, 0x80u, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32u, 0};
    const unsigned char R[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
#pragma unroll
    for (int k = 0; k < 64; ++k) {
      unsigned f;
      int g;
      if (k < 16) {
        f = (b & c) | (~b & d);
        g = k;
      } else if (k < 32) {
        f = (d & b) | (~d & c);
        g = (5 * k + 1) % 16;
      } else if (k < 48) {
        f = b ^ c ^ d;
        g = (3 * k + 5) % 16;
      } else {
        f = c ^ (b | ~d);
        g = (7 * k) % 16;
      }
      unsigned x = a + f + (0xd76aa478u ^ (k * 0x9e3779b9u)) + m[g];
      a = d;
      d = c;
      c = b;
      b += rol(x, R[k / 16][k % 4]);
    }
    least = min(least, a + 0x67452301u);
  }
  best[ID] = least;
}
// Powers modulo a prime of 62 bits, by Montgomery's product
extern "C" __global__ void montgomery_powers(const word* __restrict__ base, word* __restrict__ out, int n, word m,
                                             word minus_inverse, word exponent) {
  int i = ID;
  if (i >= n) return;
  auto times = [&](word x, word y) {
    word lo = x * y, hi = __umul64hi(x, y), q = lo * minus_inverse, h = __umul64hi(q, m);
    word r = hi + h + (lo != 0);
    return r >= m ? r - m : r;
  };
  word b = base[i] % m, r = 1;
  for (word e = exponent; e; e >>= 1) {
    if (e & 1) r = times(r, b);
    b = times(b, b);
  }
  out[i] = r;
}
// Powers by the remainder that the language has
extern "C" __global__ void plain_powers(const unsigned* __restrict__ base, unsigned* __restrict__ out, int n,
                                        unsigned m, int exponent) {
  int i = ID;
  if (i >= n) return;
  word b = base[i] % m, r = 1;
  for (int e = exponent; e; e >>= 1) {
    if (e & 1) r = r * b % m;
    b = b * b % m;
  }
  out[i] = (unsigned)r;
}
// Rows of tensors by their strides: 64-bit divisions of small numbers
extern "C" __global__ void unravel(const float* __restrict__ in, float* __restrict__ out, long long n, long long d0,
                                   long long d1, long long d2) {
  long long i = ID;
  if (i >= n) return;
  long long z = i % d2, y = i / d2 % d1, x = i / (d2 * d1);
  out[(z * d1 + y) * d0 + x] = in[i];
}
