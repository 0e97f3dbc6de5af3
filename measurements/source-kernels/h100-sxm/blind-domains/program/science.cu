// Steps of simulations and numerical methods.

#include <stdint.h>

__device__ __forceinline__ uint32_t mixed(uint32_t v) {
  v ^= v >> 16;
  v *= 0x7feb352du;
  v ^= v >> 15;
  v *= 0x846ca68bu;
  return v ^ v >> 16;
}

__device__ __forceinline__ float unit(uint32_t v) { return (float)(v >> 8) * 5.9604645e-8f; }

// Acoustic wave of fourth order: planes pass through registers, x and y through shared memory.
extern "C" __global__ void acoustic_queue4(float* __restrict__ next, const float* __restrict__ now,
                                           const float* __restrict__ speed, int nx, int ny,
                                           int nz) {
  extern __shared__ float tile[];
  int pitch = blockDim.x + 4;
  int x = blockIdx.x * blockDim.x + threadIdx.x + 2;
  int y = blockIdx.y * blockDim.y + threadIdx.y + 2;
  bool active = x < nx - 2 && y < ny - 2;
  size_t plane = (size_t)nx * ny;
  int cx = min(x, nx - 1), cy = min(y, ny - 1);
  size_t at = (size_t)cy * nx + cx;
  int here = (threadIdx.y + 2) * pitch + threadIdx.x + 2;
  float below2 = now[at], below1 = now[at + plane], middle = now[at + 2 * plane];
  float above1 = now[at + 3 * plane];
  for (int z = 2; z < nz - 2; z++) {
    float above2 = now[at + (z + 2) * plane];
    size_t c = at + z * plane;
    __syncthreads();
    tile[here] = middle;
    if (threadIdx.x < 2) {
      tile[here - 2] = now[c - 2];
      int right = min((int)blockDim.x, nx - 1 - cx);
      tile[here + blockDim.x] = now[c + right];
    }
    if (threadIdx.y < 2) {
      tile[here - 2 * pitch] = now[c - 2 * (size_t)nx];
      int lower = min((int)blockDim.y, ny - 1 - cy);
      tile[here + blockDim.y * pitch] = now[c + (size_t)lower * nx];
    }
    __syncthreads();
    if (active) {
      float near = tile[here - 1] + tile[here + 1] + tile[here - pitch] + tile[here + pitch] +
                   below1 + above1;
      float far = tile[here - 2] + tile[here + 2] + tile[here - 2 * pitch] +
                  tile[here + 2 * pitch] + below2 + above2;
      float laplace = 1.3333333f * near - 0.0833333f * far - 7.5f * middle;
      next[c] = 2.0f * middle - next[c] + speed[c] * laplace;
    }
    below2 = below1;
    below1 = middle;
    middle = above1;
    above1 = above2;
  }
}

// Electric field from the curl of the magnetic one, three components at once.
extern "C" __global__ void yee_electric(float* __restrict__ ex, float* __restrict__ ey,
                                        float* __restrict__ ez, const float* __restrict__ hx,
                                        const float* __restrict__ hy, const float* __restrict__ hz,
                                        const uint8_t* __restrict__ material,
                                        const float* __restrict__ factor, int nx, int ny, int nz) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < 1 || y < 1 || z < 1 || x >= nx || y >= ny || z >= nz) return;
  int c = (z * ny + y) * nx + x;
  int row = nx, plane = nx * ny;
  float f = factor[material[c]];
  float bx = hx[c], by = hy[c], bz = hz[c];
  ex[c] += f * ((bz - hz[c - row]) - (by - hy[c - plane]));
  ey[c] += f * ((bx - hx[c - plane]) - (bz - hz[c - 1]));
  ez[c] += f * ((by - hy[c - 1]) - (bx - hx[c - row]));
}

// Heat carried by a flow on a lattice of five directions; walls send it back.
extern "C" __global__ void lattice_d2q5_heat(float* __restrict__ to, const float* __restrict__ from,
                                             const uint8_t* __restrict__ wall,
                                             const float2* __restrict__ flow, int nx, int ny,
                                             float rate) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y;
  if (x >= nx) return;
  size_t cells = (size_t)nx * ny, c = (size_t)y * nx + x;
  int west = x > 0 ? x - 1 : nx - 1, east = x + 1 < nx ? x + 1 : 0;
  int north = y > 0 ? y - 1 : ny - 1, south = y + 1 < ny ? y + 1 : 0;
  float f0 = from[c];
  float f1 = from[cells + (size_t)y * nx + west];
  float f2 = from[2 * cells + (size_t)y * nx + east];
  float f3 = from[3 * cells + (size_t)north * nx + x];
  float f4 = from[4 * cells + (size_t)south * nx + x];
  if (wall[c]) {
    to[c] = f0;
    to[cells + c] = f2;
    to[2 * cells + c] = f1;
    to[3 * cells + c] = f4;
    to[4 * cells + c] = f3;
    return;
  }
  float heat = f0 + f1 + f2 + f3 + f4;
  float2 u = flow[c];
  float sixth = heat / 6.0f;
  to[c] = f0 + rate * (heat / 3.0f - f0);
  to[cells + c] = f1 + rate * (sixth * (1.0f + 3.0f * u.x) - f1);
  to[2 * cells + c] = f2 + rate * (sixth * (1.0f - 3.0f * u.x) - f2);
  to[3 * cells + c] = f3 + rate * (sixth * (1.0f + 3.0f * u.y) - f3);
  to[4 * cells + c] = f4 + rate * (sixth * (1.0f - 3.0f * u.y) - f4);
}

// Half a sweep of Gauss and Seidel in three dimensions: cells of one colour.
extern "C" __global__ void poisson_colour3d(double* u, const double* __restrict__ f, int nx, int ny,
                                            int nz, int colour, double h2) {
  int y = blockIdx.y * blockDim.y + threadIdx.y + 1;
  int z = blockIdx.z + 1;
  int x = 2 * (blockIdx.x * blockDim.x + threadIdx.x) + 1 + ((y + z + colour) & 1);
  if (x >= nx - 1 || y >= ny - 1 || z >= nz - 1) return;
  size_t plane = (size_t)nx * ny, c = z * plane + (size_t)y * nx + x;
  double sum = u[c - 1] + u[c + 1] + u[c - nx] + u[c + nx] + u[c - plane] + u[c + plane];
  u[c] = (sum - h2 * f[c]) * (1.0 / 6.0);
}

// Solves many systems of five constant diagonals, interleaved, a thread each.
extern "C" __global__ void pentadiagonal_lines(float* __restrict__ x,
                                               const float* __restrict__ right,
                                               const float* __restrict__ upper,
                                               const float* __restrict__ outer, int n,
                                               int systems) {
  int s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s >= systems) return;
  float one = 0.0f, two = 0.0f;
  for (int i = 0; i < n; i++) {
    float v = right[(size_t)i * systems + s] - __ldg(upper + i) * one - __ldg(outer + i) * two;
    x[(size_t)i * systems + s] = v;
    two = one;
    one = v;
  }
  one = two = 0.0f;
  for (int i = n - 1; i >= 0; i--) {
    float v = x[(size_t)i * systems + s] - __ldg(upper + i) * one - __ldg(outer + i) * two;
    x[(size_t)i * systems + s] = v;
    two = one;
    one = v;
  }
}

// L D L' of symmetric 5x5 matrices and a solve with each, all in registers.
extern "C" __global__ void ldl_five_solve(double* __restrict__ x, const double* __restrict__ a,
                                          const double* __restrict__ b, int count) {
  int m = blockIdx.x * blockDim.x + threadIdx.x;
  if (m >= count) return;
  double l[5][5], d[5], v[5];
#pragma unroll
  for (int i = 0; i < 5; i++)
#pragma unroll
    for (int j = 0; j <= i; j++) l[i][j] = a[(size_t)(i * (i + 1) / 2 + j) * count + m];
#pragma unroll
  for (int j = 0; j < 5; j++) {
    double pivot = l[j][j] + 5.0;
#pragma unroll
    for (int k = 0; k < j; k++) pivot -= l[j][k] * l[j][k] * d[k];
    d[j] = pivot;
    double inverse = 1.0 / pivot;
#pragma unroll
    for (int i = j + 1; i < 5; i++) {
      double sum = l[i][j];
#pragma unroll
      for (int k = 0; k < j; k++) sum -= l[i][k] * l[j][k] * d[k];
      l[i][j] = sum * inverse;
    }
  }
#pragma unroll
  for (int i = 0; i < 5; i++) {
    v[i] = b[(size_t)i * count + m];
#pragma unroll
    for (int k = 0; k < i; k++) v[i] -= l[i][k] * v[k];
  }
#pragma unroll
  for (int i = 4; i >= 0; i--) {
    v[i] /= d[i];
#pragma unroll
    for (int k = i + 1; k < 5; k++) v[i] -= l[k][i] * v[k];
    x[(size_t)i * count + m] = v[i];
  }
}

// LU of one matrix a block in dynamic shared memory, without pivots.
extern "C" __global__ void lu_of_batch(float* __restrict__ matrix, int n) {
  extern __shared__ float a[];
  float* mine = matrix + (size_t)blockIdx.x * n * n;
  for (int i = threadIdx.x; i < n * n; i += blockDim.x)
    a[i] = mine[i] + (i / n == i % n ? (float)n : 0.0f);
  __syncthreads();
  for (int k = 0; k < n - 1; k++) {
    float inverse = 1.0f / a[k * n + k];
    for (int i = k + 1 + threadIdx.x; i < n; i += blockDim.x) a[i * n + k] *= inverse;
    __syncthreads();
    int side = n - 1 - k;
    for (int i = threadIdx.x; i < side * side; i += blockDim.x) {
      int row = k + 1 + i / side, column = k + 1 + i % side;
      a[row * n + column] -= a[row * n + k] * a[k * n + column];
    }
    __syncthreads();
  }
  for (int i = threadIdx.x; i < n * n; i += blockDim.x) mine[i] = a[i];
}

// One stage of radix 2 after Stockham: reads halves apart, writes them in turn.
extern "C" __global__ void stockham_stage(float2* __restrict__ out, const float2* __restrict__ in,
                                          int half, int span) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= half) return;
  size_t base = (size_t)blockIdx.y * 2 * half;
  int k = i % span;
  float s, c;
  sincospif(-(float)k / (float)span, &s, &c);
  float2 a = in[base + i], b = in[base + i + half];
  float2 t = make_float2(b.x * c - b.y * s, b.x * s + b.y * c);
  size_t to = base + 2 * (size_t)(i - k) + k;
  out[to] = make_float2(a.x + t.x, a.y + t.y);
  out[to + span] = make_float2(a.x - t.x, a.y - t.y);
}

// Diffusing walkers, each until it leaves a ball or has gone so many steps.
extern "C" __global__ void first_passage(int* __restrict__ left_at, float4* __restrict__ ended,
                                         int walkers, int steps, float stride, float radius2,
                                         uint32_t seed) {
  int w = blockIdx.x * blockDim.x + threadIdx.x;
  if (w >= walkers) return;
  uint32_t state = mixed(seed + w);
  float x = 0.0f, y = 0.0f, z = 0.0f;
  int step = 0;
  while (step < steps && x * x + y * y + z * z < radius2) {
    state = mixed(state + 0x9e3779b9u);
    float cosine = 2.0f * unit(state) - 1.0f;
    state = mixed(state + 0x9e3779b9u);
    float s, c;
    __sincosf(6.2831853f * unit(state), &s, &c);
    float sine = sqrtf(1.0f - cosine * cosine);
    x += stride * sine * c;
    y += stride * sine * s;
    z += stride * cosine;
    step++;
  }
  left_at[w] = step;
  ended[w] = make_float4(x, y, z, 0.0f);
}

// Mass of particles to the eight nodes about each; places are in [0, 1).
extern "C" __global__ void cloud_in_cell(float* __restrict__ density,
                                         const float4* __restrict__ particle, int count, int side) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    float4 p = particle[i];
    float x = p.x * side, y = p.y * side, z = p.z * side;
    int ix = min((int)x, side - 1), iy = min((int)y, side - 1), iz = min((int)z, side - 1);
    float fx = x - ix, fy = y - iy, fz = z - iz;
    int jx = ix + 1 < side ? ix + 1 : 0;
    int jy = iy + 1 < side ? iy + 1 : 0;
    int jz = iz + 1 < side ? iz + 1 : 0;
    float a = p.w * (1.0f - fz), b = p.w * fz;
    atomicAdd(&density[(iz * side + iy) * side + ix], a * (1.0f - fy) * (1.0f - fx));
    atomicAdd(&density[(iz * side + iy) * side + jx], a * (1.0f - fy) * fx);
    atomicAdd(&density[(iz * side + jy) * side + ix], a * fy * (1.0f - fx));
    atomicAdd(&density[(iz * side + jy) * side + jx], a * fy * fx);
    atomicAdd(&density[(jz * side + iy) * side + ix], b * (1.0f - fy) * (1.0f - fx));
    atomicAdd(&density[(jz * side + iy) * side + jx], b * (1.0f - fy) * fx);
    atomicAdd(&density[(jz * side + jy) * side + ix], b * fy * (1.0f - fx));
    atomicAdd(&density[(jz * side + jy) * side + jx], b * fy * fx);
  }
}

// Stiffness of tetrahedra applied to a vector: gathered from nodes and added back.
extern "C" __global__ void tetrahedra_apply(double* __restrict__ y, const double* __restrict__ x,
                                            const int4* __restrict__ nodes,
                                            const double* __restrict__ gradient, int elements) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= elements) return;
  int4 n = nodes[e];
  double v[4] = {x[n.x], x[n.y], x[n.z], x[n.w]};
  double g[4][3], flux[3] = {0.0, 0.0, 0.0};
#pragma unroll
  for (int i = 0; i < 4; i++)
#pragma unroll
    for (int c = 0; c < 3; c++) {
      g[i][c] = gradient[(size_t)(i * 3 + c) * elements + e];
      flux[c] += g[i][c] * v[i];
    }
  atomicAdd(&y[n.x], g[0][0] * flux[0] + g[0][1] * flux[1] + g[0][2] * flux[2]);
  atomicAdd(&y[n.y], g[1][0] * flux[0] + g[1][1] * flux[1] + g[1][2] * flux[2]);
  atomicAdd(&y[n.z], g[2][0] * flux[0] + g[2][1] * flux[1] + g[2][2] * flux[2]);
  atomicAdd(&y[n.w], g[3][0] * flux[0] + g[3][1] * flux[1] + g[3][2] * flux[2]);
}

// Step of Jacobi that also adds up the squares of the residual.
extern "C" __global__ void jacobi_with_residual(float* __restrict__ next,
                                                const float* __restrict__ now,
                                                const float* __restrict__ source, double* residual,
                                                int nx, int ny) {
  __shared__ float held[32];
  int tid = threadIdx.y * blockDim.x + threadIdx.x;
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  float square = 0.0f;
  if (x > 0 && y > 0 && x < nx - 1 && y < ny - 1) {
    int c = y * nx + x;
    float old = now[c];
    float found = 0.25f * (now[c - 1] + now[c + 1] + now[c - nx] + now[c + nx] - source[c]);
    next[c] = found;
    square = (found - old) * (found - old);
  }
  for (int offset = 16; offset > 0; offset >>= 1)
    square += __shfl_down_sync(0xffffffffu, square, offset);
  if ((tid & 31) == 0) held[tid >> 5] = square;
  __syncthreads();
  if (tid < 32) {
    square = tid < blockDim.x * blockDim.y / 32 ? held[tid] : 0.0f;
    for (int offset = 16; offset > 0; offset >>= 1)
      square += __shfl_down_sync(0xffffffffu, square, offset);
    if (tid == 0) atomicAdd(residual, (double)square);
  }
}

// Spins of many states on the cells of one colour, by heat bath of one proposal.
extern "C" __global__ void potts_colour(uint8_t* spin, int nx, int ny, int colour, int states,
                                        float beta, uint32_t seed) {
  int y = blockIdx.y;
  int x = 2 * (blockIdx.x * blockDim.x + threadIdx.x) + ((y + colour) & 1);
  if (x >= nx) return;
  int c = y * nx + x;
  int west = x > 0 ? c - 1 : c + nx - 1, east = x < nx - 1 ? c + 1 : c - nx + 1;
  int north = y > 0 ? c - nx : c + (ny - 1) * nx, south = y < ny - 1 ? c + nx : x;
  int mine = spin[c];
  uint32_t h = mixed(seed ^ (uint32_t)c);
  int other = (int)(h % (uint32_t)states);
  int before = (spin[west] == mine) + (spin[east] == mine) + (spin[north] == mine) +
               (spin[south] == mine);
  int after = (spin[west] == other) + (spin[east] == other) + (spin[north] == other) +
              (spin[south] == other);
  if (unit(mixed(h)) < __expf(beta * (float)(after - before))) spin[c] = (uint8_t)other;
}

// Values of keys in an open table; each probe goes on by a stride of the key's own.
extern "C" __global__ void lookup_by_stride(int* __restrict__ found,
                                            const uint2* __restrict__ table,
                                            const uint32_t* __restrict__ key, int keys,
                                            uint32_t mask, int most) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= keys) return;
  uint32_t k = key[i];
  uint32_t at = mixed(k), step = mixed(k + 1u) | 1u;
  int value = -1;
  for (int probe = 0; probe < most; probe++) {
    uint2 entry = table[at & mask];
    if (entry.x == k) {
      value = (int)entry.y;
      break;
    }
    if (entry.x == 0u) break;
    at += step;
  }
  found[i] = value;
}

// One antidiagonal of alignments with open and extended gaps, for many pairs.
extern "C" __global__ void affine_diagonal(int* __restrict__ score, int* __restrict__ gap_a,
                                           int* __restrict__ gap_b, const int* __restrict__ before,
                                           const uint8_t* __restrict__ a,
                                           const uint8_t* __restrict__ b, int length,
                                           int diagonal) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  size_t pair = blockIdx.y;
  int low = max(0, diagonal - length + 1), high = min(diagonal, length - 1);
  if (i < low || i > high) return;
  size_t row = pair * (length + 1);
  int j = diagonal - i;
  int match = a[pair * length + i] == b[pair * length + j] ? 2 : -1;
  int from_a = max(gap_a[row + i] - 1, before[row + i] - 3);
  int from_b = max(gap_b[row + i + 1] - 1, before[row + i + 1] - 3);
  int best = max(max(before[row + i] + match, from_a), max(from_b, 0));
  gap_a[row + i] = from_a;
  gap_b[row + i + 1] = from_b;
  score[row + i] = best;
}

// Attraction and potential of bodies in double precision, tiles through shared memory.
extern "C" __global__ void gravity_potential(double4* __restrict__ pull,
                                             const float4* __restrict__ body, int count,
                                             double softening) {
  extern __shared__ float4 tile_of[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 me = body[min(i, count - 1)];
  double ax = 0.0, ay = 0.0, az = 0.0, potential = 0.0;
  for (int first = 0; first < count; first += blockDim.x) {
    int j = first + threadIdx.x;
    tile_of[threadIdx.x] = j < count ? body[j] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    __syncthreads();
#pragma unroll 4
    for (int k = 0; k < blockDim.x; k++) {
      float4 other = tile_of[k];
      double dx = (double)other.x - me.x, dy = (double)other.y - me.y;
      double dz = (double)other.z - me.z;
      double inverse = rsqrt(dx * dx + dy * dy + dz * dz + softening);
      double weight = other.w * inverse;
      potential -= weight;
      weight *= inverse * inverse;
      ax += weight * dx;
      ay += weight * dy;
      az += weight * dz;
    }
    __syncthreads();
  }
  if (i < count) pull[i] = make_double4(ax, ay, az, potential);
}

// Harmonic bonds between atoms: forces added to both ends.
extern "C" __global__ void bond_forces(float* __restrict__ force, const float4* __restrict__ atom,
                                       const int2* __restrict__ bond,
                                       const float2* __restrict__ constants, int bonds) {
  int b = blockIdx.x * blockDim.x + threadIdx.x;
  if (b >= bonds) return;
  int2 ends = bond[b];
  float4 p = __ldg(atom + ends.x), q = __ldg(atom + ends.y);
  float dx = q.x - p.x, dy = q.y - p.y, dz = q.z - p.z;
  float r = sqrtf(dx * dx + dy * dy + dz * dz) + 1e-6f;
  float2 k = constants[b];
  float f = k.x * (r - k.y) / r;
  atomicAdd(&force[ends.x * 3], f * dx);
  atomicAdd(&force[ends.x * 3 + 1], f * dy);
  atomicAdd(&force[ends.x * 3 + 2], f * dz);
  atomicAdd(&force[ends.y * 3], -f * dx);
  atomicAdd(&force[ends.y * 3 + 1], -f * dy);
  atomicAdd(&force[ends.y * 3 + 2], -f * dz);
}

// A field carried back along a flow, linear between eight cells.
extern "C" __global__ void carried_back3d(float* __restrict__ out, const float* __restrict__ in,
                                          const float4* __restrict__ flow, int nx, int ny, int nz,
                                          float dt) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z;
  if (x >= nx || y >= ny) return;
  size_t c = ((size_t)z * ny + y) * nx + x;
  float4 u = flow[c];
  float px = fminf(fmaxf(x - dt * (u.x - 0.5f), 0.0f), (float)(nx - 1));
  float py = fminf(fmaxf(y - dt * (u.y - 0.5f), 0.0f), (float)(ny - 1));
  float pz = fminf(fmaxf(z - dt * (u.z - 0.5f), 0.0f), (float)(nz - 1));
  int ix = (int)px, iy = (int)py, iz = (int)pz;
  int jx = min(ix + 1, nx - 1), jy = min(iy + 1, ny - 1), jz = min(iz + 1, nz - 1);
  float fx = px - ix, fy = py - iy, fz = pz - iz;
  const float* low = in + (size_t)iz * ny * nx;
  const float* high = in + (size_t)jz * ny * nx;
  size_t r0 = (size_t)iy * nx, r1 = (size_t)jy * nx;
  float a = low[r0 + ix] * (1.0f - fx) + low[r0 + jx] * fx;
  float b = low[r1 + ix] * (1.0f - fx) + low[r1 + jx] * fx;
  float d = high[r0 + ix] * (1.0f - fx) + high[r0 + jx] * fx;
  float e = high[r1 + ix] * (1.0f - fx) + high[r1 + jx] * fx;
  out[c] = (a * (1.0f - fy) + b * fy) * (1.0f - fz) + (d * (1.0f - fy) + e * fy) * fz;
}

// Weighted essentially non-oscillatory values at the right faces of cells along rows.
extern "C" __global__ void weno_faces(float* __restrict__ face, const float* __restrict__ u, int n,
                                      int rows) {
  int i = blockIdx.x * blockDim.x + threadIdx.x + 2;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= n - 2 || row >= rows) return;
  const float* c = u + (size_t)row * n + i;
  float a = c[-2], b = c[-1], m = c[0], d = c[1], e = c[2];
  float s0 = a - 2.0f * b + m, s1 = b - 2.0f * m + d, s2 = m - 2.0f * d + e;
  float t0 = a - 4.0f * b + 3.0f * m, t1 = b - d, t2 = 3.0f * m - 4.0f * d + e;
  float b0 = 1.0833333f * s0 * s0 + 0.25f * t0 * t0 + 1e-6f;
  float b1 = 1.0833333f * s1 * s1 + 0.25f * t1 * t1 + 1e-6f;
  float b2 = 1.0833333f * s2 * s2 + 0.25f * t2 * t2 + 1e-6f;
  float w0 = 0.1f / (b0 * b0), w1 = 0.6f / (b1 * b1), w2 = 0.3f / (b2 * b2);
  float q0 = 2.0f * a - 7.0f * b + 11.0f * m;
  float q1 = -b + 5.0f * m + 2.0f * d;
  float q2 = 2.0f * m + 5.0f * d - e;
  face[(size_t)row * n + i] = (w0 * q0 + w1 * q1 + w2 * q2) / (6.0f * (w0 + w1 + w2));
}

// A finer grid's residual to a coarser one, all 27 neighbours by their weights.
extern "C" __global__ void coarsen_full_weight(float* __restrict__ coarse,
                                               const float* __restrict__ fine, int cx, int cy,
                                               int cz) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z;
  if (x >= cx || y >= cy) return;
  int nx = 2 * cx + 1, ny = 2 * cy + 1;
  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k < 3; k++)
#pragma unroll
    for (int j = 0; j < 3; j++) {
      const float* row = fine + ((size_t)(2 * z + k) * ny + 2 * y + j) * nx + 2 * x;
      float weight = (k == 1 ? 0.5f : 0.25f) * (j == 1 ? 0.5f : 0.25f);
      sum += weight * (0.25f * row[0] + 0.5f * row[1] + 0.25f * row[2]);
    }
  coarse[((size_t)z * cy + y) * cx + x] = sum;
}

// A reaction of two species in every cell, so many steps of Runge and Kutta.
extern "C" __global__ void brusselator_cells(double2* __restrict__ cell, int cells, int steps,
                                             double a, double b, double dt) {
  for (int c = blockIdx.x * blockDim.x + threadIdx.x; c < cells; c += gridDim.x * blockDim.x) {
    double2 v = cell[c];
    double x = v.x, y = v.y;
    for (int s = 0; s < steps; s++) {
      double k1x = a + x * x * y - (b + 1.0) * x, k1y = b * x - x * x * y;
      double x2 = x + 0.5 * dt * k1x, y2 = y + 0.5 * dt * k1y;
      double k2x = a + x2 * x2 * y2 - (b + 1.0) * x2, k2y = b * x2 - x2 * x2 * y2;
      double x3 = x + 0.5 * dt * k2x, y3 = y + 0.5 * dt * k2y;
      double k3x = a + x3 * x3 * y3 - (b + 1.0) * x3, k3y = b * x3 - x3 * x3 * y3;
      double x4 = x + dt * k3x, y4 = y + dt * k3y;
      double k4x = a + x4 * x4 * y4 - (b + 1.0) * x4, k4y = b * x4 - x4 * x4 * y4;
      x += dt / 6.0 * (k1x + 2.0 * k2x + 2.0 * k3x + k4x);
      y += dt / 6.0 * (k1y + 2.0 * k2y + 2.0 * k3y + k4y);
    }
    cell[c] = make_double2(x, y);
  }
}
