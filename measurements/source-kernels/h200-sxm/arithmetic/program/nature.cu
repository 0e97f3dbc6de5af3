#include <math.h>
#define ID (blockIdx.x * blockDim.x + threadIdx.x)
// Lennard-Jones forces in doubles, atoms in tiles of shared memory, a cutoff by branches
extern "C" __global__ void __launch_bounds__(128)
    lj_double(const double* __restrict__ x, double* __restrict__ f, int n, double cutoff) {
  __shared__ double tile[3 * 128];
  int i = ID;
  double a = x[3 * i] * 8, b = x[3 * i + 1] * 8, c = x[3 * i + 2] * 8, u = 0, v = 0, w = 0;
  for (int first = 0; first < n; first += 128) {
    for (int k = threadIdx.x; k < 384; k += 128) tile[k] = x[3 * first + k] * 8;
    __syncthreads();
    for (int k = 0; k < 128; ++k) {
      double p = a - tile[3 * k], q = b - tile[3 * k + 1], r = c - tile[3 * k + 2], d = p * p + q * q + r * r;
      if (d < cutoff && first + k != i) {
        double s = 1.0 / d, s6 = s * s * s, g = s6 * (48.0 * s6 - 24.0) * s;
        u += g * p;
        v += g * q;
        w += g * r;
      }
    }
    __syncthreads();
  }
  f[3 * i] = u;
  f[3 * i + 1] = v;
  f[3 * i + 2] = w;
}
// Boris' push of charged particles in a wave, many steps
extern "C" __global__ void boris(const float4* __restrict__ start, float4* __restrict__ end, int n, int steps,
                                 float dt) {
  int i = ID;
  if (i >= n) return;
  float4 s = start[i];
  float x = s.x, y = s.y, u = s.z - 0.5f, v = s.w - 0.5f, w = 0.1f;
  for (int k = 0; k < steps; ++k) {
    float ex = 0.1f * sinf(x - 0.02f * k), ey = 0.1f * cosf(y), bz = 1.0f + 0.2f * y;
    u += 0.5f * dt * ex;
    v += 0.5f * dt * ey;
    float gamma = sqrtf(1.0f + u * u + v * v + w * w), t = 0.5f * dt * bz / gamma, q = 2.0f * t / (1.0f + t * t);
    float p = u + v * t, r = v - u * t;
    u += r * q;
    v -= p * q;
    u += 0.5f * dt * ex;
    v += 0.5f * dt * ey;
    gamma = sqrtf(1.0f + u * u + v * v + w * w);
    x += dt * u / gamma;
    y += dt * v / gamma;
  }
  end[i] = make_float4(x, y, u, v);
}
// Distances of a point to spheres along rays, as long as it takes
extern "C" __global__ void sphere_march(const float4* __restrict__ spheres, float* __restrict__ out, int width,
                                        int height, int many) {
  int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px >= width || py >= height) return;
  float dx = (px + 0.5f) / width - 0.5f, dy = (py + 0.5f) / height - 0.5f, dz = 1.0f,
        inv = rsqrtf(dx * dx + dy * dy + dz * dz), t = 0.0f;
  dx *= inv;
  dy *= inv;
  dz *= inv;
  for (int step = 0; step < 64; ++step) {
    float near = 100.0f, x = t * dx, y = t * dy, z = t * dz - 2.0f;
    for (int k = 0; k < many; ++k) {
      float4 s = spheres[k];
      float a = x - s.x + 0.5f, b = y - s.y + 0.5f, c = z - s.z;
      near = fminf(near, sqrtf(a * a + b * b + c * c) - 0.2f * s.w);
    }
    t += near;
    if (near < 1e-3f || t > 10.0f) break;
  }
  out[py * width + px] = t;
}
// Kepler's equation in doubles, fixed number of Newton's steps
extern "C" __global__ void kepler_double(const double* __restrict__ mean, double* __restrict__ out, int n, double e) {
  int i = ID;
  if (i >= n) return;
  double m = 6.283185307179586 * mean[i], x = m;
  for (int k = 0; k < 6; ++k) {
    double s, c;
    sincos(x, &s, &c);
    x -= (x - e * s - m) / (1.0 - e * c);
  }
  out[i] = x;
}
// Inverses of matrices of 4 by 4
extern "C" __global__ void invert4(const float4* __restrict__ in, float4* __restrict__ out, int n) {
  int i = ID;
  if (i >= n) return;
  float a[4][4], b[4][4];
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    float4 v = in[4ll * i + r];
    a[r][0] = v.x;
    a[r][1] = v.y;
    a[r][2] = v.z;
    a[r][3] = v.w;
    a[r][r] += 4.0f;
#pragma unroll
    for (int c = 0; c < 4; ++c) b[r][c] = r == c;
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    float p = 1.0f / a[k][k];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      a[k][c] *= p;
      b[k][c] *= p;
    }
#pragma unroll
    for (int r = 0; r < 4; ++r)
      if (r != k) {
        float q = a[r][k];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
          a[r][c] -= q * a[k][c];
          b[r][c] -= q * b[k][c];
        }
      }
  }
#pragma unroll
  for (int r = 0; r < 4; ++r) out[4ll * i + r] = make_float4(b[r][0], b[r][1], b[r][2], b[r][3]);
}
// Exponentials of matrices of 3 by 3 in doubles: halved, a series, squared again
extern "C" __global__ void expm3(const double* __restrict__ in, double* __restrict__ out, int n, int squarings) {
  int i = ID;
  if (i >= n) return;
  double a[9], t[9], s[9], w[9], f = 1.0 / (1 << squarings);
#pragma unroll
  for (int k = 0; k < 9; ++k) {
    a[k] = in[(long long)k * n + i] * f;
    t[k] = s[k] = k % 4 == 0;
  }
  for (int term = 1; term <= 8; ++term) {
#pragma unroll
    for (int r = 0; r < 3; ++r)
#pragma unroll
      for (int c = 0; c < 3; ++c)
        w[3 * r + c] = (t[3 * r] * a[c] + t[3 * r + 1] * a[3 + c] + t[3 * r + 2] * a[6 + c]) / term;
#pragma unroll
    for (int k = 0; k < 9; ++k) {
      t[k] = w[k];
      s[k] += w[k];
    }
  }
  for (int q = 0; q < squarings; ++q) {
#pragma unroll
    for (int r = 0; r < 3; ++r)
#pragma unroll
      for (int c = 0; c < 3; ++c) w[3 * r + c] = s[3 * r] * s[c] + s[3 * r + 1] * s[3 + c] + s[3 * r + 2] * s[6 + c];
#pragma unroll
    for (int k = 0; k < 9; ++k) s[k] = w[k];
  }
#pragma unroll
  for (int k = 0; k < 9; ++k) out[(long long)k * n + i] = s[k];
}
// LU of a 6 by 6 system a thread, and its solution
extern "C" __global__ void solve6(const float* __restrict__ in, float* __restrict__ out, int n) {
  int i = ID;
  if (i >= n) return;
  float a[6][7];
#pragma unroll
  for (int r = 0; r < 6; ++r)
#pragma unroll
    for (int c = 0; c < 7; ++c) a[r][c] = in[(long long)(7 * r + c) * n + i] + (r == c ? 6.0f : 0.0f);
#pragma unroll
  for (int k = 0; k < 6; ++k)
#pragma unroll
    for (int r = k + 1; r < 6; ++r) {
      float q = a[r][k] / a[k][k];
#pragma unroll
      for (int c = k + 1; c < 7; ++c) a[r][c] -= q * a[k][c];
    }
#pragma unroll
  for (int k = 5; k >= 0; --k) {
    float s = a[k][6];
#pragma unroll
    for (int c = k + 1; c < 6; ++c) s -= a[k][c] * a[c][6];
    a[k][6] = s / a[k][k];
    out[(long long)k * n + i] = a[k][6];
  }
}
// Runge and Kutta's steps of three chained pendulums in doubles
extern "C" __global__ void pendulums(const double* __restrict__ start, double* __restrict__ end, int n, int steps,
                                     double h) {
  int i = ID;
  if (i >= n) return;
  double y[4] = {start[i] * 2, start[n + i] * 2, 0, 0}, k1[4], k2[4], k3[4], k4[4], z[4];
  auto slope = [](const double* s, double* d) {
    double c = cos(s[0] - s[1]), t = sin(s[0] - s[1]), den = 2.0 - c * c;
    d[0] = s[2];
    d[1] = s[3];
    d[2] = (-t * (s[3] * s[3] + s[2] * s[2] * c) - 19.62 * sin(s[0]) + 9.81 * c * sin(s[1])) / den;
    d[3] = (t * (2 * s[2] * s[2] + s[3] * s[3] * c) + 19.62 * (sin(s[0]) * c - sin(s[1]))) / den;
  };
  for (int k = 0; k < steps; ++k) {
    slope(y, k1);
    for (int j = 0; j < 4; ++j) z[j] = y[j] + 0.5 * h * k1[j];
    slope(z, k2);
    for (int j = 0; j < 4; ++j) z[j] = y[j] + 0.5 * h * k2[j];
    slope(z, k3);
    for (int j = 0; j < 4; ++j) z[j] = y[j] + h * k3[j];
    slope(z, k4);
    for (int j = 0; j < 4; ++j) y[j] += h / 6 * (k1[j] + 2 * k2[j] + 2 * k3[j] + k4[j]);
  }
  end[i] = y[0];
  end[n + i] = y[1];
}
// Mandelbrot's set in doubles
extern "C" __global__ void mandelbrot(int* __restrict__ out, int width, int height, int most) {
  int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px >= width || py >= height) return;
  double cx = -2.0 + 3.0 * px / width, cy = -1.5 + 3.0 * py / height, x = 0, y = 0;
  int k = 0;
  while (k < most && x * x + y * y < 4.0) {
    double t = x * x - y * y + cx;
    y = 2.0 * x * y + cy;
    x = t;
    ++k;
  }
  out[py * width + px] = k;
}
