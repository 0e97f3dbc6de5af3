// Reads and atomics of the same launch: alone, and together, by how many of each, where and of what kind.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
#include <cuda_runtime.h>
enum Op { NONE, RED_ADD, ATOM_ADD, RED_MAX_LEAVES, ATOM_MAX_LEAVES, CAS_FAILS, STORE, RED_AND_LEAVES, ATOM_EXCH, RED_FADD, RED_MAX64_LEAVES, RED_ADD64, CAS_SUCCEEDS_ONCE };
const char* op_name[] = {"none","red-add","atom-add","red-max-leaves","atom-max-leaves","cas-fails","store","red-and-leaves","atom-exch","red-fadd","red-max64-leaves","red-add64","cas-zero"};
struct Args {
  const int* dense; const int* table; int* hot;
  unsigned n, stride, table_words, hot_mask, hot_shift; // places of hot: (hash & mask) << shift
  int same;      // 0: no read of hot; 1: the word that the atomic goes to; 2: another word of it
  int op, part;  // atomics of lanes whose hash & 63 is below part
  int dense_hot; // 1: lane i at place i & mask
  int late;      // 1: the atomic waits for the reads
  int per;       // items a thread
  int cached;    // 1: loads through L1
};
__device__ int sink;
__device__ __forceinline__ unsigned mixed(unsigned x) { x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu; x ^= x >> 16; return x; }
__device__ __forceinline__ int act(int op, int* p, int v) {
  switch (op) {
    case RED_ADD: asm volatile("red.global.add.u32 [%0], %1;" ::"l"(p), "r"(1 + (v & 1)) : "memory"); return 0;
    case ATOM_ADD: return atomicAdd(p, 1 + (v & 1));
    case RED_MAX_LEAVES: asm volatile("red.global.max.s32 [%0], %1;" ::"l"(p), "r"(-2 - (v & 1)) : "memory"); return 0;
    case ATOM_MAX_LEAVES: return atomicMax(p, -2 - (v & 1));
    case CAS_FAILS: return atomicCAS(p, -5 - (v & 1), v);
    case STORE: __stcg(p, v); return 0;
    case RED_AND_LEAVES: asm volatile("red.global.and.b32 [%0], %1;" ::"l"(p), "r"(-1) : "memory"); return 0;
    case ATOM_EXCH: return atomicExch(p, v);
    case RED_FADD: asm volatile("red.global.add.f32 [%0], %1;" ::"l"(p), "f"(1.0f + (v & 1)) : "memory"); return 0;
    case RED_MAX64_LEAVES: asm volatile("red.global.max.s64 [%0], %1;" ::"l"((unsigned long long)p & ~7ull), "l"((long long)-3) : "memory"); return 0;
    case RED_ADD64: asm volatile("red.global.add.u64 [%0], %1;" ::"l"((unsigned long long)p & ~7ull), "l"((unsigned long long)1) : "memory"); return 0;
    case CAS_SUCCEEDS_ONCE: return atomicCAS(p, 0, 1);
  }
  return 0;
}
template <int DENSE, int LONE, bool CACHED> __global__ void mix(Args a) {
  unsigned first = blockIdx.x * blockDim.x + threadIdx.x;
  int kept = 0;
  for (int k = 0; k < a.per; k++) {
    unsigned i = first + k * a.stride;
    if (i >= a.n) return;
    unsigned h = mixed(i + 0x9e3779b9u);
    unsigned place = a.dense_hot ? (i & a.hot_mask) : (h & a.hot_mask);
    int* at = a.hot + ((size_t)place << a.hot_shift);
    bool does = (mixed(h) & 63) < (unsigned)a.part;
    if (!a.late && does) kept += act(a.op, at, i);
    int sum = 0;
#pragma unroll
    for (int r = 0; r < DENSE; r++) sum += CACHED ? a.dense[i + (size_t)r * a.n] : __ldcg(a.dense + i + (size_t)r * a.n);
#pragma unroll
    for (int r = 0; r < LONE; r++) { const int* p = a.table + (((unsigned long long)mixed(i * 8u + r) * a.table_words) >> 32); sum += CACHED ? *p : __ldcg(p); }
    if (a.same) { const int* p = a.same == 1 ? at : a.hot + ((size_t)(mixed(h + 77) & a.hot_mask) << a.hot_shift); sum += CACHED ? *p : __ldcg(p); }
    if (a.late && does && sum != 0x7654321) kept += act(a.op, at, sum);
    kept += sum;
  }
  if (kept == 0x12345678) sink = kept;
}
__global__ void relax(const int* __restrict__ from, const int* __restrict__ to, const int* __restrict__ capacity, const int* __restrict__ width, int* next, const int* read, int edges) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= edges) return;
  int through = min(width[from[e]], capacity[e]);
  int target = to[e];
  if (through > read[target]) atomicMax(&next[target], through);
}
__global__ void fill(int* p, size_t n, unsigned below, unsigned seed) { for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) p[i] = below ? mixed((unsigned)i + seed) % below : 0; }
__global__ void spin(int clocks) { long long t = clock64(); while (clock64() - t < clocks) ; }
int *dense, *table, *hot; FILE* f; bool quick;
template <class F, class G> float timed(G before, F go) {
  cudaEvent_t a, b; cudaEventCreate(&a); cudaEventCreate(&b);
  std::vector<float> us; int reps = quick ? 0 : 7;
  before(); go();
  for (int r = 0; r < reps; r++) {
    before(); spin<<<1, 1>>>(60000); cudaEventRecord(a); go(); cudaEventRecord(b); cudaEventSynchronize(b);
    float ms; cudaEventElapsedTime(&ms, a, b); us.push_back(ms * 1000);
  }
  if (quick) { cudaDeviceSynchronize(); return 0; }
  cudaEventDestroy(a); cudaEventDestroy(b);
  std::sort(us.begin(), us.end()); return us[us.size() / 2];
}
const char* group = "";
void run(int d, int l, Args a, unsigned block = 256) {
  a.dense = dense; a.table = table; a.hot = hot;
  unsigned blocks = (a.n / a.per + block - 1) / block; a.stride = blocks * block;
  auto go = [&] {
#define K(D, L) if (d == D && l == L) { if (a.cached) mix<D, L, true><<<blocks, block>>>(a); else mix<D, L, false><<<blocks, block>>>(a); }
    K(0,0) K(0,1) K(0,2) K(0,4) K(0,8) K(1,0) K(1,1) K(1,2) K(3,0) K(3,1) K(3,2) K(4,0)
  };
  float us = timed([] {}, go);
  fprintf(f, "%s,%u,%d,%u,%d,%d,%u,%d,%s,%u,%u,%d,%d,%d,%d,%.2f,%s\n", group, a.n, a.per, block, d, l, a.table_words * 4, a.same, op_name[a.op], a.hot_mask + 1, 4u << a.hot_shift, a.part, a.dense_hot, a.late, a.cached, us, cudaGetErrorString(cudaGetLastError()));
  fflush(f);
}
Args base(int op) { Args a = {}; a.n = 1u << 22; a.table_words = 1u << 20; a.hot_mask = (1u << 20) - 1; a.op = op; a.part = 64; a.late = 1; a.per = 1; return a; }
void clear(unsigned below) { fill<<<1024, 256>>>(hot, 64u << 20 >> 2, below, 5); cudaDeviceSynchronize(); }
int main(int argc, char** argv) {
  bool held_out = argc > 1 && argv[1][0] == 'h';
  quick = argc > 1 && !held_out;
  f = fopen((std::string(getenv("OUT")) + (quick ? "/quick.csv" : held_out ? "/held-out.csv" : "/mix.csv")).c_str(), "w");
  fprintf(f, "group,n,per,block,dense,lone,table_bytes,same,op,places,pitch,part,dense_hot,late,cached,time_us,error\n");
  cudaMalloc(&dense, 640u << 20); cudaMalloc(&table, 64 << 20); cudaMalloc(&hot, 64 << 20);
  fill<<<1024, 256>>>(dense, 640u << 20 >> 2, 0, 0); fill<<<1024, 256>>>(table, 64u << 20 >> 2, 0, 0); clear(0);
  const int D[] = {0, 0, 0, 0, 0, 1, 4, 1, 3, 3}, L[] = {0, 1, 2, 4, 8, 0, 0, 1, 1, 2};
  if (quick) { // for counters: each once, after one warm-up of the same
    group = "quick";
    auto q = [&](int d, int l, int same, int op, int part, int cached) { Args a = base(op); a.same = same; a.part = part; a.cached = cached; run(d, l, a); };
    q(0, 1, 0, NONE, 64, 0); q(0, 2, 0, NONE, 64, 0); q(4, 0, 0, NONE, 64, 0); q(0, 0, 0, RED_ADD, 64, 0); q(0, 0, 0, ATOM_ADD, 64, 0);
    q(0, 1, 0, RED_ADD, 64, 0); q(0, 2, 0, RED_ADD, 64, 0); q(0, 2, 0, ATOM_ADD, 64, 0); q(4, 0, 0, RED_ADD, 64, 0);
    q(0, 0, 1, RED_ADD, 64, 0); q(0, 0, 2, RED_ADD, 64, 0); q(0, 0, 2, RED_MAX_LEAVES, 64, 0); q(0, 0, 2, RED_ADD, 8, 0); q(0, 0, 2, NONE, 64, 0); q(0, 1, 0, RED_ADD, 8, 0);
    for (unsigned kib : {128u, 256u, 320u, 384u, 512u, 768u, 1024u, 2048u}) { Args a = base(NONE); a.table_words = kib * 256; run(0, 4, a); }
    { Args a = base(RED_ADD); a.dense_hot = 1; run(0, 0, a); run(0, 1, a); run(4, 0, a); a.op = NONE; a.dense_hot = 0; a.cached = 1; run(0, 1, a); a.op = RED_ADD; run(0, 1, a); }
    return 0;
  }
  if (held_out) {
    // Chosen after the model of mix.csv, before these ran.
    group = "held-out";
    for (int op : {NONE, RED_FADD, ATOM_ADD, RED_ADD64, CAS_FAILS, STORE})
      for (unsigned places : {1u << 15, 1u << 19, 1u << 21})
        for (int shift : {0, 3})
          for (int k : {0, 1, 2, 5, 8}) for (int same : {0, 1}) {
            if (op == NONE && (shift || (!same && !D[k] && !L[k]))) continue;
            if (same && L[k] > 1) continue;
            if (shift && places == 1u << 21 && same) continue;
            Args a = base(op); a.n = 3000000; a.hot_mask = places - 1; a.hot_shift = shift; a.same = same; a.table_words = 3u << 20; a.part = 40; a.cached = 1; run(D[k], L[k], a);
          }
    group = "stores"; // plain stores beside atomics
    for (int op : {STORE}) for (int l : {0, 1, 2, 4}) { Args a = base(op); run(0, l, a); a.dense_hot = 1; run(0, l, a); }
    group = "tables";
    for (unsigned kib : {40u, 56u, 80u, 112u, 160u, 224u, 288u, 352u, 416u, 576u, 704u, 1280u}) { Args a = base(NONE); a.table_words = kib * 256; run(0, 4, a); }
    return 0;
  }
  group = "mix";
  for (int op : {NONE, RED_ADD, ATOM_ADD, RED_MAX_LEAVES, ATOM_MAX_LEAVES, CAS_FAILS, STORE})
    for (int k = 0; k < 10; k++) for (int same : {0, 1, 2}) {
      if (op == NONE && !same && !D[k] && !L[k]) continue;
      if (same && (L[k] > 2 || D[k] == 4)) continue;
      Args a = base(op); a.same = same; run(D[k], L[k], a);
    }
  group = "tables";
  for (unsigned kib : {32u, 64u, 96u, 128u, 192u, 256u, 320u, 384u, 448u, 512u, 640u, 768u, 896u, 1024u, 1536u, 2048u, 4096u, 8192u}) for (int l : {4, 8}) { Args a = base(NONE); a.table_words = kib * 256; run(0, l, a); }
  group = "early";
  for (int op : {RED_ADD, ATOM_ADD}) for (int k = 0; k < 10; k++) { Args a = base(op); a.late = 0; run(D[k], L[k], a); }
  for (int op : {RED_ADD}) for (int same : {1, 2}) { Args a = base(op); a.late = 0; a.same = same; run(0, 0, a); run(0, 1, a); }
  group = "cached";
  for (int op : {NONE, RED_ADD, ATOM_ADD}) for (int k = 1; k < 10; k++) { Args a = base(op); a.cached = 1; run(D[k], L[k], a); }
  for (int op : {NONE, RED_ADD}) for (int same : {1, 2}) { Args a = base(op); a.cached = 1; a.same = same; run(0, 0, a); run(0, 1, a); run(3, 1, a); }
  group = "sizes";
  for (unsigned places : {1u << 14, 1u << 16, 1u << 18, 1u << 22, 1u << 23})
    for (int op : {NONE, RED_ADD}) for (int same : {0, 1, 2}) for (int l : {0, 1, 2}) {
      if (op == NONE && (!same || l)) continue;
      Args a = base(op); a.hot_mask = places - 1; a.same = same; run(0, l, a);
    }
  group = "part";
  for (int part : {0, 1, 4, 8, 16, 22, 32, 48}) for (int op : {RED_ADD, RED_MAX_LEAVES}) {
    for (int l : {0, 1, 2}) for (int same : {0, 1, 2}) { Args a = base(op); a.part = part; a.same = same; if (l + same) run(0, l, a); }
    Args a = base(op); a.part = part; a.same = 1; run(3, 1, a); a.cached = 1; run(3, 1, a);
  }
  group = "dense";
  for (int op : {RED_ADD, ATOM_ADD, RED_FADD, STORE}) for (int k = 0; k < 10; k++) { Args a = base(op); a.dense_hot = 1; a.hot_mask = (1u << 22) - 1; run(D[k], L[k], a); if (!D[k] && !L[k]) { a.same = 1; run(0, 0, a); } }
  group = "few";
  for (unsigned places : {256u, 2048u, 8192u}) for (int op : {RED_ADD}) for (int k = 0; k < 10; k++) for (int same : {0, 1}) { if (same && k) continue; Args a = base(op); a.hot_mask = places - 1; a.same = same; run(D[k], L[k], a); }
  group = "stream"; // reads from DRAM
  for (int op : {NONE, RED_ADD, ATOM_ADD}) for (int d : {1, 4}) for (unsigned places : {256u, 4096u, 1u << 18, 1u << 20, 1u << 22}) for (int per : {1, 8}) {
    if (op == NONE && places != 256) continue;
    Args a = base(op); a.n = d == 1 ? 1u << 25 : 1u << 25; a.hot_mask = places - 1; a.per = per; run(d, 0, a); if (d == 4) { a.dense_hot = 1; run(d, 0, a); }
  }
  group = "loops";
  for (int op : {NONE, RED_ADD, ATOM_ADD}) for (int l : {0, 1, 2}) for (int same : {0, 1}) { if (op == NONE && l + same == 0) continue; Args a = base(op); a.per = 16; a.same = same; run(0, l, a); }
  group = "leaves"; // the same places, changed and not
  for (int op : {RED_ADD, RED_AND_LEAVES, RED_MAX_LEAVES, ATOM_ADD, ATOM_MAX_LEAVES, ATOM_EXCH, CAS_FAILS, CAS_SUCCEEDS_ONCE, RED_FADD, RED_MAX64_LEAVES, RED_ADD64, STORE})
    for (unsigned places : {1u, 32u, 1024u, 32768u, 1u << 20, 1u << 22}) for (int dh : {0, 1}) { Args a = base(op); a.hot_mask = places - 1; a.dense_hot = dh; if (places <= 32) a.n = 1u << 20; run(0, 0, a); }
  clear(0);
  group = "relax";
  {
    int edges = 8000000, nodes = 1000000;
    int *from = dense, *to = from + edges, *cap = to + edges;
    fill<<<1024, 256>>>(from, edges, nodes, 1); fill<<<1024, 256>>>(to, edges, nodes, 2); fill<<<1024, 256>>>(cap, edges, 1000, 3); fill<<<1024, 256>>>(table, nodes, 1000, 4);
    int* other = hot + (32 << 20 >> 2);
    auto say = [&](const char* what, float us) { fprintf(f, "relax %s,%d,,,,,,,,,,,,,,%.2f,%s\n", what, edges, us, cudaGetErrorString(cudaGetLastError())); };
    auto go = [&](const int* read, int* next) { relax<<<(edges + 255) / 256, 256>>>(from, to, cap, table, next, read, edges); };
    auto reset = [&] { cudaMemset(hot, 0, nodes * 4); };
    say("full", timed(reset, [&] { go(hot, hot); }));
    say("again", timed([] {}, [&] { go(hot, hot); }));
    fill<<<1024, 256>>>(other, nodes, 1000, 9);
    say("reads-other", timed(reset, [&] { go(other, hot); }));
    say("reads-other-again", timed([] {}, [&] { go(other, hot); }));
    cudaMemset(other, 127, nodes * 4);
    say("none-other", timed([] {}, [&] { go(other, hot); }));
  }
  fclose(f);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
