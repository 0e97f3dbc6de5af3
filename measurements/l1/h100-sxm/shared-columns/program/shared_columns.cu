// Where blocks run, and what they read of columns that blocks of a row of the grid share.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void where(unsigned* sm, unsigned long long* begin, unsigned long long* end, int clocks) {
  unsigned id;
  unsigned long long now;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  long long start = clock64();
  while (clock64() - start < clocks) {
  }
  if (threadIdx.x == 0) {
    unsigned b = blockIdx.y * gridDim.x + blockIdx.x;
    sm[b] = id;
    begin[b] = now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    end[b] = now;
  }
}

// All blocks of one blockIdx.x read the same columns, row by row.
__global__ void columns(float* out, const float* in, int rows, int width) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.f;
#pragma unroll 4
  for (int r = 0; r < rows; r++) sum += in[(size_t)r * width + x];
  if (sum == 12345.f) out[x] = sum;
}

int main(int argc, char** argv) {
  bool places = argc > 1;
  float *in, *out;
  unsigned* sm;
  unsigned long long *begin, *end;
  cudaMalloc(&in, 256 << 20);
  cudaMalloc(&out, 1 << 20);
  cudaMalloc(&sm, 1 << 20);
  cudaMalloc(&begin, 4 << 20);
  cudaMalloc(&end, 4 << 20);
  cudaMemset(in, 0, 256 << 20);
  for (int block : {128, 256, 512, 1024})
    for (int gx : {1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 16, 22, 24, 32, 33, 44, 48, 64, 66, 132})
      for (int per : {2, 3, 6, 8, 16, 24}) {  // blocks for each SM, about
        int gy = (132 * per + gx - 1) / gx;
        if (gx > 66 && per > 6) continue;
        dim3 grid(gx, gy);
        if (places) {
          where<<<grid, block>>>(sm, begin, end, 8000);
          std::vector<unsigned> s(gx * gy);
          std::vector<unsigned long long> b(gx * gy), e(gx * gy);
          cudaMemcpy(s.data(), sm, 4 * s.size(), cudaMemcpyDeviceToHost);
          cudaMemcpy(b.data(), begin, 8 * s.size(), cudaMemcpyDeviceToHost);
          cudaMemcpy(e.data(), end, 8 * s.size(), cudaMemcpyDeviceToHost);
          unsigned long long first = b[0];
          for (auto t : b) first = t < first ? t : first;
          printf("%d %d %d:", block, gx, gy);
          for (size_t i = 0; i < s.size(); i++) printf(" %u,%llu", s[i], (b[i] - first) / 100);
          printf("\n");
        } else if (per != 2 && per != 16) {
          int rows = 512;
          columns<<<grid, block>>>(out, in, rows, gx * block);
          printf("%d,%d,%d,%d\n", block, gx, gy, rows);
        }
      }
  return cudaDeviceSynchronize();
}
