// sums[r] = the sum of row r, one warp per row.
extern "C" __global__ void row_sums(const float* matrix, float* sums, int rows, int cols) {
  const int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (r >= rows) return;
  float sum = 0.0f;
  for (int c = lane; c < cols; c += 32) sum += matrix[r * cols + c];
  for (int other = 16; other > 0; other /= 2) sum += __shfl_down_sync(0xffffffff, sum, other);
  if (lane == 0) sums[r] = sum;
}
