// More loops of compare-and-swap, for validation.
// Each thread adds two doubles to its row's place in an array of pairs.
extern "C" __global__ void add_pairs(const double* __restrict__ in, double* __restrict__ sums, int n, int rows) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long* at = (unsigned long long*)(sums + 2 * (i % rows));
  unsigned long long seen = *at, tried;
  do {
    tried = seen;
    seen = atomicCAS(at, tried, __double_as_longlong(__longlong_as_double(tried) + in[i] * in[i]));
  } while (tried != seen);
}
// Products of floats of each group: groups by a hashed key.
extern "C" __global__ void group_products(const unsigned* __restrict__ keys, float* __restrict__ products, int n, unsigned groups) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned* at = (unsigned*)(products + keys[i] * 2654435769u % groups);
  unsigned seen = *at, tried;
  do {
    tried = seen;
    seen = atomicCAS(at, tried, __float_as_uint(__uint_as_float(tried) + 1.5f));
  } while (tried != seen);
}
// A counter that stops at a limit it does not reach: one of each block's warps.
extern "C" __global__ void bounded_count(unsigned* counters, int n, int places) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned* at = counters + 8 * ((i / 32) % places);
  unsigned seen = *(volatile unsigned*)at, tried;
  do {
    tried = seen;
    seen = atomicCAS(at, tried, tried + 3u);
  } while (seen != tried);
}
// The smallest value of each bin, by comparisons until there is none smaller.
extern "C" __global__ void smallest(const float* __restrict__ in, const int* __restrict__ bins, int* __restrict__ least, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float value = in[i];
  int seen = least[bins[i]];
  while (__int_as_float(seen) > value) {
    int tried = seen;
    seen = atomicCAS(least + bins[i], tried, __float_as_int(value));
    if (seen == tried) break;
  }
}
