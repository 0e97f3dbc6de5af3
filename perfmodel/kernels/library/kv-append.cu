// The new token's keys and values of every head, copied to row `at` of its cache, 16 B per thread. A
// cache is [heads][context][width of a head]; `heads` are those of all sequences.
//
// Launch: block (width / 8, 128 / blockDim.x) for halves, grid ceil(heads / blockDim.y).

extern "C" __global__ void kv_append(const uint4* __restrict__ new_k, const uint4* __restrict__ new_v,
                                     uint4* cache_k, uint4* cache_v, int heads, int context, int at) {
  const int head = blockIdx.x * blockDim.y + threadIdx.y;
  if (head < heads) {
    const size_t from = (size_t)head * blockDim.x + threadIdx.x;
    const size_t to = ((size_t)head * context + at) * blockDim.x + threadIdx.x;
    cache_k[to] = new_k[from];
    cache_v[to] = new_v[from];
  }
}
