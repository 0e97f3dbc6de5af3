// Tiles, rows of pixels, and recurrences in steps.

// Odd-even transposition of twice as many values as threads, in shared memory.
extern "C" __global__ void odd_even_sort_block(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float s[512];
  int t = threadIdx.x, size = 2 * blockDim.x;
  long long base = (long long)blockIdx.x * size;
  s[t] = in[base + t];
  s[t + blockDim.x] = in[base + t + blockDim.x];
  __syncthreads();
  for (int phase = 0; phase < size; ++phase) {
    int left = 2 * t + (phase & 1);
    if (left + 1 < size) {
      float a = s[left], b = s[left + 1];
      if (a > b) {
        s[left] = b;
        s[left + 1] = a;
      }
    }
    __syncthreads();
  }
  out[base + t] = s[t];
  out[base + t + blockDim.x] = s[t + blockDim.x];
}

// Matrices of 16 by 16, a block each.
extern "C" __global__ void transpose_batched_small(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float tile[16][17];
  const float* from = in + (long long)blockIdx.x * 256;
  float* to = out + (long long)blockIdx.x * 256;
  tile[threadIdx.y][threadIdx.x] = from[threadIdx.y * 16 + threadIdx.x];
  __syncthreads();
  to[threadIdx.y * 16 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

// Seven taps along rows of bytes, four pixels a thread; the width is a multiple of four.
extern "C" __global__ void gauss_rows_bytes(const uchar4* __restrict__ in, uchar4* __restrict__ out, int quads) {
  __shared__ uchar4 line[258];
  int q = blockIdx.x * 256 + threadIdx.x;
  const uchar4* row = in + (long long)blockIdx.y * quads;
  line[threadIdx.x + 1] = row[min(q, quads - 1)];
  if (threadIdx.x == 0) line[0] = row[max(q - 1, 0)];
  if (threadIdx.x == 255) line[257] = row[min(q + 1, quads - 1)];
  __syncthreads();
  if (q >= quads) return;
  const unsigned char* p = (const unsigned char*)(line + threadIdx.x + 1);
  unsigned char r[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    int sum = 20 * p[k] + 15 * (p[k - 1] + p[k + 1]) + 6 * (p[k - 2] + p[k + 2]) + p[k - 3] + p[k + 3];
    r[k] = (sum + 32) >> 6;
  }
  out[(long long)blockIdx.y * quads + q] = make_uchar4(r[0], r[1], r[2], r[3]);
}

// The best way into every state, step by step: a block a sequence, a thread a state.
extern "C" __global__ void viterbi_steps(const float* __restrict__ emissions, const float* __restrict__ transitions, unsigned char* __restrict__ back, float* __restrict__ best, int steps) {
  __shared__ float moves[64 * 64];
  __shared__ float score[2][64];
  int s = threadIdx.x, states = blockDim.x;
  for (int k = s; k < states * states; k += states) moves[k] = transitions[k];
  const float* seen = emissions + (long long)blockIdx.x * steps * states;
  unsigned char* from = back + (long long)blockIdx.x * steps * states;
  score[0][s] = seen[s];
  from[s] = (unsigned char)s;
  __syncthreads();
  for (int step = 1; step < steps; ++step) {
    const float* old = score[(step - 1) & 1];
    float top = old[0] + moves[s];
    int where = 0;
    for (int k = 1; k < states; ++k) {
      float by = old[k] + moves[k * states + s];
      if (by > top) {
        top = by;
        where = k;
      }
    }
    score[step & 1][s] = top + seen[step * states + s];
    from[step * states + s] = (unsigned char)where;
    __syncthreads();
  }
  best[blockIdx.x * states + s] = score[(steps - 1) & 1][s];
}

// Returns whose variance follows the last return, a thread a path.
extern "C" __global__ void garch_paths(const float* __restrict__ draws, float* __restrict__ ends, float omega, float alpha, float beta, int steps, int paths) {
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= paths) return;
  float variance = omega / (1.0f - alpha - beta), price = 0.0f;
  for (int k = 0; k < steps; ++k) {
    float z = (draws[(long long)k * paths + p] - 0.5f) * 3.4641016f;
    float r = sqrtf(variance) * z;
    price += r - 0.5f * variance;
    variance = omega + alpha * r * r + beta * variance;
  }
  ends[p] = expf(price);
}

#define MOST_STEPS 1024

// American puts on a binomial lattice, a block an option.
extern "C" __global__ void put_lattice_grid(const float* __restrict__ spots, const float* __restrict__ strikes, float* __restrict__ prices, int steps, float up_log, float up_share, float discount) {
  __shared__ float value[MOST_STEPS + 1];
  float spot = 50.0f + 50.0f * spots[blockIdx.x], strike = 50.0f + 50.0f * strikes[blockIdx.x];
  for (int j = threadIdx.x; j <= steps; j += blockDim.x)
    value[j] = fmaxf(strike - spot * __expf((2 * j - steps) * up_log), 0.0f);
  __syncthreads();
  for (int level = steps - 1; level >= 0; --level) {
    float kept[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      int j = threadIdx.x + k * blockDim.x;
      if (j <= level) {
        float held = discount * (up_share * value[j + 1] + (1.0f - up_share) * value[j]);
        kept[k] = fmaxf(held, strike - spot * __expf((2 * j - level) * up_log));
      }
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      int j = threadIdx.x + k * blockDim.x;
      if (j <= level) value[j] = kept[k];
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) prices[blockIdx.x] = value[0];
}
