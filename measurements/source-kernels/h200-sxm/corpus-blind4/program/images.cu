// Images and signals: neighbours, wavelets, transforms.
// Strength of edges of a picture in bytes; rims are black.
extern "C" __global__ void sobel_bytes(const unsigned char* __restrict__ in, unsigned char* __restrict__ out, int width, int height, float gain) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int at = y * width + x;
  if (x == 0 || y == 0 || x == width - 1 || y == height - 1) {
    out[at] = 0;
    return;
  }
  int ul = in[at - width - 1], um = in[at - width], ur = in[at - width + 1];
  int ml = in[at - 1], mr = in[at + 1];
  int ll = in[at + width - 1], lm = in[at + width], lr = in[at + width + 1];
  int across = ur + 2 * mr + lr - ul - 2 * ml - ll, down = ul + 2 * um + ur - ll - 2 * lm - lr;
  int strength = (int)(gain * (abs(across) + abs(down)));
  out[at] = (unsigned char)min(strength, 255);
}

// Speckle-reducing diffusion, second half: the picture gains what flows in from four sides.
extern "C" __global__ void speckle_update(float* y, const float* __restrict__ weight, const float* __restrict__ north, const float* __restrict__ south, const float* __restrict__ west, const float* __restrict__ east, int width, int height, float rate) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (column >= width || row >= height) return;
  int at = row * width + column, below = min(row + 1, height - 1) * width + column, right = row * width + min(column + 1, width - 1);
  float here = weight[at];
  float flow = here * north[at] + weight[below] * south[at] + here * west[at] + weight[right] * east[at];
  y[at] += 0.25f * rate * flow;
}

// Ten levels of Haar wavelets over 1024 values a block, in shared memory.
extern "C" __global__ void haar_levels(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float level[512];
  int t = threadIdx.x;
  long long base = (long long)blockIdx.x * 1024;
  const float root = 0.70710678f;
  float2 pair = reinterpret_cast<const float2*>(in + base)[t];
  out[base + 512 + t] = (pair.x - pair.y) * root;
  level[t] = (pair.x + pair.y) * root;
  __syncthreads();
  for (int active = 256; active > 0; active >>= 1) {
    float low = 0.0f;
    if (t < active) {
      float a = level[2 * t], b = level[2 * t + 1];
      out[base + active + t] = (a - b) * root;
      low = (a + b) * root;
    }
    __syncthreads();
    if (t < active) level[t] = low;
    __syncthreads();
  }
  if (t == 0) out[base] = level[0];
}

// Nine points of a plane of doubles: a tile with its rim in shared memory, edges repeated.
extern "C" __global__ void nine_point_double(const double* __restrict__ in, double* __restrict__ out, int width, int height, double centre, double straight, double corner) {
  __shared__ double tile[18][18];
  int left = blockIdx.x * 16 - 1, top = blockIdx.y * 16 - 1;
  for (int k = threadIdx.y * 16 + threadIdx.x; k < 324; k += 256) {
    int r = k / 18, c = k % 18;
    int gy = min(max(top + r, 0), height - 1), gx = min(max(left + c, 0), width - 1);
    tile[r][c] = in[(long long)gy * width + gx];
  }
  __syncthreads();
  int c = threadIdx.x + 1, r = threadIdx.y + 1, x = left + c, y = top + r;
  if (x >= width || y >= height) return;
  double sides = tile[r - 1][c] + tile[r + 1][c] + tile[r][c - 1] + tile[r][c + 1];
  double corners = tile[r - 1][c - 1] + tile[r - 1][c + 1] + tile[r + 1][c - 1] + tile[r + 1][c + 1];
  out[(long long)y * width + x] = centre * tile[r][c] + straight * sides + corner * corners;
}

// Walsh-Hadamard transform of 2048 values a block: butterflies in shared memory, wide strides first.
extern "C" __global__ void walsh_block(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float s[2048];
  long long base = (long long)blockIdx.x * 2048;
  for (int k = threadIdx.x; k < 2048; k += blockDim.x) s[k] = in[base + k];
  for (int stride = 1024; stride > 0; stride >>= 1) {
    __syncthreads();
    for (int p = threadIdx.x; p < 1024; p += blockDim.x) {
      int low = p & (stride - 1), i = ((p - low) << 1) + low;
      float a = s[i], b = s[i + stride];
      s[i] = a + b;
      s[i + stride] = a - b;
    }
  }
  __syncthreads();
  for (int k = threadIdx.x; k < 2048; k += blockDim.x) out[base + k] = s[k];
}
