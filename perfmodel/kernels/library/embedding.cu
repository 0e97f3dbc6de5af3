// A random row of 32 floats of a table for each lookup, one warp a lookup, and the warp's share of a
// stream that is read once: `share` floats. The sums are never as compared with, so that nothing is
// stored.
//
// Launch: grid ceil(lookups / 8), block 256.

extern "C" __global__ void embedding(const float* __restrict__ table, const unsigned* __restrict__ rows,
                                     const float* __restrict__ stream, float* out, unsigned lookups,
                                     unsigned share) {
  const unsigned lookup = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (lookup < lookups) {
    float s = table[(size_t)rows[lookup] * 32 + lane];
    for (unsigned i = lane; i < share; i += 32) s += stream[(size_t)lookup * share + i];
    if (s == 12345.678f) out[0] = s;
  }
}
