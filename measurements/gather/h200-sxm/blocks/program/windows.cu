// What windows over tables that are read at random places are worth: gathers and lookups without a set-aside, with several of
// them, and with other fetch granularities. One line a launch: the median of seven, one after the other, after one unmeasured;
// for a profiler (a second argument) two launches of each, of which the second counts.
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
static int counted_launches = 0;
static void timed(const std::function<void()>& launch, double& us, double& spread) {
  std::vector<float> t;
  for (int r = 0; r < (counted_launches ? 2 : 8); ++r) {
    R(cudaEventRecord(from, st)); launch(); R(cudaEventRecord(to, st)); R(cudaEventSynchronize(to));
    float ms; R(cudaEventElapsedTime(&ms, from, to)); if (r) t.push_back(ms * 1e3f);
  }
  if (counted_launches) { us = spread = 0; return; }
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
  const std::vector<Case> second = {  // to be fitted on, and counted
      {"gather", 25165824, 1, 24}, {"gather", 25165824, 8, 40}, {"gather", 33554432, 4, 32}, {"gather", 25165824, 32, 48}, {"gather", 16777216, 2, 16}, {"gather", 16777216, 1, 64}, {"gather", 25165824, 16, 28},
      {"embedding", 8, 40, 1048576}, {"embedding", 24, 100, 1048576}, {"embedding", 32, 40, 1048576}, {"embedding", 16, 400, 2097152}};
  const std::vector<Case> third = {  // for validation
      {"gather", 33554432, 1, 32}, {"gather", 20971520, 4, 20}, {"gather", 29360128, 8, 56}, {"gather", 20971520, 32, 36}, {"gather", 12582912, 16, 16}, {"gather", 41943040, 3, 44},
      {"embedding", 12, 60, 1572864}, {"embedding", 4, 160, 1048576}, {"embedding", 28, 60, 1048576}, {"embedding", 48, 120, 2097152}};
  const auto& cases = c > 1 && !strcmp(v[1], "third") ? third : second; const bool count = c > 2; 
  counted_launches = count; printf("kernel,x,y,z,set_bytes,window_of,window_bytes,hit_ratio,miss_prop,fetch,time_us,spread\n");
  for (auto& k : cases) {
    std::function<void()> launch;
    std::vector<std::pair<char*, double>> tables = {{A, k.x * MIB}};
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
    R(cudaDeviceSynchronize());
    double us, spread;
    auto line = [&](double aside, int which, double bytes, double hit, bool normal, int fetch) {
      window(which ? D : A, (size_t)aside, (size_t)bytes, hit, normal);
      timed(launch, us, spread);
      printf("%s,%.0f,%.0f,%.0f,%.0f,%d,%.0f,%.4f,%s,%d,%.3f,%.4f\n", k.kernel.c_str(), k.x, k.y, k.z, aside, which, bytes, hit, normal ? "normal" : "streaming", fetch, us, spread);
    };
    for (int round = 0; round < (count ? 1 : 2); ++round) {
      line(0, 0, 0, 0, false, 64);
      for (int which = 0; which < (int)tables.size(); ++which)
        for (int ways : count ? std::vector<int>{4, 8, 10} : std::vector<int>{2, 4, 5, 6, 7, 8, 9, 10}) {
          const double bytes = std::min(tables[which].second, (double)prop.accessPolicyMaxWindowSize);
          for (double hit : ratios(ways * way, bytes)) for (int normal = 0; normal < 1; ++normal) line(ways * way, which, bytes, hit, normal, 64);
        }
    }
    for (int fetch : {32, 64, 128, 32, 128, 64}) {
      R(cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity, fetch));
      line(0, 0, 0, 0, false, fetch);
    }
  }
  return 0;
}
