// out[i] = stream[i] + persistent[i % m], 16 B per thread: a table of m vectors is read again and again,
// past L1, between the lines of a copy stream of n vectors.
//
// Launch: grid ceil(n / 256), block 256.

extern "C" __global__ void stream_persistent(const float4* __restrict__ stream,
                                             const float4* __restrict__ persistent,
                                             float4* __restrict__ out, unsigned n, unsigned m) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    const float4 s = stream[i];
    const float4 p = __ldcg(persistent + i % m);
    out[i] = make_float4(s.x + p.x, s.y + p.y, s.z + p.z, s.w + p.w);
  }
}
