// Points of planes and volumes with their neighbours.
// Speckle-reducing diffusion, first half: differences to four neighbours and the weight of a point.
extern "C" __global__ void speckle_weights(const float* __restrict__ image, float* __restrict__ north, float* __restrict__ south, float* __restrict__ west, float* __restrict__ east, float* __restrict__ weight, int width, int height, float noise) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int i = y * width + x;
  float here = image[i] + 0.5f;
  float n = image[y > 0 ? i - width : i] + 0.5f - here, s = image[y < height - 1 ? i + width : i] + 0.5f - here;
  float w = image[x > 0 ? i - 1 : i] + 0.5f - here, e = image[x < width - 1 ? i + 1 : i] + 0.5f - here;
  float slope = (n * n + s * s + w * w + e * e) / (here * here), bend = (n + s + w + e) / here;
  float top = 0.5f * slope - 0.0625f * bend * bend, bottom = 1.0f + 0.25f * bend;
  float q = top / (bottom * bottom), c = 1.0f / (1.0f + (q - noise) / (noise * (1.0f + noise)));
  north[i] = n;
  south[i] = s;
  west[i] = w;
  east[i] = e;
  weight[i] = fminf(fmaxf(c, 0.0f), 1.0f);
}

// Seven points of a volume: a thread walks along z, its column in registers.
extern "C" __global__ void march_seven(const float* __restrict__ in, float* __restrict__ out, int nx, int ny, int nz, float centre, float side) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || x >= nx - 1 || y < 1 || y >= ny - 1) return;
  long long plane = (long long)nx * ny, i = plane + (long long)y * nx + x;
  float below = in[i - plane], here = in[i];
  for (int z = 1; z < nz - 1; ++z) {
    float above = in[i + plane];
    out[i] = centre * here + side * (in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx] + below + above);
    below = here;
    here = above;
    i += plane;
  }
}

// Mean over a window that slides down each column: a sum that gains one row and loses one.
extern "C" __global__ void box_down_columns(const float* __restrict__ in, float* __restrict__ out, int width, int height, int radius, int strip) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, first = blockIdx.y * strip, last = min(first + strip, height);
  if (x >= width) return;
  float sum = 0.0f, share = 1.0f / (2 * radius + 1);
  for (int k = first - radius; k <= first + radius; ++k) sum += in[min(max(k, 0), height - 1) * width + x];
  for (int y = first; y < last; ++y) {
    out[y * width + x] = sum * share;
    sum += in[min(y + radius + 1, height - 1) * width + x] - in[max(y - radius, 0) * width + x];
  }
}
