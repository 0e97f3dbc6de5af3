// Operators one thing at a time: ours (operators.cu) and another's (builtins.cu). main [count]: timed, or one launch each for counters.
#include "operators.cu"
#include "builtins.cu"
#include <algorithm>
#include <functional>
#include <string>
#include <vector>
// gemv without x, and with x through shared memory
__global__ void __launch_bounds__(128) gemv_nox(const __half* __restrict__ w, __half* __restrict__ y, int rows, int columns) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  const uint4* wv = reinterpret_cast<const uint4*>(w + (int64_t)row * columns);
  float sum = 0;
#pragma unroll 4
  for (int c = lane; c < columns / 8; c += 32) { float a[8]; unpack(wv[c], a);
#pragma unroll
    for (int i = 0; i < 8; ++i) sum += a[i]; }
#pragma unroll
  for (int s = 16; s > 0; s /= 2) sum += __shfl_xor_sync(~0u, sum, s);
  if (lane == 0) y[row] = __float2half(sum);
}
static void drain() { size_t n = FLUSH_BYTES / 16; flush_read<<<(unsigned)((n + 255) / 256), 256>>>((uint4*)FLUSH + n, n, (unsigned*)FLUSH); }
static void cold() { flush(); drain(); }
static bool count_only; static std::string only;
static double median(std::vector<float> v) { std::sort(v.begin(), v.end()); return v[v.size() / 2]; }
static void point(std::string name, std::function<void()> run) {
  if (count_only && name.find(only) == std::string::npos) return;
  if (count_only) { cold(); cudaDeviceSynchronize(); printf("count,%s\n", name.c_str()); fflush(stdout); run(); cudaDeviceSynchronize(); return; }
  const int R = 9; std::vector<float> t[2];
  for (int c = 0; c < 2; c++) {
    cudaEvent_t b[R], e[R];
    for (int r = 0; r < R; r++) { cudaEventCreate(b + r); cudaEventCreate(e + r); }
    for (int j = 0; j < 3; j++) flush();
    if (!c) { run(); run(); }
    for (int r = 0; r < R; r++) { if (c) cold(); cudaEventRecord(b[r]); run(); cudaEventRecord(e[r]); }
    cudaDeviceSynchronize();
    for (int r = 0; r < R; r++) { float ms; cudaEventElapsedTime(&ms, b[r], e[r]); t[c].push_back(ms * 1000); cudaEventDestroy(b[r]); cudaEventDestroy(e[r]); }
  }
  printf("%s,%.3f,%.3f,%s\n", name.c_str(), median(t[0]), median(t[1]), cudaGetErrorString(cudaGetLastError())); fflush(stdout);
}
static std::string lab(const char* f, long long a, long long b = 0, long long c = 0, long long d = 0, long long e = 0, long long g = 0) {
  char s[200]; snprintf(s, 200, "%s %lld %lld %lld %lld %lld %lld", f, a, b, c, d, e, g); return s;
}
static void decode(int batch, int heads, int kv, int ctx, int width, int part) {
  const __half* h = (const __half*)IN; const __half* q = (const __half*)THIRD;
  int parts = (ctx + part - 1) / part, groups = 128 / (width / 8);
  int rows = (ctx + parts * groups - 1) / (parts * groups) * groups;
  if (width < 256) point(lab("pm_decode", batch, heads, kv, ctx, width, part), [=] {
    dim3 grid((ctx + rows - 1) / rows, batch * heads);
    if (width == 128) pm_decode<128><<<grid, 128>>>(q, h, h + GIB, (float*)OUT, heads / kv, ctx, rows);
    else pm_decode<64><<<grid, 128>>>(q, h, h + GIB, (float*)OUT, heads / kv, ctx, rows); });
  point(lab("decode_split", batch, heads, kv, ctx, width, part), [=] {
    dim3 g(parts, heads / kv, batch * kv), b(width / 8, groups); float *s = (float*)OUT, *c = s + (256 << 20);
    if (width == 64) decode_split<64><<<g, b>>>(q, h, h + GIB, s, c, ctx, rows, .1f);
    if (width == 128) decode_split<128><<<g, b>>>(q, h, h + GIB, s, c, ctx, rows, .1f);
    if (width == 256) decode_split<256><<<g, b>>>(q, h, h + GIB, s, c, ctx, rows, .1f); });
}
static void gemv(int rows, int columns) {
  const __half *w = (const __half*)IN, *x = (const __half*)THIRD; __half* y = (__half*)OUT;
  point(lab("pm_gemv", rows, columns), [=] { pm_gemv<<<(rows + 3) / 4, 128>>>(w, x, y, rows, columns); });
  point(lab("gemv_warp_half", rows, columns), [=] { gemv_warp_half<<<(rows + 3) / 4, 128>>>(w, x, y, rows, columns, 1); });
  point(lab("gemv_nox", rows, columns), [=] { gemv_nox<<<(rows + 3) / 4, 128>>>(w, y, rows, columns); });
}
static void prefill(int heads, int kv, int tokens, int width) {
  const __half *h = (const __half*)IN, *q = (const __half*)THIRD; float* s = (float*)OUT; __half* o = (__half*)(THIRD + GIB / 2);
  if (heads == kv && width == 128) point(lab("pm_prefill_naive", heads, kv, tokens, width), [=] { pm_prefill_naive<<<dim3(tokens, heads), 128>>>(q, h, h + GIB, s, o, tokens); });
  point(lab("prefill_naive", heads, kv, tokens, width), [=] { prefill_naive<<<dim3(tokens, heads / kv, kv), width>>>(q, h, h + GIB, s, o, tokens, .09f); });
}
int main(int n, char** a) {
  count_only = n > 1;
  if (n > 2) only = a[2];
  setup(); prepare(1, 0, 0);
  point("empty 0", [] { empty_kernel<<<1, 32>>>(); });
  for (int kv : {32, 16, 8, 4, 2, 1}) decode(1, 32, kv, 8192, 128, 256);
  for (int ctx : {256, 512, 1024, 2048, 4096, 16384}) decode(1, 32, 8, ctx, 128, 256);
  for (int part : {128, 512, 1024, 2048, 4096}) decode(1, 32, 32, 4096, 128, part);
  for (int part : {128, 512, 1024, 2048}) decode(1, 32, 8, 8192, 128, part);
  for (int batch : {2, 4, 8}) decode(batch, 32, 32, 4096, 128, 512);
  decode(1, 32, 8, 8192, 64, 256); decode(1, 32, 32, 8192, 64, 256); decode(4, 16, 16, 1024, 64, 128); decode(1, 32, 8, 8192, 256, 256); decode(1, 32, 32, 8192, 256, 256);
  for (int columns : {256, 512, 1024, 2048, 4096, 8192, 16384}) gemv(1056, columns);
  for (int rows : {132, 528, 2112, 3168, 4224, 6336, 8448}) gemv(rows, 4096);
  gemv(264, 16384); gemv(3304, 2560); gemv(2112, 2048);
  for (int t : {128, 256, 512, 768, 1024}) { prefill(8, 8, t, 128); }
  for (int t : {256, 512, 1024}) { prefill(8, 2, t, 128); prefill(8, 2, t, 64); }
  prefill(16, 4, 700, 128); prefill(1, 1, 1024, 128); prefill(1, 1, 2048, 128);
  printf("end %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
