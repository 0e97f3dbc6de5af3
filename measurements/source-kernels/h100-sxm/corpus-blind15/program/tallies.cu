// Histograms, counts of words in sequences, and the alignment of sequences.

extern "C" __global__ void histogram_quads_of_bytes(const uchar4* __restrict__ in, unsigned* __restrict__ counts, int quads) {
  __shared__ unsigned bins[256];
  for (int b = threadIdx.x; b < 256; b += blockDim.x) bins[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < quads; i += gridDim.x * blockDim.x) {
    uchar4 v = in[i];
    atomicAdd(&bins[v.x], 1u);
    atomicAdd(&bins[v.y], 1u);
    atomicAdd(&bins[v.z], 1u);
    atomicAdd(&bins[v.w], 1u);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < 256; b += blockDim.x) atomicAdd(&counts[b], bins[b]);
}

// Odd threads count in one copy, even ones in the other.
extern "C" __global__ void histogram_two_copies(const int* __restrict__ keys, unsigned* __restrict__ counts, int bins, int n) {
  extern __shared__ unsigned copies[];
  for (int b = threadIdx.x; b < 2 * bins; b += blockDim.x) copies[b] = 0;
  __syncthreads();
  unsigned* mine = copies + (threadIdx.x & 1) * bins;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&mine[keys[i]], 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < bins; b += blockDim.x) {
    unsigned sum = copies[b] + copies[b + bins];
    if (sum > 0) atomicAdd(&counts[b], sum);
  }
}

// Every word of k letters, or its reverse complement if that is less, counted where its hash says.
extern "C" __global__ void kmer_hash_counts(const unsigned char* __restrict__ letters, unsigned* __restrict__ slots, int k, unsigned slot_mask, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + k > n) return;
  unsigned long long forward = 0, backward = 0;
  for (int j = 0; j < k; ++j) {
    unsigned long long letter = letters[i + j];
    forward = (forward << 2) | letter;
    backward |= (3 - letter) << (2 * j);
  }
  unsigned long long word = min(forward, backward);
  word ^= word >> 33;
  word *= 0xff51afd7ed558ccdull;
  word ^= word >> 33;
  atomicAdd(&slots[(unsigned)word & slot_mask], 1u);
}

#define PAIRS 4
#define LONGEST 512

// Local alignment of pairs, a warp a pair: stripes of 32 letters of the query, a letter a lane,
// each along the whole target; the last lane leaves its scores for the next stripe's first.
extern "C" __global__ void smith_waterman_stripes(const unsigned char* __restrict__ queries, const unsigned char* __restrict__ targets, int* __restrict__ best, int query_length, int target_length, int match, int mismatch, int gap, int pairs) {
  __shared__ int edge[PAIRS][LONGEST];
  __shared__ unsigned char target[PAIRS][LONGEST];
  int lane = threadIdx.x, w = threadIdx.y;
  int pair = blockIdx.x * PAIRS + w;
  if (pair >= pairs) return;
  for (int j = lane; j < target_length; j += 32) {
    edge[w][j] = 0;
    target[w][j] = targets[pair * target_length + j];
  }
  __syncwarp();
  int top = 0;
  for (int stripe = 0; stripe < query_length; stripe += 32) {
    int letter = stripe + lane < query_length ? queries[pair * query_length + stripe + lane] : 255;
    int score = 0, above = 0, diagonal = 0;
    for (int step = 0; step < target_length + 31; ++step) {
      int j = step - lane;
      above = __shfl_up_sync(0xffffffffu, score, 1);
      if (lane == 0) above = j < target_length ? edge[w][j] : 0;
      if (j >= 0 && j < target_length) {
        int by = diagonal + (letter == target[w][j] ? match : -mismatch);
        score = max(max(by, 0), max(above, score) - gap);
        top = max(top, score);
        diagonal = above;
        if (lane == 31) edge[w][j] = score;
      }
    }
    __syncwarp();
  }
  top = __reduce_max_sync(0xffffffffu, top);
  if (lane == 0) best[pair] = top;
}
