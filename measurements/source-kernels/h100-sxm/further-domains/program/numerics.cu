// Grids in time, transforms, particles, small matrices, elements, filters of signals.

#include <cuda_pipeline.h>
#include <stdint.h>

__device__ __forceinline__ float2 cmul(float2 a, float2 b) {
  return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

__device__ __forceinline__ float2 cadd(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ __forceinline__ float2 csub(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }

__device__ __forceinline__ uint32_t pcg(uint32_t& state) {
  uint32_t old = state;
  state = old * 747796405u + 2891336453u;
  uint32_t w = ((old >> ((old >> 28) + 4)) ^ old) * 277803737u;
  return (w >> 22) ^ w;
}

__device__ __forceinline__ float uniform(uint32_t& state) {
  return ((pcg(state) >> 8) + 0.5f) * (1.0f / 16777216.0f);
}

template <typename T>
__device__ __forceinline__ T lanes_total(T v) {
  for (int m = 16; m > 0; m /= 2) v += __shfl_xor_sync(0xffffffffu, v, m);
  return v;
}

// Several steps of heat along rows, on a tile whose border shrinks with each step.
extern "C" __global__ void heat_steps_in_tile(float* __restrict__ next, const float* __restrict__ now,
                                              int n, int steps, float r) {
  extern __shared__ float line[];
  int span = blockDim.x;
  int useful = span - 2 * steps;
  float *now_line = line, *other = line + span;
  size_t row = (size_t)blockIdx.y * n;
  int x = blockIdx.x * useful + (int)threadIdx.x - steps;
  int t = threadIdx.x;
  line[t] = x >= 0 && x < n ? now[row + x] : 0.0f;
  __syncthreads();
  for (int s = 0; s < steps; s++) {
    float c = now_line[t];
    if (t > 0 && t < span - 1) c += r * (now_line[t - 1] - 2.0f * c + now_line[t + 1]);
    other[t] = x >= 0 && x < n ? c : 0.0f;
    __syncthreads();
    float* swap = now_line;
    now_line = other;
    other = swap;
  }
  if (t >= steps && t < span - steps && x < n) next[row + x] = now_line[t];
}

// Shallow water, one step with fluxes of Rusanov; three fields, walls that reflect.
extern "C" __global__ void shallow_water_step(float4* __restrict__ next, const float4* __restrict__ now,
                                              const float* __restrict__ bed, int nx, int ny,
                                              float dt_dx, float g) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int j = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= nx || j >= ny) return;
  size_t at = (size_t)j * nx + i;
  float4 c = now[at];
  float zc = bed[at];
  float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll
  for (int f = 0; f < 4; f++) {
    int di = f == 0 ? -1 : (f == 1 ? 1 : 0), dj = f == 2 ? -1 : (f == 3 ? 1 : 0);
    int u = i + di, v = j + dj;
    bool wall = u < 0 || v < 0 || u >= nx || v >= ny;
    size_t to = wall ? at : (size_t)v * nx + u;
    float4 o = now[to];
    if (wall) {
      if (di) o.y = -o.y;
      if (dj) o.z = -o.z;
    }
    float hl = fmaxf(c.x, 1e-4f), hr = fmaxf(o.x, 1e-4f);
    float nl = (c.y * di + c.z * dj) / hl, nr = (o.y * di + o.z * dj) / hr;
    float speed = fmaxf(fabsf(nl) + sqrtf(g * hl), fabsf(nr) + sqrtf(g * hr));
    sum.x += 0.5f * (hl * nl + hr * nr) - 0.5f * speed * (hr - hl);
    float pressure = 0.25f * g * (hl * hl + hr * hr) + 0.5f * g * hl * (bed[to] - zc);
    sum.y += 0.5f * (c.y * nl + o.y * nr) + pressure * di - 0.5f * speed * (o.y - c.y);
    sum.z += 0.5f * (c.z * nl + o.z * nr) + pressure * dj - 0.5f * speed * (o.z - c.z);
    sum.w += 0.5f * (c.w * nl + o.w * nr) - 0.5f * speed * (o.w - c.w);
  }
  next[at] = make_float4(c.x - dt_dx * sum.x, c.y - dt_dx * sum.y, c.z - dt_dx * sum.z, c.w - dt_dx * sum.w);
}

// Wave in double precision with an absorbing sponge; the column along z goes by a thread.
extern "C" __global__ void sponge_wave_double(double* __restrict__ next, const double* __restrict__ now,
                                              const double* __restrict__ sponge, int nx, int ny, int nz,
                                              double c2) {
  int x = blockIdx.x * blockDim.x + threadIdx.x + 1;
  int y = blockIdx.y * blockDim.y + threadIdx.y + 1;
  if (x >= nx - 1 || y >= ny - 1) return;
  size_t plane = (size_t)nx * ny;
  size_t at = (size_t)y * nx + x;
  double below = now[at], here = now[at + plane];
  for (int z = 1; z < nz - 1; z++) {
    at += plane;
    double above = now[at + plane];
    double lap = below + above + now[at - 1] + now[at + 1] + now[at - nx] + now[at + nx] - 6.0 * here;
    double d = sponge[z] + sponge[nz + y] + sponge[nz + ny + x];
    next[at] = (2.0 * here - (1.0 - d) * next[at] + c2 * lap) / (1.0 + d);
    below = here;
    here = above;
  }
}

__device__ __forceinline__ void butterfly8(float2* v) {
  const float h = 0.70710678f;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    float2 a = v[i], b = v[i + 4];
    v[i] = cadd(a, b);
    v[i + 4] = csub(a, b);
  }
  v[5] = cmul(v[5], make_float2(h, -h));
  v[6] = make_float2(v[6].y, -v[6].x);
  v[7] = cmul(v[7], make_float2(-h, -h));
#pragma unroll
  for (int g = 0; g < 8; g += 4) {
    float2 a = v[g], b = v[g + 1], c = v[g + 2], d = v[g + 3];
    float2 s = cadd(a, c), t = csub(a, c), u = cadd(b, d), w = csub(b, d);
    w = make_float2(w.y, -w.x);
    v[g] = cadd(s, u);
    v[g + 1] = csub(s, u);
    v[g + 2] = cadd(t, w);
    v[g + 3] = csub(t, w);
  }
}

// Transforms of 512 complex points, three passes of radix eight; 64 threads have one each.
extern "C" __global__ void fft_512_rows(float2* __restrict__ out, const float2* __restrict__ in, int rows) {
  __shared__ float re[576], im[576];
  int t = threadIdx.x;
  for (int row = blockIdx.x; row < rows; row += gridDim.x) {
    const float2* from = in + (size_t)row * 512;
    float2* to = out + (size_t)row * 512;
    float2 v[8];
#pragma unroll
    for (int k = 0; k < 8; k++) v[k] = from[t + 64 * k];
    const int order[8] = {0, 4, 2, 6, 1, 5, 3, 7};
#pragma unroll
    for (int pass = 0; pass < 2; pass++) {
      butterfly8(v);
      int low = pass == 0 ? t : t & 7;
      float step = -6.2831853f / (pass == 0 ? 512.0f : 64.0f) * low;
      __syncthreads();
#pragma unroll
      for (int k = 0; k < 8; k++) {
        float s, c;
        __sincosf(step * order[k], &s, &c);
        float2 w = cmul(v[k], make_float2(c, s));
        int place = pass == 0 ? order[k] * 64 + t : (t >> 3) * 64 + order[k] * 8 + (t & 7);
        place += place >> 3;
        re[place] = w.x;
        im[place] = w.y;
      }
      __syncthreads();
#pragma unroll
      for (int k = 0; k < 8; k++) {
        int place = pass == 0 ? (t >> 3) * 64 + k * 8 + (t & 7) : t * 8 + k;
        place += place >> 3;
        v[k] = make_float2(re[place], im[place]);
      }
    }
    butterfly8(v);
    int reversed = (t & 7) * 8 + (t >> 3);
#pragma unroll
    for (int k = 0; k < 8; k++) to[order[k] * 64 + reversed] = v[k];
  }
}

// Between the halves of a long transform: transposes and turns each element by its twiddle.
extern "C" __global__ void twiddle_transpose(float2* __restrict__ out, const float2* __restrict__ in,
                                             int n1, int n2) {
  __shared__ float2 tile[16][17];
  int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
  if (r < n1 && c < n2) {
    float s, co;
    long long product = (long long)r * c % ((long long)n1 * n2);
    sincospif(-2.0f * (float)product / ((float)n1 * n2), &s, &co);
    tile[threadIdx.y][threadIdx.x] = cmul(in[(size_t)r * n2 + c], make_float2(co, s));
  }
  __syncthreads();
  int oc = blockIdx.y * 16 + threadIdx.x, orow = blockIdx.x * 16 + threadIdx.y;
  if (orow < n2 && oc < n1) out[(size_t)orow * n1 + oc] = tile[threadIdx.x][threadIdx.y];
}

// A level of the 9/7 wavelet along rows, lifted in place in shared memory; even lengths.
extern "C" __global__ void wavelet97_rows(float* __restrict__ out, const float* __restrict__ in, int n) {
  extern __shared__ float s[];
  size_t base = (size_t)blockIdx.x * n;
  for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = in[base + i];
  __syncthreads();
  const float lift[4] = {-1.586134342f, -0.05298011854f, 0.8829110762f, 0.4435068522f};
#pragma unroll
  for (int pass = 0; pass < 4; pass++) {
    int parity = 1 - (pass & 1);
    for (int i = 2 * threadIdx.x + parity; i < n; i += 2 * blockDim.x) {
      float l = i > 0 ? s[i - 1] : s[1];
      float r = i < n - 1 ? s[i + 1] : s[n - 2];
      s[i] += lift[pass] * (l + r);
    }
    __syncthreads();
  }
  int half = n / 2;
  for (int i = threadIdx.x; i < half; i += blockDim.x) {
    out[base + i] = s[2 * i] * 1.149604398f;
    out[base + half + i] = s[2 * i + 1] * 0.8698644523f;
  }
}

// A level of the reversible 5/3 wavelet down columns of integers, a thread a column.
extern "C" __global__ void wavelet53_columns(int* __restrict__ low, int* __restrict__ high,
                                             const short* __restrict__ in, int width, int half_height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= width) return;
  const short* p = in + x;
  int even = p[0], odd_before = 0;
  for (int y = 0; y < half_height; y++) {
    int odd = p[(size_t)(2 * y + 1) * width];
    int after = y + 1 < half_height ? p[(size_t)(2 * y + 2) * width] : even;
    int h = odd - ((even + after) >> 1);
    int before = y ? odd_before : h;
    low[(size_t)y * width + x] = even + ((before + h + 2) >> 2);
    high[(size_t)y * width + x] = h;
    odd_before = h;
    even = after;
  }
}

// Densities of smoothed particles from the 27 cells around; particles are sorted by cell.
extern "C" __global__ void smoothed_density(float* __restrict__ density,
                                            const float4* __restrict__ particle,
                                            const int* __restrict__ cell_start,
                                            const int* __restrict__ cell_count, int particles, int side,
                                            float h2, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= particles) return;
  float4 p = particle[i];
  int cx = min(max((int)(p.x * side), 0), side - 1);
  int cy = min(max((int)(p.y * side), 0), side - 1);
  int cz = min(max((int)(p.z * side), 0), side - 1);
  float total = 0.0f;
  for (int z = max(cz - 1, 0); z <= min(cz + 1, side - 1); z++)
    for (int y = max(cy - 1, 0); y <= min(cy + 1, side - 1); y++)
      for (int x = max(cx - 1, 0); x <= min(cx + 1, side - 1); x++) {
        int cell = (z * side + y) * side + x;
        int first = cell_start[cell], last = first + cell_count[cell];
        for (int k = first; k < last; k++) {
          float4 o = __ldg(particle + k);
          float dx = o.x - p.x, dy = o.y - p.y, dz = o.z - p.z;
          float d = h2 - (dx * dx + dy * dy + dz * dz);
          if (d > 0.0f) total += o.w * d * d * d;
        }
      }
  density[i] = factor * total;
}

// Lennard-Jones forces in double precision from lists of neighbours stored column by column.
extern "C" __global__ void lennard_jones_lists(double* __restrict__ force, double* __restrict__ energy,
                                               const double* __restrict__ position,
                                               const int* __restrict__ list,
                                               const int* __restrict__ many, int atoms, double cut2,
                                               double box) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  double e = 0.0;
  if (i < atoms) {
    double x = position[i], y = position[atoms + i], z = position[2 * atoms + i];
    double fx = 0, fy = 0, fz = 0;
    int n = many[i];
    for (int k = 0; k < n; k++) {
      int j = list[(size_t)k * atoms + i];
      double dx = x - position[j], dy = y - position[atoms + j], dz = z - position[2 * atoms + j];
      dx -= box * rint(dx / box);
      dy -= box * rint(dy / box);
      dz -= box * rint(dz / box);
      double r2 = dx * dx + dy * dy + dz * dz + 1e-12;
      if (r2 > cut2) continue;
      double inv = 1.0 / r2, s6 = inv * inv * inv;
      double f = 24.0 * inv * s6 * (2.0 * s6 - 1.0);
      fx += f * dx;
      fy += f * dy;
      fz += f * dz;
      e += 2.0 * s6 * (s6 - 1.0);
    }
    force[i] = fx;
    force[atoms + i] = fy;
    force[2 * atoms + i] = fz;
  }
  e = lanes_total(e);
  if ((threadIdx.x & 31) == 0) atomicAdd(energy, e);
}

// Charged particles pushed after Boris, with the field taken linearly from a grid of the plane.
extern "C" __global__ void boris_push_plane(float4* __restrict__ state, float* __restrict__ vz,
                                            const float4* __restrict__ field, int particles, int nx,
                                            int ny, float qm, float dt) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < particles; i += gridDim.x * blockDim.x) {
    float4 s = state[i];
    float w = vz[i];
    float gx = s.x * nx, gy = s.y * ny;
    int ix = min(max((int)gx, 0), nx - 1), iy = min(max((int)gy, 0), ny - 1);
    float fx = gx - ix, fy = gy - iy;
    int jx = ix + 1 == nx ? 0 : ix + 1, jy = iy + 1 == ny ? 0 : iy + 1;
    float4 a = field[iy * nx + ix], b = field[iy * nx + jx], c = field[jy * nx + ix], d = field[jy * nx + jx];
    float wa = (1 - fx) * (1 - fy), wb = fx * (1 - fy), wc = (1 - fx) * fy, wd = fx * fy;
    float ex = wa * a.x + wb * b.x + wc * c.x + wd * d.x;
    float ey = wa * a.y + wb * b.y + wc * c.y + wd * d.y;
    float ez = wa * a.z + wb * b.z + wc * c.z + wd * d.z;
    float bz = wa * a.w + wb * b.w + wc * c.w + wd * d.w;
    float k = 0.5f * qm * dt, t = k * bz, r = 2.0f * t / (1.0f + t * t);
    float ux = s.z + k * ex, uy = s.w + k * ey;
    float px = ux + uy * t, py = uy - ux * t;
    ux += py * r;
    uy -= px * r;
    s.z = ux + k * ex;
    s.w = uy + k * ey;
    w += 2.0f * k * ez;
    s.x += dt * s.z;
    s.y += dt * s.w;
    s.x -= floorf(s.x);
    s.y -= floorf(s.y);
    state[i] = s;
    vz[i] = w;
  }
}

// Option on an asset whose variance moves too (Heston), paths with their mirror images.
extern "C" __global__ void heston_paths(double* __restrict__ totals, int paths, int steps, float spot,
                                        float strike, float rate, float kappa, float theta, float sigma,
                                        float rho, float dt, unsigned seed) {
  __shared__ double part[32];
  double sum = 0.0;
  float root = sqrtf(dt), other = sqrtf(1.0f - rho * rho);
  for (int p = blockIdx.x * blockDim.x + threadIdx.x; p < paths; p += gridDim.x * blockDim.x) {
    uint32_t state = seed ^ (p * 2654435761u);
    float x0 = __logf(spot), x1 = x0, v0 = theta, v1 = theta;
    for (int s = 0; s < steps; s++) {
      float length = sqrtf(-2.0f * __logf(uniform(state)));
      float z0, z1;
      __sincosf(6.2831853f * uniform(state), &z1, &z0);
      z0 *= length;
      z1 = rho * z0 + other * z1 * length;
      float a = fmaxf(v0, 0.0f), b = fmaxf(v1, 0.0f);
      float ra = sqrtf(a) * root, rb = sqrtf(b) * root;
      x0 += (rate - 0.5f * a) * dt + ra * z1;
      x1 += (rate - 0.5f * b) * dt - rb * z1;
      v0 += kappa * (theta - a) * dt + sigma * ra * z0;
      v1 += kappa * (theta - b) * dt - sigma * rb * z0;
    }
    sum += 0.5 * (fmaxf(__expf(x0) - strike, 0.0f) + fmaxf(__expf(x1) - strike, 0.0f));
  }
  sum = lanes_total(sum);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    double s = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0.0;
    s = lanes_total(s);
    if (threadIdx.x == 0) atomicAdd(totals, s);
  }
}

// Photons through a scattering slab; deposits in shared bins, weights cut off by roulette.
extern "C" __global__ void photons_in_slab(float* __restrict__ deposit, float* __restrict__ escaped,
                                           int photons, int bins, int most, float thickness,
                                           float scatter, float absorb, float g, unsigned seed) {
  extern __shared__ float tally[];
  for (int b = threadIdx.x; b < bins; b += blockDim.x) tally[b] = 0.0f;
  __syncthreads();
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id < photons) {
    uint32_t state = seed + id * 0x9e3779b9u;
    float z = 0.0f, mu = 1.0f, weight = 1.0f, total = scatter + absorb;
    for (int event = 0; event < most; event++) {
      z -= mu * __logf(uniform(state)) / total;
      if (z < 0.0f || z >= thickness) {
        atomicAdd(escaped + (z < 0.0f ? 0 : 1), weight);
        break;
      }
      float lost = weight * absorb / total;
      atomicAdd(&tally[min((int)(z / thickness * bins), bins - 1)], lost);
      weight -= lost;
      if (weight < 0.05f) {
        if (uniform(state) > 0.1f) break;
        weight *= 10.0f;
      }
      float q = (1.0f - g * g) / (1.0f - g + 2.0f * g * uniform(state));
      float c = (1.0f + g * g - q * q) / (2.0f * g);
      float phi = 6.2831853f * uniform(state);
      mu = mu * c + sqrtf(fmaxf((1.0f - mu * mu) * (1.0f - c * c), 0.0f)) * __cosf(phi);
      mu = fminf(fmaxf(mu, -1.0f), 1.0f);
    }
  }
  __syncthreads();
  for (int b = threadIdx.x; b < bins; b += blockDim.x)
    if (tally[b] != 0.0f) atomicAdd(deposit + b, tally[b]);
}

// Cholesky factors of many matrices of order 24, in double precision; threads are 2-D.
extern "C" __global__ void cholesky_24(double* __restrict__ matrix, int count) {
  __shared__ double a[24][25];
  int tx = threadIdx.x, ty = threadIdx.y;
  for (int m = blockIdx.x; m < count; m += gridDim.x) {
    double* mine = matrix + (size_t)m * 576;
    for (int r = ty; r < 24; r += blockDim.y) a[r][tx] = mine[r * 24 + tx] + (r == tx ? 24.0 : 0.0);
    __syncthreads();
    for (int k = 0; k < 24; k++) {
      if (tx == 0 && ty == 0) a[k][k] = sqrt(a[k][k]);
      __syncthreads();
      if (ty == 0 && tx > k) a[tx][k] /= a[k][k];
      __syncthreads();
      for (int r = k + 1 + ty; r < 24; r += blockDim.y)
        if (tx > k && tx <= r) a[r][tx] -= a[r][k] * a[tx][k];
      __syncthreads();
    }
    for (int r = ty; r < 24; r += blockDim.y) mine[r * 24 + tx] = tx <= r ? a[r][tx] : 0.0;
    __syncthreads();
  }
}

// Householder panel: columns of a tall block, kept in shared memory by columns.
extern "C" __global__ void householder_panel(float* __restrict__ panel, float* __restrict__ tau, int rows,
                                             int columns) {
  extern __shared__ float a[];
  __shared__ float room[33];
  int t = threadIdx.x, lane = t & 31, warp = t >> 5, warps = blockDim.x >> 5;
  float* mine = panel + (size_t)blockIdx.x * rows * columns;
  for (int i = t; i < rows * columns; i += blockDim.x) a[i] = mine[i];
  __syncthreads();
  for (int k = 0; k < columns; k++) {
    float* v = a + k * rows;
    float s = 0.0f;
    for (int r = k + 1 + t; r < rows; r += blockDim.x) s += v[r] * v[r];
    s = lanes_total(s);
    if (lane == 0) room[warp] = s;
    __syncthreads();
    if (t == 0) {
      for (int w = 1; w < warps; w++) s += room[w];
      room[32] = s;
    }
    __syncthreads();
    s = room[32];
    float head = v[k];
    float norm = sqrtf(head * head + s);
    float beta = head >= 0.0f ? -norm : norm;
    float scale = 1.0f / (head - beta + 1e-20f), by = (beta - head) / (beta + 1e-20f);
    __syncthreads();
    for (int r = k + 1 + t; r < rows; r += blockDim.x) v[r] *= scale;
    if (t == 0) {
      v[k] = beta;
      tau[(size_t)blockIdx.x * columns + k] = by;
    }
    __syncthreads();
    for (int c = k + 1 + warp; c < columns; c += warps) {
      float* u = a + c * rows;
      float dot = lane == 0 ? u[k] : 0.0f;
      for (int r = k + 1 + lane; r < rows; r += 32) dot += v[r] * u[r];
      dot = lanes_total(dot) * by;
      for (int r = k + 1 + lane; r < rows; r += 32) u[r] -= dot * v[r];
      if (lane == 0) u[k] -= dot;
    }
    __syncthreads();
  }
  for (int i = t; i < rows * columns; i += blockDim.x) mine[i] = a[i];
}

// Lower triangular solve of order 32: the matrix in shared memory, a right side a thread.
extern "C" __global__ void lower_solve_32(float* __restrict__ x, const float* __restrict__ lower, int sides,
                                          long long side_stride) {
  __shared__ float l[32 * 33 / 2];
  for (int i = threadIdx.x; i < 32 * 32; i += blockDim.x) {
    int r = i / 32, c = i % 32;
    if (c <= r) l[r * (r + 1) / 2 + c] = c == r ? 1.0f / (lower[i] + 1.0f) : lower[i];
  }
  __syncthreads();
  int s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s >= sides) return;
  float v[32];
#pragma unroll
  for (int r = 0; r < 32; r++) {
    float sum = x[(long long)r * side_stride + s];
#pragma unroll
    for (int c = 0; c < r; c++) sum -= l[r * (r + 1) / 2 + c] * v[c];
    v[r] = sum * l[r * (r + 1) / 2 + r];
    x[(long long)r * side_stride + s] = v[r];
  }
}

// One-sided Jacobi: each block makes one pair of columns orthogonal.
extern "C" __global__ void orthogonal_pairs(float* __restrict__ matrix, float* __restrict__ off,
                                            const int* __restrict__ left, const int* __restrict__ right,
                                            int rows) {
  __shared__ float parts[3][32];
  __shared__ float turn[2];
  float* p = matrix + (size_t)left[blockIdx.x] * rows;
  float* q = matrix + (size_t)right[blockIdx.x] * rows;
  float pp = 0.f, qq = 0.f, pq = 0.f;
  for (int r = threadIdx.x; r < rows; r += blockDim.x) {
    float u = p[r], v = q[r];
    pp += u * u;
    qq += v * v;
    pq += u * v;
  }
  pp = lanes_total(pp);
  qq = lanes_total(qq);
  pq = lanes_total(pq);
  int warp = threadIdx.x / 32;
  if (threadIdx.x % 32 == 0) {
    parts[0][warp] = pp;
    parts[1][warp] = qq;
    parts[2][warp] = pq;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < blockDim.x / 32; w++) {
      pp += parts[0][w];
      qq += parts[1][w];
      pq += parts[2][w];
    }
    float z = (qq - pp) / (2.0f * pq + 1e-20f);
    float t = copysignf(1.0f / (fabsf(z) + sqrtf(1.0f + z * z)), z);
    turn[0] = rsqrtf(1.0f + t * t);
    turn[1] = t * turn[0];
    off[blockIdx.x] = fabsf(pq) * rsqrtf(pp * qq + 1e-20f);
  }
  __syncthreads();
  float c = turn[0], s = turn[1];
  for (int r = threadIdx.x; r < rows; r += blockDim.x) {
    float u = p[r], v = q[r];
    p[r] = c * u - s * v;
    q[r] = s * u + c * v;
  }
}

// Eigenvalues of symmetric 3x3 tensors by the cosine formula, fields of six planes.
extern "C" __global__ void tensor_eigenvalues(double* __restrict__ value, const double* __restrict__ tensor,
                                              int cells) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= cells) return;
  size_t n = cells;
  double a = tensor[i], b = tensor[n + i], c = tensor[2 * n + i];
  double d = tensor[3 * n + i], e = tensor[4 * n + i], f = tensor[5 * n + i];
  double q = (a + b + c) / 3.0;
  double p = (a - q) * (a - q) + (b - q) * (b - q) + (c - q) * (c - q) + 2.0 * (d * d + e * e + f * f);
  p = sqrt(p / 6.0) + 1e-300;
  double x = (a - q) / p, y = (b - q) / p, z = (c - q) / p, u = d / p, v = e / p, w = f / p;
  double r = 0.5 * (x * (y * z - w * w) - u * (u * z - w * v) + v * (u * w - y * v));
  double phi = acos(fmin(fmax(r, -1.0), 1.0)) / 3.0;
  double high = q + 2.0 * p * cos(phi);
  double low = q + 2.0 * p * cos(phi + 2.0943951023931953);
  value[i] = high;
  value[n + i] = 3.0 * q - high - low;
  value[2 * n + i] = low;
}

// Tridiagonal systems by parallel cyclic reduction, one block a system, a thread a row.
extern "C" __global__ void reduction_tridiagonal(double* __restrict__ x, const double* __restrict__ lower,
                                                 const double* __restrict__ diagonal,
                                                 const double* __restrict__ upper, int n) {
  extern __shared__ double four[];
  double *a = four, *b = four + n, *c = b + n, *d = c + n;
  int i = threadIdx.x;
  size_t at = (size_t)blockIdx.x * n + i;
  a[i] = i ? lower[at] : 0.0;
  b[i] = diagonal[at] + 3.0;
  c[i] = i < n - 1 ? upper[at] : 0.0;
  d[i] = x[at];
  __syncthreads();
  for (int s = 1; s < n; s *= 2) {
    double na = 0, nb = b[i], nc = 0, nd = d[i];
    if (i >= s) {
      double k = a[i] / b[i - s];
      na = -k * a[i - s];
      nb -= k * c[i - s];
      nd -= k * d[i - s];
    }
    if (i + s < n) {
      double k = c[i] / b[i + s];
      nc = -k * c[i + s];
      nb -= k * a[i + s];
      nd -= k * d[i + s];
    }
    __syncthreads();
    a[i] = na;
    b[i] = nb;
    c[i] = nc;
    d[i] = nd;
    __syncthreads();
  }
  x[at] = d[i] / b[i];
}

// Hexahedra of eight nodes applied without a matrix: gather, multiply, add back atomically.
extern "C" __global__ void hexahedra_apply(double* __restrict__ y, const double* __restrict__ x,
                                           const float* __restrict__ coefficient,
                                           const double* __restrict__ stiffness, int ex, int ey, int ez) {
  __shared__ double k[64];
  int t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  for (int i = t; i < 64; i += blockDim.x * blockDim.y * blockDim.z) k[i] = stiffness[i];
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int j = blockIdx.y * blockDim.y + threadIdx.y;
  int l = blockIdx.z * blockDim.z + threadIdx.z;
  if (i >= ex || j >= ey || l >= ez) return;
  size_t nx = ex + 1, ny = ey + 1;
  size_t base = ((size_t)l * ny + j) * nx + i;
  double u[8];
#pragma unroll
  for (int n = 0; n < 8; n++) u[n] = x[base + (n & 1) + (n >> 1 & 1) * nx + (n >> 2) * nx * ny];
  double c = coefficient[((size_t)l * ey + j) * ex + i];
#pragma unroll
  for (int n = 0; n < 8; n++) {
    double s = 0.0;
#pragma unroll
    for (int m = 0; m < 8; m++) s += k[n * 8 + m] * u[m];
    atomicAdd(y + base + (n & 1) + (n >> 1 & 1) * nx + (n >> 2) * nx * ny, c * s);
  }
}

// Gradient on spectral elements of eight points a side: 8x8 threads go up through the layers.
extern "C" __global__ void spectral_gradient(float* __restrict__ gradient, const float* __restrict__ u,
                                             const float* __restrict__ derivative,
                                             const float* __restrict__ metric, int elements) {
  __shared__ float d[8][9];
  __shared__ float layer[8][8];
  int i = threadIdx.x, j = threadIdx.y;
  int e = blockIdx.x;
  d[j][i] = derivative[j * 8 + i];
  float column[8];
#pragma unroll
  for (int k = 0; k < 8; k++) column[k] = u[(size_t)e * 512 + k * 64 + j * 8 + i];
  float scale[3];
#pragma unroll
  for (int a = 0; a < 3; a++) scale[a] = metric[e * 3 + a];
  for (int k = 0; k < 8; k++) {
    __syncthreads();
    layer[j][i] = column[k];
    __syncthreads();
    float r = 0.f, s = 0.f, t = 0.f;
#pragma unroll
    for (int m = 0; m < 8; m++) {
      r += d[i][m] * layer[j][m];
      s += d[j][m] * layer[m][i];
      t += d[k][m] * column[m];
    }
    size_t at = (size_t)e * 512 + k * 64 + j * 8 + i, all = (size_t)elements * 512;
    gradient[at] = scale[0] * r;
    gradient[all + at] = scale[1] * s;
    gradient[2 * all + at] = scale[2] * t;
  }
}

// Lattice of nineteen speeds: pulls from neighbours, periodic, relaxes in one rate.
extern "C" __global__ void lattice_d3q19(float* __restrict__ to, const float* __restrict__ from,
                                         const uint8_t* __restrict__ solid, int nx, int ny, int nz,
                                         float omega) {
  const int cx[19] = {0, 1, -1, 0, 0, 0, 0, 1, -1, 1, -1, 1, -1, 1, -1, 0, 0, 0, 0};
  const int cy[19] = {0, 0, 0, 1, -1, 0, 0, 1, -1, -1, 1, 0, 0, 0, 0, 1, -1, 1, -1};
  const int cz[19] = {0, 0, 0, 0, 0, 1, -1, 0, 0, 0, 0, 1, -1, -1, 1, 1, -1, -1, 1};
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y, z = blockIdx.z;
  if (x >= nx) return;
  size_t n = (size_t)nx * ny * nz, at = ((size_t)z * ny + y) * nx + x;
  float f[19], rho = 0.f, ux = 0.f, uy = 0.f, uz = 0.f;
#pragma unroll
  for (int q = 0; q < 19; q++) {
    int sx = x - cx[q], sy = y - cy[q], sz = z - cz[q];
    sx += sx < 0 ? nx : (sx >= nx ? -nx : 0);
    sy += sy < 0 ? ny : (sy >= ny ? -ny : 0);
    sz += sz < 0 ? nz : (sz >= nz ? -nz : 0);
    f[q] = from[q * n + ((size_t)sz * ny + sy) * nx + sx];
    rho += f[q];
    ux += f[q] * cx[q];
    uy += f[q] * cy[q];
    uz += f[q] * cz[q];
  }
  if (solid[at]) {
#pragma unroll
    for (int q = 0; q < 19; q++) to[q * n + at] = f[q == 0 ? 0 : (q & 1 ? q + 1 : q - 1)];
    return;
  }
  float inverse = 1.f / rho;
  ux *= inverse;
  uy *= inverse;
  uz *= inverse;
  float square = 1.f - 1.5f * (ux * ux + uy * uy + uz * uz);
#pragma unroll
  for (int q = 0; q < 19; q++) {
    float w = q == 0 ? 1.f / 3.f : (q < 7 ? 1.f / 18.f : 1.f / 36.f);
    float cu = cx[q] * ux + cy[q] * uy + cz[q] * uz;
    to[q * n + at] = f[q] + omega * (w * rho * (square + 3.f * cu + 4.5f * cu * cu) - f[q]);
  }
}

__device__ __forceinline__ void three_body(const double* s, double* d, double mu) {
  double rx = s[0] + mu, qx = s[0] - 1.0 + mu, yy = s[1] * s[1] + 0.01;
  double r1 = rx * rx + yy, r2 = qx * qx + yy;
  double a = (1.0 - mu) / (r1 * sqrt(r1)), b = mu / (r2 * sqrt(r2));
  d[0] = s[2];
  d[1] = s[3];
  d[2] = s[0] + 2.0 * s[3] - a * rx - b * qx;
  d[3] = s[1] - 2.0 * s[2] - (a + b) * s[1];
}

// Orbits in the restricted problem of three bodies, with steps that adapt to their error.
extern "C" __global__ void adaptive_orbits(double* __restrict__ state, int* __restrict__ taken, int orbits,
                                           double mu, double until, double tolerance, int most) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= orbits) return;
  double s[4], k1[4], k2[4], k3[4], k4[4], u[4];
#pragma unroll
  for (int c = 0; c < 4; c++) s[c] = state[(size_t)c * orbits + i];
  double t = 0.0, h = 0.01;
  int n = 0;
  three_body(s, k1, mu);
  for (; n < most && t < until; n++) {
#pragma unroll
    for (int c = 0; c < 4; c++) u[c] = s[c] + 0.5 * h * k1[c];
    three_body(u, k2, mu);
#pragma unroll
    for (int c = 0; c < 4; c++) u[c] = s[c] + 0.75 * h * k2[c];
    three_body(u, k3, mu);
#pragma unroll
    for (int c = 0; c < 4; c++) u[c] = s[c] + h * (2.0 / 9 * k1[c] + 1.0 / 3 * k2[c] + 4.0 / 9 * k3[c]);
    three_body(u, k4, mu);
    double error = 0.0;
#pragma unroll
    for (int c = 0; c < 4; c++) {
      double e = h * (-5.0 / 72 * k1[c] + 1.0 / 12 * k2[c] + 1.0 / 9 * k3[c] - 1.0 / 8 * k4[c]);
      error = fmax(error, fabs(e));
    }
    if (error <= tolerance) {
      t += h;
#pragma unroll
      for (int c = 0; c < 4; c++) {
        s[c] = u[c];
        k1[c] = k4[c];
      }
    }
    double by = 0.9 * cbrt(tolerance / (error + 1e-18));
    h *= fmin(fmax(by, 0.3), 3.0);
    h = fmin(h, until - t + 1e-12);
  }
#pragma unroll
  for (int c = 0; c < 4; c++) state[(size_t)c * orbits + i] = s[c];
  taken[i] = n;
}

// Correction of a coarse grid brought to the fine one, linear in three dimensions.
extern "C" __global__ void prolong_and_correct(double* __restrict__ fine, const double* __restrict__ coarse,
                                               int nx, int ny, int nz, double weight) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= 2 * nx - 1 || y >= 2 * ny - 1 || z >= 2 * nz - 1) return;
  int cx = x >> 1, cy = y >> 1, cz = z >> 1;
  int ox = x & 1, oy = y & 1, oz = z & 1;
  double s = 0.0;
  for (int c = 0; c <= oz; c++)
    for (int b = 0; b <= oy; b++)
      for (int a = 0; a <= ox; a++) s += coarse[((size_t)(cz + c) * ny + cy + b) * nx + cx + a];
  s /= (double)((1 << ox) << (oy + oz));
  fine[((size_t)z * (2 * ny - 1) + y) * (2 * nx - 1) + x] += weight * s;
}

// Sections of second order one after another, a thread a channel, samples interleaved.
extern "C" __global__ void biquads_in_series(float* __restrict__ sound, const float* __restrict__ section,
                                             int samples, int channels) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= channels) return;
  float p[4][5], z1[4], z2[4];
#pragma unroll
  for (int s = 0; s < 4; s++) {
#pragma unroll
    for (int k = 0; k < 5; k++) p[s][k] = section[s * 5 + k] * 0.3f;
    z1[s] = z2[s] = 0.0f;
  }
  for (int t = 0; t < samples; t++) {
    float v = sound[(size_t)t * channels + c];
#pragma unroll
    for (int s = 0; s < 4; s++) {
      float o = p[s][0] * v + z1[s];
      z1[s] = p[s][1] * v - p[s][3] * o + z2[s];
      z2[s] = p[s][2] * v - p[s][4] * o;
      v = o;
    }
    sound[(size_t)t * channels + c] = v;
  }
}

__device__ __forceinline__ void order(float& a, float& b) {
  float l = fminf(a, b);
  b = fmaxf(a, b);
  a = l;
}

// Median of a pixel over seven frames, by a network of exchanges.
extern "C" __global__ void median_seven_frames(float* __restrict__ out, const float* __restrict__ frames,
                                               int pixels, int frame_count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= pixels) return;
  float v[7];
  const size_t n = pixels;
#pragma unroll
  for (int k = 0; k < 6; k++) v[k + 1] = frames[k * n + i];
  for (int f = 6; f < frame_count; f++) {
    float w[7];
#pragma unroll
    for (int k = 0; k < 6; k++) {
      v[k] = v[k + 1];
      w[k] = v[k];
    }
    v[6] = w[6] = frames[f * n + i];
#pragma unroll
    for (int pass = 0; pass < 7; pass++)
#pragma unroll
      for (int k = pass & 1; k + 1 < 7; k += 2) order(w[k], w[k + 1]);
    out[(f - 6) * n + i] = w[3];
  }
}

// Change of rate by a ratio of whole numbers; the phases of the filter are read through the cache.
extern "C" __global__ void rational_resample(float2* __restrict__ out, const float2* __restrict__ in,
                                             const float* __restrict__ taps, int inputs, int outputs, int up,
                                             int down, int per_phase) {
  for (int o = blockIdx.x * blockDim.x + threadIdx.x; o < outputs; o += gridDim.x * blockDim.x) {
    long long at = (long long)o * down;
    int newest = (int)(at / up), phase = (int)(at % up);
    float i0 = 0.f, q0 = 0.f;
    for (int k = 0; k < per_phase; k++) {
      int from = newest - k;
      if (from < 0 || from >= inputs) continue;
      float2 s = in[from];
      float h = __ldg(taps + phase * per_phase + k);
      i0 += h * s.x;
      q0 += h * s.y;
    }
    out[o] = make_float2(i0, q0);
  }
}

// Gram matrix of tall columns, lower tiles only, in double precision: 2x2 results a thread.
extern "C" __global__ void gram_tiles_double(double* __restrict__ gram, const double* __restrict__ a, int rows,
                                             int columns) {
  __shared__ double left[16][33], right[16][33];
  if (blockIdx.x > blockIdx.y) return;
  int tx = threadIdx.x, ty = threadIdx.y, t = ty * 16 + tx;
  double s00 = 0, s01 = 0, s10 = 0, s11 = 0;
  for (int r0 = 0; r0 < rows; r0 += 16) {
    for (int e = t; e < 512; e += 256) {
      int r = e >> 5, c = e & 31;
      int cl = blockIdx.y * 32 + c, cr = blockIdx.x * 32 + c;
      bool in = r0 + r < rows;
      left[r][c] = in && cl < columns ? a[(size_t)(r0 + r) * columns + cl] : 0.0;
      right[r][c] = in && cr < columns ? a[(size_t)(r0 + r) * columns + cr] : 0.0;
    }
    __syncthreads();
#pragma unroll
    for (int r = 0; r < 16; r++) {
      double l0 = left[r][ty], l1 = left[r][ty + 16], r0v = right[r][tx], r1v = right[r][tx + 16];
      s00 += l0 * r0v;
      s01 += l0 * r1v;
      s10 += l1 * r0v;
      s11 += l1 * r1v;
    }
    __syncthreads();
  }
  int i = blockIdx.y * 32 + ty, j = blockIdx.x * 32 + tx;
  if (i < columns && j < columns) gram[(size_t)i * columns + j] = s00;
  if (i < columns && j + 16 < columns) gram[(size_t)i * columns + j + 16] = s01;
  if (i + 16 < columns && j < columns) gram[(size_t)(i + 16) * columns + j] = s10;
  if (i + 16 < columns && j + 16 < columns) gram[(size_t)(i + 16) * columns + j + 16] = s11;
}

// Smoothing by seven points with coefficients that vary; next planes are copied ahead.
extern "C" __global__ void varying_smoother_ahead(float* __restrict__ out, const float* __restrict__ u,
                                                  const float* __restrict__ f,
                                                  const float* __restrict__ k, int nx, int ny, int nz,
                                                  float omega) {
  __shared__ float plane[3][10][34];
  int tx = threadIdx.x, ty = threadIdx.y;
  int x0 = blockIdx.x * 32, y0 = blockIdx.y * 8;
  size_t layer = (size_t)nx * ny;
  auto fetch = [&](int z) {
    for (int e = ty * 32 + tx; e < 340; e += 256) {
      int y = min(max(y0 + e / 34 - 1, 0), ny - 1), x = min(max(x0 + e % 34 - 1, 0), nx - 1);
      __pipeline_memcpy_async(&plane[z % 3][e / 34][e % 34], u + z * layer + (size_t)y * nx + x, 4);
    }
    __pipeline_commit();
  };
  fetch(0);
  fetch(1);
  int x = x0 + tx, y = y0 + ty;
  bool inside = x < nx && y < ny;
  __pipeline_wait_prior(1);
  __syncthreads();
  float below = plane[0][ty + 1][tx + 1];
  for (int z = 1; z < nz - 1; z++) {
    fetch(z + 1);
    __pipeline_wait_prior(0);
    __syncthreads();
    float here = plane[z % 3][ty + 1][tx + 1], above = plane[(z + 1) % 3][ty + 1][tx + 1];
    if (inside) {
      size_t at = z * layer + (size_t)y * nx + x;
      float kc = k[at];
      float sum = plane[z % 3][ty + 1][tx] + plane[z % 3][ty + 1][tx + 2] + plane[z % 3][ty][tx + 1] +
                  plane[z % 3][ty + 2][tx + 1] + below + above;
      out[at] = here + omega * (f[at] + kc * (sum - 6.0f * here)) / (6.0f * kc + 1.0f);
    }
    below = here;
    __syncthreads();
  }
}

// Non-local means with patches of 3x3, weights by the distance of patches; tiny blocks.
extern "C" __global__ void patches_alike(float* __restrict__ out, const float* __restrict__ in, int width,
                                         int height, int search, float h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x + 1, y = blockIdx.y * blockDim.y + threadIdx.y + 1;
  if (x >= width - 1 || y >= height - 1) return;
  float mine[9];
#pragma unroll
  for (int k = 0; k < 9; k++) mine[k] = in[(y + k / 3 - 1) * width + x + k % 3 - 1];
  float sum = 0.f, weights = 0.f;
  for (int v = max(y - search, 1); v <= min(y + search, height - 2); v++)
    for (int u = max(x - search, 1); u <= min(x + search, width - 2); u++) {
      float d = 0.f;
#pragma unroll
      for (int k = 0; k < 9; k++) {
        float e = in[(v + k / 3 - 1) * width + u + k % 3 - 1] - mine[k];
        d += e * e;
      }
      float w = __expf(-d * h);
      sum += w * in[v * width + u];
      weights += w;
    }
  out[y * width + x] = sum / weights;
}
