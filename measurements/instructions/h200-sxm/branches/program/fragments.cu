// Fragments of matrices that warps load and store, and fetches of textures: requests and sectors.
#include <cstdio>
#include <cstdint>
#include <cstdlib>
#include <vector>
#include <cuda_fp16.h>
#include <mma.h>
#include <cuda_runtime.h>
using namespace nvcuda;
// ---- fragments: one warp a block, matrix of leading dimension ld, from global memory
template <typename L> __global__ void load_a(const half* in, float* out, int ld) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, L> a;
  wmma::load_matrix_sync(a, in + (size_t)blockIdx.x * 16 * ld, ld);
  for (int i = 0; i < a.num_elements; ++i) out[(blockIdx.x * 32 + threadIdx.x) * 16 + i] = __half2float(a.x[i]);
}
template <typename L> __global__ void load_b(const half* in, float* out, int ld) {
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, L> a;
  wmma::load_matrix_sync(a, in + (size_t)blockIdx.x * 16 * ld, ld);
  for (int i = 0; i < a.num_elements; ++i) out[(blockIdx.x * 32 + threadIdx.x) * 16 + i] = __half2float(a.x[i]);
}
template <int ROW> __global__ void load_c(const float* in, float* out, int ld) {
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> a;
  wmma::load_matrix_sync(a, in + (size_t)blockIdx.x * 16 * ld, ld, ROW ? wmma::mem_row_major : wmma::mem_col_major);
  for (int i = 0; i < a.num_elements; ++i) a.x[i] += 1.0f;
  wmma::store_matrix_sync(out + (size_t)blockIdx.x * 16 * ld, a, ld, ROW ? wmma::mem_row_major : wmma::mem_col_major);
}
// ---- textures
__global__ void tex_line(cudaTextureObject_t t, float* out, int stride, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = tex1Dfetch<float>(t, (int)(((long long)i * stride) % n));
}
__global__ void tex_line4(cudaTextureObject_t t, float* out, int stride, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 v = tex1Dfetch<float4>(t, (int)(((long long)i * stride) % n));
  out[i] = v.x + v.y + v.z + v.w;
}
__global__ void tex_plane(cudaTextureObject_t t, float* out, int w, float dx, float dy) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  out[y * w + x] = tex2D<float>(t, x + dx, y + dy);
}
__global__ void tex_turned(cudaTextureObject_t t, float* out, int w, float dx, float dy) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  out[y * w + x] = tex2D<float>(t, y + dx, x + dy);
}
#define OK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) printf("ERR %s: %s\n", #x, cudaGetErrorString(e_)); } while (0)
int main() {
  size_t big = 256u << 20;
  char *in; float *out;
  OK(cudaMalloc(&in, big)); OK(cudaMalloc(&out, big));
  std::vector<uint32_t> h(big / 4); uint32_t x = 12345;
  for (auto& v : h) { x ^= x << 13; x ^= x >> 17; x ^= x << 5; v = (x & 0x007fffff) | 0x3f800000; }
  OK(cudaMemcpy(in, h.data(), big, cudaMemcpyHostToDevice));
  for (int ld : {16, 24, 1024}) {
    load_a<wmma::row_major><<<64, 32>>>((half*)in, out, ld); load_a<wmma::col_major><<<64, 32>>>((half*)in, out, ld);
    load_b<wmma::row_major><<<64, 32>>>((half*)in, out, ld); load_b<wmma::col_major><<<64, 32>>>((half*)in, out, ld);
    load_c<1><<<64, 32>>>((float*)in, out, ld); load_c<0><<<64, 32>>>((float*)in, out, ld);
  }
  OK(cudaDeviceSynchronize());
  cudaTextureObject_t t1, t4, p, a, l;
  cudaResourceDesc r = {}; cudaTextureDesc d = {};
  r.resType = cudaResourceTypeLinear; r.res.linear.devPtr = in; r.res.linear.desc = cudaCreateChannelDesc<float>(); r.res.linear.sizeInBytes = 64u << 20; d.readMode = cudaReadModeElementType;
  OK(cudaCreateTextureObject(&t1, &r, &d, nullptr));
  r.res.linear.desc = cudaCreateChannelDesc<float4>();
  OK(cudaCreateTextureObject(&t4, &r, &d, nullptr));
  int w = 2048, hh = 1024;
  r = {}; r.resType = cudaResourceTypePitch2D; r.res.pitch2D.devPtr = in; r.res.pitch2D.desc = cudaCreateChannelDesc<float>(); r.res.pitch2D.width = w; r.res.pitch2D.height = hh; r.res.pitch2D.pitchInBytes = w * 4;
  d.addressMode[0] = d.addressMode[1] = cudaAddressModeClamp; d.filterMode = cudaFilterModePoint;
  OK(cudaCreateTextureObject(&p, &r, &d, nullptr));
  cudaArray_t arr; cudaChannelFormatDesc f = cudaCreateChannelDesc<float>(); OK(cudaMallocArray(&arr, &f, w, hh)); OK(cudaMemcpy2DToArray(arr, 0, 0, in, w * 4, w * 4, hh, cudaMemcpyDeviceToDevice));
  r = {}; r.resType = cudaResourceTypeArray; r.res.array.array = arr;
  OK(cudaCreateTextureObject(&a, &r, &d, nullptr));
  d.filterMode = cudaFilterModeLinear;
  OK(cudaCreateTextureObject(&l, &r, &d, nullptr));
  for (int s : {1, 2, 8, 33}) tex_line<<<4096, 256>>>(t1, out, s, 16 << 20);
  for (int s : {1, 4}) tex_line4<<<4096, 256>>>(t4, out, s, 4 << 20);
  for (cudaTextureObject_t t : {p, a, l}) {
    tex_plane<<<dim3(w / 32, hh / 8), dim3(32, 8)>>>(t, out, w, 0.5f, 0.5f);
    tex_plane<<<dim3(w / 16, hh / 16), dim3(16, 16)>>>(t, out, w, 0.5f, 0.5f);
    tex_plane<<<dim3(w / 8, hh / 32), dim3(8, 32)>>>(t, out, w, 0.5f, 0.5f);
    tex_plane<<<dim3(w / 32, hh / 8), dim3(32, 8)>>>(t, out, w, 1.0f, 1.0f);
    tex_turned<<<dim3(hh / 32, w / 8), dim3(32, 8)>>>(t, out, w, 0.5f, 0.5f);
  }
  OK(cudaDeviceSynchronize());
  printf("done\n");
}
