// Lanes that part: trip counts and branches that depend on the thread or on data.
extern "C" __global__ void collatz(int* __restrict__ steps, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long value = i + 1;
  int count = 0;
  while (value != 1) {
    value = value & 1 ? 3 * value + 1 : value >> 1;
    ++count;
  }
  steps[i] = count;
}

extern "C" __global__ void mandelbrot(int* __restrict__ out, int width, int height, int most) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float cr = -2.0f + 3.0f * x / width, ci = -1.5f + 3.0f * y / height, zr = 0.0f, zi = 0.0f;
  int k = 0;
  for (; k < most && zr * zr + zi * zi < 4.0f; ++k) {
    float t = zr * zr - zi * zi + cr;
    zi = 2.0f * zr * zi + ci;
    zr = t;
  }
  out[y * width + x] = k;
}

extern "C" __global__ void odd_and_even(const float* __restrict__ in, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  if (threadIdx.x & 1) {
    for (int k = 0; k < 16; ++k) x = sinf(x) + 0.25f;
  } else {
    for (int k = 0; k < 16; ++k) x = sqrtf(x + 0.5f);
  }
  out[i] = x;
}

extern "C" __global__ void staircase(const float* __restrict__ in, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0.0f;
  for (int k = 0; k <= (i & 63); ++k) sum += in[(i & ~63) + k];
  out[i] = sum;
}

extern "C" __global__ void by_kind(const int* __restrict__ kind, const float* __restrict__ in, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  switch (kind[i]) {
    case 0: x = x * x; break;
    case 1: x = sqrtf(x); break;
    case 2: x = 1.0f / (1.0f + x); break;
    case 3: x = __expf(x); break;
    case 4: x = __logf(1.0f + x); break;
    case 5: x = x > 0.5f ? 1.0f - x : x; break;
    default: x = -x;
  }
  out[i] = x;
}

// Each thread sorts 16 numbers in an array that it indexes freely: local memory.
extern "C" __global__ void sort_sixteen(const int* __restrict__ in, int* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int mine[16];
  for (int k = 0; k < 16; ++k) mine[k] = in[k * n + i];
#pragma unroll 1
  for (int k = 1; k < 16; ++k) {
    int value = mine[k], j = k;
#pragma unroll 1
    while (j > 0 && mine[j - 1] > value) {
      mine[j] = mine[j - 1];
      --j;
    }
    mine[j] = value;
  }
  for (int k = 0; k < 16; ++k) out[k * n + i] = mine[k];
}

extern "C" __global__ void early_exit(const float* __restrict__ in, int* __restrict__ first, float limit, int length, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int k = 0;
  while (k < length && in[(long long)k * n + i] < limit) ++k;
  first[i] = k;
}
