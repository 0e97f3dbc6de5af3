// Places from memory: lists, graphs, dictionaries, filters.

extern "C" __global__ void gather_near_window(const float* __restrict__ table, const int* __restrict__ ahead, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int at = min(i + ahead[i], n - 1);
  out[i] = 0.5f * (table[i] + table[at]);
}

extern "C" __global__ void spmv_coo_atomics(const int* __restrict__ rows, const int* __restrict__ columns, const float* __restrict__ values, const float* __restrict__ x, float* __restrict__ result, int entries) {
  for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < entries; k += gridDim.x * blockDim.x)
    atomicAdd(&result[rows[k]], values[k] * x[columns[k]]);
}

extern "C" __global__ void bloom_probe(const unsigned long long* __restrict__ keys, const unsigned* __restrict__ filter, unsigned char* __restrict__ found, unsigned bits, int hashes, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long h = keys[i] * 0x9e3779b97f4a7c15ull;
  unsigned a = (unsigned)h, b = (unsigned)(h >> 32) | 1u;
  bool in = true;
  for (int k = 0; k < hashes && in; ++k) {
    unsigned bit = (a + k * b) & (bits - 1);
    in = (filter[bit >> 5] >> (bit & 31)) & 1;
  }
  found[i] = in;
}

// Common neighbours of the ends of each edge, by rows of bits: a warp an edge.
extern "C" __global__ void triangle_counts(const unsigned* __restrict__ adjacent, const int2* __restrict__ edges, int* __restrict__ counts, int words, int edge_count) {
  int edge = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (edge >= edge_count) return;
  int2 ends = edges[edge];
  const unsigned* first = adjacent + (long long)ends.x * words;
  const unsigned* second = adjacent + (long long)ends.y * words;
  int common = 0;
  for (int w = lane; w < words; w += 32) common += __popc(first[w] & second[w]);
  common = __reduce_add_sync(0xffffffffu, common);
  if (lane == 0) counts[edge] = common;
}

// Strings of 16 bytes from a column of codes.
extern "C" __global__ void dictionary_decode(const unsigned short* __restrict__ codes, const uint4* __restrict__ words, uint4* __restrict__ out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = words[codes[i]];
}

// A warp writes out each run.
extern "C" __global__ void run_length_expand(const int* __restrict__ starts, const float* __restrict__ values, float* __restrict__ out, int runs) {
  int run = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (run >= runs) return;
  int end = starts[run + 1];
  float value = values[run];
  for (int k = starts[run] + lane; k < end; k += 32) out[k] = value;
}

// Rows in another order, some values dropped by a hash of their place.
extern "C" __global__ void row_shuffled_dropout(const float* __restrict__ in, const int* __restrict__ order, float* __restrict__ out, int columns, unsigned seed, unsigned keep_below, float scale) {
  int row = blockIdx.x;
  const float* from = in + (long long)order[row] * columns;
  float* to = out + (long long)row * columns;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) {
    unsigned h = (unsigned)(row * columns + c) ^ seed;
    h ^= h >> 16;
    h *= 0x7feb352du;
    h ^= h >> 15;
    h *= 0x846ca68bu;
    h ^= h >> 16;
    to[c] = h < keep_below ? from[c] * scale : 0.0f;
  }
}

// One pass of peeling: vertices of few neighbours leave and tell the others.
extern "C" __global__ void core_peel_pass(const int* __restrict__ starts, const int* __restrict__ neighbours, const int* __restrict__ degree, int* __restrict__ lost, unsigned char* __restrict__ gone, int level, int vertices) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= vertices) return;
  bool leaves = degree[v] < level;
  gone[v] = leaves;
  if (!leaves) return;
  int end = starts[v + 1];
  for (int k = starts[v]; k < end; ++k) atomicAdd(&lost[neighbours[k]], 1);
}
