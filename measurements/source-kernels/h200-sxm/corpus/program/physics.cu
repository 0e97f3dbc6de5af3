// Arithmetic: n-body, options, a lattice, polynomials.
extern "C" __global__ void nbody_tile(const float4* __restrict__ bodies, float4* __restrict__ forces, int n) {
  __shared__ float4 tile[128];
  int i = blockIdx.x * 128 + threadIdx.x;
  float4 me = bodies[i];
  float fx = 0.0f, fy = 0.0f, fz = 0.0f;
  for (int base = 0; base < n; base += 128) {
    tile[threadIdx.x] = bodies[base + threadIdx.x];
    __syncthreads();
#pragma unroll 8
    for (int j = 0; j < 128; ++j) {
      float dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
      float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-4f);
      float s = tile[j].w * inverse * inverse * inverse;
      fx += s * dx;
      fy += s * dy;
      fz += s * dz;
    }
    __syncthreads();
  }
  forces[i] = make_float4(fx, fy, fz, 0.0f);
}

extern "C" __global__ void nbody_plain(const float4* __restrict__ bodies, float4* __restrict__ forces, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 me = bodies[i];
  float fx = 0.0f, fy = 0.0f, fz = 0.0f;
  for (int j = 0; j < n; ++j) {
    float4 other = bodies[j];
    float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
    float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-4f);
    float s = other.w * inverse * inverse * inverse;
    fx += s * dx;
    fy += s * dy;
    fz += s * dz;
  }
  forces[i] = make_float4(fx, fy, fz, 0.0f);
}

__device__ __forceinline__ float normal_below(float d) { return 0.5f * erfcf(-0.70710678f * d); }

extern "C" __global__ void option_prices(const float* __restrict__ spot, const float* __restrict__ strike, const float* __restrict__ years, float* __restrict__ call, float rate, float volatility, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s = 1.0f + spot[i], k = 1.0f + strike[i], t = 0.25f + years[i];
  float spread = volatility * sqrtf(t);
  float d1 = (logf(s / k) + (rate + 0.5f * volatility * volatility) * t) / spread;
  call[i] = s * normal_below(d1) - k * expf(-rate * t) * normal_below(d1 - spread);
}

extern "C" __global__ void polynomial(const float* __restrict__ in, float* __restrict__ out, int degree, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i], sum = 1.0f;
  for (int d = degree; d > 0; --d) sum = sum * x + 1.0f / 3.0f;
  out[i] = sum;
}

// Nine planes of a lattice gas: each moves one site on a torus.
extern "C" __global__ void lattice_stream(const float* __restrict__ in, float* __restrict__ out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  int plane = width * height, at = y * width + x;
#pragma unroll
  for (int k = 0; k < 9; ++k) {
    int sx = (x - (k % 3 - 1) + width) % width, sy = (y - (k / 3 - 1) + height) % height;
    out[k * plane + at] = in[k * plane + sy * width + sx];
  }
}

extern "C" __global__ void heat_double(const double* __restrict__ in, double* __restrict__ out, int steps, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double t = in[i];
  for (int s = 0; s < steps; ++s) t = t + 0.01 * (0.5 - t) * t;
  out[i] = t;
}
