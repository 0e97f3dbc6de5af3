// What one node of a replayed CUDA graph takes: chains of one kernel, per node, of 40 and 200 nodes.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <algorithm>
#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { printf("error %s line %d\n", cudaGetErrorString(e), __LINE__); exit(1);} } while (0)
__global__ void empty_kernel() {}
__global__ void spin(long long clocks, unsigned* out) { long long t = clock64(); while (clock64() - t < clocks) {} if (clocks < 0) out[0] = 1; }
__global__ void copy16(uint4* __restrict__ o, const uint4* __restrict__ i, long n) { long k = blockIdx.x * (long)blockDim.x + threadIdx.x; if (k < n) o[k] = i[k]; }
__global__ void read16(uint4* __restrict__ o, const uint4* __restrict__ i, long n) { long k = blockIdx.x * (long)blockDim.x + threadIdx.x; if (k < n) { uint4 v = i[k]; if (v.x == 0x9e3779b9u && v.y == 77u) o[0] = v; } }
__global__ void write16(uint4* __restrict__ o, long n) { long k = blockIdx.x * (long)blockDim.x + threadIdx.x; if (k < n) o[k] = make_uint4(1, 2, 3, k); }
typedef void (*Node)(cudaStream_t, int);
static long g_n; static int g_grid, g_block, g_kind; static long long g_clocks; static char* g_buf; static size_t g_room; static size_t g_step;
static void launch(cudaStream_t s, int node) {
  char* base = g_buf + (g_step ? (size_t)node * g_step % (g_room - g_step + 1) / 256 * 256 : 0);
  uint4* a = (uint4*)base; uint4* b = (uint4*)(base + g_n * 16);
  if (g_kind == 0) empty_kernel<<<g_grid, g_block, 0, s>>>();
  if (g_kind == 1) spin<<<g_grid, g_block, 0, s>>>(g_clocks, (unsigned*)g_buf);
  if (g_kind == 2) copy16<<<g_grid, g_block, 0, s>>>(b, a, g_n);
  if (g_kind == 3) read16<<<g_grid, g_block, 0, s>>>(b, a, g_n);
  if (g_kind == 4) write16<<<g_grid, g_block, 0, s>>>(a, g_n);
}
static float replay(int nodes, cudaStream_t s) {
  cudaGraph_t g; cudaGraphExec_t x; cudaEvent_t e0, e1; CHECK(cudaEventCreate(&e0)); CHECK(cudaEventCreate(&e1));
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal)); for (int i = 0; i < nodes; i++) launch(s, i);
  CHECK(cudaStreamEndCapture(s, &g)); CHECK(cudaGraphInstantiate(&x, g, 0));
  for (int i = 0; i < 3; i++) CHECK(cudaGraphLaunch(x, s)); CHECK(cudaStreamSynchronize(s));
  std::vector<float> t;
  for (int i = 0; i < 15; i++) { CHECK(cudaEventRecord(e0, s)); CHECK(cudaGraphLaunch(x, s)); CHECK(cudaEventRecord(e1, s)); CHECK(cudaEventSynchronize(e1)); float ms; CHECK(cudaEventElapsedTime(&ms, e0, e1)); t.push_back(ms * 1e3f); }
  std::sort(t.begin(), t.end()); CHECK(cudaGraphExecDestroy(x)); CHECK(cudaGraphDestroy(g)); return t[t.size() / 2];
}
static float stream_of(int nodes, cudaStream_t s) {  // the same launches one after the other in a stream, queued behind a spin
  cudaEvent_t e0, e1; CHECK(cudaEventCreate(&e0)); CHECK(cudaEventCreate(&e1)); std::vector<float> t;
  for (int i = 0; i < 7; i++) { spin<<<1, 32, 0, s>>>(6000000, (unsigned*)g_buf); CHECK(cudaEventRecord(e0, s)); for (int k = 0; k < nodes; k++) launch(s, k); CHECK(cudaEventRecord(e1, s)); CHECK(cudaEventSynchronize(e1)); float ms; CHECK(cudaEventElapsedTime(&ms, e0, e1)); t.push_back(ms * 1e3f); }
  std::sort(t.begin(), t.end()); return t[t.size() / 2];
}
int main(int argc, char** argv) {
  bool profiled = argc > 1;  // by Nsight Compute: each configuration launched some times by itself
  g_room = (size_t)4 << 30; CHECK(cudaMalloc(&g_buf, g_room)); CHECK(cudaMemset(g_buf, 1, g_room));
  cudaStream_t s; CHECK(cudaStreamCreate(&s));
  if (!profiled) printf("kernel,bytes,grid,block,clocks,cache,graph_us,stream_us,few_us,many_us\n");
  const char* names[] = {"empty", "spin", "copy", "read", "write"};
  auto run = [&](int kind, long n, int grid, int block, long long clocks, bool turn) {
    g_kind = kind; g_n = n; g_grid = grid; g_block = block; g_clocks = clocks;
    size_t own = kind == 2 ? n * 32 : n * 16; g_step = turn ? std::max(own, (size_t)4096) : 0;
    if (profiled) { for (int i = 0; i < 3; i++) launch(s, i + 1); CHECK(cudaStreamSynchronize(s)); return; }
    int few = 40, many = 200; float a = replay(few, s), b = replay(many, s);
    float c = stream_of(20, s), d = stream_of(100, s);
    printf("%s,%ld,%d,%d,%lld,%s,%.3f,%.3f,%.2f,%.2f\n", names[kind], n * 16, grid, block, clocks, kind < 2 ? "warm" : turn ? "turn" : "warm", (b - a) / (many - few), (d - c) / 80, a, b); fflush(stdout);
  };
  for (int grid : {1, 8, 132, 264, 1056, 4224, 16896}) run(0, 0, grid, 256, 0, false);
  for (int block : {32, 1024}) for (int grid : {1, 132}) run(0, 0, grid, block, 0, false);
  for (long long c : {500, 2000, 8000, 30000}) for (int grid : {1, 132, 1056}) run(1, 0, grid, 128, c, false);
  for (int kind : {2, 3, 4}) for (int shift : {12, 14, 16, 18, 20, 21, 22, 23, 24, 25, 26, 28}) for (bool turn : {false, true}) {
    long n = (1l << shift) / 16; run(kind, n, (int)((n + 255) / 256), 256, 0, turn); }
  return 0;
}
