// Halos, sparse rows, tables, lists and guarded tiles.

extern "C" __global__ void stencil_halo(const float* __restrict__ in, float* __restrict__ out, int width, int height) {
  __shared__ float tile[18][34];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y, tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  bool inside = x < width && y < height;
  if (inside) tile[ty][tx] = in[y * width + x];
  if (threadIdx.x == 0 && x > 0 && y < height) tile[ty][0] = in[y * width + x - 1];
  if (threadIdx.x == 31 && x + 1 < width && y < height) tile[ty][33] = in[y * width + x + 1];
  if (threadIdx.y == 0 && y > 0 && x < width) tile[0][tx] = in[(y - 1) * width + x];
  if (threadIdx.y == 15 && y + 1 < height && x < width) tile[17][tx] = in[(y + 1) * width + x];
  __syncthreads();
  if (inside && x > 0 && x + 1 < width && y > 0 && y + 1 < height)
    out[y * width + x] =
        0.2f * (tile[ty][tx] + tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx]);
}

extern "C" __global__ void csr_scalar(const int* __restrict__ starts, const int* __restrict__ columns,
                                      const float* __restrict__ values, const float* __restrict__ x, float* __restrict__ out,
                                      int rows) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int k = starts[row]; k < starts[row + 1]; ++k) sum += values[k] * x[columns[k]];
  out[row] = sum;
}

extern "C" __global__ void csr_vector(const int* __restrict__ starts, const int* __restrict__ columns,
                                      const float* __restrict__ values, const float* __restrict__ x, float* __restrict__ out,
                                      int rows) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int k = starts[row] + lane; k < starts[row + 1]; k += 32) sum += values[k] * x[columns[k]];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
  if (lane == 0) out[row] = sum;
}

extern "C" __global__ void frontier_step(const int* __restrict__ frontier, const int* __restrict__ starts,
                                         const int* __restrict__ edges, int* levels, int* __restrict__ next,
                                         int* __restrict__ count, int size, int level) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  int v = frontier[i];
  for (int e = starts[v]; e < starts[v + 1]; ++e) {
    int u = edges[e];
    if (levels[u] == 0 && atomicCAS(&levels[u], 0, level) == 0) next[atomicAdd(count, 1)] = u;
  }
}

extern "C" __global__ void probe_table(const unsigned* __restrict__ wanted, const unsigned* __restrict__ keys,
                                       const unsigned* __restrict__ values, unsigned* __restrict__ out, unsigned mask, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned key = wanted[i], slot = (key * 2654435761u) >> 7 & mask, found = 0;
  for (int tries = 0; tries < 16; ++tries) {
    unsigned k = keys[slot];
    if (k == key) {
      found = values[slot];
      break;
    }
    if ((k & 3u) == 0) break;
    slot = (slot + 1) & mask;
  }
  out[i] = found;
}

extern "C" __global__ void walk_list(const int* __restrict__ next, const float* __restrict__ weight, float* __restrict__ out,
                                     int steps, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0.0f;
  int at = i;
  for (int k = 0; k < steps; ++k) {
    sum += weight[at];
    at = next[at];
  }
  out[i] = sum;
}

extern "C" __global__ void thomas_columns(const float* __restrict__ below, const float* __restrict__ diagonal,
                                          const float* __restrict__ above, const float* __restrict__ right, float* work,
                                          float* __restrict__ out, int systems, int size) {
  int s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s >= systems) return;
  float c = 0.0f, d = 0.0f;
  for (int k = 0; k < size; ++k) {
    int at = k * systems + s;
    float m = 1.0f / (4.0f + diagonal[at] - below[at] * c);
    c = above[at] * m;
    d = (right[at] - below[at] * d) * m;
    work[at] = c;
    out[at] = d;
  }
  float x = d;
  for (int k = size - 2; k >= 0; --k) {
    int at = k * systems + s;
    x = out[at] - work[at] * x;
    out[at] = x;
  }
}

extern "C" __global__ void __launch_bounds__(256)
    gemm_guarded(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int n, int k) {
  __shared__ float left[16][64], right[16][64];
  int t = threadIdx.x, row0 = blockIdx.y * 64, column0 = blockIdx.x * 64, ty = t / 16, tx = t % 16;
  float sums[4][4] = {};
  for (int k0 = 0; k0 < k; k0 += 16) {
    for (int e = t; e < 1024; e += 256) {
      int r = e / 16, d = e % 16;
      left[d][r] = (row0 + r < m && k0 + d < k) ? a[(row0 + r) * k + k0 + d] : 0.0f;
    }
    for (int e = t; e < 1024; e += 256) {
      int d = e / 64, col = e % 64;
      right[d][col] = (k0 + d < k && column0 + col < n) ? b[(k0 + d) * n + column0 + col] : 0.0f;
    }
    __syncthreads();
    for (int d = 0; d < 16; ++d)
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) sums[i][j] += left[d][ty * 4 + i] * right[d][tx * 4 + j];
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      if (row0 + ty * 4 + i < m && column0 + tx * 4 + j < n) c[(row0 + ty * 4 + i) * n + column0 + tx * 4 + j] = sums[i][j];
}

extern "C" __global__ void gemm_tiles(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m,
                                      int n, int k) {
  __shared__ float left[16][16], right[16][16];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0.0f;
  for (int k0 = 0; k0 < k; k0 += 16) {
    left[y][x] = row < m && k0 + x < k ? a[row * k + k0 + x] : 0.0f;
    right[y][x] = column < n && k0 + y < k ? b[(k0 + y) * n + column] : 0.0f;
    __syncthreads();
    for (int d = 0; d < 16; ++d) sum += left[y][d] * right[d][x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

extern "C" __global__ void guarded_four(const float* __restrict__ in, float* __restrict__ out, int n, int stride) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0.0f;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    int at = i + k * stride;
    if (at < n) s += in[at] * in[at];
  }
  out[i] = s;
}

extern "C" __global__ void guarded_loop(const float* __restrict__ in, float* __restrict__ out, int n, int stride, int turns) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0.0f;
  for (int k = 0; k < turns; ++k) {
    int at = i + k * stride;
    if (at < n && s < 1e9f) s += in[at];
  }
  out[i] = s;
}

extern "C" __global__ void compare_strings(const unsigned char* __restrict__ words, const unsigned char* __restrict__ others,
                                           int* __restrict__ out, int n, int length) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int k = 0;
  while (k < length && words[i * length + k] == others[i * length + k]) ++k;
  out[i] = k;
}

extern "C" __global__ void tree_descend(const float2* __restrict__ nodes, const float* __restrict__ queries,
                                        int* __restrict__ out, int depth, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float q = queries[i];
  int at = 1;
  for (int d = 0; d < depth; ++d) at = 2 * at + (nodes[at].x < q);
  out[i] = at;
}

extern "C" __global__ void small_products(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                                          int count) {
  __shared__ float left[4][8][8], right[4][8][8];
  int which = blockIdx.x * 4 + threadIdx.z, x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
  if (which < count) {
    left[z][y][x] = a[which * 64 + y * 8 + x];
    right[z][y][x] = b[which * 64 + y * 8 + x];
  }
  __syncthreads();
  if (which >= count) return;
  float s = 0.0f;
  for (int k = 0; k < 8; ++k) s += left[z][y][k] * right[z][k][x];
  c[which * 64 + y * 8 + x] = s;
}

extern "C" __global__ void norm_rows(const float* __restrict__ in, const float* __restrict__ gain, float* __restrict__ out,
                                     int columns) {
  __shared__ float parts[32];
  const float* row = in + (size_t)blockIdx.x * columns;
  float s = 0.0f;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) s += row[c] * row[c];
  for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = s;
  __syncthreads();
  s = threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : 0.0f;
  if (threadIdx.x < 32) {
    for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(~0u, s, d);
    if (threadIdx.x == 0) parts[0] = rsqrtf(s / columns + 1e-5f);
  }
  __syncthreads();
  float scale = parts[0];
  for (int c = threadIdx.x; c < columns; c += blockDim.x) out[(size_t)blockIdx.x * columns + c] = row[c] * scale * gain[c];
}
