// Loops of tiles with barriers beside DRAM, and stores that leave lines or sectors partly written.
// Each launch is printed as a line in order; main WHAT runs them, REPEATS times each.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { printf("error %s line %d\n", cudaGetErrorString(e), __LINE__); exit(1); } } while (0)

__global__ void fill(unsigned* p, size_t n) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
    p[i] = 0x3f000000u | ((unsigned)(i * 2654435761u) >> 9);
}

enum { BOTH, READS, FREE, WRITES, NEAR, APART, WIDE };

template <int MODE>
__global__ void tiles(const float* in, float* out, int tiles, int pitch) {
  __shared__ float tile[1024];
  const long long base = (long long)blockIdx.x * pitch * blockDim.x;
  float sum = 0;
  if (MODE == APART) {
    long long start = clock64(), wait = (blockIdx.x * 2654435761u >> 16) % 3000;
    while (clock64() - start < wait) {}
  }
#pragma unroll 1
  for (int t = 0; t < tiles; ++t) {
    const long long i = base + t * blockDim.x + threadIdx.x;
    if (MODE == FREE) { out[i] = 2.0f * in[i]; continue; }
    tile[threadIdx.x] = MODE == WRITES ? (float)t : in[i];
    __syncthreads();
    const float got = 2.0f * tile[blockDim.x - 1 - threadIdx.x];
    if (MODE == READS) sum += got;
    else out[MODE == NEAR ? (i & 0xfffff) : i] = got;
    __syncthreads();
  }
  if (MODE == READS) out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// A tile, `work` multiply-adds that wait for one another, and what a tile more or less costs beside them.
template <bool STORES>
__global__ void worked_tiles(const float* in, float* out, int tiles, int work) {
  __shared__ float tile[1024];
  const long long base = (long long)blockIdx.x * tiles * blockDim.x;
  float sum = 0;
#pragma unroll 1
  for (int t = 0; t < tiles; ++t) {
    const long long i = base + t * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = in[i];
    __syncthreads();
    float got = tile[blockDim.x - 1 - threadIdx.x];
#pragma unroll 8
    for (int k = 0; k < work; ++k) got = got * 0.5f + 0.25f;
    if (STORES) out[i] = got;
    else sum += got;
    __syncthreads();
  }
  if (!STORES) out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Sums of blocks: loads, then a tree with a barrier a turn. FAR: each block its own data; else all
// blocks the same 64 KiB; without TREE the loads alone.
template <int LOADS, bool FAR, bool TREE>
__global__ void tree_sums(const float* in, float* out) {
  __shared__ float part[256];
  const size_t base = (size_t)(FAR ? blockIdx.x : blockIdx.x % (64 / LOADS)) * 256 * LOADS + threadIdx.x;
  float sum = 0;
#pragma unroll
  for (int k = 0; k < LOADS; ++k) sum += in[base + k * 256];
  if (!TREE) {
    if (sum == 12345.0f) out[blockIdx.x] = sum;
    return;
  }
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s /= 2) {
    if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

__global__ void wide_tiles(const float4* in, float4* out, int tiles) {
  __shared__ float4 tile[256];
  const long long base = (long long)blockIdx.x * tiles * blockDim.x;
#pragma unroll 1
  for (int t = 0; t < tiles; ++t) {
    const long long i = base + t * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = in[i];
    __syncthreads();
    float4 v = tile[blockDim.x - 1 - threadIdx.x];
    v.x *= 2;
    out[i] = v;
    __syncthreads();
  }
}

template <typename T, int N, int ROWS>
__global__ void transpose(const T* in, T* out, int width, int height) {
  __shared__ T tile[N][N + 1];
  int x = blockIdx.x * N + threadIdx.x, y = blockIdx.y * N + threadIdx.y;
  for (int j = 0; j < N; j += ROWS)
    if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = in[(long long)(y + j) * width + x];
  __syncthreads();
  x = blockIdx.y * N + threadIdx.x;
  y = blockIdx.x * N + threadIdx.y;
  for (int j = 0; j < N; j += ROWS)
    if (x < height && y + j < width) out[(long long)(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

// Rows of `vectors` times 16 bytes, each to the place of another.
__global__ void place_rows(const uint4* in, uint4* out, int rows, int vectors, int stride) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int row = i / vectors, part = i - row * vectors;
  if (row >= rows) return;
  int to = (int)((long long)row * stride % rows);
  out[(long long)to * vectors + part] = in[i];
}

template <int PLANES>
__global__ void interleave(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
#pragma unroll
  for (int p = 0; p < PLANES; ++p) out[PLANES * i + p] = in[(size_t)p * n + i];
}

// A copy whose stores begin `shift` floats into a line.
__global__ void shifted(const float* in, float* out, int n, int shift) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i + shift] = in[i];
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

template <int MODE>
void run_tiles(const char* name, int blocks, int count, int block, int pitch) {
  char label[64];
  snprintf(label, 64, "%s%s", name, pitch == count ? "" : pitch == count + 1 ? "+1" : "+3");
  run(label, blocks, count, block, [&] { tiles<MODE><<<blocks, block>>>(in, out, count, pitch); });
}

template <typename T, int N, int ROWS>
void run_transpose(const char* name, int width, int height) {
  dim3 grid((width + N - 1) / N, (height + N - 1) / N), block(N, ROWS);
  run(name, width, height, N, [&] { transpose<T, N, ROWS><<<grid, block>>>((const T*)in, (T*)out, width, height); });
}

template <int LOADS>
void run_trees() {
  const int blocks = (32 << 20) / 256 / LOADS;
  run("tree", LOADS, 1, 1, [&] { tree_sums<LOADS, true, true><<<blocks, 256>>>(in, out); });
  run("tree", LOADS, 0, 1, [&] { tree_sums<LOADS, false, true><<<blocks, 256>>>(in, out); });
  run("tree", LOADS, 1, 0, [&] { tree_sums<LOADS, true, false><<<blocks, 256>>>(in, out); });
}

int main(int argc, char** argv) {
  repeats = argc > 1 ? atoi(argv[1]) : 1;
  const size_t bytes = (size_t)1056 * 131 * 1024 * 4 + (1 << 20);
  CHECK(cudaMalloc(&in, bytes));
  CHECK(cudaMalloc(&out, bytes));
  fill<<<1056, 256>>>((unsigned*)in, bytes / 4);
  fill<<<1056, 256>>>((unsigned*)out, bytes / 4);
  CHECK(cudaDeviceSynchronize());
  struct { int blocks, count, block; } shapes[] = {
      {132, 128, 1024}, {264, 128, 1024}, {1056, 32, 1024}, {1056, 128, 256}, {528, 128, 256}, {132, 128, 256}, {2112, 64, 128}};
  for (auto s : shapes) {
    run_tiles<BOTH>("both", s.blocks, s.count, s.block, s.count);
    run_tiles<READS>("reads", s.blocks, s.count, s.block, s.count);
    run_tiles<FREE>("free", s.blocks, s.count, s.block, s.count);
  }
  for (int k : {1, 2, 3}) {
    auto s = shapes[k];
    run_tiles<WRITES>("writes", s.blocks, s.count, s.block, s.count);
    run_tiles<NEAR>("near", s.blocks, s.count, s.block, s.count);
    run_tiles<APART>("apart", s.blocks, s.count, s.block, s.count);
    run_tiles<BOTH>("both", s.blocks, s.count, s.block, s.count + 1);
    run_tiles<BOTH>("both", s.blocks, s.count, s.block, s.count + 3);
  }
  for (int blocks : {264, 528, 1056})
    run("wide", blocks, 64, 256, [&] { wide_tiles<<<blocks, 256>>>((float4*)in, (float4*)out, 64); });

  for (int work : {16, 64, 256, 1024}) {
    char label[32];
    snprintf(label, 32, "work%d", work);
    run(label, 1056, 64, 256, [&] { worked_tiles<true><<<1056, 256>>>(in, out, 64, work); });
    run(label, 264, 64, 1024, [&] { worked_tiles<true><<<264, 1024>>>(in, out, 64, work); });
    snprintf(label, 32, "work-reads%d", work);
    run(label, 1056, 64, 256, [&] { worked_tiles<false><<<1056, 256>>>(in, out, 64, work); });
    run(label, 264, 64, 1024, [&] { worked_tiles<false><<<264, 1024>>>(in, out, 64, work); });
  }
  run_trees<1>();
  run_trees<2>();
  run_trees<4>();
  run_trees<8>();
  for (int w : {3072, 3004, 3001})
    for (int h : {2048, 2044, 2047}) run_transpose<double, 16, 16>("transpose-double", w, h);
  for (int w : {4096, 4095})
    for (int h : {4096, 4088, 4095}) run_transpose<float, 32, 8>("transpose-float", w, h);
  for (int vectors : {6, 8, 10, 12, 16, 24})
    for (int far : {0, 1}) {
      int rows = 2400000 / vectors, stride = far ? 7919 : 1;
      run("rows", rows, vectors, stride, [&] { place_rows<<<(rows * vectors + 255) / 256, 256>>>((uint4*)in, (uint4*)out, rows, vectors, stride); });
    }
  const int n = 4 << 20;
  run("interleave", 2, n, 0, [&] { interleave<2><<<n / 256, 256>>>(in, out, n); });
  run("interleave", 3, n, 0, [&] { interleave<3><<<n / 256, 256>>>(in, out, n); });
  run("interleave", 4, n, 0, [&] { interleave<4><<<n / 256, 256>>>(in, out, n); });
  for (int shift : {0, 1, 8, 24}) run("shifted", shift, 4 * n, 0, [&] { shifted<<<4 * n / 256, 256>>>(in, out, 4 * n, shift); });
  printf("done\n");
}
