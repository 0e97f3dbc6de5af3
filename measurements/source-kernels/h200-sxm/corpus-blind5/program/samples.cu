// Kernels in the manner of vendors' samples.

__device__ __forceinline__ void cosine_eight(float* v) {
  const float c1 = 0.98078528f, c2 = 0.92387953f, c3 = 0.83146961f, c5 = 0.55557023f, c6 = 0.38268343f,
              c7 = 0.19509032f, r = 0.35355339f;
  float s0 = v[0] + v[7], s1 = v[1] + v[6], s2 = v[2] + v[5], s3 = v[3] + v[4];
  float d0 = v[0] - v[7], d1 = v[1] - v[6], d2 = v[2] - v[5], d3 = v[3] - v[4];
  v[0] = r * (s0 + s1 + s2 + s3);
  v[4] = r * (s0 - s1 - s2 + s3);
  v[2] = 0.5f * ((s0 - s3) * c2 + (s1 - s2) * c6);
  v[6] = 0.5f * ((s0 - s3) * c6 - (s1 - s2) * c2);
  v[1] = 0.5f * (d0 * c1 + d1 * c3 + d2 * c5 + d3 * c7);
  v[3] = 0.5f * (d0 * c3 - d1 * c7 - d2 * c1 - d3 * c5);
  v[5] = 0.5f * (d0 * c5 - d1 * c1 + d2 * c7 + d3 * c3);
  v[7] = 0.5f * (d0 * c7 - d1 * c5 + d2 * c3 - d3 * c1);
}

// Cosine transforms of 8 x 8 pixels, eight of them side by side in a block of 64 threads.
extern "C" __global__ void cosine_blocks(const float* __restrict__ in, float* __restrict__ out, int width) {
  __shared__ float strip[8][65];
  int t = threadIdx.x;
  int first = blockIdx.y * 8 * width + blockIdx.x * 64 + t;
  float v[8];
#pragma unroll
  for (int k = 0; k < 8; ++k) v[k] = in[first + k * width];
  cosine_eight(v);
#pragma unroll
  for (int k = 0; k < 8; ++k) strip[k][t] = v[k];
  __syncthreads();
  int row = t / 8, from = t % 8 * 8;
#pragma unroll
  for (int k = 0; k < 8; ++k) v[k] = strip[row][from + k];
  cosine_eight(v);
#pragma unroll
  for (int k = 0; k < 8; ++k) strip[row][from + k] = v[k];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < 8; ++k) out[first + k * width] = strip[k][t];
}

// A Mersenne twister of 19 words for each thread, its state in an array that is walked round.
extern "C" __global__ void twister_streams(const unsigned* __restrict__ matrix, const unsigned* __restrict__ mask_b,
                                           const unsigned* __restrict__ mask_c, float* __restrict__ out, unsigned seed,
                                           int draws) {
  int thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
  unsigned a = matrix[thread], b = mask_b[thread], c = mask_c[thread];
  unsigned state[19];
  state[0] = seed + thread;
  for (int i = 1; i < 19; ++i) state[i] = 1812433253u * (state[i - 1] ^ state[i - 1] >> 30) + i;
  int at = 0;
  unsigned current = state[0];
  for (int draw = 0; draw < draws; ++draw) {
    int after = at + 1 < 19 ? at + 1 : 0;
    int far = at + 9 < 19 ? at + 9 : at - 10;
    unsigned next = state[after];
    unsigned x = (current & 0xfffffffeu) | (next & 1u);
    x = state[far] ^ x >> 1 ^ ((x & 1u) ? a : 0u);
    state[at] = x;
    at = after;
    current = next;
    x ^= x >> 12;
    x ^= x << 7 & b;
    x ^= x << 15 & c;
    x ^= x >> 18;
    out[thread + draw * threads] = ((float)x + 1.0f) * 2.3283064e-10f;
  }
}

__constant__ float tap[17] = {0.01f, 0.02f, 0.03f, 0.05f, 0.07f, 0.08f, 0.10f, 0.11f, 0.12f,
                              0.11f, 0.10f, 0.08f, 0.07f, 0.05f, 0.03f, 0.02f, 0.01f};

// The second pass of a separable filter: 17 taps down columns, eight rows a thread.
extern "C" __global__ void taps_down_columns(const float* __restrict__ in, float* __restrict__ out, int width, int height) {
  __shared__ float tile[16][81];
  int tx = threadIdx.x, ty = threadIdx.y;
  int column = blockIdx.x * 16 + tx, top = blockIdx.y * 64 - 8;
#pragma unroll
  for (int k = 0; k < 10; ++k) {
    int row = top + ty + k * 8;
    tile[tx][ty + k * 8] = row >= 0 && row < height ? in[row * width + column] : 0.0f;
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < 17; ++j) sum += tap[j] * tile[tx][ty + k * 8 + j];
    out[(top + 8 + ty + k * 8) * width + column] = sum;
  }
}

// A step of finite differences of eighth order: planes march through registers, one lies in shared memory.
extern "C" __global__ void march_radius_four(const float* __restrict__ in, float* __restrict__ out, int nx, int ny, int nz,
                                             float c0, float c1, float c2, float c3, float c4) {
  __shared__ float plane[16][40];
  int tx = threadIdx.x, ty = threadIdx.y;
  int x = blockIdx.x * 32 + tx + 4, y = blockIdx.y * 8 + ty + 4;
  int stride = nx * ny, at = y * nx + x;
  float column[9];
#pragma unroll
  for (int k = 0; k < 8; ++k) column[k + 1] = in[at + k * stride];
  float c[5] = {c0, c1, c2, c3, c4};
  for (int z = 4; z < nz - 4; ++z) {
#pragma unroll
    for (int k = 0; k < 8; ++k) column[k] = column[k + 1];
    column[8] = in[at + (z + 4) * stride];
    __syncthreads();
    const float* here = in + at + z * stride;
    plane[ty + 4][tx + 4] = column[4];
    if (ty < 4) {
      plane[ty][tx + 4] = here[-4 * nx];
      plane[ty + 12][tx + 4] = here[8 * nx];
    }
    if (tx < 4) {
      plane[ty + 4][tx] = here[-4];
      plane[ty + 4][tx + 36] = here[32];
    }
    __syncthreads();
    float sum = c[0] * column[4];
#pragma unroll
    for (int k = 1; k < 5; ++k)
      sum += c[k] * (column[4 - k] + column[4 + k] + plane[ty + 4 - k][tx + 4] + plane[ty + 4 + k][tx + 4] +
                     plane[ty + 4][tx + 4 - k] + plane[ty + 4][tx + 4 + k]);
    out[at + z * stride] = sum;
  }
}

// Merges two sorted arrays: each thread finds where its eight begin on a diagonal, and merges them.
extern "C" __global__ void merge_paths(const int* __restrict__ a, const int* __restrict__ b, int* __restrict__ out, int na,
                                       int nb) {
  int diagonal = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
  if (diagonal >= na + nb) return;
  int low = max(0, diagonal - nb), high = min(diagonal, na);
  while (low < high) {
    int middle = (low + high) / 2;
    if (a[middle] <= b[diagonal - 1 - middle]) low = middle + 1;
    else high = middle;
  }
  int i = low, j = diagonal - low;
  for (int k = 0; k < 8 && diagonal + k < na + nb; ++k) {
    bool from_a = j >= nb || (i < na && a[i] <= b[j]);
    out[diagonal + k] = from_a ? a[i++] : b[j++];
  }
}
