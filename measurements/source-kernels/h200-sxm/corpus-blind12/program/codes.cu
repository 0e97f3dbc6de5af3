// Kernels of codes and signals: hashing, enciphering, tones.

typedef unsigned long long word;

__constant__ word ROUNDS[24] = {
    0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000, 0x000000000000808b,
    0x0000000080000001, 0x8000000080008081, 0x8000000000008009, 0x000000000000008a, 0x0000000000000088,
    0x0000000080008009, 0x000000008000000a, 0x000000008000808b, 0x800000000000008b, 0x8000000000008089,
    0x8000000000008003, 0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a,
    0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008};

__device__ __forceinline__ word turned(word value, int by) { return by ? value << by | value >> (64 - by) : value; }

__device__ __forceinline__ void permute(word (&state)[25]) {
  const int turns[25] = {0, 1, 62, 28, 27, 36, 44, 6, 55, 20, 3, 10, 43, 25, 39, 41, 45, 15, 21, 8, 18, 2, 61, 56, 14};
#pragma unroll 1
  for (int round = 0; round < 24; ++round) {
    word columns[5], moved[25];
#pragma unroll
    for (int x = 0; x < 5; ++x)
      columns[x] = state[x] ^ state[x + 5] ^ state[x + 10] ^ state[x + 15] ^ state[x + 20];
#pragma unroll
    for (int x = 0; x < 5; ++x) {
      word change = columns[(x + 4) % 5] ^ turned(columns[(x + 1) % 5], 1);
#pragma unroll
      for (int y = 0; y < 5; ++y)
        moved[y + 5 * ((2 * x + 3 * y) % 5)] = turned(state[x + 5 * y] ^ change, turns[x + 5 * y]);
    }
#pragma unroll
    for (int y = 0; y < 5; ++y)
#pragma unroll
      for (int x = 0; x < 5; ++x)
        state[x + 5 * y] = moved[x + 5 * y] ^ (~moved[(x + 1) % 5 + 5 * y] & moved[(x + 2) % 5 + 5 * y]);
    state[0] ^= ROUNDS[round];
  }
}

// SHA3-256 of messages of whole blocks of 136 bytes, a message a thread: the state stays in registers.
extern "C" __global__ void keccak_rounds(const word* __restrict__ messages, word* __restrict__ out, int n, int blocks) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const word* line = messages + (long long)i * blocks * 17;
  word state[25];
#pragma unroll
  for (int k = 0; k < 25; ++k) state[k] = 0;
#pragma unroll 1
  for (int b = 0; b <= blocks; ++b) {
    if (b < blocks) {
#pragma unroll
      for (int k = 0; k < 17; ++k) state[k] ^= line[b * 17 + k];
    } else {
      state[0] ^= 6ull;
      state[16] ^= 1ull << 63;
    }
    permute(state);
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) out[i * 4ll + k] = state[k];
}

__device__ const unsigned char BOX[256] = {
    99, 124, 119, 123, 242, 107, 111, 197, 48, 1, 103, 43, 254, 215, 171, 118, 202, 130, 201, 125, 250, 89, 71, 240,
    173, 212, 162, 175, 156, 164, 114, 192, 183, 253, 147, 38, 54, 63, 247, 204, 52, 165, 229, 241, 113, 216, 49, 21,
    4, 199, 35, 195, 24, 150, 5, 154, 7, 18, 128, 226, 235, 39, 178, 117, 9, 131, 44, 26, 27, 110, 90, 160, 82, 59,
    214, 179, 41, 227, 47, 132, 83, 209, 0, 237, 32, 252, 177, 91, 106, 203, 190, 57, 74, 76, 88, 207, 208, 239, 170,
    251, 67, 77, 51, 133, 69, 249, 2, 127, 80, 60, 159, 168, 81, 163, 64, 143, 146, 157, 56, 245, 188, 182, 218, 33,
    16, 255, 243, 210, 205, 12, 19, 236, 95, 151, 68, 23, 196, 167, 126, 61, 100, 93, 25, 115, 96, 129, 79, 220, 34,
    42, 144, 136, 70, 238, 184, 20, 222, 94, 11, 219, 224, 50, 58, 10, 73, 6, 36, 92, 194, 211, 172, 98, 145, 149,
    228, 121, 231, 200, 55, 109, 141, 213, 78, 169, 108, 86, 244, 234, 101, 122, 174, 8, 186, 120, 37, 46, 28, 166,
    180, 198, 232, 221, 116, 31, 75, 189, 139, 138, 112, 62, 181, 102, 72, 3, 246, 14, 97, 53, 87, 185, 134, 193, 29,
    158, 225, 248, 152, 17, 105, 217, 142, 148, 155, 30, 135, 233, 206, 85, 40, 223, 140, 161, 137, 13, 191, 230, 66,
    104, 65, 153, 45, 15, 176, 84, 187, 22};

// AES in counter mode, its ten rounds' keys given: a block makes the table of a box and its mixing in shared memory, a
// thread enciphers counters and adds what is read.
extern "C" __global__ void aes_tables(const uint4* __restrict__ in, const uint4* __restrict__ keys,
                                      uint4* __restrict__ out, int n, unsigned start) {
  __shared__ unsigned table[256];
  __shared__ __align__(16) unsigned key[44];
  for (int b = threadIdx.x; b < 256; b += blockDim.x) {
    unsigned once = BOX[b], twice = once << 1 ^ (once & 128u ? 0x11bu : 0u);
    table[b] = twice | once << 8 | once << 16 | (twice ^ once) << 24;
  }
  for (int k = threadIdx.x; k < 11; k += blockDim.x) ((uint4*)key)[k] = keys[k];
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    unsigned s[4] = {key[0], key[1], key[2], key[3] ^ (start + i)}, next[4];
#pragma unroll
    for (int round = 1; round < 10; ++round) {
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        unsigned second = table[s[(c + 1) % 4] >> 8 & 255u], third = table[s[(c + 2) % 4] >> 16 & 255u];
        unsigned fourth = table[s[(c + 3) % 4] >> 24];
        next[c] = table[s[c] & 255u] ^ __funnelshift_l(second, second, 8) ^ __funnelshift_l(third, third, 16) ^
                  __funnelshift_l(fourth, fourth, 24) ^ key[4 * round + c];
      }
#pragma unroll
      for (int c = 0; c < 4; ++c) s[c] = next[c];
    }
#pragma unroll
    for (int c = 0; c < 4; ++c)
      next[c] = (table[s[c] & 255u] >> 8 & 255u) ^ (table[s[(c + 1) % 4] >> 8 & 255u] & 0xff00u) ^
                (table[s[(c + 2) % 4] >> 16 & 255u] & 0xff0000u) ^
                ((table[s[(c + 3) % 4] >> 24] << 8) & 0xff000000u) ^ key[40 + c];
    uint4 given = in[i];
    out[i] = make_uint4(given.x ^ next[0], given.y ^ next[1], given.z ^ next[2], given.w ^ next[3]);
  }
}

// The power of tones in signals by Goertzel's recurrence: a thread a tone, the samples of a signal in shared memory.
extern "C" __global__ void __launch_bounds__(256)
    goertzel_tones(const float* __restrict__ signals, const float* __restrict__ tones, float* __restrict__ out,
                   int samples, int many) {
  __shared__ float tile[256];
  int tone = blockIdx.x * blockDim.x + threadIdx.x;
  const float* line = signals + (long long)blockIdx.y * samples;
  float twice = tone < many ? 2.0f * tones[tone] - 1.0f : 0.0f, last = 0.0f, before = 0.0f;
  for (int first = 0; first < samples; first += blockDim.x) {
    int here = min(blockDim.x, samples - first);
    if (threadIdx.x < here) tile[threadIdx.x] = line[first + threadIdx.x];
    __syncthreads();
#pragma unroll 8
    for (int k = 0; k < here; ++k) {
      float now = tile[k] - before + twice * last;
      before = last;
      last = now;
    }
    __syncthreads();
  }
  if (tone < many) out[(long long)blockIdx.y * many + tone] = last * last + before * before - twice * last * before;
}
