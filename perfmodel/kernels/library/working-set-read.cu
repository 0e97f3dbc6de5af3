// A buffer read `iterations` times, 16 B per lane, past L1 (ld.global.cg): each thread reads its own part
// again and again, at a stride of the grid. What is read is folded, so that the loads are kept.
//
// Launch: two blocks of 1024 threads per SM; n vectors of 16 B.

extern "C" __global__ void working_set_read(const uint4* in, unsigned* out, long long n, int iterations) {
  const long long step = (long long)gridDim.x * blockDim.x;
  unsigned s = 0;
  for (int r = 0; r < iterations; ++r)
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
      const uint4 v = __ldcg(in + i);
      s ^= v.x ^ v.y ^ v.z ^ v.w;
    }
  if (s == 0x12345679u) out[0] = s;
}
