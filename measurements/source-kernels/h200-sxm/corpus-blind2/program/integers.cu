// Prices, random draws, counts, digests.
// Darts at a quarter of a circle: how many land within, added up by warps.
extern "C" __global__ void darts(unsigned* hits, unsigned seed, int throws) {
  unsigned x = (seed + (blockIdx.x * blockDim.x + threadIdx.x) * 2654435761u) | 1u, mine = 0;
  for (int k = 0; k < throws; ++k) {
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    float u = (x >> 8) * (1.0f / 16777216.0f);
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    float v = (x >> 8) * (1.0f / 16777216.0f);
    if (u * u + v * v < 1.0f) ++mine;
  }
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) mine += __shfl_down_sync(0xffffffffu, mine, step);
  if ((threadIdx.x & 31) == 0) atomicAdd(hits, mine);
}

// How often each byte occurs: a histogram a warp in shared memory, then one atomic a value and block.
extern "C" __global__ void byte_counts(const uchar4* __restrict__ in, unsigned* __restrict__ bins, int fours) {
  __shared__ unsigned counts[8][256];
  unsigned* mine = counts[threadIdx.x >> 5];
  for (int k = threadIdx.x; k < 8 * 256; k += 256) counts[k >> 8][k & 255] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 256 + threadIdx.x; i < fours; i += gridDim.x * 256) {
    uchar4 v = in[i];
    atomicAdd(&mine[v.x], 1u);
    atomicAdd(&mine[v.y], 1u);
    atomicAdd(&mine[v.z], 1u);
    atomicAdd(&mine[v.w], 1u);
  }
  __syncthreads();
  unsigned sum = 0;
#pragma unroll
  for (int w = 0; w < 8; ++w) sum += counts[w][threadIdx.x];
  atomicAdd(&bins[threadIdx.x], sum);
}

// Cyclic check codes (polynomial of Castagnoli) of rows of bytes: a table of 256 that each block makes in shared memory.
extern "C" __global__ void check_codes(const uint4* __restrict__ in, unsigned* __restrict__ out, int quads, int n) {
  __shared__ unsigned table[256];
  for (int k = threadIdx.x; k < 256; k += blockDim.x) {
    unsigned entry = k;
    for (int bit = 0; bit < 8; ++bit) entry = entry & 1u ? entry >> 1 ^ 0x82f63b78u : entry >> 1;
    table[k] = entry;
  }
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned code = 0xffffffffu;
  for (int q = 0; q < quads; ++q) {
    uint4 v = in[i * quads + q];
    unsigned words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int w = 0; w < 4; ++w)
#pragma unroll
      for (int byte = 0; byte < 4; ++byte) code = code >> 8 ^ table[(code ^ words[w] >> (8 * byte)) & 255u];
  }
  out[i] = ~code;
}
