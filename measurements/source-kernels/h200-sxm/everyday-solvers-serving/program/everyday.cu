// Everyday kernels: records, pictures, text, sound, puzzles.

#include <stdint.h>

struct Student {
  int id;
  float marks[6];
  float attendance;
  int group;
};

struct Report {
  float mean;
  float best;
  int grade;
};

// one thread per student record (array of structures)
extern "C" __global__ void student_average(Report* out, const Student* in, const float* weights, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Student s = in[i];
  float sum = 0.0f, wsum = 0.0f, best = 0.0f;
  for (int k = 0; k < 6; k++) {
    sum += s.marks[k] * weights[k];
    wsum += weights[k];
    if (s.marks[k] > best) best = s.marks[k];
  }
  float mean = sum / wsum;
  if (s.attendance < 0.5f) mean *= 0.9f;
  int grade;
  if (mean > 0.8f) grade = 5;
  else if (mean > 0.65f) grade = 4;
  else if (mean > 0.5f) grade = 3;
  else if (mean > 0.35f) grade = 2;
  else grade = 1;
  out[i].mean = mean;
  out[i].best = best;
  out[i].grade = grade;
}

// sepia tone of an interleaved 3 byte image
extern "C" __global__ void sepia_interleaved(unsigned char* out, const unsigned char* in, int width, int height) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (col < width && row < height) {
    int p = 3 * (row * width + col);
    float r = in[p], g = in[p + 1], b = in[p + 2];
    float nr = 0.393f * r + 0.769f * g + 0.189f * b;
    float ng = 0.349f * r + 0.686f * g + 0.168f * b;
    float nb = 0.272f * r + 0.534f * g + 0.131f * b;
    out[p] = nr > 255.0f ? 255 : (unsigned char)nr;
    out[p + 1] = ng > 255.0f ? 255 : (unsigned char)ng;
    out[p + 2] = nb > 255.0f ? 255 : (unsigned char)nb;
  }
}

// unsharp mask: pixel + amount * (pixel - box mean), tile with halo in dynamic shared memory
extern "C" __global__ void unsharp_tile(float* out, const float* in, int width, int height, int radius, float amount) {
  extern __shared__ float tile[];
  int tw = blockDim.x + 2 * radius;
  int th = blockDim.y + 2 * radius;
  int x0 = blockIdx.x * blockDim.x - radius;
  int y0 = blockIdx.y * blockDim.y - radius;
  for (int ty = threadIdx.y; ty < th; ty += blockDim.y) {
    for (int tx = threadIdx.x; tx < tw; tx += blockDim.x) {
      int gx = x0 + tx, gy = y0 + ty;
      float v = 0.0f;
      if (gx >= 0 && gx < width && gy >= 0 && gy < height) v = in[gy * width + gx];
      tile[ty * tw + tx] = v;
    }
  }
  __syncthreads();
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float sum = 0.0f;
  for (int dy = 0; dy <= 2 * radius; dy++)
    for (int dx = 0; dx <= 2 * radius; dx++)
      sum += tile[(threadIdx.y + dy) * tw + threadIdx.x + dx];
  int side = 2 * radius + 1;
  float c = tile[(threadIdx.y + radius) * tw + threadIdx.x + radius];
  out[y * width + x] = c + amount * (c - sum / (side * side));
}

// rotation about the middle, bilinear, four bytes a pixel
extern "C" __global__ void rotate_bilinear(uchar4* out, const uchar4* in, int width, int height, float c, float s) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float cx = width / 2.0f, cy = height / 2.0f;
  float sx = c * (x - cx) + s * (y - cy) + cx;
  float sy = -s * (x - cx) + c * (y - cy) + cy;
  int ix = (int)floorf(sx), iy = (int)floorf(sy);
  if (ix < 0 || iy < 0 || ix + 1 >= width || iy + 1 >= height) {
    out[y * width + x] = make_uchar4(0, 0, 0, 255);
    return;
  }
  float fx = sx - ix, fy = sy - iy;
  uchar4 p = in[iy * width + ix];
  uchar4 q = in[iy * width + ix + 1];
  uchar4 r = in[(iy + 1) * width + ix];
  uchar4 t = in[(iy + 1) * width + ix + 1];
  float w00 = (1 - fx) * (1 - fy), w10 = fx * (1 - fy), w01 = (1 - fx) * fy, w11 = fx * fy;
  uchar4 o;
  o.x = (unsigned char)(w00 * p.x + w10 * q.x + w01 * r.x + w11 * t.x);
  o.y = (unsigned char)(w00 * p.y + w10 * q.y + w01 * r.y + w11 * t.y);
  o.z = (unsigned char)(w00 * p.z + w10 * q.z + w01 * r.z + w11 * t.z);
  o.w = 255;
  out[y * width + x] = o;
}

__device__ bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// words of a text: a thread per character, one counter per block
extern "C" __global__ void count_words(int* total, const char* text, int n) {
  __shared__ int words;
  if (threadIdx.x == 0) words = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    bool here = is_letter(text[i]);
    bool before = i > 0 && is_letter(text[i - 1]);
    if (here && !before) atomicAdd(&words, 1);
  }
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(total, words);
}

// Goertzel filter: a thread per frame and tone
extern "C" __global__ void goertzel_tones(float* power, const float* samples, const float* coeff, int frames, int length, int hop, int tones) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= frames * tones) return;
  int tone = i % tones;
  int frame = i / tones;
  float k = 2.0f * coeff[tone];
  float s1 = 0.0f, s2 = 0.0f;
  const float* x = samples + frame * hop;
  for (int j = 0; j < length; j++) {
    float s0 = x[j] + k * s1 - s2;
    s2 = s1;
    s1 = s0;
  }
  power[i] = s1 * s1 + s2 * s2 - k * s1 * s2;
}

// several decaying echoes that change sides, grid-stride loop
extern "C" __global__ void stereo_echo(float2* out, const float2* in, int n, int delay, int echoes, float decay) {
  int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
    float2 v = in[i];
    float gain = 1.0f;
    for (int e = 1; e <= echoes; e++) {
      int j = i - e * delay;
      if (j < 0) break;
      gain *= decay;
      float2 o = in[j];
      if (e & 1) {
        v.x += gain * o.y;
        v.y += gain * o.x;
      } else {
        v.x += gain * o.x;
        v.y += gain * o.y;
      }
    }
    v.x = fminf(fmaxf(v.x, -1.0f), 1.0f);
    v.y = fminf(fmaxf(v.y, -1.0f), 1.0f);
    out[i] = v;
  }
}

// which points lie in a polygon, by crossings
extern "C" __global__ void polygon_contains(unsigned char* inside, const float2* points, const float2* corners, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float px = points[i].x, py = points[i].y;
  bool in = false;
  for (int a = 0, b = m - 1; a < m; b = a++) {
    float2 p = corners[a];
    float2 q = corners[b];
    if ((p.y > py) != (q.y > py)) {
      float x = (q.x - p.x) * (py - p.y) / (q.y - p.y) + p.x;
      if (px < x) in = !in;
    }
  }
  inside[i] = in ? 1 : 0;
}

// all distances on the globe
extern "C" __global__ void haversine_matrix(float* dist, const float* lat, const float* lon, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= n || j >= n) return;
  float la = lat[i], lb = lat[j];
  float sa = sinf((lb - la) * 0.5f);
  float so = sinf((lon[j] - lon[i]) * 0.5f);
  float h = sa * sa + cosf(la) * cosf(lb) * so * so;
  dist[i * n + j] = 2.0f * 6371.0f * asinf(sqrtf(h));
}

// enumeration sort: each thread finds the place of its element
extern "C" __global__ void rank_sort(float* sorted, const float* data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float mine = data[i];
    int rank = 0;
    for (int j = 0; j < n; j++) {
      float other = data[j];
      if (other < mine || (other == mine && j < i)) rank++;
    }
    sorted[rank] = mine;
  }
}

// cellular automaton (rule 30) on packed bits, up to 32 steps in shared memory, one word of halo each side
extern "C" __global__ void rule_bits(unsigned int* out, const unsigned int* in, int words, int steps) {
  __shared__ unsigned int cells[2][1024];
  int inner = blockDim.x - 2;
  int i = blockIdx.x * inner + (int)threadIdx.x - 1;
  int at = (i + words) % words;
  cells[0][threadIdx.x] = in[at];
  __syncthreads();
  int from = 0;
  for (int s = 0; s < steps; s++) {
    unsigned int c = cells[from][threadIdx.x];
    unsigned int l = threadIdx.x > 0 ? cells[from][threadIdx.x - 1] : 0u;
    unsigned int r = threadIdx.x + 1 < blockDim.x ? cells[from][threadIdx.x + 1] : 0u;
    unsigned int left = (c >> 1) | (l << 31);
    unsigned int right = (c << 1) | (r >> 31);
    cells[1 - from][threadIdx.x] = left ^ (c | right);
    from = 1 - from;
    __syncthreads();
  }
  if (threadIdx.x > 0 && (int)threadIdx.x <= inner && i < words) out[i] = cells[from][threadIdx.x];
}

// n queens: a thread per placement of the first rows, the rest by backtracking with bit masks
extern "C" __global__ void queens_below(int* counts, int n, int fixed, int total) {
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id >= total) return;
  unsigned int all = (1u << n) - 1;
  unsigned int cols = 0, d1 = 0, d2 = 0;
  int rest = id;
  bool good = true;
  for (int r = 0; r < fixed; r++) {
    unsigned int bit = 1u << (rest % n);
    rest /= n;
    if ((cols | d1 | d2) & bit) good = false;
    cols |= bit;
    d1 = (d1 | bit) << 1;
    d2 = (d2 | bit) >> 1;
  }
  int found = 0;
  if (good) {
    unsigned int stack_free[16], stack_cols[16], stack_d1[16], stack_d2[16];
    int depth = 0;
    stack_cols[0] = cols;
    stack_d1[0] = d1;
    stack_d2[0] = d2;
    stack_free[0] = all & ~(cols | d1 | d2);
    while (depth >= 0) {
      unsigned int f = stack_free[depth];
      if (f == 0) {
        depth--;
        continue;
      }
      unsigned int bit = f & (0u - f);
      stack_free[depth] = f ^ bit;
      unsigned int c = stack_cols[depth] | bit;
      if (c == all) {
        found++;
        continue;
      }
      unsigned int a = (stack_d1[depth] | bit) << 1;
      unsigned int b = (stack_d2[depth] | bit) >> 1;
      depth++;
      stack_cols[depth] = c;
      stack_d1[depth] = a;
      stack_d2[depth] = b;
      stack_free[depth] = all & ~(c | a | b);
    }
  }
  counts[id] = found;
}

__device__ float fade(float t) { return t * t * t * (t * (t * 6.0f - 15.0f) + 10.0f); }

__device__ float grad(int hash, float x, float y) {
  int h = hash & 7;
  float u = h < 4 ? x : y;
  float v = h < 4 ? y : x;
  return ((h & 1) ? -u : u) + ((h & 2) ? -2.0f * v : 2.0f * v);
}

// Perlin noise of several octaves with a permutation table
extern "C" __global__ void perlin_octaves(float* out, const int* perm, int width, int height, int octaves, float scale) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float sum = 0.0f, amp = 1.0f, freq = scale;
  for (int o = 0; o < octaves; o++) {
    float fx = x * freq, fy = y * freq;
    int ix = (int)floorf(fx), iy = (int)floorf(fy);
    fx -= ix;
    fy -= iy;
    ix &= 255;
    iy &= 255;
    int a = perm[ix] + iy;
    int b = perm[(ix + 1) & 255] + iy;
    float u = fade(fx), v = fade(fy);
    float n00 = grad(perm[a], fx, fy);
    float n10 = grad(perm[b], fx - 1.0f, fy);
    float n01 = grad(perm[a + 1], fx, fy - 1.0f);
    float n11 = grad(perm[b + 1], fx - 1.0f, fy - 1.0f);
    float top = n00 + u * (n10 - n00);
    float bottom = n01 + u * (n11 - n01);
    sum += amp * (top + v * (bottom - top));
    amp *= 0.5f;
    freq *= 2.0f;
  }
  out[y * width + x] = sum;
}

// bytes as hexadecimal text, 16 to a line
extern "C" __global__ void hex_lines(char* text, const unsigned char* bytes, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const char digits[17] = "0123456789abcdef";
  unsigned char b = bytes[i];
  text[3 * i] = digits[b >> 4];
  text[3 * i + 1] = digits[b & 15];
  text[3 * i + 2] = (i % 16 == 15) ? '\n' : ' ';
}

// k-means, second half: sums of the points of each centre with global atomics
extern "C" __global__ void centre_sums(float* sums, int* counts, const float* points, const int* label, int n, int dim) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int c = label[i];
  for (int d = 0; d < dim; d++) atomicAdd(&sums[c * dim + d], points[i * dim + d]);
  atomicAdd(&counts[c], 1);
}
