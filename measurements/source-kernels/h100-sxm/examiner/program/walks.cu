// All blocks of a column of the grid go over the same stream in step; each step has work of its own.
extern "C" __global__ void walk_fma(const float2* __restrict__ stream, float* __restrict__ out, int n, int work, float scale) {
  float s = 0.f, t = 1.f;
#pragma unroll 1
  for (int p = blockIdx.y * blockDim.x + threadIdx.x; p < n; p += gridDim.y * blockDim.x) {
    float2 v = stream[p];
    s += v.x; t += v.y;
#pragma unroll 4
    for (int k = 0; k < work; ++k) { s = fmaf(s, scale, 0.5f); t = fmaf(t, scale, 0.25f); }
  }
  out[(blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x] = s + t;
}
extern "C" __global__ void walk_shared_atomic(const float2* __restrict__ stream, unsigned* __restrict__ out, int n, int cells) {
  __shared__ unsigned line[2048];
  for (int c = threadIdx.x; c < cells; c += blockDim.x) line[c] = 0;
  __syncthreads();
#pragma unroll 1
  for (int p = blockIdx.y * blockDim.x + threadIdx.x; p < n; p += gridDim.y * blockDim.x) {
    float2 v = stream[p];
    atomicAdd(&line[(int)((v.x + v.y) * 0.5f * cells)], 1u);
  }
  __syncthreads();
  for (int c = threadIdx.x; c < cells; c += blockDim.x) out[(blockIdx.y * gridDim.x + blockIdx.x) * cells + c] = line[c];
}
