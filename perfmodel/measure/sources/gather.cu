// Runs of consecutive floats at random places, and strided reads: what a miss fetches beyond what
// was asked for.

// `rows` holds a random row for each run; row r starts at float r * run.
extern "C" __global__ void gather(const float* __restrict__ table,
                                  const unsigned* __restrict__ rows, float* __restrict__ out,
                                  unsigned n, unsigned run) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = table[(size_t)rows[i / run] * run + i % run];
}

extern "C" __global__ void strided_read(const float* in, float* out, long long n,
                                        long long stride) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float v = in[i * stride];
    if (v == 12345.678f) out[0] = v;  // never: the data is in [1, 2)
  }
}

extern "C" __global__ void strided_copy(const float* in, float* out, long long n,
                                        long long stride) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i * stride];
}
