// Blocks that load, meet, compute, meet and store: how the phases of blocks that share an SM overlap.
//
// Each thread loads `vectors` times 16 B, one after the other a block apart, computes `work` dependent-by-four
// multiply-adds on them, and stores as much or one float a block. `held` blocks of `threads` fit on an SM
// (shared memory sees to it), `rounds` of them are launched. Launches go over one large buffer, so that what they
// read is in DRAM; 15 are queued, the median of event times behind one another is kept.
#include <algorithm>
#include <cstdio>
#include <vector>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { \
  fprintf(stderr, "%s at line %d\n", cudaGetErrorString(e), __LINE__); exit(1); } } while (0)

template <int V, bool MEET, bool STORE>
__global__ void __launch_bounds__(1024, 2) phases(const float4* __restrict__ x, float4* __restrict__ y,
                                                  int work, float a, float b) {
  extern __shared__ float shared[];
  const size_t first = (size_t)blockIdx.x * blockDim.x * V + threadIdx.x;
  float4 v[V];
#pragma unroll
  for (int i = 0; i < V; i++) v[i] = x[first + i * blockDim.x];
  if (MEET) {
    if (v[0].x == 123.0f) shared[0] = v[V - 1].x;  // as every thread waits for its data first
    if (V > 1 && v[V - 1].y == 123.0f) shared[1] = v[0].x;
    if (V > 2 && v[V - 2].y + v[1].z == 123.0f) shared[2] = v[0].x;
    __syncthreads();
  }
  for (int c = 0; c < work; c += 4 * V) {
#pragma unroll
    for (int i = 0; i < V; i++) {
      v[i].x = fmaf(v[i].x, a, b);
      v[i].y = fmaf(v[i].y, a, b);
      v[i].z = fmaf(v[i].z, a, b);
      v[i].w = fmaf(v[i].w, a, b);
    }
  }
  if (MEET) __syncthreads();
  if (STORE) {
#pragma unroll
    for (int i = 0; i < V; i++) y[first + i * blockDim.x] = v[i];
  } else {
    float s = 0;
#pragma unroll
    for (int i = 0; i < V; i++) s += v[i].x + v[i].y + v[i].z + v[i].w;
    if (s == 123.0f) y[blockIdx.x] = v[0];
  }
}

__global__ void wait(long long clocks) {
  const long long start = clock64();
  while (clock64() - start < clocks) {}
}

static float4 *from, *to;
static const size_t SIZE = (size_t)3 << 30;

template <int V, bool MEET, bool STORE>
void measure(int threads, int held, int rounds, int work, int sms) {
  const int blocks = sms * held * rounds;
  const size_t vectors = (size_t)blocks * threads * V;
  const int shared = held * threads == 2048 ? 64 : 200 * 1024 / held;
  auto kernel = phases<V, MEET, STORE>;
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  const int N = 15;
  static cudaEvent_t events[N + 1];
  static bool made = false;
  if (!made) for (auto& event : events) CHECK(cudaEventCreate(&event));
  made = true;
  static size_t at = 0;
  wait<<<1, 1>>>(400000);
  CHECK(cudaEventRecord(events[0]));
  for (int n = 0; n < N; n++) {
    if (at + vectors > SIZE / sizeof(float4)) at = 0;
    kernel<<<blocks, threads, shared>>>(from + at, to + at, work, 1.0001f, 0.5f);
    at += vectors;
    CHECK(cudaEventRecord(events[n + 1]));
  }
  CHECK(cudaDeviceSynchronize());
  std::vector<float> t(N - 2);
  for (int n = 2; n < N; n++) CHECK(cudaEventElapsedTime(&t[n - 2], events[n], events[n + 1]));
  std::sort(t.begin(), t.end());
  printf("%d,%d,%d,%d,%d,%d,%d,%d,%.3f,%.3f\n", threads, held, rounds, V, work, (int)MEET, (int)STORE, N - 2,
         t[(N - 2) / 2] * 1e3, (t[(N - 2) * 3 / 4] - t[(N - 2) / 4]) * 1e3);
}

template <int V, bool MEET, bool STORE>
void all(int sms) {
  const int shapes[][2] = {{1024, 1}, {1024, 2}, {512, 2}, {512, 4}, {256, 8}, {256, 3}};
  for (auto& s : shapes)
    for (int work : {0, 144, 480, 1440})
      for (int rounds : {1, 2, 4, 8, 16}) measure<V, MEET, STORE>(s[0], s[1], rounds, work, sms);
}

int main() {
  cudaDeviceProp p;
  CHECK(cudaGetDeviceProperties(&p, 0));
  CHECK(cudaMalloc(&from, SIZE));
  CHECK(cudaMalloc(&to, SIZE));
  CHECK(cudaMemset(from, 0, SIZE));
  CHECK(cudaMemset(to, 0, SIZE));
  printf("threads,held,rounds,vectors,work,meet,store,repeats,time_us,spread\n");
  all<1, true, true>(p.multiProcessorCount);
  all<3, true, true>(p.multiProcessorCount);
  all<1, true, false>(p.multiProcessorCount);
  all<3, true, false>(p.multiProcessorCount);
  all<3, false, true>(p.multiProcessorCount);
  all<3, false, false>(p.multiProcessorCount);
  CHECK(cudaGetLastError());
}
