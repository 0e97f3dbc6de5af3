// Pictures and rays: loops over neighbours, special functions, branches that lanes share or do not.
extern "C" __global__ void bilateral(const float* __restrict__ in, float* __restrict__ out, int width, int height, float near, float alike) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float centre = in[y * width + x], sum = 0.0f, weights = 0.0f;
  for (int dy = -3; dy <= 3; ++dy)
    for (int dx = -3; dx <= 3; ++dx) {
      int u = min(max(x + dx, 0), width - 1), v = min(max(y + dy, 0), height - 1);
      float value = in[v * width + u], apart = value - centre;
      float weight = __expf(-near * (dx * dx + dy * dy) - alike * apart * apart);
      sum += weight * value;
      weights += weight;
    }
  out[y * width + x] = sum / weights;
}

// The nearest sphere that a ray along z meets: its depth, or 1000.
extern "C" __global__ void nearest_sphere(const float4* __restrict__ spheres, float* __restrict__ depth, int count, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float px = (x + 0.5f) / width, py = (y + 0.5f) / height, best = 1000.0f;
  for (int k = 0; k < count; ++k) {
    float4 s = spheres[k];
    float dx = px - s.x, dy = py - s.y, r = 0.1f * s.w, left = r * r - dx * dx - dy * dy;
    if (left > 0.0f) best = fminf(best, s.z - sqrtf(left));
  }
  depth[y * width + x] = best;
}

extern "C" __global__ void resample_cubic(const float* __restrict__ in, float* __restrict__ out, float ratio, int length, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float at = i * ratio, cell = floorf(at), t = at - cell;
  int k = (int)cell;
  float p0 = in[max(k - 1, 0)], p1 = in[min(k, length - 1)], p2 = in[min(k + 1, length - 1)], p3 = in[min(k + 2, length - 1)];
  out[i] = p1 + 0.5f * t * (p2 - p0 + t * (2.0f * p0 - 5.0f * p1 + 4.0f * p2 - p3 + t * (3.0f * (p1 - p2) + p3 - p0)));
}

// Conway's game on bytes, the edges joined.
extern "C" __global__ void life_step(const unsigned char* __restrict__ in, unsigned char* __restrict__ out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  int up = (y + height - 1) % height * width, here = y * width, down = (y + 1) % height * width;
  int left = (x + width - 1) % width, right = (x + 1) % width;
  int count = in[up + left] + in[up + x] + in[up + right] + in[here + left] + in[here + right] + in[down + left] + in[down + x] + in[down + right];
  out[here + x] = count == 3 || (count == 2 && in[here + x]);
}
