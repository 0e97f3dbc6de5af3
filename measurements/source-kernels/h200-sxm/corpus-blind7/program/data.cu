// Kernels of data bases, graphs and keys: compaction, frontiers, merging, hashing.

// Values below a limit and their places, packed: 1024 a block by ballots, one addition a block to the count of all.
extern "C" __global__ void __launch_bounds__(256) compact_below(const float* __restrict__ in,
                                                                float* __restrict__ values, int* __restrict__ places,
                                                                int* __restrict__ count, int n, float limit) {
  __shared__ int before[32], base;
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, first = blockIdx.x * 1024;
  float v[4];
  unsigned votes[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    int i = first + k * 256 + threadIdx.x;
    v[k] = i < n ? in[i] : limit;
    votes[k] = __ballot_sync(~0u, v[k] < limit);
    if (lane == 0) before[k * 8 + warp] = __popc(votes[k]);
  }
  __syncthreads();
  if (warp == 0) {
    int own = before[lane], upto = own;
#pragma unroll
    for (int apart = 1; apart < 32; apart *= 2) {
      int other = __shfl_up_sync(~0u, upto, apart);
      if (lane >= apart) upto += other;
    }
    before[lane] = upto - own;
    if (lane == 31) base = atomicAdd(count, upto);
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < 4; ++k)
    if (v[k] < limit) {
      int to = base + before[k * 8 + warp] + __popc(votes[k] & ((1u << lane) - 1u));
      values[to] = v[k];
      places[to] = first + k * 256 + threadIdx.x;
    }
}

// A level of a breadth-first search: a warp a vertex of the frontier, new vertices claimed by compare-and-swap.
extern "C" __global__ void bfs_expand(const int* __restrict__ frontier, const int* __restrict__ starts,
                                      const int* __restrict__ targets, int* __restrict__ levels,
                                      int* __restrict__ next, int* __restrict__ count, int size, int level) {
  int lane = threadIdx.x % 32, i = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (i >= size) return;
  int vertex = frontier[i];
  int begin = starts[vertex], end = starts[vertex + 1];
  for (int e0 = begin; e0 < end; e0 += 32) {
    int e = e0 + lane, to = -1;
    bool claimed = false;
    if (e < end) {
      to = targets[e];
      claimed = levels[to] == 0 && atomicCAS(&levels[to], 0, level) == 0;
    }
    unsigned votes = __ballot_sync(~0u, claimed);
    if (votes == 0) continue;
    int base = 0;
    if (lane == 0) base = atomicAdd(count, __popc(votes));
    base = __shfl_sync(~0u, base, 0);
    if (claimed) next[base + __popc(votes & ((1u << lane) - 1u))] = to;
  }
}

#define EACH 7

// How many of the first `diagonal` merged elements come from a.
__device__ __forceinline__ int split(const int* a, int na, const int* b, int nb, int diagonal) {
  int low = max(0, diagonal - nb), high = min(diagonal, na);
  while (low < high) {
    int middle = (low + high) / 2;
    if (a[middle] <= b[diagonal - 1 - middle])
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// Two sorted arrays to one: a block's part by a search of both, staged in shared memory, seven elements a thread.
extern "C" __global__ void __launch_bounds__(256) merge_sorted(const int* __restrict__ a, const int* __restrict__ b,
                                                               int* __restrict__ out, int na, int nb) {
  __shared__ int keys[256 * EACH], ends[2];
  int t = threadIdx.x, part = blockDim.x * EACH, first = blockIdx.x * part, last = min(first + part, na + nb);
  if (t < 2) ends[t] = split(a, na, b, nb, t == 0 ? first : last);
  __syncthreads();
  int a0 = ends[0], mine = ends[1] - a0, b0 = first - a0, others = last - first - mine;
  for (int i = t; i < last - first; i += blockDim.x) keys[i] = i < mine ? a[a0 + i] : b[b0 + i - mine];
  __syncthreads();
  int diagonal = min(t * EACH, last - first);
  int i = split(keys, mine, keys + mine, others, diagonal), j = diagonal - i;
  int merged[EACH];
#pragma unroll
  for (int k = 0; k < EACH; ++k) {
    bool left = j >= others || (i < mine && keys[i] <= keys[mine + j]);
    int from = left ? i++ : mine + j++;
    merged[k] = from < part ? keys[from] : 0;
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < EACH; ++k) keys[t * EACH + k] = merged[k];
  __syncthreads();
  for (int k = t; k < last - first; k += blockDim.x) out[first + k] = keys[k];
}

__constant__ unsigned round_keys[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

__device__ __forceinline__ unsigned turned(unsigned x, int by) { return x >> by | x << (32 - by); }

// Keys stretched by SHA-256, again and again over its own digest of eight words: a key a thread.
extern "C" __global__ void sha256_stretch(const uint4* __restrict__ in, uint4* __restrict__ out, int n, int times) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint4 front = in[2 * i], back = in[2 * i + 1];
  unsigned digest[8] = {front.x, front.y, front.z, front.w, back.x, back.y, back.z, back.w};
  for (int time = 0; time < times; ++time) {
    const unsigned start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                               0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    unsigned w[16], s[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      w[k] = digest[k];
      w[8 + k] = k == 0 ? 0x80000000u : k == 7 ? 256u : 0u;
      s[k] = start[k];
    }
#pragma unroll
    for (int k = 0; k < 64; ++k) {
      if (k >= 16) {
        unsigned x = w[(k + 1) % 16], y = w[(k + 14) % 16];
        w[k % 16] += (turned(x, 7) ^ turned(x, 18) ^ x >> 3) + w[(k + 9) % 16] +
                     (turned(y, 17) ^ turned(y, 19) ^ y >> 10);
      }
      unsigned e = s[4], a = s[0];
      unsigned one = s[7] + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + (e & s[5] ^ ~e & s[6]) + round_keys[k] +
                     w[k % 16];
      unsigned two = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + (a & s[1] ^ a & s[2] ^ s[1] & s[2]);
      s[7] = s[6];
      s[6] = s[5];
      s[5] = s[4];
      s[4] = s[3] + one;
      s[3] = s[2];
      s[2] = s[1];
      s[1] = s[0];
      s[0] = one + two;
    }
#pragma unroll
    for (int k = 0; k < 8; ++k) digest[k] = start[k] + s[k];
  }
  out[2 * i] = make_uint4(digest[0], digest[1], digest[2], digest[3]);
  out[2 * i + 1] = make_uint4(digest[4], digest[5], digest[6], digest[7]);
}
