// Kernels of finance: early exercise on a lattice, volatilities from prices.

#define MOST_STEPS 512

// American puts on binomial lattices: a block an option, its prices and two levels of values in shared memory, from
// the last step to the first.
extern "C" __global__ void __launch_bounds__(256)
    american_lattice(const float* __restrict__ spots, const float* __restrict__ spreads, float* __restrict__ out,
                     int steps, float strike, float rate, float years) {
  __shared__ float prices[2 * MOST_STEPS + 1], values[2][MOST_STEPS + 1];
  int t = threadIdx.x;
  float spot = strike * (0.7f + 0.6f * spots[blockIdx.x]), spread = 0.1f + 0.4f * spreads[blockIdx.x];
  float step = years / steps, h = spread * sqrtf(step), less = expm1f(-h);
  float up = (expm1f(rate * step) - less) / (expm1f(h) - less), discount = expf(-rate * step);
  float down = discount * (1.0f - up);
  up *= discount;
  for (int k = t; k <= 2 * steps; k += blockDim.x) prices[k] = spot * expf((k - steps) * h);
  __syncthreads();
  for (int j = t; j <= steps; j += blockDim.x) values[steps % 2][j] = fmaxf(strike - prices[2 * j], 0.0f);
  __syncthreads();
  for (int s = steps - 1; s >= 0; --s) {
    const float* from = values[(s + 1) % 2];
    for (int j = t; j <= s; j += blockDim.x) {
      float held = up * from[j + 1] + down * from[j];
      values[s % 2][j] = fmaxf(held, strike - prices[2 * j - s + steps]);
    }
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = values[0][0];
}

__device__ __forceinline__ float below(float x) { return 0.5f * erfcf(-0.707106781f * x); }

// The volatility that gives a call its price: Newton's steps, halving where they leave the bracket, until the price is
// met; what is given is where the price lies between its bounds.
extern "C" __global__ void implied_volatility(const float* __restrict__ spots, const float* __restrict__ years,
                                              const float* __restrict__ shares, float* __restrict__ out, int n,
                                              float strike, float rate, float tiny, int most) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float spot = strike * (0.6f + 0.8f * spots[i]), time = 0.1f + 2.0f * years[i];
  float due = strike * expf(-rate * time), least = fmaxf(spot - due, 0.0f);
  float price = least + (0.02f + 0.5f * shares[i]) * (spot - least);
  float away = logf(spot / due), root = sqrtf(time), low = 0.01f, high = 16.0f;
  float spread = fmaxf(sqrtf(2.0f * fabsf(away) / time), 0.2f);
  for (int k = 0; k < most; ++k) {
    float wide = spread * root, first = away / wide + 0.5f * wide;
    float miss = spot * below(first) - due * below(first - wide) - price;
    if (fabsf(miss) < tiny * spot) break;
    if (miss > 0.0f)
      high = spread;
    else
      low = spread;
    float slope = 0.398942280f * spot * root * expf(-0.5f * first * first);
    float next = spread - miss / slope;
    spread = next > low && next < high ? next : 0.5f * (low + high);
  }
  out[i] = spread;
}
