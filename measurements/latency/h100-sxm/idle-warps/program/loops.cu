// Loops that the first warps of each block run, and the others do not; no barrier.
__global__ void strided(float* o, const float* a, int rows, int w) {
  if (threadIdx.x >= w * 32) return;
  float s = 0;
  const float* p = a + ((size_t)blockIdx.x * blockDim.x + threadIdx.x) * rows * 8;
#pragma unroll 1
  for (int r = 0; r < rows; r++) s += p[r * 8];
  o[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
__global__ void coalesced(float* o, const float* a, int rows, int w) {
  if (threadIdx.x >= w * 32) return;
  float s = 0;
  const float* p = a + (size_t)blockIdx.x * blockDim.x * rows + threadIdx.x;
#pragma unroll 1
  for (int r = 0; r < rows; r++) s += p[(size_t)r * blockDim.x];
  o[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
__global__ void clocks(float* o, const float* a, int rows, int w) {
  if (threadIdx.x >= w * 32) return;
  float s = a[threadIdx.x];
#pragma unroll 1
  for (int r = 0; r < rows; r++) s = s * 0.5f + 1.0f;
  o[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
