// Steps of equations on grids of one, two and three dimensions.

__device__ __forceinline__ float burgers_flux(float left, float right) {
  float l = fmaxf(left, 0.0f), r = fminf(right, 0.0f);
  return 0.5f * fmaxf(l * l, r * r);
}

// Godunov's flux and a second difference, on a ring.
extern "C" __global__ void burgers_step(const float* __restrict__ u, float* __restrict__ next, float ratio, float viscosity, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float left = u[i == 0 ? n - 1 : i - 1] - 0.5f;
  float here = u[i] - 0.5f;
  float right = u[i == n - 1 ? 0 : i + 1] - 0.5f;
  float flow = burgers_flux(here, right) - burgers_flux(left, here);
  next[i] = here - ratio * flow + viscosity * (left - 2.0f * here + right);
}

// The electric field across a plane, from the curl of the magnetic one.
extern "C" __global__ void fdtd_ez_update(float* __restrict__ ez, const float* __restrict__ hx, const float* __restrict__ hy, const float* __restrict__ decay, const float* __restrict__ gain, int nx, int ny) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= nx || y >= ny) return;
  int i = y * nx + x;
  float curl = (hy[i] - hy[i - 1]) - (hx[i] - hx[i - nx]);
  ez[i] = decay[i] * ez[i] + gain[i] * curl;
}

extern "C" __global__ void jacobi_double_five(const double* __restrict__ u, const double* __restrict__ f, double* __restrict__ next, double h2, int nx, int ny) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= nx || y >= ny) return;
  int i = y * nx + x;
  if (x == 0 || y == 0 || x == nx - 1 || y == ny - 1)
    next[i] = u[i];
  else
    next[i] = 0.25 * (u[i - 1] + u[i + 1] + u[i - nx] + u[i + nx] + h2 * f[i]);
}

// Four neighbours each way along three axes; the outer four layers are zeroed.
extern "C" __global__ void stencil_25_axes(const float* __restrict__ in, float* __restrict__ out, float c0, float c1, float c2, float c3, float c4, int nx, int ny, int nz) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z;
  if (x >= nx || y >= ny) return;
  int plane = nx * ny;
  int i = z * plane + y * nx + x;
  if (x < 4 || y < 4 || z < 4 || x >= nx - 4 || y >= ny - 4 || z >= nz - 4) {
    out[i] = 0.0f;
    return;
  }
  const float c[5] = {c0, c1, c2, c3, c4};
  float sum = 3.0f * c[0] * in[i];
#pragma unroll
  for (int r = 1; r <= 4; ++r) {
    sum += c[r] * (in[i - r] + in[i + r] + in[i - r * nx] + in[i + r * nx] + in[i - r * plane] + in[i + r * plane]);
  }
  out[i] = sum;
}

#define SLICE_X 32
#define SLICE_Y 8

// A block goes through the slices of its part of the depth, each in shared memory with its rim.
extern "C" __global__ void stencil_seven_slices(const float* __restrict__ in, float* __restrict__ out, float middle, float side, int nx, int ny, int nz, int depth) {
  __shared__ float slice[SLICE_Y + 2][SLICE_X + 2];
  int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  int x = blockIdx.x * SLICE_X + threadIdx.x, y = blockIdx.y * SLICE_Y + threadIdx.y;
  int cx = min(x, nx - 1), cy = min(y, ny - 1);
  long long plane = (long long)nx * ny;
  int first = blockIdx.z * depth, last = min(first + depth, nz);
  for (int z = first; z < last; ++z) {
    const float* here = in + z * plane;
    slice[ty][tx] = here[cy * nx + cx];
    if (threadIdx.x == 0) slice[ty][0] = here[cy * nx + max(x - 1, 0)];
    if (threadIdx.x == SLICE_X - 1) slice[ty][SLICE_X + 1] = here[cy * nx + min(x + 1, nx - 1)];
    if (threadIdx.y == 0) slice[0][tx] = here[max(y - 1, 0) * nx + cx];
    if (threadIdx.y == SLICE_Y - 1) slice[SLICE_Y + 1][tx] = here[min(y + 1, ny - 1) * nx + cx];
    __syncthreads();
    if (x < nx && y < ny) {
      int i = y * nx + x;
      float below = in[max(z - 1, 0) * plane + i], above = in[min(z + 1, nz - 1) * plane + i];
      float right = x == nx - 1 ? slice[ty][tx] : slice[ty][tx + 1];
      float down = y == ny - 1 ? slice[ty][tx] : slice[ty + 1][tx];
      out[z * plane + i] = middle * slice[ty][tx] + side * (slice[ty][tx - 1] + right + slice[ty - 1][tx] + down + below + above);
    }
    __syncthreads();
  }
}
