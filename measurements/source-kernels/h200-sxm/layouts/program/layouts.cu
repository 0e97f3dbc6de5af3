// Kernels whose layout or block an advice changes, before and after.  ncu prints the rest:
// ncu --clock-control none --cache-control all --csv --page raw --print-units base --metrics
//   gpu__time_duration.sum,dram__bytes_read.sum,lts__t_sectors_srcunit_tex_op_read.sum ./layouts
#include <cstdio>
__global__ void col(int n, const float* x, float* y) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
  if (r < n) {
    for (int k = 0; k < 256; ++k) s += x[r * 256 + k];
    y[r] = s;
  }
}
__global__ void dense(int n, const float* x, float* y) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  int lane = threadIdx.x % 32;
  float s = 0;
  if (r < n) {
#pragma unroll 32
    for (int k = 0; k < 256; ++k) s += x[(r - lane) * 256 + k * 32 + lane];
    y[r] = s;
  }
}
__global__ void fields(int n, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i * 6] + 2 * x[i * 6 + 1] + 3 * x[i * 6 + 2] + x[i * 6 + 4];
}
__global__ void fields_apart(int n, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  const float* p = x + (i - lane) * 6 + lane;
  if (i < n) y[i] = p[0] + 2 * p[32] + 3 * p[64] + p[128];
}
__global__ void __launch_bounds__(512) poly(int n, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float v = x[i], s = 0;
    for (int k = 0; k < 64; ++k) s = s * v + k;
    y[i] = s;
  }
}
int main() {
  float *x, *y;
  cudaMalloc(&x, 4ul * 512 * 1024 * 1024);
  cudaMalloc(&y, 128 << 20);
  cudaMemset(x, 1, 4ul * 512 * 1024 * 1024);
  for (int repeat = 0; repeat < 3; ++repeat) {
    for (int block : {1024, 256}) {
      col<<<(500000 + block - 1) / block, block>>>(500000, x, y);
      dense<<<(500000 + block - 1) / block, block>>>(500000, x, y);
    }
    for (int block = 32; block <= 512; block *= 2) poly<<<16777216 / block, block>>>(16777216, x, y);
    fields<<<46875, 256>>>(12000000, x, y);
    fields_apart<<<46875, 256>>>(12000000, x, y);
  }
  cudaDeviceSynchronize();
  printf("%s\n", cudaGetErrorString(cudaGetLastError()));
}
