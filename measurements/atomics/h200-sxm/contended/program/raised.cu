// Words that data raises: compare-and-swap until it is no longer needed, or one maximum.
extern "C" __global__ void by_compare(const int* __restrict__ in, int* __restrict__ best, unsigned words, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int value = in[i], seen = best[(unsigned)i % words];
  while (value > seen) {
    int old = atomicCAS(&best[(unsigned)i % words], seen, value);
    if (old == seen) break;
    seen = old;
  }
}
extern "C" __global__ void by_maximum(const int* __restrict__ in, int* __restrict__ best, unsigned words, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int value = in[i];
  if (value > best[(unsigned)i % words]) atomicMax(&best[(unsigned)i % words], value);
}
