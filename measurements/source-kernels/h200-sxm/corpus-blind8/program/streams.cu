// Streams of several types and layouts: halves, structures of 12 and 20 bytes, bytes to planes, 64-bit integers.
#include <cuda_fp16.h>

// z = a x + y of halves, two an operation, in a grid-stride loop.
extern "C" __global__ void saxpy_half2(const __half2* __restrict__ x, const __half2* __restrict__ y,
                                       __half2* __restrict__ z, float a, int pairs) {
  __half2 scale = __float2half2_rn(a);
  int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < pairs; i += stride) z[i] = __hfma2(scale, x[i], y[i]);
}

struct Vector {
  float x, y, z;
};

// Directions of an array of structures of 12 bytes: each over its length.
extern "C" __global__ void normalise_aos12(const Vector* in, Vector* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    Vector v = in[i];
    float scale = rsqrtf(v.x * v.x + v.y * v.y + v.z * v.z + 1e-12f);
    v.x *= scale;
    v.y *= scale;
    v.z *= scale;
    out[i] = v;
  }
}

struct Charge {
  float x, y, z, charge, mass;
};

// Energy of each charge beside a fixed one and in gravity, from an array of structures of 20 bytes.
extern "C" __global__ void energy_aos20(const Charge* __restrict__ in, float* __restrict__ out, float px, float py,
                                        float pz, float soft, float gravity, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float dx = in[i].x - px, dy = in[i].y - py, dz = in[i].z - pz;
  float distance = sqrtf(dx * dx + dy * dy + dz * dz + soft);
  out[i] = in[i].charge / distance + gravity * in[i].mass * in[i].z;
}

// Pixels of three bytes to three planes and a grey one, a pixel a thread.
extern "C" __global__ void bytes_to_planes(const unsigned char* in, unsigned char* red, unsigned char* green,
                                           unsigned char* blue, unsigned char* grey, int pixels) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= pixels) return;
  unsigned r = in[3 * i], g = in[3 * i + 1], b = in[3 * i + 2];
  red[i] = r;
  green[i] = g;
  blue[i] = b;
  grey[i] = (77 * r + 150 * g + 29 * b) >> 8;
}

// Differences of 64-bit integers some places apart, with 64-bit indices in a grid-stride loop.
extern "C" __global__ void difference_long(const long long* __restrict__ in, long long* __restrict__ out, long long n,
                                           long long lag) {
  long long stride = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n - lag; i += stride)
    out[i] = in[i + lag] - in[i];
}
