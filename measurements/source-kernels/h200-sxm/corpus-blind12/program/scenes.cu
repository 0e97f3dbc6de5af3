// Kernels of scenes: boxes that cover one another, rays and triangles.

// Which boxes cover which, for keeping the best: a block takes 64 boxes against 64, a thread makes a word of 64 bits;
// a block below the diagonal leaves.
extern "C" __global__ void __launch_bounds__(64)
    suppression_masks(const float4* __restrict__ boxes, unsigned long long* __restrict__ masks, int n, float least) {
  __shared__ float4 others[64];
  if (blockIdx.x < blockIdx.y) return;
  int t = threadIdx.x, i = blockIdx.y * 64 + t, first = blockIdx.x * 64, many = min(64, n - first);
  if (t < many) {
    float4 b = boxes[first + t];
    others[t] = make_float4(b.x, b.y, b.x + 0.02f + 0.1f * b.z, b.y + 0.02f + 0.1f * b.w);
  }
  __syncthreads();
  if (i >= n) return;
  float4 b = boxes[i];
  float right = b.x + 0.02f + 0.1f * b.z, bottom = b.y + 0.02f + 0.1f * b.w;
  float area = (right - b.x) * (bottom - b.y);
  unsigned long long mask = 0;
  for (int k = blockIdx.x == blockIdx.y ? t + 1 : 0; k < many; ++k) {
    float4 o = others[k];
    float wide = fmaxf(fminf(right, o.z) - fmaxf(b.x, o.x), 0.0f);
    float high = fmaxf(fminf(bottom, o.w) - fmaxf(b.y, o.y), 0.0f);
    float common = wide * high, all = area + (o.z - o.x) * (o.w - o.y) - common;
    if (common / all > least) mask |= 1ull << k;
  }
  masks[(long long)i * gridDim.x + blockIdx.x] = mask;
}

#define TRIANGLES 128

// The nearest triangle that each ray meets, all tried: tiles of corners and edges in shared memory, and early ways out.
extern "C" __global__ void __launch_bounds__(256)
    ray_triangles(const float4* __restrict__ rays, const float* __restrict__ triangles, float* __restrict__ far,
                  int* __restrict__ which, int n, int many, float size) {
  __shared__ float tile[TRIANGLES * 9];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 ray = rays[min(i, n - 1)];
  float dx = ray.z - 0.5f, dy = ray.w - 0.5f, nearest = 1e30f;
  int found = -1;
  for (int first = 0; first < many; first += TRIANGLES) {
    int here = min(TRIANGLES, many - first);
    for (int e = threadIdx.x; e < here * 9; e += blockDim.x) {
      float v = triangles[first * 9 + e];
      tile[e] = e % 9 < 3 ? v : (v - 0.5f) * size;
    }
    __syncthreads();
    for (int k = 0; k < here; ++k) {
      const float *corner = tile + 9 * k, *p = corner + 3, *q = corner + 6;
      // the direction is (dx, dy, 1), the ray starts on the plane z = -1
      float hx = dy * q[2] - q[1], hy = q[0] - dx * q[2], hz = dx * q[1] - dy * q[0];
      float det = p[0] * hx + p[1] * hy + p[2] * hz;
      if (fabsf(det) < 1e-7f) continue;
      float part = 1.0f / det;
      float sx = ray.x - corner[0], sy = ray.y - corner[1], sz = -1.0f - corner[2];
      float u = part * (sx * hx + sy * hy + sz * hz);
      if (u < 0.0f || u > 1.0f) continue;
      float gx = sy * p[2] - sz * p[1], gy = sz * p[0] - sx * p[2], gz = sx * p[1] - sy * p[0];
      float v = part * (dx * gx + dy * gy + gz);
      if (v < 0.0f || u + v > 1.0f) continue;
      float t = part * (q[0] * gx + q[1] * gy + q[2] * gz);
      if (t > 0.0f && t < nearest) {
        nearest = t;
        found = first + k;
      }
    }
    __syncthreads();
  }
  if (i >= n) return;
  far[i] = nearest;
  which[i] = found;
}
