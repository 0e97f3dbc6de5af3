// Kernels of records: check sums of messages, groups by key.

// The reflected CRC-32 of messages of equal length, four bytes a step: a block makes the four tables in shared memory,
// a thread takes a message.
extern "C" __global__ void crc_slices(const unsigned* __restrict__ messages, unsigned* __restrict__ out, int n,
                                      int words) {
  __shared__ unsigned tables[4][256];
  for (int b = threadIdx.x; b < 256; b += blockDim.x) {
    unsigned value = b;
#pragma unroll
    for (int bit = 0; bit < 8; ++bit) value = value & 1u ? value >> 1 ^ 0xedb88320u : value >> 1;
    tables[0][b] = value;
  }
  __syncthreads();
  for (int b = threadIdx.x; b < 256; b += blockDim.x) {
    unsigned value = tables[0][b];
#pragma unroll
    for (int k = 1; k < 4; ++k) {
      value = value >> 8 ^ tables[0][value & 255u];
      tables[k][b] = value;
    }
  }
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned* line = messages + (long long)i * words;
  unsigned crc = ~0u;
  for (int w = 0; w < words; ++w) {
    crc ^= line[w];
    crc = tables[3][crc & 255u] ^ tables[2][crc >> 8 & 255u] ^ tables[1][crc >> 16 & 255u] ^ tables[0][crc >> 24];
  }
  out[i] = ~crc;
}

// Counts and sums by key in a table of open addresses: a slot is claimed by compare-and-swap, zero stands for empty;
// then two atomic additions.
extern "C" __global__ void group_by_hash(const unsigned* __restrict__ keys, const unsigned* __restrict__ values,
                                         unsigned* __restrict__ slots, unsigned* __restrict__ counts,
                                         unsigned long long* __restrict__ sums, int n, int bits) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned key = keys[i] + 1u, slot = key * 2654435769u >> (32 - bits), last = (1u << bits) - 1u;
  while (true) {
    unsigned there = slots[slot];
    if (there == key) break;
    if (there == 0u) {
      there = atomicCAS(&slots[slot], 0u, key);
      if (there == 0u || there == key) break;
    }
    slot = (slot + 1u) & last;
  }
  atomicAdd(&counts[slot], 1u);
  atomicAdd(&sums[slot], (unsigned long long)values[i]);
}
