// Rows stored four bytes a lane, whole sectors or not; rows that lanes or one warp read in order.
#include <cstdint>
#include <cstdio>

// Planes of rows, one after the other.
__global__ void planes(uint8_t* out, int width, int height, size_t pitch, int offset, int count) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  for (int p = 0; p < count; p++)
    *(uint32_t*)(out + (size_t)p * pitch * height + (size_t)y * pitch + offset + 4 * x) = x;
}

// The same with two rows of each plane a thread.
__global__ void two_rows(uint8_t* out, int width, int height, size_t pitch, int offset,
                         int count) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
#pragma unroll
  for (int r = 0; r < 2; r++)
    for (int p = 0; p < count; p++)
      *(uint32_t*)(out + (size_t)p * pitch * height * 2 + (size_t)(2 * y + r) * pitch + offset +
                   4 * x) = x;
}

// Each lane reads a row of its own, four bytes a turn.
__global__ void rows(unsigned* out, const uint8_t* in, int pitch, int turns) {
  const uint8_t* at = in + (size_t)(blockIdx.x * blockDim.x + threadIdx.x) * pitch;
  unsigned sum = 0;
#pragma unroll 1
  for (int i = 0; i < turns; i++) {
    sum += *(const uint32_t*)at;
    at += 4;
  }
  if (sum == 12345) out[threadIdx.x] = sum;
}

// One warp reads a word a lane, and moves on by a step.
__global__ void walk(unsigned* out, const uint8_t* in, int step, int turns) {
  const uint8_t* at = in + threadIdx.x * 4;
  unsigned sum = 0;
#pragma unroll 1
  for (int i = 0; i < turns; i++) {
    sum += *(const uint32_t*)at;
    at += step;
  }
  if (sum == 12345) out[threadIdx.x] = sum;
}

int main() {
  unsigned* out;
  uint8_t* in;
  size_t size = (size_t)600 << 20;
  cudaMalloc(&out, 4096);
  cudaMalloc(&in, size);
  cudaMemset(in, 1, size);
  for (int turns : {64, 256})
    for (int step : {32, 64, 128, 256, 512, 1024, 2048, 4096, 16384}) {
      walk<<<1, 32>>>(out, in, step, turns);
      printf("walk,32,%d,%d\n", step, turns);
    }
  for (int lanes : {1, 2, 4, 8, 32})
    for (int pitch : {1024, 1000, 4096, 4128, 4132})
      for (int turns : {64, 256}) {
        rows<<<1, lanes>>>(out, in, pitch, turns);
        printf("rows,%d,%d,%d\n", lanes, pitch, turns);
      }
  for (int offset : {0, 4, 16})
    for (int pitch : {7040, 7068, 7072, 7076, 7084, 7168}) {
      planes<<<dim3(56, 1643), dim3(32, 4)>>>(in, 1759, 6572, pitch, offset, 3);
      printf("planes,%d,%d\n", pitch, offset);
      two_rows<<<dim3(56, 822), dim3(32, 4)>>>(in, 1759, 3286, pitch, offset, 3);
      printf("two_rows,%d,%d\n", pitch, offset);
    }
  cudaDeviceSynchronize();
  printf("%s\n", cudaGetErrorString(cudaGetLastError()));
}
