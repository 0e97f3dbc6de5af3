// Numerical kernels: ordinary and partial differential equations, sparse and small dense systems, particles.

#include <stdint.h>

__device__ void lorenz(float x, float y, float z, float rho, float* dx, float* dy, float* dz) {
  *dx = 10.0f * (y - x);
  *dy = x * (rho - z) - y;
  *dz = x * y - (8.0f / 3.0f) * z;
}

// an ensemble of Lorenz systems, classical Runge-Kutta
extern "C" __global__ void lorenz_rk4(float* xs, float* ys, float* zs, const float* rhos, int n, int steps, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = xs[i], y = ys[i], z = zs[i], rho = 28.0f * rhos[i];
  for (int s = 0; s < steps; s++) {
    float k1x, k1y, k1z, k2x, k2y, k2z, k3x, k3y, k3z, k4x, k4y, k4z;
    lorenz(x, y, z, rho, &k1x, &k1y, &k1z);
    lorenz(x + 0.5f * dt * k1x, y + 0.5f * dt * k1y, z + 0.5f * dt * k1z, rho, &k2x, &k2y, &k2z);
    lorenz(x + 0.5f * dt * k2x, y + 0.5f * dt * k2y, z + 0.5f * dt * k2z, rho, &k3x, &k3y, &k3z);
    lorenz(x + dt * k3x, y + dt * k3y, z + dt * k3z, rho, &k4x, &k4y, &k4z);
    x += dt / 6.0f * (k1x + 2.0f * k2x + 2.0f * k3x + k4x);
    y += dt / 6.0f * (k1y + 2.0f * k2y + 2.0f * k3y + k4y);
    z += dt / 6.0f * (k1z + 2.0f * k2z + 2.0f * k3z + k4z);
  }
  xs[i] = x;
  ys[i] = y;
  zs[i] = z;
}

// one Jacobi sweep of a dense system, a thread per row
extern "C" __global__ void jacobi_dense_row(double* xnew, const double* A, const double* x, const double* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    double sum = 0.0;
    for (int j = 0; j < n; j++) {
      if (j != i) sum += A[(size_t)i * n + j] * x[j];
    }
    xnew[i] = (b[i] - sum) / (A[(size_t)i * n + i] + 1.0);
  }
}

// QR of 6x6 matrices by Givens rotations, a matrix per thread; right-hand side is rotated as well
extern "C" __global__ void givens_qr6(float* R, float* rhs, const float* A, const float* b, int batch) {
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id >= batch) return;
  float m[6][6], v[6];
  for (int i = 0; i < 6; i++) {
    for (int j = 0; j < 6; j++) m[i][j] = A[id * 36 + i * 6 + j];
    v[i] = b[id * 6 + i];
  }
#pragma unroll
  for (int j = 0; j < 5; j++) {
#pragma unroll
    for (int i = j + 1; i < 6; i++) {
      float a = m[j][j], e = m[i][j];
      float r = sqrtf(a * a + e * e);
      float c = 1.0f, s = 0.0f;
      if (r > 1e-12f) {
        c = a / r;
        s = e / r;
      }
#pragma unroll
      for (int k = j; k < 6; k++) {
        float p = m[j][k], q = m[i][k];
        m[j][k] = c * p + s * q;
        m[i][k] = c * q - s * p;
      }
      float p = v[j], q = v[i];
      v[j] = c * p + s * q;
      v[i] = c * q - s * p;
    }
  }
  for (int i = 0; i < 6; i++) {
    for (int j = 0; j < 6; j++) R[id * 36 + i * 6 + j] = j >= i ? m[i][j] : 0.0f;
    rhs[id * 6 + i] = v[i];
  }
}

// largest eigenvalue of small matrices by power iteration, a block per matrix
extern "C" __global__ void power_iteration_block(float* lambda, const float* A, int n, int iterations) {
  extern __shared__ float mem[];
  float* a = mem;
  float* v = mem + n * n;
  float* w = v + n;
  __shared__ float norm;
  const float* mine = A + (size_t)blockIdx.x * n * n;
  for (int k = threadIdx.x; k < n * n; k += blockDim.x) a[k] = mine[k];
  for (int k = threadIdx.x; k < n; k += blockDim.x) v[k] = 1.0f;
  __syncthreads();
  for (int it = 0; it < iterations; it++) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
      float s = 0.0f;
      for (int j = 0; j < n; j++) s += a[i * n + j] * v[j];
      w[i] = s;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      float s = 0.0f;
      for (int j = 0; j < n; j++) s += w[j] * w[j];
      norm = sqrtf(s) + 1e-20f;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) v[i] = w[i] / norm;
    __syncthreads();
  }
  if (threadIdx.x == 0) lambda[blockIdx.x] = norm;
}

// the two dot products of a step of conjugate gradients in one pass
extern "C" __global__ void fused_dots_double(double* result, const double* r, const double* z, const double* p, const double* ap, int n) {
  __shared__ double first[1024];
  __shared__ double second[1024];
  double a = 0.0, b = 0.0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    a += r[i] * z[i];
    b += p[i] * ap[i];
  }
  first[threadIdx.x] = a;
  second[threadIdx.x] = b;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (threadIdx.x < s) {
      first[threadIdx.x] += first[threadIdx.x + s];
      second[threadIdx.x] += second[threadIdx.x + s];
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    atomicAdd(&result[0], first[0]);
    atomicAdd(&result[1], second[0]);
  }
}

// sparse matrix by columns times a vector: a thread per column, atomic adds
extern "C" __global__ void csc_scatter(float* y, const int* colptr, const int* rows, const float* vals, const float* x, int columns) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= columns) return;
  float xc = x[c];
  if (xc == 0.0f) return;
  for (int k = colptr[c]; k < colptr[c + 1]; k++) atomicAdd(&y[rows[k]], vals[k] * xc);
}

// sparse matrix of 3x3 blocks, a thread per block row
extern "C" __global__ void bsr3_rows(float* y, const int* rowptr, const int* cols, const float* blocks, const float* x, int block_rows) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= block_rows) return;
  float s0 = 0.0f, s1 = 0.0f, s2 = 0.0f;
  for (int k = rowptr[r]; k < rowptr[r + 1]; k++) {
    const float* m = blocks + (size_t)k * 9;
    const float* v = x + cols[k] * 3;
    float v0 = v[0], v1 = v[1], v2 = v[2];
    s0 += m[0] * v0 + m[1] * v1 + m[2] * v2;
    s1 += m[3] * v0 + m[4] * v1 + m[5] * v2;
    s2 += m[6] * v0 + m[7] * v1 + m[8] * v2;
  }
  y[r * 3] = s0;
  y[r * 3 + 1] = s1;
  y[r * 3 + 2] = s2;
}

// Kuramoto oscillators, all pairs, phases tiled through shared memory
extern "C" __global__ void kuramoto_phase(float* next, const float* theta, const float* omega, int n, float coupling, float dt) {
  __shared__ float tile[1024];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float mine = i < n ? theta[i] : 0.0f;
  float sum = 0.0f;
  for (int base = 0; base < n; base += blockDim.x) {
    int j = base + threadIdx.x;
    if (j < n) tile[threadIdx.x] = theta[j];
    __syncthreads();
    int count = min((int)blockDim.x, n - base);
    for (int k = 0; k < count; k++) sum += sinf(tile[k] - mine);
    __syncthreads();
  }
  if (i < n) next[i] = mine + dt * (omega[i] + coupling / n * sum);
}

__device__ int wrapped(int i, int n) { return (i + n) % n; }

__device__ float potential(const float* c, int x, int y, int nx, int ny, float gamma) {
  x = wrapped(x, nx);
  y = wrapped(y, ny);
  float v = c[y * nx + x];
  float lap = c[y * nx + wrapped(x - 1, nx)] + c[y * nx + wrapped(x + 1, nx)] +
              c[wrapped(y - 1, ny) * nx + x] + c[wrapped(y + 1, ny) * nx + x] - 4.0f * v;
  return v * v * v - v - gamma * lap;
}

// Cahn-Hilliard step: the potential is worked out anew at five points
extern "C" __global__ void cahn_hilliard(float* next, const float* c, int nx, int ny, float gamma, float dt) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= nx || y >= ny) return;
  float here = potential(c, x, y, nx, ny, gamma);
  float lap = potential(c, x - 1, y, nx, ny, gamma) + potential(c, x + 1, y, nx, ny, gamma) +
              potential(c, x, y - 1, nx, ny, gamma) + potential(c, x, y + 1, nx, ny, gamma) - 4.0f * here;
  next[y * nx + x] = c[y * nx + x] + dt * lap;
}

// stresses of an elastic wave on a staggered grid
extern "C" __global__ void elastic_stress(float* sxx, float* syy, float* sxy, const float* vx, const float* vy, const float* lambda, const float* mu, int nx, int ny, float dt, float h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1) return;
  int i = y * nx + x;
  float dvx = (vx[i] - vx[i - 1]) / h;
  float dvy = (vy[i] - vy[i - nx]) / h;
  float l = lambda[i], m = mu[i];
  sxx[i] += dt * ((l + 2.0f * m) * dvx + l * dvy);
  syy[i] += dt * ((l + 2.0f * m) * dvy + l * dvx);
  float mxy = 4.0f / (1.0f / (mu[i] + 0.1f) + 1.0f / (mu[i + 1] + 0.1f) + 1.0f / (mu[i + nx] + 0.1f) + 1.0f / (mu[i + nx + 1] + 0.1f));
  sxy[i] += dt * mxy * ((vx[i + nx] - vx[i]) / h + (vy[i + 1] - vy[i]) / h);
}

// semi-Lagrangian advection in three dimensions, trilinear
extern "C" __global__ void semi_lagrangian3d(float* next, const float* q, const float* u, const float* v, const float* w, int nx, int ny, int nz, float dt) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= nx || y >= ny || z >= nz) return;
  int i = (z * ny + y) * nx + x;
  float px = fminf(fmaxf(x - dt * u[i], 0.0f), nx - 1.001f);
  float py = fminf(fmaxf(y - dt * v[i], 0.0f), ny - 1.001f);
  float pz = fminf(fmaxf(z - dt * w[i], 0.0f), nz - 1.001f);
  int x0 = (int)px, y0 = (int)py, z0 = (int)pz;
  float fx = px - x0, fy = py - y0, fz = pz - z0;
  float value = 0.0f;
  for (int dz = 0; dz < 2; dz++)
    for (int dy = 0; dy < 2; dy++)
      for (int dx = 0; dx < 2; dx++) {
        float weight = (dx ? fx : 1.0f - fx) * (dy ? fy : 1.0f - fy) * (dz ? fz : 1.0f - fz);
        value += weight * q[((z0 + dz) * ny + y0 + dy) * nx + x0 + dx];
      }
  next[i] = value;
}

__device__ unsigned int lcg(unsigned int* state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

// direct simulation Monte Carlo: random pairs of a cell collide, a thread per cell
extern "C" __global__ void collide_cells(float* vx, float* vy, float* vz, const int* start, int cells, int tries, float fastest) {
  int cell = blockIdx.x * blockDim.x + threadIdx.x;
  if (cell >= cells) return;
  int first = start[cell], count = start[cell + 1] - start[cell];
  if (count < 2) return;
  unsigned int state = cell * 9781u + 12345u;
  for (int t = 0; t < tries; t++) {
    int a = first + lcg(&state) % count;
    int b = first + lcg(&state) % count;
    if (a == b) continue;
    float ux = vx[a] - vx[b], uy = vy[a] - vy[b], uz = vz[a] - vz[b];
    float g = sqrtf(ux * ux + uy * uy + uz * uz);
    if (lcg(&state) * (1.0f / 16777216.0f) * fastest > g) continue;
    float c = 2.0f * (lcg(&state) * (1.0f / 16777216.0f)) - 1.0f;
    float s = sqrtf(fmaxf(1.0f - c * c, 0.0f));
    float phi = 6.2831853f * (lcg(&state) * (1.0f / 16777216.0f));
    float mx = 0.5f * (vx[a] + vx[b]), my = 0.5f * (vy[a] + vy[b]), mz = 0.5f * (vz[a] + vz[b]);
    float hx = 0.5f * g * s * cosf(phi), hy = 0.5f * g * s * sinf(phi), hz = 0.5f * g * c;
    vx[a] = mx + hx;
    vy[a] = my + hy;
    vz[a] = mz + hz;
    vx[b] = mx - hx;
    vy[b] = my - hy;
    vz[b] = mz - hz;
  }
}

// structure factor: a thread per wave vector, walks over all atoms
extern "C" __global__ void structure_factor(float2* S, const float4* atoms, const float* kvec, int natoms, int nk) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= nk) return;
  float kx = 6.0f * kvec[3 * i], ky = 6.0f * kvec[3 * i + 1], kz = 6.0f * kvec[3 * i + 2];
  float re = 0.0f, im = 0.0f;
  for (int a = 0; a < natoms; a++) {
    float4 p = atoms[a];
    float phase = kx * p.x + ky * p.y + kz * p.z;
    float s, c;
    __sincosf(phase, &s, &c);
    re += p.w * c;
    im += p.w * s;
  }
  S[i] = make_float2(re, im);
}

// tridiagonal systems of 2x2 blocks, a system per thread, systems side by side
extern "C" __global__ void block_thomas2(float* x, float* work, const float* lower, const float* diag, const float* upper, const float* rhs, int systems, int n) {
  int s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s >= systems) return;
  float g0 = 0.0f, g1 = 0.0f, g2 = 0.0f, g3 = 0.0f, y0 = 0.0f, y1 = 0.0f;
  for (int k = 0; k < n; k++) {
    int at4 = k * 4 * systems + s;
    int at2 = k * 2 * systems + s;
    float a0 = lower[at4], a1 = lower[at4 + systems], a2 = lower[at4 + 2 * systems], a3 = lower[at4 + 3 * systems];
    float b0 = diag[at4] + 4.0f, b1 = diag[at4 + systems], b2 = diag[at4 + 2 * systems], b3 = diag[at4 + 3 * systems] + 4.0f;
    b0 -= a0 * g0 + a1 * g2;
    b1 -= a0 * g1 + a1 * g3;
    b2 -= a2 * g0 + a3 * g2;
    b3 -= a2 * g1 + a3 * g3;
    float r0 = rhs[at2] - (a0 * y0 + a1 * y1);
    float r1 = rhs[at2 + systems] - (a2 * y0 + a3 * y1);
    float det = 1.0f / (b0 * b3 - b1 * b2);
    float i0 = b3 * det, i1 = -b1 * det, i2 = -b2 * det, i3 = b0 * det;
    float c0 = upper[at4], c1 = upper[at4 + systems], c2 = upper[at4 + 2 * systems], c3 = upper[at4 + 3 * systems];
    g0 = i0 * c0 + i1 * c2;
    g1 = i0 * c1 + i1 * c3;
    g2 = i2 * c0 + i3 * c2;
    g3 = i2 * c1 + i3 * c3;
    y0 = i0 * r0 + i1 * r1;
    y1 = i2 * r0 + i3 * r1;
    work[at4] = g0;
    work[at4 + systems] = g1;
    work[at4 + 2 * systems] = g2;
    work[at4 + 3 * systems] = g3;
    x[at2] = y0;
    x[at2 + systems] = y1;
  }
  for (int k = n - 2; k >= 0; k--) {
    int at4 = k * 4 * systems + s;
    int at2 = k * 2 * systems + s;
    float n0 = x[at2] - (work[at4] * y0 + work[at4 + systems] * y1);
    float n1 = x[at2 + systems] - (work[at4 + 2 * systems] * y0 + work[at4 + 3 * systems] * y1);
    y0 = n0;
    y1 = n1;
    x[at2] = y0;
    x[at2 + systems] = y1;
  }
}
