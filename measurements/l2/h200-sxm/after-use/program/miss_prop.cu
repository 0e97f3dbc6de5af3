// Windows whose other lines are streaming or normal, over a table read again and again beside streams.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

typedef unsigned u32;
#define R(x)                                                                     \
  do {                                                                           \
    cudaError_t e_ = (x);                                                        \
    if (e_ != cudaSuccess) {                                                     \
      fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); \
      exit(1);                                                                   \
    }                                                                            \
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

// The kernel of data-reset: a table, repeated into a longer buffer.
extern "C" __global__ void data_reset(const uint4* in, uint4* out, long long m, long long n) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i % m];
}

// The kernel of stream-persistent: a stream and a table, the table past L1.
extern "C" __global__ void stream_persistent(const uint4* table, const uint4* stream, uint4* out, long long m, long long n) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    uint4 p = __ldcg(table + i % m), s = stream[i];
    out[i] = make_uint4(p.x + s.x, p.y + s.y, p.z + s.z, p.w + s.w);
  }
}

int main(int c, char** v) {
  const int repeats = c > 1 ? atoi(v[1]) : 4;  // 0: one launch each, for the profiler
  const size_t MIB = 1 << 20;
  uint4 *table, *stream, *out;
  cudaStream_t s;
  R(cudaStreamCreate(&s));
  R(cudaMalloc(&table, 32 * MIB));
  R(cudaMalloc(&stream, 1024 * MIB));
  R(cudaMalloc(&out, 1024 * MIB));
  fill<<<32 * MIB / 16 / 256, 256, 0, s>>>(table, 32 * MIB / 16, 1);
  fill<<<1024 * MIB / 16 / 256, 256, 0, s>>>(stream, 1024 * MIB / 16, 99);
  R(cudaStreamSynchronize(s));
  cudaEvent_t e0, e1;
  R(cudaEventCreate(&e0));
  R(cudaEventCreate(&e1));
  printf("function,table_mib,out_mib,set_mib,hit_sixteenths,miss_prop,time_us,spread\n");
  for (int f = 0; f < 2; ++f)
    for (int mib : {8, 16, 24, 32})
      for (int set : {0, 8, 16})
        for (int hit : {4, 6, 8, 12, 16})
          for (int normal = 0; normal < 2; ++normal) {
            if (set == 0 && (hit != 16 || normal)) continue;
            if (hit == 16 && normal) continue;
            if (mib == 8 && set == 16) continue;
            const long long m = mib * MIB / 16, n = (f ? 512 : 1024) * MIB / 16;
            R(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, set * MIB));
            R(cudaCtxResetPersistingL2Cache());
            cudaStreamAttrValue a;
            memset(&a, 0, sizeof a);
            a.accessPolicyWindow.base_ptr = table;
            a.accessPolicyWindow.num_bytes = set ? mib * MIB : 0;
            a.accessPolicyWindow.hitRatio = hit / 16.0f;
            a.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
            a.accessPolicyWindow.missProp = normal ? cudaAccessPropertyNormal : cudaAccessPropertyStreaming;
            R(cudaStreamSetAttribute(s, cudaStreamAttributeAccessPolicyWindow, &a));
            std::vector<float> t;
            for (int r = 0; r < std::max(1, repeats + (repeats > 0)); ++r) {
              R(cudaEventRecord(e0, s));
              if (f)
                stream_persistent<<<n / 256, 256, 0, s>>>(table, stream, out, m, n);
              else
                data_reset<<<n / 1024, 1024, 0, s>>>(table, out, m, n);
              R(cudaEventRecord(e1, s));
              R(cudaStreamSynchronize(s));
              float ms;
              R(cudaEventElapsedTime(&ms, e0, e1));
              if (r || !repeats) t.push_back(ms * 1e3f);
            }
            std::sort(t.begin(), t.end());
            printf("%s,%d,%d,%d,%d,%s,%.3f,%.4f\n", f ? "stream_persistent" : "data_reset", mib, f ? 512 : 1024, set, hit,
                   set == 0 ? "none" : normal ? "normal" : "streaming", t[t.size() / 2], (t.back() - t[0]) / t[t.size() / 2]);
          }
  return 0;
}
