// Sorting, graphs, sketches and images.

// Blocks of 1024 keys by one digit of four bits, a bit at a time, in their order; and how many have which digit.
extern "C" __global__ void __launch_bounds__(256) radix_block_pass(const uint4* __restrict__ keys,
                                                                   uint4* __restrict__ out, int* __restrict__ counts,
                                                                   int shift) {
  __shared__ unsigned held[1024];
  __shared__ int sums[8], digits[16];
  int t = threadIdx.x, lane = t % 32, warp = t / 32;
  if (t < 16) digits[t] = 0;
  uint4 given = keys[blockIdx.x * 256 + t];
  unsigned key[4] = {given.x, given.y, given.z, given.w};
  for (int bit = shift; bit < shift + 4; ++bit) {
    int zeros[4], all = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      zeros[k] = all;
      all += 1 - (key[k] >> bit & 1u);
    }
    int upto = all;
    for (int apart = 1; apart < 32; apart *= 2) {
      int other = __shfl_up_sync(~0u, upto, apart);
      if (lane >= apart) upto += other;
    }
    if (lane == 31) sums[warp] = upto;
    __syncthreads();
    int before = upto - all, total = 0;
#pragma unroll
    for (int w = 0; w < 8; ++w) {
      int sum = sums[w];
      if (w < warp) before += sum;
      total += sum;
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      int zero = before + zeros[k];
      int place = key[k] >> bit & 1u ? total + 4 * t + k - zero : zero;
      held[place] = key[k];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 4; ++k) key[k] = held[4 * t + k];
    __syncthreads();
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) atomicAdd(&digits[key[k] >> shift & 15u], 1);
  out[blockIdx.x * 256 + t] = make_uint4(key[0], key[1], key[2], key[3]);
  __syncthreads();
  if (t < 16) counts[t * gridDim.x + blockIdx.x] = digits[t];
}

// A step of page ranks: each page sums what links to it give, a page a thread.
extern "C" __global__ void page_rank_pull(const int* __restrict__ starts, const int* __restrict__ links,
                                          const float* __restrict__ ranks, const int* __restrict__ more,
                                          float* __restrict__ out, int pages, float damping) {
  int page = blockIdx.x * blockDim.x + threadIdx.x;
  if (page >= pages) return;
  float sum = 0.0f;
  for (int e = starts[page]; e < starts[page + 1]; ++e) {
    int from = links[e];
    sum += ranks[from] / (float)(more[from] + 1);
  }
  out[page] = (1.0f - damping) / pages + damping * sum;
}

// A sparse matrix by coordinates in no order, in double precision: an entry a thread, atomics on the rows.
extern "C" __global__ void coo_products_double(const int* __restrict__ rows, const int* __restrict__ columns,
                                               const double* __restrict__ entries, const double* __restrict__ x,
                                               double* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(out + rows[i], entries[i] * x[columns[i]]);
}

// A count-min sketch: four hashes of each key, a counter of each.
extern "C" __global__ void sketch_counts(const unsigned* __restrict__ keys, unsigned* __restrict__ table, int n,
                                         int bits) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    unsigned key = keys[i];
    unsigned h = key * 0x9e3779b1u + 0x85ebca6bu;
#pragma unroll
    for (int row = 0; row < 4; ++row) {
      h ^= h >> 15;
      h *= 0x2c1b3c6du;
      h ^= h >> 12;
      atomicAdd(table + (row << bits) + (h >> (32 - bits)), 1u);
    }
  }
}

__device__ __forceinline__ void order(int& a, int& b) {
  int less = min(a, b);
  b = max(a, b);
  a = less;
}

// The median of 3 x 3 bytes by a network of exchanges, from a tile of 34 x 10; edges repeated.
extern "C" __global__ void __launch_bounds__(256) median_nine(const unsigned char* __restrict__ in,
                                                              unsigned char* __restrict__ out, int width, int height) {
  __shared__ unsigned char tile[10][36];
  int x0 = blockIdx.x * 32, y0 = blockIdx.y * 8, t = threadIdx.y * 32 + threadIdx.x;
  for (int i = t; i < 340; i += 256) {
    int r = i / 34, s = i % 34;
    int y = min(max(y0 + r - 1, 0), height - 1), x = min(max(x0 + s - 1, 0), width - 1);
    tile[r][s] = in[y * width + x];
  }
  __syncthreads();
  int v[9];
#pragma unroll
  for (int k = 0; k < 9; ++k) v[k] = tile[threadIdx.y + k / 3][threadIdx.x + k % 3];
  order(v[1], v[2]), order(v[4], v[5]), order(v[7], v[8]);
  order(v[0], v[1]), order(v[3], v[4]), order(v[6], v[7]);
  order(v[1], v[2]), order(v[4], v[5]), order(v[7], v[8]);
  order(v[0], v[3]), order(v[5], v[8]), order(v[4], v[7]);
  order(v[3], v[6]), order(v[1], v[4]), order(v[2], v[5]);
  order(v[4], v[7]), order(v[4], v[2]), order(v[6], v[4]);
  order(v[4], v[2]);
  int x = x0 + threadIdx.x, y = y0 + threadIdx.y;
  if (x < width && y < height) out[y * width + x] = (unsigned char)v[4];
}

// Running sums along the rows of an image of bytes: a block a row, four pixels a thread, warps by shuffles.
extern "C" __global__ void __launch_bounds__(256) row_prefix_sums(const uchar4* __restrict__ in,
                                                                  int4* __restrict__ out, int quads) {
  __shared__ int sums[8];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, carried = 0;
  for (int q0 = 0; q0 < quads; q0 += 256) {
    int q = q0 + threadIdx.x;
    uchar4 v = q < quads ? in[blockIdx.x * quads + q] : make_uchar4(0, 0, 0, 0);
    int a = v.x, b = a + v.y, c = b + v.z, d = c + v.w, upto = d;
#pragma unroll
    for (int apart = 1; apart < 32; apart *= 2) {
      int other = __shfl_up_sync(~0u, upto, apart);
      if (lane >= apart) upto += other;
    }
    if (lane == 31) sums[warp] = upto;
    __syncthreads();
    int before = carried + upto - d;
#pragma unroll
    for (int w = 0; w < 8; ++w) {
      int sum = sums[w];
      if (w < warp) before += sum;
      carried += sum;
    }
    if (q < quads) out[blockIdx.x * quads + q] = make_int4(before + a, before + b, before + c, before + d);
    __syncthreads();
  }
}
