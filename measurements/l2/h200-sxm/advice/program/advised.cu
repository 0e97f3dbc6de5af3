// What advice is worth: each launch without a set-aside, then with every set-aside and hitRatio that advice tries, and with other
// fetch granularities. One line a launch: the median of seven, one after the other, after one unmeasured.
#include "../../../../../perfmodel/measure/sources/residency.cu"
#include "../../../../../perfmodel/measure/sources/gather.cu"
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <vector>
#define R(x) do{cudaError_t e_=(x); if(e_!=cudaSuccess){fprintf(stderr,"%d %s\n",__LINE__,cudaGetErrorString(e_)); exit(1);} }while(0)
typedef unsigned long long u64;
// Two re-read tables, past L1, beside a stream that is read once and another that is written: two-tables.toml.
extern "C" __global__ void two_tables(const float4* __restrict__ stream, const float4* __restrict__ a,
                                      const float4* __restrict__ b, float4* __restrict__ out, unsigned n, unsigned ma, unsigned mb) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float4 s = stream[i], p = past_l1(a + i % ma), q = past_l1(b + i % mb);
    out[i] = make_float4(p.x * q.x + s.x, p.y * q.y + s.y, p.z * q.z + s.z, p.w * q.w + s.w);
  }
}
__device__ unsigned hashed(unsigned x) { x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu; x ^= x >> 16; return x; }
__global__ void noise(unsigned* p, size_t n, unsigned k) { size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; if (i < n) p[i] = 0x3f800000u | (hashed((unsigned)i * 2654435761u + k) >> 9); }
__global__ void places(unsigned* p, size_t n, unsigned below, unsigned k) { size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; if (i < n) p[i] = (unsigned)(((u64)hashed((unsigned)i + k) * below) >> 32); }

static char *A, *B, *C, *D;
static unsigned* rows;
static cudaStream_t st;
static cudaEvent_t from, to;
static const double MIB = 1 << 20;

static void window(char* base, size_t aside, size_t bytes, double hit, bool normal) {
  R(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, aside));
  R(cudaCtxResetPersistingL2Cache());
  cudaStreamAttrValue v; memset(&v, 0, sizeof v);
  v.accessPolicyWindow.base_ptr = base; v.accessPolicyWindow.num_bytes = bytes; v.accessPolicyWindow.hitRatio = (float)hit;
  v.accessPolicyWindow.hitProp = bytes ? cudaAccessPropertyPersisting : cudaAccessPropertyNormal;
  v.accessPolicyWindow.missProp = !bytes || normal ? cudaAccessPropertyNormal : cudaAccessPropertyStreaming;
  R(cudaStreamSetAttribute(st, cudaStreamAttributeAccessPolicyWindow, &v));
}
static void timed(const std::function<void()>& launch, double& us, double& spread) {
  std::vector<float> t;
  for (int r = 0; r < 8; ++r) {
    R(cudaEventRecord(from, st)); launch(); R(cudaEventRecord(to, st)); R(cudaEventSynchronize(to));
    float ms; R(cudaEventElapsedTime(&ms, from, to)); if (r) t.push_back(ms * 1e3f);
  }
  std::sort(t.begin(), t.end()); us = t[3]; spread = (t[5] - t[1]) / t[3];
}
// hitRatios that advice tries: what fills the ways, and set-aside over window.
static std::set<double> ratios(double aside, double bytes) {
  double best = bytes <= aside ? 1 : std::min(1.0, std::max(1 / 16., (std::floor(16 * 0.85 * aside / bytes) - 1) / 16));
  return {best, std::min(1.0, std::round(1e4 * aside / bytes) / 1e4)};
}
struct Case { std::string kernel; double x, y, z; };
int main(int c, char** v) {
  R(cudaStreamCreate(&st)); R(cudaEventCreate(&from)); R(cudaEventCreate(&to));
  const size_t big = (size_t)1600 << 20;
  for (char** p : {&A, &B, &C, &D}) { R(cudaMalloc(p, big)); noise<<<(big / 4 + 255) / 256, 256>>>((unsigned*)*p, big / 4, (unsigned)(size_t)p); }
  R(cudaMalloc(&rows, (size_t)256 << 20)); R(cudaDeviceSynchronize());
  cudaDeviceProp prop; R(cudaGetDeviceProperties(&prop, 0));
  const double way = prop.l2CacheSize / 16.;
  const std::vector<Case> first = {
      {"data_reset", 11, 900, 0}, {"data_reset", 20, 700, 0}, {"data_reset", 27, 1500, 0}, {"data_reset", 37, 1200, 0}, {"data_reset", 50, 600, 0},
      {"stream_persistent", 5, 600, 0}, {"stream_persistent", 13, 800, 0}, {"stream_persistent", 22, 1000, 0}, {"stream_persistent", 44, 900, 0},
      {"embedding", 9, 600, 1500000}, {"embedding", 21, 300, 3145728}, {"embedding", 40, 900, 3145728},
      {"gather", 25165824, 1, 40}, {"gather", 25165824, 2, 300}, {"gather", 50331648, 4, 60}, {"gather", 50331648, 12, 600},
      {"working_set_read", 44, 40, 0}, {"working_set_read", 56, 30, 0}, {"working_set_read", 68, 24, 0}, {"working_set_read", 96, 15, 0},
      {"two_tables", 6, 20, 700}, {"two_tables", 14, 14, 700}, {"two_tables", 3, 33, 900}};
  const std::vector<Case> second = {
      {"data_reset", 14, 1100, 0}, {"data_reset", 24, 800, 0}, {"data_reset", 42, 900, 0}, {"data_reset", 7, 500, 0},
      {"stream_persistent", 9, 700, 0}, {"stream_persistent", 18, 900, 0}, {"stream_persistent", 33, 800, 0},
      {"embedding", 15, 500, 2621440}, {"embedding", 30, 200, 4194304},
      {"gather", 20971520, 8, 24}, {"gather", 33554432, 16, 200}, {"gather", 41943040, 2, 48},
      {"working_set_read", 50, 32, 0}, {"working_set_read", 62, 26, 0}, {"working_set_read", 76, 20, 0}, {"working_set_read", 120, 12, 0},
      {"two_tables", 8, 25, 800}, {"two_tables", 4, 16, 600}, {"two_tables", 11, 5, 900}};
  const auto& cases = c > 1 && !strcmp(v[1], "second") ? second : first;
  printf("kernel,x,y,z,set_bytes,window_of,window_bytes,hit_ratio,miss_prop,fetch,time_us,spread\n");
  for (auto& k : cases) {
    const unsigned m = (unsigned)(k.x * MIB / 16), n = (unsigned)(k.y * MIB / 16);
    std::function<void()> launch;
    std::vector<std::pair<char*, double>> tables = {{A, k.x * MIB}};
    if (k.kernel == "data_reset") launch = [=] { data_reset<<<(n + 1023) / 1024, 1024, 0, st>>>((float4*)A, (float4*)B, n, m); };
    if (k.kernel == "stream_persistent") launch = [=] { stream_persistent<<<(n + 255) / 256, 256, 0, st>>>((float4*)C, (float4*)A, (float4*)B, n, m); };
    if (k.kernel == "working_set_read") launch = [=] { working_set_read<<<264, 1024, 0, st>>>((float4*)A, (float*)B, m, (int)k.y, 0); };
    if (k.kernel == "embedding") {
      const unsigned lookups = (unsigned)k.z, share = (unsigned)((k.y * MIB / 4 + k.z - 1) / k.z);
      places<<<(lookups + 255) / 256, 256>>>(rows, lookups, (unsigned)(k.x * MIB / 128), 77);
      launch = [=] { embedding<<<(lookups + 7) / 8, 256, 0, st>>>((float*)A, rows, (float*)C, (float*)B, lookups, share); };
    }
    if (k.kernel == "gather") {
      const unsigned floats = (unsigned)k.x, run = (unsigned)k.y, runs = (floats + run - 1) / run;
      places<<<(runs + 255) / 256, 256>>>(rows, runs, (unsigned)(k.z * MIB / 4 / run), 91);
      tables = {{A, k.z * MIB}};
      launch = [=] { gather<<<(floats + 255) / 256, 256, 0, st>>>((float*)A, rows, (float*)B, floats, run); };
    }
    if (k.kernel == "two_tables") {
      const unsigned mb = (unsigned)(k.y * MIB / 16), all = (unsigned)(k.z * MIB / 16);
      tables = {{A, k.x * MIB}, {D, k.y * MIB}};
      launch = [=] { two_tables<<<(all + 255) / 256, 256, 0, st>>>((float4*)C, (float4*)A, (float4*)D, (float4*)B, all, m, mb); };
    }
    R(cudaDeviceSynchronize());
    double us, spread;
    auto line = [&](double aside, int which, double bytes, double hit, bool normal, int fetch) {
      window(which ? D : A, (size_t)aside, (size_t)bytes, hit, normal);
      timed(launch, us, spread);
      printf("%s,%.0f,%.0f,%.0f,%.0f,%d,%.0f,%.4f,%s,%d,%.3f,%.4f\n", k.kernel.c_str(), k.x, k.y, k.z, aside, which, bytes, hit, normal ? "normal" : "streaming", fetch, us, spread);
    };
    for (int round = 0; round < 2; ++round) {
      line(0, 0, 0, 0, false, 64);
      for (int which = 0; which < (int)tables.size(); ++which)
        for (int ways = 1; ways <= 10; ++ways) {
          const double bytes = std::min(tables[which].second, (double)prop.accessPolicyMaxWindowSize);
          for (double hit : ratios(ways * way, bytes)) for (int normal = 0; normal < 2; ++normal) line(ways * way, which, bytes, hit, normal, 64);
        }
    }
    for (int fetch : {32, 64, 128, 64}) {
      R(cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity, fetch));
      line(0, 0, 0, 0, false, fetch);
    }
  }
  return 0;
}
