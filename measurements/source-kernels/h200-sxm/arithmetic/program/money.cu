#include <math.h>
#define ID (blockIdx.x * blockDim.x + threadIdx.x)
// European calls and puts
extern "C" __global__ void price_options(const float* __restrict__ s, const float* __restrict__ k,
                                         const float* __restrict__ t, float* __restrict__ call, float* __restrict__ put,
                                         float r, float v, int n) {
  int i = ID;
  if (i >= n) return;
  float S = 5.0f + 25.0f * s[i], K = 1.0f + 99.0f * k[i], T = 0.25f + 9.75f * t[i];
  float q = sqrtf(T), d1 = (logf(S / K) + (r + 0.5f * v * v) * T) / (v * q), d2 = d1 - v * q;
  float c1 = normcdff(d1), c2 = normcdff(d2), e = expf(-r * T);
  call[i] = S * c1 - K * e * c2;
  put[i] = K * e * (1.0f - c2) - S * (1.0f - c1);
}
__device__ __forceinline__ uint4 philox(uint4 c, uint2 k) {
#pragma unroll
  for (int r = 0; r < 10; ++r) {
    unsigned h0 = __umulhi(0xD2511F53u, c.x), l0 = 0xD2511F53u * c.x, h1 = __umulhi(0xCD9E8D57u, c.z),
             l1 = 0xCD9E8D57u * c.z;
    c = make_uint4(h1 ^ c.y ^ k.x, l1, h0 ^ c.w ^ k.y, l0);
    k.x += 0x9E3779B9u;
    k.y += 0xBB67AE85u;
  }
  return c;
}
// Heston paths: full truncation
extern "C" __global__ void heston_paths(float* __restrict__ out, int steps, float dt, float kappa, float theta,
                                        float xi, float rho) {
  int i = ID;
  float x = 0.0f, v = 0.04f;
  float root = sqrtf(dt), other = sqrtf(1.0f - rho * rho);
  for (int s = 0; s < steps; ++s) {
    uint4 u = philox(make_uint4(i, s, 7u, 11u), make_uint2(3u, 5u));
    float a = sqrtf(-2.0f * logf((u.x + 0.5f) * 2.3283064e-10f)), b = 6.2831853f * (u.y * 2.3283064e-10f), z0, z1;
    sincosf(b, &z1, &z0);
    z0 *= a;
    z1 *= a;
    float vp = fmaxf(v, 0.0f), sv = sqrtf(vp);
    x += -0.5f * vp * dt + sv * root * z0;
    v += kappa * (theta - vp) * dt + xi * sv * root * (rho * z0 + other * z1);
  }
  out[i] = expf(x);
}
// Call spreads: payoffs that are often nothing, over what they cost
extern "C" __global__ void payoff_ratios(const float* __restrict__ spot, const float* __restrict__ cost,
                                         float* __restrict__ out, int n, int strikes) {
  int i = ID;
  if (i >= n) return;
  float s = spot[i], c = 0.5f + cost[i], sum = 0.0f;
  for (int k = 0; k < strikes; ++k) {
    float strike = 0.5f + 0.02f * k;
    float pay = fmaxf(s - strike, 0.0f);
    sum += pay / (c + strike);
  }
  out[i] = sum;
}
// Bond yields by Newton's method, doubles
extern "C" __global__ void bond_yields(const double* __restrict__ price, double* __restrict__ out, int n, int coupons) {
  int i = ID;
  if (i >= n) return;
  double target = 80.0 + 40.0 * price[i], y = 0.05;
  for (int it = 0; it < 20; ++it) {
    double f = -target, d = 0.0, disc = 1.0, q = 1.0 / (1.0 + y);
    for (int k = 1; k <= coupons; ++k) {
      disc *= q;
      double cash = k == coupons ? 105.0 : 5.0;
      f += cash * disc;
      d -= k * cash * disc * q;
    }
    double step = f / d;
    y -= step;
    if (fabs(step) < 1e-10) break;
  }
  out[i] = y;
}
// Correlated assets: lower triangle from constant sums, worst of basket
extern "C" __global__ void __launch_bounds__(128)
    worst_of(const float* __restrict__ lower, float* __restrict__ out, int steps) {
  __shared__ float l[36];
  for (int k = threadIdx.x; k < 36; k += 128) l[k] = lower[k];
  __syncthreads();
  int i = ID;
  float x[8];
#pragma unroll
  for (int k = 0; k < 8; ++k) x[k] = 0.0f;
  for (int s = 0; s < steps; ++s) {
    float z[8];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      uint4 u = philox(make_uint4(i, s, k, 1u), make_uint2(9u, 5u));
      float a = sqrtf(-2.0f * __logf((u.x + 0.5f) * 2.3283064e-10f)), b = 6.2831853f * (u.y * 2.3283064e-10f);
      z[2 * k] = a * __cosf(b);
      z[2 * k + 1] = a * __sinf(b);
    }
#pragma unroll
    for (int r = 0; r < 8; ++r) {
      float w = 0.0f;
#pragma unroll
      for (int c = 0; c <= r; ++c) w = fmaf(l[r * (r + 1) / 2 + c], z[c], w);
      x[r] += 0.01f * w - 0.0001f;
    }
  }
  float worst = x[0];
#pragma unroll
  for (int k = 1; k < 8; ++k) worst = fminf(worst, x[k]);
  out[i] = expf(worst);
}
