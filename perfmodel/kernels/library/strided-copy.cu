// out[i] = in[i * stride + offset] in floats, one thread an element.
//
// Launch: grid ceil(n / 256), block 256.

extern "C" __global__ void strided_copy(const float* in, float* out, int n, int stride, int offset) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[(long long)i * stride + offset];
}
