// Points of planes and volumes with their neighbours.
// Heat in a chip, one step: a tile and its rim in shared memory, edges held.
extern "C" __global__ void chip_heat(const float* __restrict__ power, const float* __restrict__ heat, float* __restrict__ out, int width, int height, float rate, float sideways, float updown, float sink, float ambient) {
  __shared__ float tile[18][18];
  int t = threadIdx.y * 16 + threadIdx.x;
  for (int k = t; k < 18 * 18; k += 256) {
    int row = k / 18, column = k % 18;
    int u = min(max((int)blockIdx.x * 16 + column - 1, 0), width - 1), v = min(max((int)blockIdx.y * 16 + row - 1, 0), height - 1);
    tile[row][column] = heat[v * width + u];
  }
  __syncthreads();
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x >= width || y >= height) return;
  int c = threadIdx.x + 1, r = threadIdx.y + 1;
  float here = tile[r][c];
  float flow = power[y * width + x] + (tile[r][c - 1] + tile[r][c + 1] - 2.0f * here) * sideways + (tile[r - 1][c] + tile[r + 1][c] - 2.0f * here) * updown + (ambient - here) * sink;
  out[y * width + x] = here + rate * flow;
}

// All 27 points about one, weighted by how many steps away they are.
extern "C" __global__ void box_27(const float* __restrict__ in, float* __restrict__ out, int nx, int ny, int nz, float w0, float w1, float w2, float w3) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < 1 || y < 1 || z < 1 || x > nx - 2 || y > ny - 2 || z > nz - 2) return;
  const float* here = in + (z * ny + y) * nx + x;
  float faces = 0.0f, edges = 0.0f, corners = 0.0f;
#pragma unroll
  for (int dz = -1; dz <= 1; ++dz)
#pragma unroll
    for (int dy = -1; dy <= 1; ++dy)
#pragma unroll
      for (int dx = -1; dx <= 1; ++dx) {
        int away = (dx != 0) + (dy != 0) + (dz != 0);
        float value = here[(dz * ny + dy) * nx + dx];
        if (away == 1) faces += value;
        if (away == 2) edges += value;
        if (away == 3) corners += value;
      }
  out[(z * ny + y) * nx + x] = w0 * here[0] + w1 * faces + w2 * edges + w3 * corners;
}

__constant__ float taps[17] = {0.005f, 0.01f, 0.02f, 0.035f, 0.055f, 0.075f, 0.09f, 0.105f, 0.21f, 0.105f, 0.09f, 0.075f, 0.055f, 0.035f, 0.02f, 0.01f, 0.005f};

// Seventeen taps along rows: a piece of four rows with its rims in shared memory, four results a thread.
extern "C" __global__ void taps_along_rows(const float* __restrict__ in, float* __restrict__ out, int width) {
  __shared__ float piece[4][128 + 16];
  int first = blockIdx.x * 128, y = blockIdx.y * 4 + threadIdx.y;
  for (int k = threadIdx.x; k < 144; k += 32) {
    int x = first + k - 8;
    piece[threadIdx.y][k] = x >= 0 && x < width ? in[y * width + x] : 0.0f;
  }
  __syncthreads();
#pragma unroll
  for (int part = 0; part < 4; ++part) {
    int at = part * 32 + threadIdx.x;
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 17; ++k) sum += taps[k] * piece[threadIdx.y][at + k];
    out[y * width + first + at] = sum;
  }
}
