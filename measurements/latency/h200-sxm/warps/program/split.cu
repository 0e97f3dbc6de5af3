// Attention of one token, the context in even parts, one thing varied at a time: heads that share keys, parts, columns.
// main: times between events; main count: one launch each, for the profiler.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>
#include "builtins.cu"
static bool count_only;
static double median(std::vector<float> v) { std::sort(v.begin(), v.end()); return v[v.size() / 2]; }
static void cold() { empty_l2(2); }
static void point(int batch, int heads, int kv, int context, int width, int part) {
  int parts = (context + part - 1) / part, groups = 128 / (width / 8);
  int rows = (context + parts * groups - 1) / (parts * groups) * groups;
  parts = (context + rows - 1) / rows;
  auto run = [=] {
    dim3 g(parts, heads / kv, batch * kv), b(width / 8, groups);
    const __half *q = (const __half*)THIRD, *k = (const __half*)IN, *v = k + GIB;
    float *s = (float*)OUT, *c = s + (256 << 20);
    if (width == 64) decode_split<64><<<g, b>>>(q, k, v, s, c, context, rows, .125f);
    if (width == 128) decode_split<128><<<g, b>>>(q, k, v, s, c, context, rows, .0884f);
    if (width == 256) decode_split<256><<<g, b>>>(q, k, v, s, c, context, rows, .0625f);
  };
  if (count_only) { cold(); cudaDeviceSynchronize(); run(); cudaDeviceSynchronize(); printf("count,%d,%d,%d,%d,%d,%d\n", batch, heads, kv, context, width, rows); fflush(stdout); return; }
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
  printf("%d,%d,%d,%d,%d,%d,%.3f,%.3f\n", batch, heads, kv, context, width, rows, median(t[0]), median(t[1])); fflush(stdout);
}
int main(int n, char**) {
  count_only = n > 1;
  setup(); prepare(1, 0, 0);
  printf("batch,heads,kv_heads,context,width,part,warm_us,cold_us\n");
  for (int kv : {24, 12, 6, 3}) point(2, 24, kv, 6000, 128, 400);        // sharing
  if (!count_only) for (int kv : {24, 12, 6, 3}) point(2, 24, kv, 6000, 256, 400);
  if (!count_only) for (int kv : {48, 24, 12, 6}) point(1, 48, kv, 1500, 64, 250);
  for (int part : {100, 200, 800, 1600, 3000}) point(3, 24, 3, 6000, 128, part);  // blocks of an SM, rounds
  if (!count_only) {
    for (int part : {100, 200, 800, 1600, 3000}) point(3, 24, 24, 6000, 128, part);
    for (int context : {150, 300, 600, 1200, 2400, 4800}) point(6, 40, 8, context, 128, 600);  // length
    for (int context : {150, 300, 600, 1200, 2400, 4800}) point(2, 12, 3, context, 256, 150);
    for (int heads : {4, 8, 16, 32, 64}) point(1, heads, 4, 8000, 128, 500);
  }
  printf("end,%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
