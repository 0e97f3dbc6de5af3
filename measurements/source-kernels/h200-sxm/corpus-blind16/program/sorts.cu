// Kernels that sort, count and decode.

#define ROW_BLOCK 64
#define ROW_MOST 63

// Rows of up to 63 numbers in order: a block brings its rows into shared memory, each thread sorts one by Shell's gaps.
extern "C" __global__ void __launch_bounds__(ROW_BLOCK)
    shell_sort_rows(const float* __restrict__ in, float* __restrict__ out, int rows, int columns) {
  __shared__ float cells[ROW_BLOCK][ROW_MOST];
  int first = blockIdx.x * ROW_BLOCK;
  int mine = min(ROW_BLOCK, rows - first);
  for (int e = threadIdx.x; e < mine * columns; e += ROW_BLOCK)
    cells[e / columns][e % columns] = in[(size_t)first * columns + e];
  __syncthreads();
  if (threadIdx.x < mine) {
    float* row = cells[threadIdx.x];
    for (int gap = 13; gap > 0; gap /= 3) {
      for (int i = gap; i < columns; ++i) {
        float v = row[i];
        int j = i;
        while (j >= gap && row[j - gap] > v) {
          row[j] = row[j - gap];
          j -= gap;
        }
        row[j] = v;
      }
    }
  }
  __syncthreads();
  for (int e = threadIdx.x; e < mine * columns; e += ROW_BLOCK)
    out[(size_t)first * columns + e] = cells[e / columns][e % columns];
}

#define KEY_BLOCK 256
#define EACH 4
#define DIGITS 16

// A pass of radix sort within tiles of 1024 keys: counts of digits by thread, their scan, then places.
extern "C" __global__ void __launch_bounds__(KEY_BLOCK)
    radix_pass_block(const uint4* __restrict__ keys, unsigned* __restrict__ out, unsigned* __restrict__ totals,
                     int shift) {
  __shared__ unsigned short counts[DIGITS * KEY_BLOCK];
  __shared__ unsigned sums[KEY_BLOCK / 32];
  __shared__ unsigned sorted[KEY_BLOCK * EACH];
  int t = threadIdx.x, lane = t & 31, warp = t >> 5;
#pragma unroll
  for (int d = 0; d < DIGITS; ++d) counts[d * KEY_BLOCK + t] = 0;
  uint4 four = keys[(size_t)blockIdx.x * KEY_BLOCK + t];
  unsigned key[EACH] = {four.x, four.y, four.z, four.w};
  unsigned before[EACH];
#pragma unroll
  for (int e = 0; e < EACH; ++e) {
    int d = key[e] >> shift & (DIGITS - 1);
    before[e] = counts[d * KEY_BLOCK + t]++;
  }
  __syncthreads();
  // each thread sums sixteen neighbours, the block scans the sums
  unsigned mine = 0;
#pragma unroll
  for (int k = 0; k < DIGITS; ++k) mine += counts[t * DIGITS + k];
  unsigned sum = mine;
  for (int d = 1; d < 32; d <<= 1) {
    unsigned other = __shfl_up_sync(0xffffffffu, sum, d);
    if (lane >= d) sum += other;
  }
  if (lane == 31) sums[warp] = sum;
  __syncthreads();
  unsigned start = sum - mine;
  for (int w = 0; w < warp; ++w) start += sums[w];
#pragma unroll
  for (int k = 0; k < DIGITS; ++k) {
    unsigned many = counts[t * DIGITS + k];
    counts[t * DIGITS + k] = start;
    start += many;
  }
  __syncthreads();
#pragma unroll
  for (int e = 0; e < EACH; ++e) {
    int d = key[e] >> shift & (DIGITS - 1);
    sorted[counts[d * KEY_BLOCK + t] + before[e]] = key[e];
  }
  if (t < DIGITS) {
    unsigned begin = counts[t * KEY_BLOCK];
    unsigned end = t + 1 < DIGITS ? counts[(t + 1) * KEY_BLOCK] : KEY_BLOCK * EACH;
    totals[(size_t)t * gridDim.x + blockIdx.x] = end - begin;
  }
  __syncthreads();
  for (int e = t; e < KEY_BLOCK * EACH; e += KEY_BLOCK) out[(size_t)blockIdx.x * KEY_BLOCK * EACH + e] = sorted[e];
}

#define LEVELS 16

// Histograms of the columns of a matrix of bytes, sixteen levels: a thread a column, counts of its own.
extern "C" __global__ void __launch_bounds__(128)
    histogram_columns_bytes(const unsigned char* __restrict__ in, unsigned* __restrict__ bins, int rows, int columns,
                            int stripe) {
  __shared__ unsigned counts[LEVELS][128];
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  for (int level = 0; level < LEVELS; ++level) counts[level][threadIdx.x] = 0;
  if (column >= columns) return;
  int first = blockIdx.y * stripe, last = min(first + stripe, rows);
  for (int row = first; row < last; ++row) ++counts[in[(size_t)row * columns + column] >> 4][threadIdx.x];
  for (int level = 0; level < LEVELS; ++level) {
    unsigned many = counts[level][threadIdx.x];
    if (many) atomicAdd(&bins[(size_t)level * columns + column], many);
  }
}

// Differences, zigzag coded, in runs of 128 with a first value each: a warp a run, four a lane.
extern "C" __global__ void delta_zigzag_decode(const uint4* __restrict__ codes, const int* __restrict__ firsts,
                                               int4* __restrict__ out, int runs) {
  int run = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (run >= runs) return;
  uint4 c = codes[(size_t)run * 32 + lane];
  int4 v;
  v.x = (int)(c.x >> 1) ^ -(int)(c.x & 1);
  v.y = v.x + ((int)(c.y >> 1) ^ -(int)(c.y & 1));
  v.z = v.y + ((int)(c.z >> 1) ^ -(int)(c.z & 1));
  v.w = v.z + ((int)(c.w >> 1) ^ -(int)(c.w & 1));
  int sum = v.w;
#pragma unroll
  for (int d = 1; d < 32; d <<= 1) {
    int other = __shfl_up_sync(0xffffffffu, sum, d);
    if (lane >= d) sum += other;
  }
  int before = sum - v.w + firsts[run];
  out[(size_t)run * 32 + lane] = make_int4(v.x + before, v.y + before, v.z + before, v.w + before);
}

__constant__ unsigned short NIBBLES[16] = {0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50a5, 0x60c6, 0x70e7,
                                           0x8108, 0x9129, 0xa14a, 0xb16b, 0xc18c, 0xd1ad, 0xe1ce, 0xf1ef};

// CRC-16 (CCITT) of frames of whole words, a thread a frame, half a byte at a time by a table.
extern "C" __global__ void crc16_frames(const unsigned* __restrict__ frames, unsigned short* __restrict__ codes,
                                        int many, int words) {
  int frame = blockIdx.x * blockDim.x + threadIdx.x;
  if (frame >= many) return;
  const unsigned* mine = frames + (size_t)frame * words;
  unsigned crc = 0xffff;
  for (int w = 0; w < words; ++w) {
    unsigned word = mine[w];
    for (int b = 0; b < 4; ++b) {
      unsigned byte = word >> (8 * b) & 0xff;
      crc = (crc << 4 ^ NIBBLES[(crc >> 12 ^ byte >> 4) & 15]) & 0xffff;
      crc = (crc << 4 ^ NIBBLES[(crc >> 12 ^ byte) & 15]) & 0xffff;
    }
  }
  codes[frame] = crc;
}
