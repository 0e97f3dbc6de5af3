// Kernels of particles and chance: potentials, needles, interest rates, atoms, continued fractions.

#define TILE 128

// Potentials of charges on one another in double precision: all pairs, a tile of charges at a time in shared memory.
extern "C" __global__ void __launch_bounds__(TILE)
    potential_double(const double2* __restrict__ charges, double* __restrict__ out, int n, double softening) {
  __shared__ double x[TILE], y[TILE], z[TILE], strength[TILE];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int own = i < n ? i : n - 1;
  double2 me = charges[2 * own];
  double my_z = charges[2 * own + 1].x;
  double sum = 0.0;
  for (int first = 0; first < n; first += blockDim.x) {
    int j = first + threadIdx.x;
    int there = j < n ? j : n - 1;
    double2 flat = charges[2 * there], rest = charges[2 * there + 1];
    x[threadIdx.x] = flat.x;
    y[threadIdx.x] = flat.y;
    z[threadIdx.x] = rest.x;
    strength[threadIdx.x] = j < n ? rest.y : 0.0;
    __syncthreads();
#pragma unroll 4
    for (int k = 0; k < blockDim.x; ++k) {
      double dx = x[k] - me.x, dy = y[k] - me.y, dz = z[k] - my_z;
      sum += strength[k] * rsqrt(dx * dx + dy * dy + dz * dz + softening);
    }
    __syncthreads();
  }
  if (i < n) out[i] = sum;
}

__device__ __forceinline__ unsigned mixed(unsigned x) {
  x = (x ^ 61u) ^ (x >> 16);
  x *= 9u;
  x ^= x >> 4;
  x *= 0x27d4eb2du;
  return x ^ (x >> 15);
}

__device__ __forceinline__ unsigned following(unsigned& state) {
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}

// Needles thrown on boards: a generator a thread, how far and how turned; crossings counted by warps, then by atomics.
extern "C" __global__ void buffon_needles(int* __restrict__ crossings, int throws, float length, unsigned seed) {
  unsigned state = mixed(blockIdx.x * blockDim.x + threadIdx.x + seed) | 1u;
  int count = 0;
  for (int k = 0; k < throws; ++k) {
    float away = (following(state) >> 8) * (0.5f / 16777216.0f);
    float turned = (following(state) >> 8) * (1.57079633f / 16777216.0f);
    count += away < 0.5f * length * __sinf(turned);
  }
  count = __reduce_add_sync(~0u, count);
  if (threadIdx.x % 32 == 0) atomicAdd(crossings, count);
}

// Discount factors under a rate that returns to its mean, its spread by the root of the rate: a path a thread, two
// normal numbers at once.
extern "C" __global__ void rate_paths(float* __restrict__ out, int paths, int pairs, float rate, float pull, float mean,
                                      float spread, float step, unsigned seed) {
  int path = blockIdx.x * blockDim.x + threadIdx.x;
  if (path >= paths) return;
  unsigned state = mixed(path + seed) | 1u;
  float root = sqrtf(step), sum = 0.0f, r = rate;
  for (int k = 0; k < pairs; ++k) {
    float u = ((following(state) >> 9) + 0.5f) * (1.0f / 8388608.0f);
    float turn = (following(state) >> 9) * (6.28318531f / 8388608.0f);
    float far = sqrtf(-2.0f * logf(u)), sine, cosine;
    __sincosf(turn, &sine, &cosine);
    sum += r;
    r += pull * (mean - r) * step + spread * sqrtf(fmaxf(r, 0.0f)) * root * far * cosine;
    sum += r;
    r += pull * (mean - r) * step + spread * sqrtf(fmaxf(r, 0.0f)) * root * far * sine;
  }
  out[path] = __expf(-sum * step);
}

#define KINDS 8

// Forces on atoms of eight kinds from the neighbours in their lists, in a periodic box of side one; what a pair of
// kinds takes stands in shared memory.
extern "C" __global__ void lennard_jones_lists(const float4* __restrict__ atoms,
                                               const unsigned char* __restrict__ kinds,
                                               const int* __restrict__ counts, const int* __restrict__ neighbours,
                                               const float* __restrict__ sizes, const float* __restrict__ depths,
                                               float4* __restrict__ forces, int n, float unit, float cut, float core) {
  __shared__ float size6[KINDS * KINDS], depth[KINDS * KINDS];
  for (int e = threadIdx.x; e < KINDS * KINDS; e += blockDim.x) {
    float s = (0.5f + sizes[e]) * unit;
    size6[e] = s * s * s * s * s * s;
    depth[e] = depths[e];
  }
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 me = atoms[i];
  int kind = kinds[i] * KINDS, many = counts[i];
  float fx = 0.0f, fy = 0.0f, fz = 0.0f, energy = 0.0f;
  for (int k = 0; k < many; ++k) {
    int j = neighbours[(long long)k * n + i];
    float4 other = atoms[j];
    float dx = me.x - other.x, dy = me.y - other.y, dz = me.z - other.z;
    dx -= rintf(dx);
    dy -= rintf(dy);
    dz -= rintf(dz);
    float square = dx * dx + dy * dy + dz * dz;
    if (square >= cut * cut) continue;
    square = fmaxf(square, core);
    int pair = kind + kinds[j];
    float inverse = 1.0f / square, part = size6[pair] * inverse * inverse * inverse;
    float pull = 24.0f * depth[pair] * part * (2.0f * part - 1.0f) * inverse;
    fx += pull * dx;
    fy += pull * dy;
    fz += pull * dz;
    energy += 4.0f * depth[pair] * part * (part - 1.0f);
  }
  forces[i] = make_float4(fx, fy, fz, energy);
}

// The scaled complementary error function by its continued fraction from the far end: divisions that wait for others.
extern "C" __global__ void dependent_divisions(const float* __restrict__ in, float* __restrict__ out, int n,
                                               int steps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = 0.5f + in[i], value = x;
  for (int k = steps; k > 0; --k) value = x + 0.5f * k / value;
  out[i] = 0.564189584f / value;
}
