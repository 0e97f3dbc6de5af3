// Grey values of n pixels, three floats each: red, green and blue of a pixel are neighbours.
extern "C" __global__ void grey(float* out, const float* rgb, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    out[i] = 0.299f * rgb[3 * i] + 0.587f * rgb[3 * i + 1] + 0.114f * rgb[3 * i + 2];
  }
}
