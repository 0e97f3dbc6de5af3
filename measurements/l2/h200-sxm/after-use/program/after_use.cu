// What lines that persisted leave to the kernels that follow, by what was done since they were used.
#include <cuda_runtime.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

typedef unsigned u32;
#define R(x)                                                                          \
  do {                                                                                \
    cudaError_t e_ = (x);                                                             \
    if (e_ != cudaSuccess) {                                                          \
      fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));      \
      exit(1);                                                                        \
    }                                                                                 \
  } while (0)

__host__ __device__ inline u32 hashed(u32 x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  x ^= x >> 16;
  return x;
}

extern "C" __global__ void fill(uint4* out, long long n, u32 seed) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  u32 w = (u32)i * 4 + seed;
  if (i < n) out[i] = make_uint4(hashed(w), hashed(w + 1), hashed(w + 2), hashed(w + 3));
}

// The kernel of working-set-read: a buffer, grid-stride, again and again, past L1.
extern "C" __global__ void set_read(const uint4* in, u32* out, long long n, int iterations) {
  const long long step = (long long)gridDim.x * blockDim.x;
  u32 s = 0;
  for (int r = 0; r < iterations; ++r)
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
      uint4 v = __ldcg(in + i);
      s += (v.x ^ v.y) + (v.z ^ v.w);
    }
  if (s == 0x7a3c1d55u) out[1] = s;
}

// The kernel of data-reset: a table, repeated into a longer buffer.
extern "C" __global__ void data_reset(const uint4* in, uint4* out, long long m, long long n) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i % m];
}

extern "C" __global__ void write_all(uint4* out, long long n, uint4 v) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = v;
}

// Clocks at full speed after a pause: nothing but arithmetic.
extern "C" __global__ void spin(long long clocks) {
  const long long start = clock64();
  while (clock64() - start < clocks) {
  }
}

// Lone lanes read one word of every `every`-th line, and count those that took under `limit` clocks.
extern "C" __global__ void probe(const u32* in, u32 lines, u32 every, int limit, u32* found) {
  u32 hits = 0, at = 0;
  const u32 warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, warps = gridDim.x * blockDim.x / 32;
  if (threadIdx.x % 32 == 0)
    for (u32 k = warp; k < lines / every; k += warps) {
      u32 line = k * every + hashed(k) % every, v;
      long long start = clock64();
      asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v) : "l"(in + (size_t)line * 32 + (start >> 62)) : "memory");
      at += v;
      asm volatile("" : "+r"(at)::"memory");
      long long stop = clock64() + (at == 0x7fffffffu);
      hits += stop - start < limit;
    }
  if (hits) atomicAdd(found, hits);
}

static const size_t MIB = 1 << 20;
static cudaStream_t stream;
static uint4 *table, *other, *big;
static u32 *sink, *found;

static void window(const void* at, size_t bytes, cudaAccessProperty hit) {
  cudaStreamAttrValue a;
  memset(&a, 0, sizeof a);
  a.accessPolicyWindow.base_ptr = (void*)at;
  a.accessPolicyWindow.num_bytes = bytes;
  a.accessPolicyWindow.hitRatio = 1.0f;
  a.accessPolicyWindow.hitProp = hit;
  a.accessPolicyWindow.missProp = hit == cudaAccessPropertyPersisting ? cudaAccessPropertyStreaming : cudaAccessPropertyNormal;
  R(cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &a));
}

int main(int c, char** v) {
  if (c > 1 && !strcmp(v[1], "limit")) {  // what the driver sets aside, by itself and when asked
    const char* percent = getenv("CUDA_DEVICE_DEFAULT_PERSISTING_L2_CACHE_PERCENTAGE_LIMIT");
    size_t s = 0;
    cudaError_t e = cudaDeviceGetLimit(&s, cudaLimitPersistingL2CacheSize);
    printf("environment,%s,%s,%zu\n", percent ? percent : "", cudaGetErrorName(e), s);
    if (!percent)
      for (double mib : {0.0, 0.5, 1.0, 2.0, 3.75, 4.0, 7.5, 8.0, 11.25, 11.5, 12.0, 16.0, 20.0, 24.0, 30.0, 34.0, 37.5}) {
        e = cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, size_t(mib * MIB));
        cudaDeviceGetLimit(&s, cudaLimitPersistingL2CacheSize);
        printf("call,%zu,%s,%zu\n", size_t(mib * MIB), cudaGetErrorName(e), s);
      }
    return 0;
  }
  const bool as_is = c > 2;  // leave the limit as the driver has it
  R(cudaStreamCreate(&stream));
  R(cudaMalloc(&table, 64 * MIB));
  R(cudaMalloc(&other, 64 * MIB));
  R(cudaMalloc(&big, 1024 * MIB));
  R(cudaMalloc(&sink, 4096));
  found = sink + 512;
  fill<<<64 * MIB / 16 / 256, 256, 0, stream>>>(table, 64 * MIB / 16, 1);
  fill<<<64 * MIB / 16 / 256, 256, 0, stream>>>(other, 64 * MIB / 16, 99);
  fill<<<1024 * MIB / 16 / 256, 256, 0, stream>>>(big, 1024 * MIB / 16, 7);
  R(cudaDeviceSynchronize());
  cudaEvent_t e0, e1;
  R(cudaEventCreate(&e0));
  R(cudaEventCreate(&e1));
  struct Case {
    const char* done;
    int set_mib, persist_mib;
  };
  std::vector<Case> cases = {{"nothing", 0, 0},       {"nothing", 30, 0},    {"nothing", 30, 24},   {"reset", 30, 24},
                             {"normal-window", 30, 24}, {"limit-zero", 30, 24}, {"wait-1s", 30, 24},   {"read-1gib", 30, 24},
                             {"read-2gib", 30, 24},   {"read-4gib", 30, 24},   {"read-8gib", 30, 24},
                             {"write-1gib", 30, 24},  {"write-8gib", 30, 24},  {"nothing", 16, 16},   {"reset", 16, 16},      {"nothing", 11, 0}};
  if (as_is) cases = {{"nothing", -1, 0}, {"nothing", -1, 8}, {"nothing", -1, 16}};
  struct After {
    const char* name;
    int mib;
  };
  const std::vector<After> afters = {{"set_read", 16}, {"set_read", 24}, {"set_read", 32}, {"set_read", 40}, {"set_read", 48}, {"data_reset", 8},
                                     {"data_reset", 16}, {"write_all", 512}, {"none", 0}};
  printf("after,mib,done,set_mib,persisted_mib,time_us,kept\n");
  const int repeats = c > 1 ? atoi(v[1]) : 5;
  for (auto& a : afters)
    for (auto& k : cases) {
      std::vector<float> times, kept;
      const int times_here = !strcmp(k.done, "wait-1s") ? std::min(repeats, 1) : repeats;
      for (int r = 0; r < times_here; ++r) {
        window(table, 0, cudaAccessPropertyNormal);
        if (k.set_mib >= 0) R(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, k.set_mib == 11 ? 45 * MIB / 4 : k.set_mib * MIB));
        R(cudaCtxResetPersistingL2Cache());
        set_read<<<264, 1024, 0, stream>>>(big, sink, 512 * MIB / 16, 1);  // nothing of before stays
        if (k.persist_mib) {
          window(table, k.persist_mib * MIB, cudaAccessPropertyPersisting);
          set_read<<<264, 1024, 0, stream>>>(table, sink, k.persist_mib * MIB / 16, 3);
          window(table, 0, cudaAccessPropertyNormal);
        }
        R(cudaStreamSynchronize(stream));
        if (!strcmp(k.done, "reset")) R(cudaCtxResetPersistingL2Cache());
        if (!strcmp(k.done, "limit-zero")) R(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 0));
        if (!strcmp(k.done, "wait-1s")) {
          usleep(1000000);
          spin<<<132, 1024, 0, stream>>>(60000000);
        }
        if (!strncmp(k.done, "read-", 5)) set_read<<<264, 1024, 0, stream>>>(big, sink, 1024 * MIB / 16, atoi(k.done + 5));
        if (!strncmp(k.done, "write-", 6))
          for (int w = 0; w < atoi(k.done + 6); ++w) write_all<<<1024 * MIB / 16 / 256, 256, 0, stream>>>(big, 1024 * MIB / 16, make_uint4(w, 2, 3, r));
        if (!strcmp(k.done, "normal-window")) {
          window(table, k.persist_mib * MIB, cudaAccessPropertyNormal);
          set_read<<<264, 1024, 0, stream>>>(table, sink, k.persist_mib * MIB / 16, 1);
          window(table, 0, cudaAccessPropertyNormal);
        }
        R(cudaStreamSynchronize(stream));
        R(cudaEventRecord(e0, stream));
        const long long n = (long long)a.mib * MIB / 16;
        if (!strcmp(a.name, "set_read")) set_read<<<264, 1024, 0, stream>>>(other, sink, n, 40);
        if (!strcmp(a.name, "data_reset")) data_reset<<<1024 * MIB / 16 / 1024, 1024, 0, stream>>>(other, big, n, 1024 * MIB / 16);
        if (!strcmp(a.name, "write_all")) write_all<<<n / 256, 256, 0, stream>>>(big, n, make_uint4(1, 2, 3, r));
        R(cudaEventRecord(e1, stream));
        R(cudaMemsetAsync(found, 0, 4, stream));
        const u32 lines = (k.persist_mib == 8 ? 8 : 16) * MIB / 128, every = 16;
        probe<<<132, 32, 0, stream>>>((const u32*)table, lines, every, 600, found);
        R(cudaStreamSynchronize(stream));
        float ms;
        R(cudaEventElapsedTime(&ms, e0, e1));
        u32 hits;
        R(cudaMemcpy(&hits, found, 4, cudaMemcpyDeviceToHost));
        times.push_back(ms * 1e3f);
        kept.push_back(hits / float(lines / every));
      }
      std::sort(times.begin(), times.end());
      std::sort(kept.begin(), kept.end());
      printf("%s,%d,%s,%d,%d,%.3f,%.4f\n", a.name, a.mib, k.done, k.set_mib, k.persist_mib, times[times.size() / 2], kept[kept.size() / 2]);
    }
  return 0;
}
