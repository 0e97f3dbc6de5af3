// Kernels in the manner of Rodinia and Parboil.

// The inner tiles of a blocked LU factorisation: y -= (tile of the pivot's columns) (tile of its rows).
extern "C" __global__ void trailing_update(float* y, int n, int offset) {
  __shared__ float above[16][16];
  __shared__ float beside[16][16];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = offset + (blockIdx.y + 1) * 16 + ty;
  int column = offset + (blockIdx.x + 1) * 16 + tx;
  above[ty][tx] = y[(offset + ty) * n + column];
  beside[ty][tx] = y[row * n + offset + tx];
  __syncthreads();
  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k < 16; ++k) sum += beside[ty][k] * above[k][tx];
  y[row * n + column] -= sum;
}

// A step of Gaussian elimination, rows along x as the suite has it.
extern "C" __global__ void fan_two(const float* __restrict__ factors, float* y, float* right, int n, int step) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int j = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= n - 1 - step || j >= n - step) return;
  int row = i + 1 + step;
  y[n * row + j + step] -= factors[n * row + step] * y[n * step + j + step];
  if (j == 0) right[row] -= factors[n * row + step] * right[step];
}

// Histogram of products of all pairs of points, by a search in the edges of its bins.
extern "C" __global__ void pair_angles(const float* __restrict__ px, const float* __restrict__ py,
                                       const float* __restrict__ pz, const float* __restrict__ edges,
                                       unsigned* __restrict__ bins, float scale, int n) {
  __shared__ float tx[256], ty[256], tz[256];
  __shared__ float edge[33];
  __shared__ unsigned counts[8][33];
  int t = threadIdx.x, warp = t / 32;
  if (t < 33) edge[t] = edges[t];
  for (int k = t; k < 8 * 33; k += 256) counts[k / 33][k % 33] = 0;
  int i = blockIdx.x * 256 + t;
  float x = i < n ? px[i] : 0.0f, y = i < n ? py[i] : 0.0f, z = i < n ? pz[i] : 0.0f;
  for (int base = blockIdx.y * 256; base < n; base += gridDim.y * 256) {
    __syncthreads();
    if (base + t < n) {
      tx[t] = px[base + t];
      ty[t] = py[base + t];
      tz[t] = pz[base + t];
    }
    __syncthreads();
    int many = min(256, n - base);
    if (i < n) {
      for (int k = 0; k < many; ++k) {
        float product = scale * (x * tx[k] + y * ty[k] + z * tz[k]);
        int low = 0, high = 32;
        while (high > low + 1) {
          int middle = (low + high) / 2;
          if (product >= edge[middle]) low = middle;
          else high = middle;
        }
        atomicAdd(&counts[warp][low], 1u);
      }
    }
  }
  __syncthreads();
  if (t < 32) {
    unsigned sum = 0;
    for (int w = 0; w < 8; ++w) sum += counts[w][t];
    atomicAdd(&bins[t], sum);
  }
}

// Potential on a lattice from atoms within a cutoff, eight atoms in each cell of 8 x 8 x 8 points.
extern "C" __global__ void cutoff_lattice(const float* __restrict__ atoms, float* __restrict__ out, float spacing,
                                          float cut2) {
  __shared__ float4 cell[8];
  int t = (threadIdx.z * 8 + threadIdx.y) * 8 + threadIdx.x;
  float x = threadIdx.x * spacing, y = threadIdx.y * spacing, z = threadIdx.z * 4 * spacing;
  float energy[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  float inverse = 1.0f / cut2;
  for (int dz = -1; dz <= 1; ++dz) {
    int cz = (int)blockIdx.z + dz;
    if (cz < 0 || cz >= gridDim.z) continue;
    for (int dy = -1; dy <= 1; ++dy) {
      int cy = (int)blockIdx.y + dy;
      if (cy < 0 || cy >= gridDim.y) continue;
      for (int dx = -1; dx <= 1; ++dx) {
        int cx = (int)blockIdx.x + dx;
        if (cx < 0 || cx >= gridDim.x) continue;
        __syncthreads();
        if (t < 32) ((float*)cell)[t] = atoms[((cz * gridDim.y + cy) * gridDim.x + cx) * 32 + t];
        __syncthreads();
        for (int a = 0; a < 8; ++a) {
          float4 atom = cell[a];
          float ax = atom.x + dx - x, ay = atom.y + dy - y, az = atom.z + dz - z;
          float flat = ax * ax + ay * ay + 0.01f;
#pragma unroll
          for (int k = 0; k < 4; ++k) {
            float up = az - k * spacing;
            float r2 = flat + up * up;
            if (r2 < cut2) {
              float s = 1.0f - r2 * inverse;
              energy[k] += atom.w * rsqrtf(r2) * s * s;
            }
          }
        }
      }
    }
  }
  int width = gridDim.x * 8, height = gridDim.y * 8;
  int column = blockIdx.x * 8 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    int plane = blockIdx.z * 8 + threadIdx.z * 4 + k;
    out[(plane * height + row) * width + column] = energy[k];
  }
}

// Sums of absolute differences of a 16 x 16 macroblock at 256 displacements, one a thread.
extern "C" __global__ void block_match(const unsigned char* __restrict__ frame, const unsigned char* __restrict__ past,
                                       unsigned short* __restrict__ out, int width, int height) {
  __shared__ unsigned char own[16][16];
  __shared__ unsigned char window[32][36];
  int tx = threadIdx.x, ty = threadIdx.y;
  int left = blockIdx.x * 16, top = blockIdx.y * 16;
  own[ty][tx] = frame[(top + ty) * width + left + tx];
  for (int r = ty; r < 32; r += 16)
    for (int c = tx; c < 32; c += 16) {
      int row = min(max(top + r - 8, 0), height - 1), column = min(max(left + c - 8, 0), width - 1);
      window[r][c] = past[row * width + column];
    }
  __syncthreads();
  unsigned sum = 0;
  for (int r = 0; r < 16; ++r)
#pragma unroll
    for (int c = 0; c < 16; ++c) sum = __usad(own[r][c], window[ty + r][tx + c], sum);
  out[(blockIdx.y * gridDim.x + blockIdx.x) * 256 + ty * 16 + tx] = (unsigned short)sum;
}

// A block looks one key up in a tree of three levels, a thread for each key of a node.
extern "C" __global__ void tree_lookup(const int* __restrict__ top, const int* __restrict__ middle,
                                       const int* __restrict__ leaves, const int* __restrict__ records,
                                       const int* __restrict__ wanted, int* __restrict__ out) {
  __shared__ int node;
  int t = threadIdx.x, order = blockDim.x;
  int key = wanted[blockIdx.x];
  int next = t + 1 < order ? top[t + 1] : 0x7fffffff;
  if (top[t] <= key && key < next) node = t;
  __syncthreads();
  int place = node * order + t;
  next = t + 1 < order ? middle[place + 1] : 0x7fffffff;
  bool here = middle[place] <= key && key < next;
  __syncthreads();
  if (here) node = place;
  __syncthreads();
  place = node * order + t;
  if (leaves[place] == key) out[blockIdx.x] = records[place];
}
