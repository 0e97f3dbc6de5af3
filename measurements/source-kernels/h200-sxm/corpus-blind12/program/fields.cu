// Kernels of fields: steep waves carried along, a lattice of fluid, charges given to a grid.

__device__ __forceinline__ double weno(double a, double b, double c, double d, double e) {
  double p = a - 2.0 * b + c, q = b - 2.0 * c + d, r = c - 2.0 * d + e;
  double p1 = a - 4.0 * b + 3.0 * c, q1 = b - d, r1 = 3.0 * c - 4.0 * d + e;
  double low = 13.0 / 12.0 * p * p + 0.25 * p1 * p1 + 1e-6;
  double middle = 13.0 / 12.0 * q * q + 0.25 * q1 * q1 + 1e-6;
  double high = 13.0 / 12.0 * r * r + 0.25 * r1 * r1 + 1e-6;
  double x = 0.1 / (low * low), y = 0.6 / (middle * middle), z = 0.3 / (high * high);
  double sum = x * (2.0 * a - 7.0 * b + 11.0 * c) + y * (-b + 5.0 * c + 2.0 * d) + z * (2.0 * c + 5.0 * d - e);
  return sum / (6.0 * (x + y + z));
}

// A step of waves carried to the right along periodic lines, by weighted reconstruction of fifth order in double
// precision: cells and the values at their right sides in shared memory.
extern "C" __global__ void __launch_bounds__(256)
    weno_five(const double* __restrict__ in, double* __restrict__ out, int n, double courant) {
  __shared__ double cells[256 + 5], sides[256 + 1];
  int t = threadIdx.x, first = blockIdx.x * blockDim.x;
  const double* line = in + (long long)blockIdx.y * n;
  for (int e = t; e < blockDim.x + 5; e += blockDim.x) {
    int at = first + e - 3;
    at = at < 0 ? at + n : at >= n ? at - n : at;
    cells[e] = at < n ? line[at] : 0.0;
  }
  __syncthreads();
  // the right side of cell first - 1 + e
  for (int e = t; e < blockDim.x + 1; e += blockDim.x)
    sides[e] = weno(cells[e], cells[e + 1], cells[e + 2], cells[e + 3], cells[e + 4]);
  __syncthreads();
  int i = first + t;
  if (i < n) out[(long long)blockIdx.y * n + i] = cells[t + 3] - courant * (sides[t + 1] - sides[t]);
}

// A step of a fluid on a lattice of nineteen speeds in a periodic box: what comes from the neighbours is pulled,
// relaxed to its equilibrium and written; a number of each speed lies beside that of the next cell.
extern "C" __global__ void lattice_d3q19(const float* __restrict__ in, float* __restrict__ out, int nx, int ny, int nz,
                                         float relax) {
  const int cx[19] = {0, 1, -1, 0, 0, 0, 0, 1, -1, 1, -1, 1, -1, 1, -1, 0, 0, 0, 0};
  const int cy[19] = {0, 0, 0, 1, -1, 0, 0, 1, -1, -1, 1, 0, 0, 0, 0, 1, -1, 1, -1};
  const int cz[19] = {0, 0, 0, 0, 0, 1, -1, 0, 0, 0, 0, 1, -1, -1, 1, 1, -1, -1, 1};
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
  if (x >= nx || y >= ny) return;
  int xs[3] = {x > 0 ? x - 1 : nx - 1, x, x < nx - 1 ? x + 1 : 0};
  int ys[3] = {y > 0 ? y - 1 : ny - 1, y, y < ny - 1 ? y + 1 : 0};
  int zs[3] = {z > 0 ? z - 1 : nz - 1, z, z < nz - 1 ? z + 1 : 0};
  int cells = nx * ny * nz, cell = (z * ny + y) * nx + x;
  float f[19], density = 0.0f, ux = 0.0f, uy = 0.0f, uz = 0.0f;
#pragma unroll
  for (int q = 0; q < 19; ++q) {
    f[q] = in[(long long)q * cells + (zs[1 - cz[q]] * ny + ys[1 - cy[q]]) * nx + xs[1 - cx[q]]];
    density += f[q];
    ux += cx[q] * f[q];
    uy += cy[q] * f[q];
    uz += cz[q] * f[q];
  }
  float part = 1.0f / density;
  ux *= part;
  uy *= part;
  uz *= part;
  float square = 1.0f - 1.5f * (ux * ux + uy * uy + uz * uz);
#pragma unroll
  for (int q = 0; q < 19; ++q) {
    float weight = q == 0 ? 1.0f / 3.0f : q < 7 ? 1.0f / 18.0f : 1.0f / 36.0f;
    float along = cx[q] * ux + cy[q] * uy + cz[q] * uz;
    float rest = weight * density * (square + 3.0f * along + 4.5f * along * along);
    out[(long long)q * cells + cell] = f[q] + relax * (rest - f[q]);
  }
}

// Charges given to the four nearest points of a periodic grid of a power of two, by atomic additions.
extern "C" __global__ void deposit_charge(const float2* __restrict__ places, const float* __restrict__ charges,
                                          float* __restrict__ grid, int n, int side) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float2 place = places[i];
  float charge = charges[i], x = place.x * side, y = place.y * side;
  int left = (int)x, top = (int)y;
  x -= left;
  y -= top;
  left &= side - 1;
  top &= side - 1;
  int right = (left + 1) & (side - 1), bottom = (top + 1) & (side - 1);
  atomicAdd(&grid[top * side + left], charge * (1.0f - x) * (1.0f - y));
  atomicAdd(&grid[top * side + right], charge * x * (1.0f - y));
  atomicAdd(&grid[bottom * side + left], charge * (1.0f - x) * y);
  atomicAdd(&grid[bottom * side + right], charge * x * y);
}
