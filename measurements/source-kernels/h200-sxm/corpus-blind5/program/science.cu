// Kernels in the manner of proxy applications.

__device__ __forceinline__ unsigned mixed(unsigned h) {
  h ^= h >> 16;
  h *= 0x85ebca6bu;
  h ^= h >> 13;
  h *= 0xc2b2ae35u;
  return h ^ h >> 16;
}

__constant__ int nuclides_of[12] = {34, 5, 4, 4, 27, 21, 21, 21, 21, 21, 9, 9};

// Macroscopic cross sections: a search in a grid of energies, then two points of each nuclide of a material.
extern "C" __global__ void cross_sections(const float* __restrict__ energies, const int* __restrict__ rows,
                                          const float2* __restrict__ points, const int* __restrict__ materials,
                                          float* __restrict__ out, int grid_points, int nuclides, int each, int lookups) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= lookups) return;
  unsigned h = mixed(i + 1);
  float energy = (float)(h >> 8) * 5.9604645e-8f * (grid_points - 1);
  int material = mixed(h) % 12;
  int low = 0, high = grid_points - 1;
  while (high - low > 1) {
    int middle = low + (high - low) / 2;
    if (energies[middle] > energy) high = middle;
    else low = middle;
  }
  float part = energy - energies[low];
  float xs[5] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
  for (int k = 0; k < nuclides_of[material]; ++k) {
    int nuclide = materials[material * 34 + k];
    int row = rows[low * nuclides + nuclide];
    const float2* one = points + (nuclide * each + row) * 3;
    float2 a = one[0], b = one[1], c = one[2], d = one[3], e = one[4], f = one[5];
    float weight = a.x + 0.5f;
    xs[0] += weight * (a.y + part * (d.y - a.y));
    xs[1] += weight * (b.x + part * (e.x - b.x));
    xs[2] += weight * (b.y + part * (e.y - b.y));
    xs[3] += weight * (c.x + part * (f.x - c.x));
    xs[4] += weight * (c.y + part * (f.y - c.y));
  }
  float greatest = xs[0];
  int where = 0;
  for (int k = 1; k < 5; ++k)
    if (xs[k] > greatest) {
      greatest = xs[k];
      where = k;
    }
  out[i] = greatest + xs[0] + (where > 5 ? 1.0f : 0.0f);
}

__device__ __forceinline__ double triple(double ax, double ay, double az, double bx, double by, double bz, double cx,
                                         double cy, double cz) {
  return ax * (by * cz - bz * cy) + bx * (az * cy - ay * cz) + cx * (ay * bz - az * by);
}

// Volumes of hexahedra from the places of their corners, in double precision.
extern "C" __global__ void hexahedra(const double* __restrict__ px, const double* __restrict__ py,
                                     const double* __restrict__ pz, double* __restrict__ out, int side) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= side * side * side) return;
  int i = e % side, j = e / side % side, k = e / (side * side), points = side + 1;
  int base = (k * points + j) * points + i;
  int corner[8] = {base,
                   base + 1,
                   base + 1 + points,
                   base + points,
                   base + points * points,
                   base + points * points + 1,
                   base + points * points + 1 + points,
                   base + points * points + points};
  double x[8], y[8], z[8];
#pragma unroll
  for (int c = 0; c < 8; ++c) {
    x[c] = px[corner[c]] * 0.2 + i + (c == 1 || c == 2 || c == 5 || c == 6);
    y[c] = py[corner[c]] * 0.2 + j + (c == 2 || c == 3 || c == 6 || c == 7);
    z[c] = pz[corner[c]] * 0.2 + k + (c >= 4);
  }
#define D(v, p, q) (v[p] - v[q])
  double volume =
      triple(D(x, 3, 1) + D(x, 7, 2), D(y, 3, 1) + D(y, 7, 2), D(z, 3, 1) + D(z, 7, 2), D(x, 6, 3), D(y, 6, 3), D(z, 6, 3),
             D(x, 2, 0), D(y, 2, 0), D(z, 2, 0)) +
      triple(D(x, 4, 3) + D(x, 5, 7), D(y, 4, 3) + D(y, 5, 7), D(z, 4, 3) + D(z, 5, 7), D(x, 6, 4), D(y, 6, 4), D(z, 6, 4),
             D(x, 7, 0), D(y, 7, 0), D(z, 7, 0)) +
      triple(D(x, 1, 4) + D(x, 2, 5), D(y, 1, 4) + D(y, 2, 5), D(z, 1, 4) + D(z, 2, 5), D(x, 6, 1), D(y, 6, 1), D(z, 6, 1),
             D(x, 5, 0), D(y, 5, 0), D(z, 5, 0));
#undef D
  out[e] = volume * (1.0 / 12.0);
}

// Complex 3 x 3 matrices on the four links of each site, times a matrix a direction: an element a thread.
extern "C" __global__ void su3_links(const float2* __restrict__ a, const float2* __restrict__ b, float2* __restrict__ out,
                                     int sites) {
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  int site = id / 36;
  if (site >= sites) return;
  int link = id % 36 / 9, row = id % 9 / 3, column = id % 3;
  float re = 0.0f, im = 0.0f;
#pragma unroll
  for (int m = 0; m < 3; ++m) {
    float2 p = a[(site * 4 + link) * 9 + row * 3 + m], q = b[link * 9 + m * 3 + column];
    re += p.x * q.x - p.y * q.y;
    im += p.x * q.y + p.y * q.x;
  }
  out[(site * 4 + link) * 9 + row * 3 + column] = make_float2(re, im);
}

// The operator of spectral elements: derivatives of 8 x 8 x 8 points, six factors of geometry, and back.
extern "C" __global__ void __launch_bounds__(512) spectral_elements(const double* __restrict__ u,
                                                                    const double* __restrict__ derive,
                                                                    const double* __restrict__ geometry,
                                                                    double* __restrict__ out, int elements) {
  __shared__ double d[8][8], v[8][8][8], r[8][8][8], s[8][8][8], w[8][8][8];
  int i = threadIdx.x, j = threadIdx.y, k = threadIdx.z;
  long long at = (long long)blockIdx.x * 512 + (k * 8 + j) * 8 + i, all = (long long)elements * 512;
  if (k == 0) d[j][i] = derive[j * 8 + i];
  v[k][j][i] = u[at];
  __syncthreads();
  double ur = 0.0, us = 0.0, ut = 0.0;
#pragma unroll
  for (int m = 0; m < 8; ++m) {
    ur += d[i][m] * v[k][j][m];
    us += d[j][m] * v[k][m][i];
    ut += d[k][m] * v[m][j][i];
  }
  double g1 = geometry[at], g2 = geometry[at + all], g3 = geometry[at + 2 * all], g4 = geometry[at + 3 * all],
         g5 = geometry[at + 4 * all], g6 = geometry[at + 5 * all];
  r[k][j][i] = g1 * ur + g2 * us + g3 * ut;
  s[k][j][i] = g2 * ur + g4 * us + g5 * ut;
  w[k][j][i] = g3 * ur + g5 * us + g6 * ut;
  __syncthreads();
  double sum = 0.0;
#pragma unroll
  for (int m = 0; m < 8; ++m) sum += d[m][i] * r[k][j][m] + d[m][j] * s[k][m][i] + d[m][k] * w[m][j][i];
  out[at] = sum;
}
