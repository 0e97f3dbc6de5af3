// Runs of `run` consecutive floats at random places of a table: rows[j] is the row of run j, and row r
// starts at float r * run.
//
// Launch: grid ceil(n / 256), block 256, n floats in all.

extern "C" __global__ void gather(const float* __restrict__ table, const unsigned* __restrict__ rows,
                                  float* __restrict__ out, unsigned n, unsigned run) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = table[(size_t)rows[i / run] * run + i % run];
}
