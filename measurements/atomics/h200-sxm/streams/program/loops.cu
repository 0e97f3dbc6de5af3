// Loops of compare-and-swap as sources write them.
extern "C" __global__ void add_loop(unsigned* data, unsigned n, unsigned addresses, unsigned spacing, int warp) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned* at = data + (unsigned long long)((warp ? i / 32 : i) % addresses) * spacing;
  unsigned old = *(volatile unsigned*)at, seen;
  while ((seen = atomicCAS(at, old, old + 1)) != old) old = seen;
}
// As the guide has it: an addition of doubles.
extern "C" __global__ void add_double(const double* __restrict__ in, double* __restrict__ sums, int n, int bins) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long* at = (unsigned long long*)(sums + (unsigned)i % (unsigned)bins);
  unsigned long long old = *at, assumed;
  do {
    assumed = old;
    old = atomicCAS(at, assumed, __double_as_longlong(in[i] + __longlong_as_double(assumed)));
  } while (assumed != old);
}
// The largest float of each block, then of all: a loop of compare-and-swap.
extern "C" __global__ void max_float(const float* __restrict__ in, float* __restrict__ best, int n) {
  float most = -1e30f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) most = fmaxf(most, in[i]);
  for (int d = 16; d; d /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
  if (threadIdx.x % 32 == 0) {
    int* at = (int*)best;
    int old = *at, assumed;
    do {
      assumed = old;
      if (__int_as_float(assumed) >= most) break;
      old = atomicCAS(at, assumed, __float_as_int(most));
    } while (assumed != old);
  }
}
// Floats added at random rows by compare-and-swap.
extern "C" __global__ void scatter_add(const int* __restrict__ rows, const float* __restrict__ in, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float factor = in[i];
  int* at = (int*)(out + rows[i]);
  int old = *at, assumed;
  do {
    assumed = old;
    old = atomicCAS(at, assumed, __float_as_int(__int_as_float(assumed) + factor));
  } while (assumed != old);
}
