// sums[r] = the sum of row r, one warp per row, 16 B per lane; cols is a multiple of 128.
extern "C" __global__ void row_sums(const float4* matrix, float* sums, int rows, int cols) {
  const int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (r >= rows) return;
  float sum = 0.0f;
  for (int c = lane; c < cols / 4; c += 32) {
    const float4 four = matrix[r * (cols / 4) + c];
    sum += four.x + four.y + four.z + four.w;
  }
  for (int other = 16; other > 0; other /= 2) sum += __shfl_down_sync(0xffffffff, sum, other);
  if (lane == 0) sums[r] = sum;
}
