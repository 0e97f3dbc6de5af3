// sums[r] = the sum of row r, one thread per row.
extern "C" __global__ void row_sums(const float* matrix, float* sums, int rows, int cols) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float sum = 0.0f;
  for (int c = 0; c < cols; ++c) sum += matrix[r * cols + c];
  sums[r] = sum;
}
