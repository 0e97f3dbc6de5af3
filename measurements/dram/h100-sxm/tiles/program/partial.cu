// Stores that leave sectors partly written until another block writes the rest: transposes of odd
// heights, rows of odd lengths put elsewhere, planes interleaved. A line a launch, in order.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { printf("error %s line %d\n", cudaGetErrorString(e), __LINE__); exit(1); } } while (0)

__global__ void fill(unsigned* p, size_t n) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
    p[i] = 0x3f000000u | ((unsigned)(i * 2654435761u) >> 9);
}

// ALONG: blocks one after the other write on along the rows of `out`, else they read on along those of `in`.
template <typename T, int N, int ROWS, bool ALONG>
__global__ void transpose(const T* in, T* out, int width, int height) {
  __shared__ T tile[N][N + 1];
  const int bx = ALONG ? blockIdx.y : blockIdx.x, by = ALONG ? blockIdx.x : blockIdx.y;
  int x = bx * N + threadIdx.x, y = by * N + threadIdx.y;
  for (int j = 0; j < N; j += ROWS)
    if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = in[(long long)(y + j) * width + x];
  __syncthreads();
  x = by * N + threadIdx.x;
  y = bx * N + threadIdx.y;
  for (int j = 0; j < N; j += ROWS)
    if (x < height && y + j < width) out[(long long)(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

// The stores of a transpose alone: what they write is not read.
template <typename T, int N, int ROWS>
__global__ void columns(T* out, int width, int height) {
  const int x = blockIdx.y * N + threadIdx.x, y = blockIdx.x * N + threadIdx.y;
  for (int j = 0; j < N; j += ROWS)
    if (x < height && y + j < width) out[(long long)(y + j) * height + x] = (T)(x + y);
}

__global__ void place_runs(const float* __restrict__ in, float* out, int rows, int length, int stride) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  const int to = (int)((long long)row * stride % rows);
  for (int k = lane; k < length; k += 32) out[(long long)to * length + k] = in[(long long)row * length + k];
}

template <int PLANES>
__global__ void interleave_known(const float* __restrict__ in, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
#pragma unroll
  for (int p = 0; p < PLANES; ++p) out[PLANES * i + p] = in[(size_t)p * n + i];
}

template <int PLANES>
__global__ void interleave_alias(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
#pragma unroll
  for (int p = 0; p < PLANES; ++p) out[PLANES * i + p] = in[(size_t)p * n + i];
}

template <int PLANES>
__global__ void interleave_one(const float* __restrict__ in, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = in[i];
#pragma unroll
  for (int p = 0; p < PLANES; ++p) out[PLANES * i + p] = v * p;
}

float *in, *out;
int repeats = 1, line = 0;

template <typename F>
void run(const char* name, int a, int b, int c, F f) {
  for (int r = 0; r < repeats; ++r) {
    f();
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    printf("%d,%s,%d,%d,%d,%d\n", line++, name, a, b, c, r);
  }
}

template <typename T, int N, int ROWS, bool ALONG>
void run_transpose(const char* name, int w, int h) {
  const int nx = (w + N - 1) / N, ny = (h + N - 1) / N;
  dim3 grid(ALONG ? ny : nx, ALONG ? nx : ny), block(N, ROWS);
  run(name, w, h, N, [&] { transpose<T, N, ROWS, ALONG><<<grid, block>>>((const T*)in, (T*)out, w, h); });
}

template <typename T, int N, int ROWS>
void run_columns(const char* name, int w, int h) {
  dim3 grid((w + N - 1) / N, (h + N - 1) / N), block(N, ROWS);
  run(name, w, h, N, [&] { columns<T, N, ROWS><<<grid, block>>>((T*)out, w, h); });
}

int main(int argc, char** argv) {
  repeats = argc > 1 ? atoi(argv[1]) : 1;
  const size_t bytes = (size_t)160 << 20;
  CHECK(cudaMalloc(&in, bytes));
  CHECK(cudaMalloc(&out, bytes));
  fill<<<1056, 256>>>((unsigned*)in, bytes / 4);
  fill<<<1056, 256>>>((unsigned*)out, bytes / 4);
  CHECK(cudaDeviceSynchronize());
  int sizes[][2] = {{1024, 1024}, {1024, 1023}, {2048, 2048}, {2048, 2047}, {3072, 3072}, {3072, 3071}, {3072, 3001},
                    {3001, 3001}, {4096, 4095}, {4096, 4094}, {4096, 4092}, {4096, 4097}, {4096, 3901}, {4096, 5001},
                    {8192, 2047}, {2048, 8191}, {8192, 4096}, {8192, 4095}, {5000, 5001}};
  for (auto& s : sizes) run_transpose<float, 32, 8, false>("float32", s[0], s[1]);
  int some[][2] = {{2048, 2047}, {3072, 3071}, {4096, 4096}, {4096, 4095}};
  for (auto& s : some) run_transpose<float, 32, 8, true>("float32-along", s[0], s[1]);
  for (auto& s : some) run_columns<float, 32, 8>("columns32", s[0], s[1]);
  for (auto& s : some) run_transpose<float, 32, 32, false>("float32-block1024", s[0], s[1]);
  for (auto& s : some) run_transpose<float, 16, 16, false>("float16", s[0], s[1]);
  int doubles[][2] = {{1536, 1024}, {1536, 1023}, {3072, 2048}, {3072, 2047}, {4096, 2047}};
  for (auto& s : doubles) run_transpose<double, 16, 16, false>("double16", s[0], s[1]);
  for (auto& s : doubles) run_transpose<double, 32, 8, false>("double32", s[0], s[1]);
  for (auto& s : doubles) run_columns<double, 16, 16>("columns-double16", s[0], s[1]);
  run_transpose<double, 16, 16, true>("double16-along", 3072, 2048);
  run_transpose<double, 16, 16, true>("double16-along", 3072, 2047);
  for (int length : {31, 32, 33, 64, 65, 128, 129})
    for (int far : {0, 1}) {
      const int rows = 12000000 / length, stride = far ? 7919 : 1;
      run("runs", rows, length, stride, [&] { place_runs<<<(rows + 7) / 8, 256>>>(in, out, rows, length, stride); });
    }
  for (int n : {1 << 20, 4 << 20}) {
    run("known", 2, n, 0, [&] { interleave_known<2><<<n / 256, 256>>>(in, out, n); });
    run("known", 3, n, 0, [&] { interleave_known<3><<<n / 256, 256>>>(in, out, n); });
    run("known", 4, n, 0, [&] { interleave_known<4><<<n / 256, 256>>>(in, out, n); });
    run("alias", 2, n, 0, [&] { interleave_alias<2><<<n / 256, 256>>>(in, out, n); });
    run("alias", 3, n, 0, [&] { interleave_alias<3><<<n / 256, 256>>>(in, out, n); });
    run("alias", 4, n, 0, [&] { interleave_alias<4><<<n / 256, 256>>>(in, out, n); });
    run("one", 2, n, 0, [&] { interleave_one<2><<<n / 256, 256>>>(in, out, n); });
    run("one", 3, n, 0, [&] { interleave_one<3><<<n / 256, 256>>>(in, out, n); });
    run("one", 4, n, 0, [&] { interleave_one<4><<<n / 256, 256>>>(in, out, n); });
  }
  printf("done\n");
}
