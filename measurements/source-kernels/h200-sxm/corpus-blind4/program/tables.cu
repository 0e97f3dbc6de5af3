// Graphs, searches, tables.
// One level of a breadth-first search: nodes of the frontier mark their neighbours that nobody saw.
extern "C" __global__ void bfs_level(const int* __restrict__ starts, const int* __restrict__ edges, const int* __restrict__ frontier, const int* __restrict__ seen, const int* __restrict__ cost, int* found, int* reached, int nodes) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < nodes && frontier[i] == 0) {
    int end = starts[i + 1];
    for (int k = starts[i]; k < end; ++k) {
      int j = edges[k];
      if (seen[j] == 0) {
        found[j] = 1;
        atomicMax(&reached[j], cost[i] + 1);
      }
    }
  }
}

// What opening a centre at a point would gain: points that would move, and what the centres they leave would lose.
extern "C" __global__ void opening_gain(const float* __restrict__ points, const float* __restrict__ weight, const float* __restrict__ cost, const int* __restrict__ centre, float* __restrict__ gain, float* lower, int n, int dimensions, int candidate, float scale) {
  __shared__ float at[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x < dimensions) at[threadIdx.x] = points[threadIdx.x * n + candidate];
  __syncthreads();
  if (i >= n) return;
  float distance = 0.0f;
  for (int d = 0; d < dimensions; ++d) {
    float off = points[d * n + i] - at[d];
    distance += off * off;
  }
  float change = scale * distance * weight[i] - cost[i];
  if (change < 0.0f) {
    gain[i] = change;
  } else {
    gain[i] = 0.0f;
    atomicAdd(&lower[centre[i]], change);
  }
}

// First entry of a running sum that is not below a draw, step by step, and the place it stands for.
extern "C" __global__ void first_above(const float* __restrict__ sums, const float* __restrict__ draws, const float* __restrict__ places, int* __restrict__ index, float* __restrict__ out, int length, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float value = draws[i] * (length - 1);
  int found = length - 1;
  for (int k = 0; k < length; ++k) {
    if (sums[k] >= value) {
      found = k;
      break;
    }
  }
  index[i] = found;
  out[i] = places[found];
}

// Ten rounds of a cipher by look-up: 16 bytes a thread, one table in shared memory, turned by bytes.
extern "C" __global__ void table_rounds(const uint4* __restrict__ in, const unsigned* __restrict__ table, const unsigned* __restrict__ key, uint4* __restrict__ out, int n) {
  __shared__ unsigned t[256];
  for (int k = threadIdx.x; k < 256; k += blockDim.x) t[k] = table[k];
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint4 v = in[i];
  unsigned a = v.x ^ key[0], b = v.y ^ key[1], c = v.z ^ key[2], d = v.w ^ key[3];
  for (int r = 1; r <= 10; ++r) {
    unsigned p = t[a >> 24], q = t[b >> 16 & 255], s = t[c >> 8 & 255], u = t[d & 255];
    unsigned na = p ^ (q >> 8 | q << 24) ^ (s >> 16 | s << 16) ^ (u >> 24 | u << 8) ^ key[4 * r];
    p = t[b >> 24], q = t[c >> 16 & 255], s = t[d >> 8 & 255], u = t[a & 255];
    unsigned nb = p ^ (q >> 8 | q << 24) ^ (s >> 16 | s << 16) ^ (u >> 24 | u << 8) ^ key[4 * r + 1];
    p = t[c >> 24], q = t[d >> 16 & 255], s = t[a >> 8 & 255], u = t[b & 255];
    unsigned nc = p ^ (q >> 8 | q << 24) ^ (s >> 16 | s << 16) ^ (u >> 24 | u << 8) ^ key[4 * r + 2];
    p = t[d >> 24], q = t[a >> 16 & 255], s = t[b >> 8 & 255], u = t[c & 255];
    unsigned nd = p ^ (q >> 8 | q << 24) ^ (s >> 16 | s << 16) ^ (u >> 24 | u << 8) ^ key[4 * r + 3];
    a = na;
    b = nb;
    c = nc;
    d = nd;
  }
  out[i] = make_uint4(a, b, c, d);
}
