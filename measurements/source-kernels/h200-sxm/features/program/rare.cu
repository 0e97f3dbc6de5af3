// Rarer things: textures, recursion, virtual calls, clocks, clusters, tensor cores, traps.
#include <cstdint>
#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <mma.h>
#include <cstdio>
#include <cassert>
namespace cg = cooperative_groups;

__global__ void sample_image(cudaTextureObject_t image, float* out, int width, int height, float a) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height)
    out[y * width + x] = tex2D<float>(image, x * cosf(a) - y * sinf(a), x * sinf(a) + y * cosf(a));
}
__global__ void fetch_linear(cudaTextureObject_t table, const int* index, float4* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = tex1Dfetch<float4>(table, index[i]);
}
__global__ void copy_surface(cudaSurfaceObject_t in, cudaSurfaceObject_t out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) {
    uchar4 v;
    surf2Dread(&v, in, x * 4, y);
    surf2Dwrite(v, out, x * 4, y);
  }
}

__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__global__ void recurse(const int* x, int* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fibonacci(x[i] & 7);
}

struct Shape {
  __device__ virtual float area() const = 0;
};
struct Square : Shape {
  float a;
  __device__ Square(float v) : a(v) {}
  __device__ float area() const override { return a * a; }
};
struct Disc : Shape {
  float r;
  __device__ Disc(float v) : r(v) {}
  __device__ float area() const override { return 3.14159f * r * r; }
};
__global__ void virtual_areas(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Square s(x[i]);
  Disc d(x[i]);
  const Shape* shape = x[i] > 0.5f ? (const Shape*)&s : (const Shape*)&d;
  y[i] = shape->area();
}

__global__ void timed_loads(const int* next, int* out, long long* clocks, int steps) {
  int at = threadIdx.x;
  long long begin = clock64();
  for (int i = 0; i < steps; ++i) at = next[at];
  clocks[blockIdx.x * blockDim.x + threadIdx.x] = clock64() - begin;
  out[blockIdx.x * blockDim.x + threadIdx.x] = at;
}

__global__ void wait_flag(volatile int* flag, int* data, int n) {
  int i = threadIdx.x;
  if (blockIdx.x == 0) {
    if (i < n) data[i] = i * i;
    __threadfence();
    __syncthreads();
    if (i == 0) *flag = 1;
  } else {
    if (i == 0)
      while (*flag == 0) __nanosleep(100);
    __syncthreads();
    if (i < n) data[blockIdx.x * n + i] = data[i] + 1;
  }
}

__global__ void __cluster_dims__(2, 1, 1) cluster_sum(const float* x, float* out) {
  __shared__ float s[128];
  auto cluster = cg::this_cluster();
  s[threadIdx.x] = x[blockIdx.x * 128 + threadIdx.x];
  cluster.sync();
  float* other = cluster.map_shared_rank(s, cluster.block_rank() ^ 1);
  out[blockIdx.x * 128 + threadIdx.x] = s[threadIdx.x] + other[threadIdx.x];
  cluster.sync();
}

__global__ void wmma_product(const half* a, const half* b, float* c, int m, int n, int k) {
  using namespace nvcuda::wmma;
  int wm = blockIdx.y * blockDim.y + threadIdx.y, wn = blockIdx.x;
  if (wm * 16 >= m || wn * 16 >= n) return;
  fragment<matrix_a, 16, 16, 16, half, row_major> fa;
  fragment<matrix_b, 16, 16, 16, half, col_major> fb;
  fragment<accumulator, 16, 16, 16, float> acc;
  fill_fragment(acc, 0.f);
  for (int i = 0; i < k; i += 16) {
    load_matrix_sync(fa, a + wm * 16 * k + i, k);
    load_matrix_sync(fb, b + wn * 16 * k + i, k);
    mma_sync(acc, fa, fb, acc);
  }
  store_matrix_sync(c + wm * 16 * n + wn * 16, acc, n, mem_row_major);
}

__global__ void heap_scratch(const float* x, float* y, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float* s = (float*)malloc(m * sizeof(float));
  for (int k = 0; k < m; ++k) s[k] = x[(i + k) % n];
  float v = 0;
  for (int k = 0; k < m; ++k) v += s[m - 1 - k] * k;
  free(s);
  y[i] = v;
}

__global__ void grid_steps(float* a, float* b, int n, int steps) {
  auto grid = cg::this_grid();
  for (int s = 0; s < steps; ++s) {
    for (int i = grid.thread_rank(); i < n; i += grid.size())
      b[i] = 0.5f * a[i] + 0.25f * (a[i > 0 ? i - 1 : 0] + a[i < n - 1 ? i + 1 : n - 1]);
    grid.sync();
    float* t = a;
    a = b;
    b = t;
  }
}

__global__ void trap_on_bad(const int* x, int* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (x[i] < 0) __trap();
  if (x[i] == 12345) asm("exit;");
  y[i] = x[i] * 2;
}

__global__ void union_sets(const int2* edges, int* parent, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int a = edges[i].x, b = edges[i].y;
  while (true) {
    while (a != parent[a]) a = parent[a];
    while (b != parent[b]) b = parent[b];
    if (a == b) return;
    if (a > b) {
      int t = a;
      a = b;
      b = t;
    }
    if (atomicCAS(&parent[b], b, a) == b) return;
  }
}

__global__ void spin_lock_sum(int* lock, double* total, const double* x, int n) {
  double s = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += x[i];
  for (int d = 16; d; d >>= 1) s += __shfl_down_sync(~0u, s, d);
  if ((threadIdx.x & 31) == 0) {
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    *total += s;
    __threadfence();
    atomicExch(lock, 0);
  }
}

__global__ void lookback_scan(const int* in, int* out, volatile int* state, volatile int* sums, int n) {
  __shared__ int s[256];
  __shared__ int before;
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  s[t] = i < n ? in[i] : 0;
  __syncthreads();
  for (int d = 1; d < 256; d <<= 1) {
    int v = t >= d ? s[t - d] : 0;
    __syncthreads();
    s[t] += v;
    __syncthreads();
  }
  if (t == 0) {
    int total = 0;
    if (blockIdx.x > 0) {
      while (state[blockIdx.x - 1] == 0) {
      }
      total = sums[blockIdx.x - 1];
    }
    sums[blockIdx.x] = total + s[255];
    __threadfence();
    state[blockIdx.x] = 1;
    before = total;
  }
  __syncthreads();
  if (i < n) out[i] = s[t] + before;
}

__global__ void wide_128(const unsigned __int128* a, unsigned __int128* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = a[i] * a[i] + (a[i] >> 3);
}

__global__ void long_walk(const int* next, int* length, int start) {
  int at = start + threadIdx.x, count = 0;
  while (at >= 0) {
    at = next[at];
    ++count;
  }
  length[threadIdx.x] = count;
}

__global__ void float_loop(float* out, float from, float to, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int count = 0;
  for (float v = from + i; v < to; v *= factor) ++count;
  out[i] = count;
}

__global__ void pointer_table(float** rows, const int* length, float* sums) {
  const float* row = rows[blockIdx.x];
  float s = 0;
  for (int i = threadIdx.x; i < length[blockIdx.x]; i += blockDim.x) s += row[i];
  atomicAdd(&sums[blockIdx.x], s);
}

struct Node {
  float value;
  Node* left;
  Node* right;
};
__global__ void tree_search(const Node* root, const float* keys, int* depth, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const Node* at = root;
  int d = 0;
  while (at) {
    at = keys[i] < at->value ? at->left : at->right;
    ++d;
  }
  depth[i] = d;
}

__device__ float weights[1024];
__device__ int counter;
__global__ void uses_globals(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = x[i] * weights[i & 1023];
  if (y[i] > 0.9f) atomicAdd(&counter, 1);
}

__global__ void spin_forever(int* x) {
  while (true) x[threadIdx.x] += 1;
}

__global__ void empty_kernel() {}
__global__ void single_store(int* x) { *x = 1; }

template <class T, int N, bool Wrap>
struct Ring {
  T data[N];
  int head = 0;
  __device__ void push(T v) {
    data[head] = v;
    head = Wrap ? (head + 1) % N : min(head + 1, N - 1);
  }
  __device__ T mean() const {
    T s = 0;
    for (int i = 0; i < N; ++i) s += data[i];
    return s / N;
  }
};
template <class T, int N>
__global__ void moving_mean(const T* x, T* y, long n) {
  long i = (blockIdx.x * (long)blockDim.x + threadIdx.x) * 64;
  Ring<T, N, true> ring{};
  for (long k = i; k < min(i + 64, n); ++k) {
    ring.push(x[k]);
    y[k] = ring.mean();
  }
}
template __global__ void moving_mean<float, 5>(const float*, float*, long);

__global__ void big_stack(const float* x, float* y, int n) {
  float v[300];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (int k = 0; k < 300; ++k) v[k] = x[(i * 7 + k) % n];
  for (int k = 0; k < 300; ++k) v[(k * 77) % 300] += v[k];
  y[i] = v[(int)(v[0]) % 300];
}

__global__ void misc_math(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  y[i] = tgammaf(v) + j0f(v) + erfinvf(v * 0.5f) + remainderf(v, 0.3f) + ldexpf(v, i & 3) + roundf(v) +
         norm3df(v, v, 1.f) + sinpif(v) + exp10f(v) + __saturatef(v) + nextafterf(v, 2.f);
}
