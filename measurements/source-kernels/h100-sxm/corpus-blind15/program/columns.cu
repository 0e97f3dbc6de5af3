// Columns of a table: copies, dates, prices, and writes with gaps.

extern "C" __global__ void copy_shorts_one_by_one(const unsigned short* __restrict__ in, unsigned short* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}

extern "C" __global__ void strided_writes(const float* __restrict__ in, float* __restrict__ out, float scale, int stride, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[(long long)i * stride] = scale * in[i];
}

// Year, month and day of days since 1970, as a number of eight digits.
extern "C" __global__ void date_from_days(const int* __restrict__ days, int* __restrict__ dates, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    int z = days[i] + 719468;
    int era = (z >= 0 ? z : z - 146096) / 146097;
    unsigned day_of_era = (unsigned)(z - era * 146097);
    unsigned year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    unsigned day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    unsigned shifted = (5 * day_of_year + 2) / 153;
    unsigned day = day_of_year - (153 * shifted + 2) / 5 + 1;
    unsigned month = shifted < 10 ? shifted + 3 : shifted - 9;
    int year = (int)year_of_era + era * 400 + (month <= 2);
    dates[i] = year * 10000 + (int)(month * 100 + day);
  }
}

// Delta, gamma, vega and theta of European calls.
extern "C" __global__ void option_greeks(const float* __restrict__ spots, const float* __restrict__ strikes, const float* __restrict__ years, float* __restrict__ delta, float* __restrict__ gamma, float* __restrict__ vega, float* __restrict__ theta, float rate, float volatility, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float spot = 50.0f + 100.0f * spots[i];
  float strike = 50.0f + 100.0f * strikes[i];
  float t = 0.1f + 2.0f * years[i];
  float root = sqrtf(t);
  float d1 = (logf(spot / strike) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
  float d2 = d1 - volatility * root;
  float density = 0.39894228f * expf(-0.5f * d1 * d1);
  float discounted = strike * expf(-rate * t);
  delta[i] = normcdff(d1);
  gamma[i] = density / (spot * volatility * root);
  vega[i] = spot * density * root;
  theta[i] = -spot * density * volatility / (2.0f * root) - rate * discounted * normcdff(d2);
}
