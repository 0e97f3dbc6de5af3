// Windows over sets and gathers: what crosses the sides of L2 and where it is found, by set-aside and hitRatio.
#include "../../../../../perfmodel/measure/sources/residency.cu"
#include <cuda_runtime.h>
__global__ void counted_gather(const float* __restrict__ table, const unsigned* __restrict__ rows, float* __restrict__ out, unsigned n, unsigned run) { unsigned i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = table[(size_t)rows[i / run] * run + i % run]; }
__device__ unsigned hashed(unsigned x) { x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu; x ^= x >> 16; return x; }
__global__ void places(unsigned* p, size_t n, unsigned below, unsigned k) { size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; if (i < n) p[i] = (unsigned)(((unsigned long long)hashed((unsigned)i + k) * below) >> 32); }
#include <cstdio>
#include <cstdlib>
#include <cstring>
#define R(x) do{cudaError_t e_=(x); if(e_!=cudaSuccess){fprintf(stderr,"%d %s\n",__LINE__,cudaGetErrorString(e_)); exit(1);} }while(0)
__global__ void noise(unsigned* p, size_t n, unsigned k) { size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { unsigned x = (unsigned)i * 2654435761u + k; x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; p[i] = 0x3f800000u | (x >> 9); } }
__global__ void counted_set(const float4* in, float* out, long long n, int iterations) {
  const long long step = (long long)gridDim.x * blockDim.x;
  float s = 0.0f;
  for (int r = 0; r < iterations; ++r)
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) s += fold(past_l1(in + i));
  if (s < 0.5f) out[0] = s;
}
static cudaStream_t st;
static void window(void* base, size_t aside, size_t bytes, double hit, bool normal) {
  R(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, aside));
  R(cudaCtxResetPersistingL2Cache());
  cudaStreamAttrValue v; memset(&v, 0, sizeof v);
  v.accessPolicyWindow.base_ptr = base; v.accessPolicyWindow.num_bytes = bytes; v.accessPolicyWindow.hitRatio = (float)hit;
  v.accessPolicyWindow.hitProp = bytes ? cudaAccessPropertyPersisting : cudaAccessPropertyNormal;
  v.accessPolicyWindow.missProp = !bytes || normal ? cudaAccessPropertyNormal : cudaAccessPropertyStreaming;
  R(cudaStreamSetAttribute(st, cudaStreamAttributeAccessPolicyWindow, &v));
}
int main(int c, char**) {
  R(cudaStreamCreate(&st));
  float4 *in, *other; float* out; R(cudaMalloc(&in, 128 << 20)); R(cudaMalloc(&other, 256 << 20)); R(cudaMalloc(&out, 4096));
  noise<<<(32 << 20) / 256, 256, 0, st>>>((unsigned*)in, 32 << 20, 3); noise<<<(64 << 20) / 256, 256, 0, st>>>((unsigned*)other, 64 << 20, 5); R(cudaStreamSynchronize(st));
  FILE* list = fopen("sides_list.csv", "w");
  fprintf(list, "function,mib,set_mib,hit_eighths,launch\n");
  for (int mib : {40, 64}) for (double set : {0., 16., 30., 33.75, 37.5}) for (int h : {2, 4, 8}) {
    if (set == 0 && h < 8) continue; if (set > 0 && h == 8) continue;
    const int times = 1008 / mib; const long long n = (long long)mib * 65536;
    window(in, 0, 0, 0, true);
    counted_set<<<264, 1024, 0, st>>>(other, out, 16 << 20, 1);
    window(in, (size_t)(set * (1 << 20)), set ? (size_t)mib << 20 : 0, h / 8.0, false);
    for (int launch = 0; launch < 2; ++launch) { counted_set<<<264, 1024, 0, st>>>(in, out, n, times); fprintf(list, "set,%d,%.2f,%d,%d\n", mib, set, h, launch); }
    R(cudaStreamSynchronize(st));
  }
  unsigned* rows; float* gout; const unsigned n = 24u << 20; R(cudaMalloc(&rows, n * 4)); R(cudaMalloc(&gout, n * 4));
  for (int run : {1, 8}) for (int mib : {20, 40}) for (double set : {0., 15., 30., 37.5}) for (double h : {0.25, 0.5, 0.75, 1.0}) {
    if (set == 0 && h < 1) continue; if (set > 0 && h == 1. && mib == 40 && set < 37) continue;
    places<<<(n / run + 255) / 256, 256, 0, st>>>(rows, n / run, (unsigned)((size_t)mib * 262144 / run), 91);
    window(in, (size_t)(set * (1 << 20)), set ? (size_t)mib << 20 : 0, h, false);
    for (int launch = 0; launch < 2; ++launch) { counted_gather<<<(n + 255) / 256, 256, 0, st>>>((float*)in, rows, gout, n, run); fprintf(list, "gather%d,%d,%.2f,%.0f,%d\n", run, mib, set, 8 * h, launch); }
    R(cudaStreamSynchronize(st));
  }
  return 0;
}
