// Bit tricks: counts, reversals, curves, checksums, random numbers.
extern "C" __global__ void count_bits(const uint4* __restrict__ in, int* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint4 v = in[i];
  out[i] = __popc(v.x) + __popc(v.y) + __popc(v.z) + __popc(v.w);
}

extern "C" __global__ void reverse_bits(const float* __restrict__ in, float* __restrict__ out, int bits) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[__brev(i) >> (32 - bits)] = in[i];
}

__device__ __forceinline__ unsigned spread_bits(unsigned x) {
  x = (x | x << 8) & 0x00ff00ffu;
  x = (x | x << 4) & 0x0f0f0f0fu;
  x = (x | x << 2) & 0x33333333u;
  return (x | x << 1) & 0x55555555u;
}

extern "C" __global__ void to_curve(const float* __restrict__ in, float* __restrict__ out, int width) {
  unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  out[spread_bits(x) | spread_bits(y) << 1] = in[y * width + x];
}

extern "C" __global__ void random_words(unsigned* __restrict__ out, unsigned seed, int rounds, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned x = seed ^ (i * 2654435761u + 1u);
  for (int r = 0; r < rounds; ++r) {
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
  }
  out[i] = x;
}

__constant__ unsigned nibble_table[16] = {0x00000000u, 0x1db71064u, 0x3b6e20c8u, 0x26d930acu, 0x76dc4190u, 0x6b6b51f4u, 0x4db26158u, 0x5005713cu,
                                          0xedb88320u, 0xf00f9344u, 0xd6d6a3e8u, 0xcb61b38cu, 0x9b64c2b0u, 0x86d3d2d4u, 0xa00ae278u, 0xbdbdf21cu};

extern "C" __global__ void checksums(const unsigned* __restrict__ in, unsigned* __restrict__ out, int words, int n) {
  __shared__ unsigned table[16];
  if (threadIdx.x < 16) table[threadIdx.x] = nibble_table[threadIdx.x];
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned crc = 0xffffffffu;
  for (int w = 0; w < words; ++w) {
    crc ^= in[w * n + i];
#pragma unroll
    for (int k = 0; k < 8; ++k) crc = crc >> 4 ^ table[crc & 15u];
  }
  out[i] = ~crc;
}

extern "C" __global__ void ballot_words(const float* __restrict__ in, unsigned* __restrict__ out, float limit, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned word = __ballot_sync(0xffffffffu, i < n && in[i] < limit);
  if ((threadIdx.x & 31) == 0) out[i >> 5] = word;
}
