// Kernels of data bases, ciphers and routed networks.
#include <cuda_fp16.h>

// A column of 13-bit codes to the values of its dictionary: 32 codes are 13 words, loaded by 13 lanes and shuffled.
extern "C" __global__ void unpack_thirteen(const unsigned* __restrict__ packed, const float* __restrict__ dictionary,
                                           float* __restrict__ out, int n) {
  int lane = threadIdx.x % 32, bit = 13 * lane;
  int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, warps = gridDim.x * blockDim.x / 32;
  for (int frame = warp; frame < (n + 31) / 32; frame += warps) {
    unsigned word = lane < 13 ? packed[13 * frame + lane] : 0u;
    unsigned low = __shfl_sync(~0u, word, bit / 32), high = __shfl_sync(~0u, word, bit / 32 + 1);
    unsigned code = __funnelshift_r(low, high, bit % 32) & 8191u;
    int i = 32 * frame + lane;
    if (i < n) out[i] = dictionary[code];
  }
}

// A hash join's probe: a key's bucket walked, payloads of equal tags added up, matches counted a warp at a time.
extern "C" __global__ void join_probe(const unsigned* __restrict__ keys, const int* __restrict__ starts,
                                      const unsigned char* __restrict__ tags, const float* __restrict__ payloads,
                                      float* __restrict__ out, int* __restrict__ matches, unsigned buckets, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, found = 0;
  if (i < n) {
    unsigned key = keys[i], bucket = key % buckets, tag = key / buckets;
    float sum = 0.0f;
    int end = starts[bucket + 1];
    for (int e = starts[bucket]; e < end; ++e)
      if (tags[e] == tag) {
        sum += payloads[e];
        ++found;
      }
    out[i] = sum;
  }
  found = __reduce_add_sync(~0u, found);
  if (threadIdx.x % 32 == 0 && found > 0) atomicAdd(matches, found);
}

__device__ __forceinline__ void quarter_round(unsigned& a, unsigned& b, unsigned& c, unsigned& d) {
  a += b;
  d = __funnelshift_l(d ^ a, d ^ a, 16);
  c += d;
  b = __funnelshift_l(b ^ c, b ^ c, 12);
  a += b;
  d = __funnelshift_l(d ^ a, d ^ a, 8);
  c += d;
  b = __funnelshift_l(b ^ c, b ^ c, 7);
}

// A text enciphered by ChaCha20: 64 bytes a thread, all rounds in registers; eight words of key, three of nonce.
extern "C" __global__ void chacha_blocks(const unsigned* __restrict__ key, const uint4* __restrict__ in,
                                         uint4* __restrict__ out, int n, unsigned counter) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned start[16] = {0x61707865u, 0x3320646eu, 0x79622d32u, 0x6b206574u}, s[16];
#pragma unroll
  for (int k = 0; k < 8; ++k) start[4 + k] = key[k];
  start[12] = counter + i;
#pragma unroll
  for (int k = 0; k < 3; ++k) start[13 + k] = key[8 + k];
#pragma unroll
  for (int k = 0; k < 16; ++k) s[k] = start[k];
#pragma unroll
  for (int twice = 0; twice < 10; ++twice) {
#pragma unroll
    for (int k = 0; k < 4; ++k) quarter_round(s[k], s[4 + k], s[8 + k], s[12 + k]);
#pragma unroll
    for (int k = 0; k < 4; ++k) quarter_round(s[k], s[4 + (k + 1) % 4], s[8 + (k + 2) % 4], s[12 + (k + 3) % 4]);
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    uint4 text = in[4 * (long long)i + k];
    text.x ^= s[4 * k] + start[4 * k];
    text.y ^= s[4 * k + 1] + start[4 * k + 1];
    text.z ^= s[4 * k + 2] + start[4 * k + 2];
    text.w ^= s[4 * k + 3] + start[4 * k + 3];
    out[4 * (long long)i + k] = text;
  }
}

// Tokens to their two experts: a block a token claims a row of each by atomics and writes its own there, weighted.
extern "C" __global__ void permute_tokens(const __half2* __restrict__ tokens, const int* __restrict__ experts,
                                          const __half* __restrict__ weights, int* __restrict__ counts,
                                          int* __restrict__ places, __half2* __restrict__ out, int width,
                                          int capacity) {
  __shared__ int rows[2];
  int token = blockIdx.x;
  if (threadIdx.x < 2) {
    int slot = 2 * token + threadIdx.x, expert = experts[slot], place = atomicAdd(&counts[expert], 1);
    int row = place < capacity ? expert * capacity + place : -1;
    rows[threadIdx.x] = row;
    places[slot] = row;
  }
  __syncthreads();
  __half2 first = __half2half2(weights[2 * token]), second = __half2half2(weights[2 * token + 1]);
  for (int c = threadIdx.x; c < width; c += blockDim.x) {
    __half2 pair = tokens[(long long)token * width + c];
    if (rows[0] >= 0) out[(long long)rows[0] * width + c] = __hmul2(pair, first);
    if (rows[1] >= 0) out[(long long)rows[1] * width + c] = __hmul2(pair, second);
  }
}
