// Graphs, sparse matrices, columns of databases, sequences of bases, packed bytes.

#include <cuda_pipeline.h>
#include <stdint.h>

typedef unsigned long long u64;

__device__ __forceinline__ uint32_t mix32(uint32_t h) {
  h ^= h >> 16;
  h *= 0x7feb352du;
  h ^= h >> 15;
  h *= 0x846ca68bu;
  return h ^ (h >> 16);
}

template <typename T>
__device__ __forceinline__ T inclusive_in_warp(T v, int lane) {
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    T up = __shfl_up_sync(0xffffffffu, v, d);
    if (lane >= d) v += up;
  }
  return v;
}

// Probe side of a hash join whose buckets are chains; a warp reserves room for its matches at once.
extern "C" __global__ void join_probe_chains(int2* __restrict__ pairs, unsigned* cursor,
                                             const int* __restrict__ head,
                                             const int* __restrict__ next,
                                             const unsigned* __restrict__ build_key,
                                             const unsigned* __restrict__ probe_key, int probes,
                                             unsigned bucket_mask, int most, unsigned limit) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int lane = threadIdx.x & 31;
  bool live = i < probes;
  unsigned key = live ? probe_key[i] : 0u;
  int at = live ? head[mix32(key) & bucket_mask] : -1;
  for (int step = 0; step < most; step++) {
    bool match = live && build_key[at] == key;
    unsigned who = __ballot_sync(0xffffffffu, match);
    if (who) {
      int leader = __ffs(who) - 1;
      unsigned base = 0;
      if (lane == leader) base = atomicAdd(cursor, (unsigned)__popc(who));
      base = __shfl_sync(0xffffffffu, base, leader);
      unsigned to = base + __popc(who & ((1u << lane) - 1u));
      if (match && to < limit) pairs[to] = make_int2(i, at);
    }
    if (live) {
      at = next[at];
      live = (at & 3) != 0;  // every fourth entry ends its chain
    }
    if (!__any_sync(0xffffffffu, live)) break;
  }
}

// SELECT k, SUM(v), COUNT(*), MAX(v): first in shared memory, then once per block to the result.
extern "C" __global__ void group_sum_count_max(float* __restrict__ sum, unsigned* __restrict__ count,
                                               int* __restrict__ largest,
                                               const int* __restrict__ key,
                                               const float* __restrict__ value, long long rows,
                                               int groups) {
  extern __shared__ unsigned char area[];
  float* s = (float*)area;
  unsigned* c = (unsigned*)(s + groups);
  int* m = (int*)(c + groups);
  for (int g = threadIdx.x; g < groups; g += blockDim.x) {
    s[g] = 0.f;
    c[g] = 0u;
    m[g] = 0;
  }
  __syncthreads();
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long r = (long long)blockIdx.x * blockDim.x + threadIdx.x; r < rows; r += step) {
    const int k = key[r];
    const float v = value[r];
    atomicAdd(s + k, v);
    atomicAdd(c + k, 1u);
    atomicMax(m + k, __float_as_int(v));
  }
  __syncthreads();
  for (int g = threadIdx.x; g < groups; g += blockDim.x) {
    if (c[g] == 0u) continue;
    atomicAdd(sum + g, s[g]);
    atomicAdd(count + g, c[g]);
    atomicMax(largest + g, m[g]);
  }
}

// Counts of one digit for each tile, written digit-major so that a scan can follow.
extern "C" __global__ void radix_tile_counts(unsigned* __restrict__ counts,
                                             const uint4* __restrict__ keys, int quads, int tile_quads,
                                             int shift) {
  __shared__ unsigned bins[4][256];
  for (int b = threadIdx.x; b < 1024; b += blockDim.x) bins[b >> 8][b & 255] = 0;
  __syncthreads();
  unsigned* mine = bins[(threadIdx.x >> 5) & 3];
  int first = blockIdx.x * tile_quads;
  int last = min(first + tile_quads, quads);
  for (int q = first + threadIdx.x; q < last; q += blockDim.x) {
    uint4 k = keys[q];
    atomicAdd(&mine[k.x >> shift & 255u], 1u);
    atomicAdd(&mine[k.y >> shift & 255u], 1u);
    atomicAdd(&mine[k.z >> shift & 255u], 1u);
    atomicAdd(&mine[k.w >> shift & 255u], 1u);
  }
  __syncthreads();
  for (int d = threadIdx.x; d < 256; d += blockDim.x)
    counts[(size_t)d * gridDim.x + blockIdx.x] = bins[0][d] + bins[1][d] + bins[2][d] + bins[3][d];
}

// Rank of a page from those that point to it; eight lanes a page, double sums.
extern "C" __global__ void rank_pull_eight(float* __restrict__ rank_out,
                                           const float* __restrict__ rank_in,
                                           const float* __restrict__ inverse_degree,
                                           const int* __restrict__ start,
                                           const int* __restrict__ length,
                                           const int* __restrict__ source, int pages, float damping) {
  int lane = threadIdx.x & 7;
  int page = blockIdx.x * (blockDim.x / 8) + threadIdx.x / 8;
  double total = 0.0;
  if (page < pages) {
    int s = start[page], n = length[page];
    for (int e = lane; e < n; e += 8) {
      int from = source[s + e];
      total += (double)(rank_in[from] * inverse_degree[from]);
    }
  }
  for (int d = 4; d; d >>= 1) total += __shfl_xor_sync(0xffffffffu, total, d, 8);
  if (page < pages && lane == 0)
    rank_out[page] = (1.0f - damping) / (float)pages + damping * (float)total;
}

// Breadth-first search from below: who is not yet seen looks for a parent on the frontier.
extern "C" __global__ void search_bottom_up(unsigned* __restrict__ next_bits,
                                            unsigned* __restrict__ seen_bits,
                                            int* __restrict__ parent,
                                            const unsigned* __restrict__ front_bits,
                                            const int* __restrict__ start,
                                            const int* __restrict__ neighbour, int nodes) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned seen = 0xffffffffu;
  if ((v & ~31) < nodes) seen = seen_bits[v >> 5];
  bool found = false;
  if (v < nodes && !(seen >> (v & 31) & 1u)) {
    int last = start[v + 1];
    for (int e = start[v]; e < last; e++) {
      int u = neighbour[e];
      if (__ldg(front_bits + (u >> 5)) >> (u & 31) & 1u) {
        parent[v] = u;
        found = true;
        break;
      }
    }
  }
  unsigned fresh = __ballot_sync(0xffffffffu, found);
  if ((threadIdx.x & 31) == 0 && v < nodes) {
    next_bits[v >> 5] = fresh;
    if (fresh) seen_bits[v >> 5] = seen | fresh;
  }
}

// Common neighbours of the ends of each edge: a warp takes an edge, lanes search the longer list.
extern "C" __global__ void triangles_of_edges(u64* __restrict__ total, const int* __restrict__ tail,
                                              const int* __restrict__ tip,
                                              const int* __restrict__ start,
                                              const int* __restrict__ length,
                                              const int* __restrict__ adjacent, int edges) {
  int warps = (gridDim.x * blockDim.x) >> 5;
  int lane = threadIdx.x & 31;
  unsigned mine = 0;
  for (int e = (blockIdx.x * blockDim.x + threadIdx.x) >> 5; e < edges; e += warps) {
    int a = tail[e], b = tip[e];
    if (length[a] > length[b]) {
      int swap = a;
      a = b;
      b = swap;
    }
    const int* few = adjacent + start[a];
    const int* many = adjacent + start[b];
    int n = length[a], m = length[b];
    for (int i = lane; i < n; i += 32) {
      int want = few[i];
      int low = 0, high = m;
      while (low < high) {
        int middle = (low + high) >> 1;
        if (many[middle] < want)
          low = middle + 1;
        else
          high = middle;
      }
      if (low < m && many[low] == want) mine++;
    }
  }
  for (int d = 16; d > 0; d >>= 1) mine += __shfl_down_sync(0xffffffffu, mine, d);
  if (lane == 0 && mine) atomicAdd(total, (u64)mine);
}

// Sliced ELLPACK in double precision: slices of 32 rows, each with its own width.
extern "C" __global__ void sliced_ell_double(double* __restrict__ y, const double* __restrict__ x,
                                             const double* __restrict__ value,
                                             const int* __restrict__ column,
                                             const int* __restrict__ slice_start,
                                             const int* __restrict__ slice_width, int rows,
                                             double alpha, double beta) {
  int row = blockDim.x * blockIdx.x + threadIdx.x;
  if (row >= rows) return;
  int slice = row / 32;
  size_t at = (size_t)slice_start[slice] + (row & 31);
  int w = slice_width[slice];
  double s0 = 0, s1 = 0;
  int j = 0;
  for (; j + 1 < w; j += 2) {
    s0 += value[at] * x[column[at]];
    s1 += value[at + 32] * x[column[at + 32]];
    at += 64;
  }
  if (j < w) s0 += value[at] * x[column[at]];
  y[row] = alpha * (s0 + s1) + beta * y[row];
}

// Keys into a Bloom filter whose blocks are sectors of eight words: a bit in each word.
extern "C" __global__ void bloom_sector_insert(unsigned* __restrict__ filter,
                                               const uint2* __restrict__ key, int keys,
                                               unsigned sectors) {
  for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < keys; i += gridDim.x * blockDim.x) {
    uint2 k = key[i];
    uint32_t h = mix32(k.x ^ mix32(k.y + 0x9e3779b9u));
    uint32_t sector = __umulhi(h, sectors);
    uint32_t g = mix32(h + 77u);
#pragma unroll
    for (int w = 0; w < 8; w++) {
      uint32_t salt = 0x47b6137bu * (2 * w + 1);
      atomicOr(filter + (size_t)sector * 8 + w, 1u << ((g * salt) >> 27));
    }
  }
}

// Rows that may be in a classic Bloom filter, as a bit map; stops at the first clear bit.
extern "C" __global__ void bloom_rows_bitmap(unsigned* __restrict__ pass,
                                             const unsigned* __restrict__ filter,
                                             const unsigned* __restrict__ key, int rows,
                                             unsigned bit_mask, int hashes) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  bool in = false;
  if (row < rows) {
    unsigned k = key[row];
    unsigned h1 = mix32(k), h2 = mix32(k ^ 0xdeadbeefu) | 1u;
    in = true;
    for (int j = 0; in && j < hashes; j++) {
      unsigned bit = (h1 + j * h2) & bit_mask;
      in = filter[bit >> 5] >> (bit & 31) & 1;
    }
  }
  unsigned word = __ballot_sync(~0u, in);
  if (threadIdx.x % 32 == 0 && row < rows) pass[row / 32] = word;
}

// Blocks of 128 integers, packed with as many bits as each block needs, and then summed up.
extern "C" __global__ void unpack_deltas(int* __restrict__ out, const unsigned* __restrict__ words,
                                         const int* __restrict__ offset,
                                         const uint8_t* __restrict__ bits,
                                         const int* __restrict__ first, int blocks) {
  int block = blockIdx.x * blockDim.y + threadIdx.y;
  int lane = threadIdx.x;
  if (block >= blocks) return;
  const unsigned* from = words + offset[block];
  int width = bits[block];
  unsigned keep = width == 32 ? 0xffffffffu : (1u << width) - 1u;
  int carry = first[block];
#pragma unroll
  for (int part = 0; part < 4; part++) {
    int bit = (part * 32 + lane) * width;
    unsigned v = 0;
    if (width > 0) {
      unsigned low = from[bit >> 5];
      unsigned high = from[(bit + width - 1) >> 5];
      v = __funnelshift_r(low, high, bit & 31) & keep;
    }
    int zig = (int)(v >> 1) ^ -(int)(v & 1u);
    int sum = inclusive_in_warp(zig, lane);
    out[(size_t)block * 128 + part * 32 + lane] = carry + sum;
    carry += __shfl_sync(0xffffffffu, sum, 31);
  }
}

// WHERE text LIKE '%needle%', a row a thread; the needle is kept in shared memory.
extern "C" __global__ void text_contains(uint8_t* __restrict__ matches, unsigned* __restrict__ found,
                                         const uint8_t* __restrict__ text,
                                         const int* __restrict__ begin,
                                         const int* __restrict__ size,
                                         const uint8_t* __restrict__ needle, int rows, int needle_size) {
  __shared__ uint8_t pattern[64];
  __shared__ unsigned hits;
  if (threadIdx.x == 0) hits = 0;
  if (threadIdx.x < needle_size) pattern[threadIdx.x] = needle[threadIdx.x];
  __syncthreads();
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows) {
    const uint8_t* s = text + begin[row];
    int last = size[row] - needle_size;
    bool ok = false;
    for (int i = 0; i <= last && !ok; i++) {
      int j = 0;
      while (j < needle_size && s[i + j] == pattern[j]) j++;
      ok = j == needle_size;
    }
    matches[row] = ok;
    if (ok) atomicAdd(&hits, 1u);
  }
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(found, hits);
}

// Codes of 16 bits through a dictionary of wide values, null where the bit map says so.
extern "C" __global__ void dictionary_column(long long* __restrict__ out,
                                             const long long* __restrict__ dictionary,
                                             const uint8_t* __restrict__ codes,
                                             const unsigned* __restrict__ valid, long long rows,
                                             int entries) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  long long stride = (long long)blockDim.x * gridDim.x;
  for (; i < rows; i += stride) {
    bool there = valid[i >> 5] >> (i & 31) & 1u;
    long long v = 0x8000000000000000ll;
    if (there) {
      int code = codes[2 * i] | codes[2 * i + 1] << 8;
      if (code >= entries) code = entries - 1;
      v = dictionary[code];
    }
    out[i] = v;
  }
}

// Minimisers: least hash of w successive k-mers, for each position of a sequence of bases.
extern "C" __global__ void minimisers(unsigned* __restrict__ least, const uint8_t* __restrict__ base,
                                      int length, int k, int w) {
  extern __shared__ unsigned hashes[];
  int first = blockIdx.x * blockDim.x;
  int need = blockDim.x + w - 1;
  unsigned keep = k < 16 ? (1u << 2 * k) - 1u : 0xffffffffu;
  for (int i = threadIdx.x; i < need; i += blockDim.x) {
    unsigned forward = 0, backward = 0;
    if (first + i + k <= length) {
      for (int j = 0; j < k; j++) {
        unsigned b = base[first + i + j] & 3u;
        forward = forward << 2 | b;
        backward = backward >> 2 | (3u - b) << (2 * k - 2);
      }
      hashes[i] = mix32(min(forward & keep, backward & keep));
    } else {
      hashes[i] = 0xffffffffu;
    }
  }
  __syncthreads();
  int at = first + threadIdx.x;
  if (at + k + w - 1 > length) return;
  unsigned best = hashes[threadIdx.x];
  for (int j = 1; j < w; j++) best = min(best, hashes[threadIdx.x + j]);
  least[at] = best;
}

// Edit distance of short reads (at most 64 bases) to windows of a reference, bits in parallel.
extern "C" __global__ void edit_distance_bits(uint8_t* __restrict__ distance,
                                              const uint8_t* __restrict__ read,
                                              const uint8_t* __restrict__ reference,
                                              const int* __restrict__ where, int pairs, int length,
                                              int window) {
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= pairs) return;
  u64 equal[4] = {0, 0, 0, 0};
  for (int i = 0; i < length; i++) {
    int b = read[(size_t)i * pairs + p];
#pragma unroll
    for (int c = 0; c < 4; c++) equal[c] |= (u64)(b == c) << i;
  }
  u64 plus = ~0ull, minus = 0;
  int score = length, best = length;
  const u64 top = 1ull << (length - 1);
  const uint8_t* text = reference + where[p];
  for (int j = 0; j < window; j++) {
    int c = text[j];
    u64 eq = c & 2 ? (c & 1 ? equal[3] : equal[2]) : (c & 1 ? equal[1] : equal[0]);
    u64 vertical = eq | minus;
    u64 zero = (((eq & plus) + plus) ^ plus) | eq;
    u64 hp = minus | ~(zero | plus), hm = plus & zero;
    score += (hp & top) != 0;
    score -= (hm & top) != 0;
    hp <<= 1;
    hm <<= 1;
    plus = hm | ~(vertical | hp);
    minus = hp & vertical;
    best = min(best, score);
  }
  distance[p] = (uint8_t)best;
}

// Local alignment in a band of 32 diagonals: a warp a pair, a lane a diagonal.
extern "C" __global__ void local_align_band(int* __restrict__ best_score,
                                            const uint8_t* __restrict__ query,
                                            const uint8_t* __restrict__ target, int pairs, int rows,
                                            int match, int mismatch, int open, int extend) {
  int pair = blockIdx.x * blockDim.y + threadIdx.y;
  int lane = threadIdx.x;
  if (pair >= pairs) return;
  const uint8_t* q = query + (size_t)pair * rows;
  const uint8_t* t = target + (size_t)pair * (rows + 31);
  int h = 0, e = 0, best = 0;
  for (int r = 0; r < rows; r++) {
    int up = __shfl_down_sync(0xffffffffu, h, 1);
    int e_up = __shfl_down_sync(0xffffffffu, e, 1);
    if (lane == 31) up = e_up = 0;
    e = max(e_up - extend, up - open);
    int diagonal = h + (q[r] == t[r + lane] ? match : -mismatch);
    h = max(max(diagonal, e), 0);
    // gaps along the row: a scan by maximum, each step across costs one more extension
    int f = h - open + extend * (lane + 1);
#pragma unroll
    for (int d = 1; d < 32; d <<= 1) {
      int other = __shfl_up_sync(0xffffffffu, f, d);
      if (lane >= d) f = max(f, other);
    }
    int left = __shfl_up_sync(0xffffffffu, f, 1);
    if (lane) h = max(h, left - extend * lane);
    best = max(best, h);
  }
  for (int d = 16; d; d >>= 1) best = max(best, __shfl_xor_sync(0xffffffffu, best, d));
  if (lane == 0) best_score[pair] = best;
}

// One step of a bitonic sort of keys with their values, across global memory.
extern "C" __global__ void bitonic_global_step(uint2* __restrict__ item, unsigned half, unsigned apart,
                                               unsigned run) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= half) return;
  unsigned low = i & (apart - 1);
  unsigned a = ((i - low) << 1) | low;
  unsigned b = a | apart;
  uint2 u = item[a], v = item[b];
  bool rising = (a & run) == 0;
  if ((u.x > v.x) == rising) {
    item[a] = v;
    item[b] = u;
  }
}

// Merges two runs: each thread finds where its diagonal crosses the path, then merges seven.
extern "C" __global__ void merge_along_path(float* __restrict__ out, const float* __restrict__ a,
                                            const float* __restrict__ b, int na, int nb) {
  const int EACH = 7;
  long long diagonal = ((long long)blockIdx.x * blockDim.x + threadIdx.x) * EACH;
  if (diagonal >= (long long)na + nb) return;
  int d = (int)diagonal;
  int low = max(0, d - nb), high = min(d, na);
  while (low < high) {
    int mid = low + (high - low) / 2;
    if (a[mid] <= b[d - 1 - mid])
      low = mid + 1;
    else
      high = mid;
  }
  int i = low, j = d - low;
  float x = i < na ? a[i] : 3e38f, y = j < nb ? b[j] : 3e38f;
#pragma unroll
  for (int s = 0; s < EACH; s++) {
    if (d + s >= na + nb) break;
    bool left = j >= nb || (i < na && x <= y);
    out[d + s] = left ? x : y;
    if (left) {
      i++;
      x = i < na ? a[i] : 3e38f;
    } else {
      j++;
      y = j < nb ? b[j] : 3e38f;
    }
  }
}

// Inclusive sums that begin anew at flags, one tile of four per thread per block.
extern "C" __global__ void segmented_tile_scan(float4* __restrict__ out, float* __restrict__ tail,
                                               const float4* __restrict__ in,
                                               const uchar4* __restrict__ flag, int quads) {
  __shared__ float sums[32];
  __shared__ int stops[32];
  int q = blockIdx.x * blockDim.x + threadIdx.x;
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  float4 v = make_float4(0, 0, 0, 0);
  uchar4 f = make_uchar4(0, 0, 0, 0);
  if (q < quads) {
    v = in[q];
    f = flag[q];
  }
  if (!f.y) v.y += v.x;
  if (!f.z) v.z += v.y;
  if (!f.w) v.w += v.z;
  int stop = (f.x | f.y | f.z | f.w) != 0;
  float s = v.w;
  int any = stop;
#pragma unroll
  for (int d = 1; d < 32; d <<= 1) {
    float us = __shfl_up_sync(0xffffffffu, s, d);
    int ua = __shfl_up_sync(0xffffffffu, any, d);
    if (lane >= d) {
      if (!any) s += us;
      any |= ua;
    }
  }
  if (lane == 31) {
    sums[warp] = s;
    stops[warp] = any;
  }
  __syncthreads();
  float before = 0.f;
  for (int w = 0; w < warp; w++) before = stops[w] ? sums[w] : before + sums[w];
  float ps = __shfl_up_sync(0xffffffffu, s, 1);
  int pa = __shfl_up_sync(0xffffffffu, any, 1);
  float carry = lane == 0 ? before : (pa ? ps : before + ps);
  if (q < quads) {
    if (!f.x) {
      v.x += carry;
      if (!f.y) {
        v.y += carry;
        if (!f.z) {
          v.z += carry;
          if (!f.w) v.w += carry;
        }
      }
    }
    out[q] = v;
  }
  if (threadIdx.x == blockDim.x - 1) tail[blockIdx.x] = any ? s : before + s;
}

// Longest prefix of keys in a trie whose nodes have sixteen children; zero means none.
extern "C" __global__ void trie_longest_prefix(int* __restrict__ answer, int* __restrict__ depth,
                                               const int* __restrict__ child,
                                               const unsigned* __restrict__ key, int keys,
                                               int key_words) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= keys) return;
  int node = 0, deep = 0;
  for (int w = 0; w < key_words; w++) {
    unsigned bits = key[(size_t)i * key_words + w];
    bool stop = false;
    for (int n = 0; n < 8; n++) {
      int to = child[node * 16 + (bits & 15u)];
      if (to % 7 == 0) {
        stop = true;
        break;
      }
      node = to;
      deep++;
      bits >>= 4;
    }
    if (stop) break;
  }
  answer[i] = node;
  depth[i] = deep;
}

// Huffman codes of up to eight bits through a table in shared memory; each thread has a stream.
extern "C" __global__ void huffman_streams(uint8_t* __restrict__ out,
                                           const unsigned* __restrict__ words,
                                           const unsigned* __restrict__ table, int streams,
                                           int symbols, int room) {
  __shared__ unsigned lookup[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) lookup[i] = table[i];
  __syncthreads();
  int s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s >= streams) return;
  const unsigned* from = words + (size_t)s * room;
  u64 buffer = from[0];
  int held = 32, at = 1;
  for (int k = 0; k < symbols; k++) {
    if (held < 8) {
      buffer |= (u64)from[at++] << held;
      held += 32;
    }
    unsigned entry = lookup[buffer & 255u];
    int used = (entry & 7u) + 1;
    buffer >>= used;
    held -= used;
    out[(size_t)k * streams + s] = (uint8_t)(entry >> 8);
  }
}

// Literals and matches to bytes: a warp unfolds one page of sequences.
extern "C" __global__ void unfold_matches(uint8_t* __restrict__ out,
                                          const uint8_t* __restrict__ literal,
                                          const int* __restrict__ literal_size,
                                          const int* __restrict__ match_size,
                                          const int* __restrict__ back, int pages, int sequences,
                                          int page_literals, int page_bytes) {
  int page = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  int lane = threadIdx.x % 32;
  if (page >= pages) return;
  uint8_t* to = out + (size_t)page * page_bytes;
  const uint8_t* from = literal + (size_t)page * page_literals;
  int at = 0;
  for (int s = 0; s < sequences; s++) {
    size_t q = (size_t)page * sequences + s;
    int plain = literal_size[q], copied = match_size[q];
    for (int i = lane; i < plain; i += 32) to[at + i] = from[i];
    from += plain;
    at += plain;
    __syncwarp();
    int distance = min(back[q] + 1, at);
    if (distance > 0) {
      for (int i = lane; i < copied; i += 32) to[at + i] = to[at - distance + i % distance];
      at += copied;
    }
    __syncwarp();
  }
}

// Runs to rows: each row finds its run among sorted ends by halving.
extern "C" __global__ void expand_runs(float2* __restrict__ out, const float2* __restrict__ value,
                                       const int* __restrict__ run_start, int runs, int rows) {
  __shared__ int bounds[2];
  int first = blockIdx.x * blockDim.x;
  if (threadIdx.x < 2) {
    int want = threadIdx.x ? min(first + (int)blockDim.x, rows) - 1 : first;
    int low = 0, high = runs - 1;
    while (low < high) {
      int middle = (low + high + 1) / 2;
      if (run_start[middle] <= want)
        low = middle;
      else
        high = middle - 1;
    }
    bounds[threadIdx.x] = low;
  }
  __syncthreads();
  int row = first + threadIdx.x;
  if (row >= rows) return;
  int low = bounds[0], high = bounds[1];
  while (low < high) {
    int middle = (low + high + 1) >> 1;
    if (__ldg(run_start + middle) <= row)
      low = middle;
    else
      high = middle - 1;
  }
  out[row] = value[low];
}

// Components: hooks the larger root under the smaller, after a few jumps up on both sides.
extern "C" __global__ void hook_components(int* parent, int* __restrict__ changed,
                                           const int2* __restrict__ edge, int edges, int jumps) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= edges) return;
  int2 uv = edge[e];
  int a = uv.x, b = uv.y;
  for (int j = 0; j < jumps; j++) {
    int pa = parent[a], pb = parent[b];
    if (pa == a && pb == b) break;
    a = pa;
    b = pb;
  }
  if (a == b) return;
  int high = max(a, b), low = min(a, b);
  if (atomicMin(parent + high, low) != low) *changed = 1;
}

// Many bit maps ANDed, with the number of rows left; words of 128 bits.
extern "C" __global__ void and_bitmaps(uint4* __restrict__ out, u64* __restrict__ left,
                                       const uint4* __restrict__ maps, const int* __restrict__ chosen,
                                       int words, int terms) {
  __shared__ int total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  int mine = 0;
  for (int w = blockIdx.x * blockDim.x + threadIdx.x; w < words; w += gridDim.x * blockDim.x) {
    uint4 a = maps[(size_t)chosen[0] * words + w];
    for (int t = 1; t < terms; t++) {
      if (!(a.x | a.y | a.z | a.w)) break;
      uint4 b = maps[(size_t)chosen[t] * words + w];
      a.x &= b.x;
      a.y &= b.y;
      a.z &= b.z;
      a.w &= b.w;
    }
    out[w] = a;
    mine += __popc(a.x) + __popc(a.y) + __popc(a.z) + __popc(a.w);
  }
  atomicAdd(&total, mine);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(left, (u64)total);
}

// Four columns to rows of 24 bytes, put together in shared memory so that the stores are wide.
extern "C" __global__ void rows_from_columns(uint2* __restrict__ row, const double* __restrict__ price,
                                             const int* __restrict__ item,
                                             const float2* __restrict__ place,
                                             const uint8_t* __restrict__ kind, int rows) {
  extern __shared__ uint2 staged[];
  int first = blockIdx.x * blockDim.x;
  int here = min((int)blockDim.x, rows - first);
  int t = threadIdx.x;
  if (t < here) {
    double p = price[first + t];
    float2 at = place[first + t];
    staged[t * 3] = make_uint2(__double2loint(p), __double2hiint(p));
    staged[t * 3 + 1] = make_uint2(__float_as_uint(at.x), __float_as_uint(at.y));
    staged[t * 3 + 2] = make_uint2((unsigned)item[first + t], kind[first + t]);
  }
  __syncthreads();
  for (int i = t; i < here * 3; i += blockDim.x) row[(size_t)first * 3 + i] = staged[i];
}

// Greedy colouring: the least colour that no neighbour has, from masks of 64; a thread a node.
extern "C" __global__ void colour_least_free(int* __restrict__ colour_out,
                                             const int* __restrict__ colour_in,
                                             const int* __restrict__ neighbour, int nodes, int slots) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= nodes) return;
  unsigned rank = mix32(v);
  u64 used = 0;
  bool wait = false;
  for (int s = 0; s < slots; s++) {
    int u = neighbour[(size_t)s * nodes + v];
    if (u == v) continue;
    int c = colour_in[u];
    if (c > 0)
      used |= 1ull << (c & 63);
    else if (mix32(u) > rank)
      wait = true;
  }
  colour_out[v] = wait ? 0 : __ffsll(~(used | 1ull)) - 1;
}
