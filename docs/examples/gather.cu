// out[i] = table[index[i]]: what the indices are decides how many sectors each request touches.
extern "C" __global__ void gather(float* out, const float* table, const int* index, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    out[i] = table[index[i]];
  }
}
