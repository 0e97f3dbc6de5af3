// Kernels of physics and finance: planes, lattices, phases, paths.

#define WIDE 32
#define HIGH 8
#define TALL 4

// Sums of squared residuals of Poisson's equation in the plane, one a block; a thread takes four rows.
extern "C" __global__ void __launch_bounds__(WIDE* HIGH)
    residual_norm_plane(const float* __restrict__ u, const float* __restrict__ f, float* __restrict__ sums, int width,
                        int height, float over_h2) {
  __shared__ float parts[WIDE * HIGH];
  int x = blockIdx.x * WIDE + threadIdx.x, top = blockIdx.y * HIGH * TALL + threadIdx.y;
  int t = threadIdx.y * WIDE + threadIdx.x;
  float sum = 0.0f;
  for (int k = 0; k < TALL; ++k) {
    int y = top + k * HIGH;
    if (x > 0 && y > 0 && x < width - 1 && y < height - 1) {
      int at = y * width + x;
      float r = f[at] - (4.0f * u[at] - u[at - 1] - u[at + 1] - u[at - width] - u[at + width]) * over_h2;
      sum += r * r;
    }
  }
  parts[t] = sum;
  __syncthreads();
  for (int half = WIDE * HIGH / 2; half > 0; half >>= 1) {
    if (t < half) parts[t] += parts[t + half];
    __syncthreads();
  }
  if (t == 0) sums[blockIdx.y * gridDim.x + blockIdx.x] = parts[0];
}

// A step of a lattice of five speeds for a quantity that a flow carries: pulled, relaxed, written; periodic.
extern "C" __global__ void advect_d2q5(const float* __restrict__ from, float* __restrict__ to,
                                       const float2* __restrict__ flow, int width, int height, float omega) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= width) return;
  int cells = width * height, at = y * width + x;
  int west = x > 0 ? at - 1 : at + width - 1, east = x < width - 1 ? at + 1 : at - width + 1;
  int south = y > 0 ? at - width : at + cells - width, north = y < height - 1 ? at + width : at - cells + width;
  float f0 = from[at];
  float f1 = from[cells + west];
  float f2 = from[2 * cells + south];
  float f3 = from[3 * cells + east];
  float f4 = from[4 * cells + north];
  float much = f0 + f1 + f2 + f3 + f4;
  float2 v = flow[at];
  const float rest = 1.0f / 3.0f, other = 1.0f / 6.0f;
  float keep = 1.0f - omega;
  to[at] = keep * f0 + omega * rest * much;
  to[cells + at] = keep * f1 + omega * other * much * (1.0f + 3.0f * v.x);
  to[2 * cells + at] = keep * f2 + omega * other * much * (1.0f + 3.0f * v.y);
  to[3 * cells + at] = keep * f3 + omega * other * much * (1.0f - 3.0f * v.x);
  to[4 * cells + at] = keep * f4 + omega * other * much * (1.0f - 3.0f * v.y);
}

// Half a sweep of over-relaxation of a pressure in a box, in place: the cells of one colour.
extern "C" __global__ void pressure_red_black_3d(float* __restrict__ p, const float* __restrict__ rhs, int nx, int ny,
                                                 int nz, int colour, float h2, float omega) {
  int j = blockIdx.y * blockDim.y + threadIdx.y + 1, k = blockIdx.z * blockDim.z + threadIdx.z + 1;
  int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x) + 1 + ((j + k + colour) & 1);
  if (i >= nx - 1 || j >= ny - 1 || k >= nz - 1) return;
  int plane = nx * ny, at = k * plane + j * nx + i;
  float around = p[at - 1] + p[at + 1] + p[at - nx] + p[at + nx] + p[at - plane] + p[at + plane];
  float old = p[at];
  p[at] = old + omega * ((around - h2 * rhs[at]) / 6.0f - old);
}

#define ATOMS 128

// Structure factors of Ewald's sum: a thread a wave vector, the charges by tiles in shared memory.
extern "C" __global__ void __launch_bounds__(ATOMS)
    ewald_phases(const float4* __restrict__ atoms, const float* __restrict__ waves, float2* __restrict__ out, int many,
                 int vectors) {
  __shared__ float4 tile[ATOMS];
  int v = blockIdx.x * ATOMS + threadIdx.x;
  float kx = 0.0f, ky = 0.0f, kz = 0.0f;
  if (v < vectors) {
    kx = waves[3 * v];
    ky = waves[3 * v + 1];
    kz = waves[3 * v + 2];
  }
  float re = 0.0f, im = 0.0f;
  for (int first = 0; first < many; first += ATOMS) {
    if (first + threadIdx.x < many) tile[threadIdx.x] = atoms[first + threadIdx.x];
    __syncthreads();
    int here = min(ATOMS, many - first);
    for (int a = 0; a < here; ++a) {
      float4 atom = tile[a];
      float s, c;
      sincospif(2.0f * (kx * atom.x + ky * atom.y + kz * atom.z), &s, &c);
      re += atom.w * c;
      im += atom.w * s;
    }
    __syncthreads();
  }
  if (v < vectors) out[v] = make_float2(re, im);
}

__device__ __forceinline__ unsigned drawn(unsigned& state) {
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}

// Calls on the mean of a path: a thread a path, two normal steps by Box and Muller each turn; a sum a block.
extern "C" __global__ void __launch_bounds__(256)
    asian_option_paths(float* __restrict__ sums, int pairs, float drift, float swing, float strike, unsigned seed) {
  __shared__ float parts[8];
  unsigned path = blockIdx.x * blockDim.x + threadIdx.x, state = (path + seed) * 2654435769u | 1u;
  float level = 0.0f, total = 0.0f;
  for (int k = 0; k < pairs; ++k) {
    float u = ((drawn(state) >> 8) + 1) * (1.0f / 16777216.0f), v = (drawn(state) >> 8) * (1.0f / 16777216.0f);
    float far = sqrtf(-2.0f * __logf(u)), s, c;
    __sincosf(6.2831853f * v, &s, &c);
    level += drift + swing * far * c;
    total += __expf(level);
    level += drift + swing * far * s;
    total += __expf(level);
  }
  float payoff = fmaxf(total / (2 * pairs) - strike, 0.0f);
  for (int d = 16; d > 0; d >>= 1) payoff += __shfl_xor_sync(0xffffffffu, payoff, d);
  if ((threadIdx.x & 31) == 0) parts[threadIdx.x >> 5] = payoff;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < blockDim.x / 32; ++w) payoff += parts[w];
    sums[blockIdx.x] = payoff;
  }
}
