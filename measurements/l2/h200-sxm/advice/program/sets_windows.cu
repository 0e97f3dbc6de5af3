// Windows over sets that are read again and again, launch after launch: what the third launch reads of DRAM.
#include "../../../../../perfmodel/measure/sources/residency.cu"
#include <cuda_runtime.h>
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
  FILE* list = fopen("sets_list.csv", "w");
  fprintf(list, "bytes,iterations,set_mib,hit_eighths,miss_prop,launch\n");
  for (int mib : {24, 40, 48, 56, 64, 80}) for (int set : {0, 16, 30, 37}) for (int h : {2, 4, 6, 8}) for (int normal = 0; normal < 2; ++normal) {
    if (set == 0 && (h < 8 || normal)) continue;
    if (normal && h == 8) continue;
    if (mib == 24 && h != 2) continue;
    const int times = 1008 / mib;
    const long long n = (long long)mib * 65536;
    window(in, 0, 0, 0, true);
    counted_set<<<264, 1024, 0, st>>>(other, out, 16 << 20, 1);
    window(in, (size_t)set << 20, set ? (size_t)mib << 20 : 0, h / 8.0, normal);
    for (int launch = 0; launch < 3; ++launch) { counted_set<<<264, 1024, 0, st>>>(in, out, n, times); fprintf(list, "%d,%d,%d,%d,%s,%d\n", mib << 20, times, set, h, normal ? "normal" : "streaming", launch); }
    R(cudaStreamSynchronize(st));
  }
  return 0;
}
