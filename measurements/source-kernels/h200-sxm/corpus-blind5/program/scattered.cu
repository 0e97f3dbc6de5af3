// Kernels whose accesses and loops follow their data.

// MurmurHash3 of strings of different lengths, a string a thread.
extern "C" __global__ void murmur_strings(const unsigned char* __restrict__ text, const int* __restrict__ starts,
                                          unsigned* __restrict__ out, unsigned seed, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int begin = starts[i], length = starts[i + 1] - begin;
  const unsigned char* s = text + begin;
  unsigned h = seed;
  int whole = length / 4;
  for (int k = 0; k < whole; ++k) {
    unsigned word = s[4 * k] | s[4 * k + 1] << 8 | s[4 * k + 2] << 16 | (unsigned)s[4 * k + 3] << 24;
    word *= 0xcc9e2d51u;
    word = word << 15 | word >> 17;
    h ^= word * 0x1b873593u;
    h = h << 13 | h >> 19;
    h = h * 5 + 0xe6546b64u;
  }
  unsigned rest = 0;
  int left = length % 4;
  if (left > 2) rest |= s[4 * whole + 2] << 16;
  if (left > 1) rest |= s[4 * whole + 1] << 8;
  if (left > 0) {
    rest |= s[4 * whole];
    rest *= 0xcc9e2d51u;
    rest = rest << 15 | rest >> 17;
    h ^= rest * 0x1b873593u;
  }
  h ^= length;
  h ^= h >> 16;
  h *= 0x85ebca6bu;
  h ^= h >> 13;
  h *= 0xc2b2ae35u;
  out[i] = h ^ h >> 16;
}

// Puts keys into an open hash table: a slot is taken by compare and swap, or the next one is tried.
extern "C" __global__ void hash_insert(const int* __restrict__ keys, const int* __restrict__ values, unsigned* table,
                                       int* held, unsigned mask, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned key = keys[i] + 1u, slot = key;
  slot ^= slot >> 16;
  slot *= 0x85ebca6bu;
  slot ^= slot >> 13;
  slot *= 0xc2b2ae35u;
  slot ^= slot >> 16;
  slot &= mask;
  while (true) {
    unsigned old = atomicCAS(&table[slot], 0u, key);
    if (old == 0u || old == key) {
      held[slot] = values[i];
      return;
    }
    slot = (slot + 1) & mask;
  }
}

// One round of widest paths over a list of edges: the target takes the maximum, if this is wider.
extern "C" __global__ void relax_edges(const int* __restrict__ from, const int* __restrict__ to,
                                       const int* __restrict__ capacity, const int* __restrict__ width, int* next,
                                       int edges) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= edges) return;
  int through = min(width[from[e]], capacity[e]);
  int target = to[e];
  if (through > next[target]) atomicMax(&next[target], through);
}

// Spins of one colour of a chequerboard, with given random numbers (Metropolis).
extern "C" __global__ void ising_step(signed char* y, const signed char* __restrict__ other,
                                      const float* __restrict__ draws, float beta, int height, int width, int black) {
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  int row = id / width, column = id % width;
  if (row >= height) return;
  int up = row > 0 ? row - 1 : height - 1, down = row + 1 < height ? row + 1 : 0;
  int right = column + 1 < width ? column + 1 : 0, left = column > 0 ? column - 1 : width - 1;
  int aside = (row % 2 == black) ? right : left;
  int sum = 2 * (other[up * width + column] + other[down * width + column] + other[row * width + column] +
                 other[row * width + aside]) - 4;
  int spin = 2 * y[id] - 1;
  if (draws[id] < expf(-2.0f * beta * sum * spin)) y[id] = spin < 0;
}
