// Kernels before and after a change that advice may promise a gain of; the second of each pair is
// written by hand.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ __forceinline__ float gelu(float x) {
    return 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
}
__device__ __forceinline__ float gelu_e(float x) { return 0.5f * x * (1.0f + erff(x * 0.70710678f)); }

extern "C" {
__global__ void gelu_half(const half* in, half* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = __float2half(gelu(__half2float(in[i])));
}
__global__ void gelu_half8(const half* in, half* out, int n) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
    if (i < n) {
        uint4 raw = *reinterpret_cast<const uint4*>(&in[i]);
        half* h = reinterpret_cast<half*>(&raw);
        #pragma unroll
        for (int k = 0; k < 8; k++) h[k] = __float2half(gelu(__half2float(h[k])));
        *reinterpret_cast<uint4*>(&out[i]) = raw;
    }
}
__global__ void bias_h(const half* in, const half* bias, half* out, int cols, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = __hadd(in[i], bias[i % cols]);
}
__global__ void bias_h8(const half* in, const half* bias, half* out, int cols, int n) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
    if (i < n) {
        uint4 raw = *reinterpret_cast<const uint4*>(&in[i]);
        uint4 add = *reinterpret_cast<const uint4*>(&bias[i % cols]);
        half2* h = reinterpret_cast<half2*>(&raw);
        half2* b = reinterpret_cast<half2*>(&add);
        #pragma unroll
        for (int k = 0; k < 4; k++) h[k] = __hadd2(h[k], b[k]);
        *reinterpret_cast<uint4*>(&out[i]) = raw;
    }
}
__global__ void bias_f(const float* in, const float* bias, float* out, int cols, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] + bias[i % cols];
}
__global__ void bias_f4(const float* in, const float* bias, float* out, int cols, int n) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (i < n) {
        float4 x = *reinterpret_cast<const float4*>(&in[i]);
        float4 b = *reinterpret_cast<const float4*>(&bias[i % cols]);
        x.x += b.x; x.y += b.y; x.z += b.z; x.w += b.w;
        *reinterpret_cast<float4*>(&out[i]) = x;
    }
}
__global__ void relu_bf(const __nv_bfloat16* in, __nv_bfloat16* out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = __float2bfloat16(fmaxf(__bfloat162float(in[i]), 0.0f));
}
__global__ void relu_bf8(const __nv_bfloat16* in, __nv_bfloat16* out, int n) {
    for (int i = (blockIdx.x * blockDim.x + threadIdx.x) * 8; i < n; i += gridDim.x * blockDim.x * 8) {
        uint4 raw = *reinterpret_cast<const uint4*>(&in[i]);
        __nv_bfloat16* h = reinterpret_cast<__nv_bfloat16*>(&raw);
        #pragma unroll
        for (int k = 0; k < 8; k++) h[k] = __float2bfloat16(fmaxf(__bfloat162float(h[k]), 0.0f));
        *reinterpret_cast<uint4*>(&out[i]) = raw;
    }
}
__global__ void add_i(const int* a, const int* b, int* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
__global__ void add_i4(const int4* a, const int4* b, int4* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 4) { int4 x = a[i], y = b[i]; x.x += y.x; x.y += y.y; x.z += y.z; x.w += y.w; c[i] = x; }
}
__global__ void xor_c(const char* a, char* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] ^ 85;
}
__global__ void xor_c16(const int4* a, int4* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 16) { int4 x = a[i]; x.x ^= 0x55555555; x.y ^= 0x55555555; x.z ^= 0x55555555; x.w ^= 0x55555555; c[i] = x; }
}
__global__ void axpy_d(const double* x, double* y, double a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
__global__ void axpy_d2(const double2* x, double2* y, double a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 2) { double2 u = x[i], v = y[i]; v.x = a * u.x + v.x; v.y = a * u.y + v.y; y[i] = v; }
}
__global__ void gelu_f(const float* __restrict__ in, float* __restrict__ out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = gelu_e(in[i]);
}
__global__ void gelu_f4(const float4* __restrict__ in, float4* __restrict__ out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 4) {
        float4 x = in[i];
        x.x = gelu_e(x.x); x.y = gelu_e(x.y); x.z = gelu_e(x.z); x.w = gelu_e(x.w);
        out[i] = x;
    }
}
__global__ void gelu_h2(const half2* __restrict__ in, half2* __restrict__ out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float2 x = __half22float2(in[i]);
    out[i] = __floats2half2_rn(gelu(x.x), gelu(x.y));
}
__global__ void gelu_h2x4(const uint4* __restrict__ in, uint4* __restrict__ out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n / 4) return;
    uint4 raw = in[i];
    half2* h = reinterpret_cast<half2*>(&raw);
    #pragma unroll
    for (int k = 0; k < 4; k++) {
        float2 x = __half22float2(h[k]);
        h[k] = __floats2half2_rn(gelu(x.x), gelu(x.y));
    }
    out[i] = raw;
}
__global__ void add_h2(const half2* a, const half2* b, half2* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = __hadd2(a[i], b[i]);
}
__global__ void add_h2x4(const uint4* a, const uint4* b, uint4* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 4) {
        uint4 x = a[i], y = b[i];
        half2* p = reinterpret_cast<half2*>(&x); half2* q = reinterpret_cast<half2*>(&y);
        #pragma unroll
        for (int k = 0; k < 4; k++) p[k] = __hadd2(p[k], q[k]);
        c[i] = x;
    }
}
__global__ void bias_row(const half* in, const half* bias, half* out, int cols) {
    const half* x = in + (size_t)blockIdx.x * cols;
    half* y = out + (size_t)blockIdx.x * cols;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) y[c] = __hadd(x[c], bias[c]);
}
__global__ void bias_row8(const uint4* in, const uint4* bias, uint4* out, int cols) {
    const uint4* x = in + (size_t)blockIdx.x * (cols / 8);
    uint4* y = out + (size_t)blockIdx.x * (cols / 8);
    for (int c = threadIdx.x; c < cols / 8; c += blockDim.x) {
        uint4 a = x[c], b = bias[c];
        half2* p = reinterpret_cast<half2*>(&a); half2* q = reinterpret_cast<half2*>(&b);
        #pragma unroll
        for (int k = 0; k < 4; k++) p[k] = __hadd2(p[k], q[k]);
        y[c] = a;
    }
}
__global__ void bias_nchw(float* x, const float* bias, int c, int hw, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += bias[(i / hw) % c];
}
__global__ void bias_nchw4(float4* x, const float* bias, int c, int hw, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 4) {
        float b = bias[(i * 4 / hw) % c];
        float4 v = x[i]; v.x += b; v.y += b; v.z += b; v.w += b; x[i] = v;
    }
}
__global__ void biasgelu_h2(half2* x, const half2* bias, int cols2, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float2 v = __half22float2(__hadd2(x[i], bias[i % cols2]));
        x[i] = __floats2half2_rn(gelu(v.x), gelu(v.y));
    }
}
__global__ void biasgelu_h2x4(uint4* x, const uint4* bias, int cols2, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 4) {
        uint4 a = x[i], b = bias[i % (cols2 / 4)];
        half2* p = reinterpret_cast<half2*>(&a); half2* q = reinterpret_cast<half2*>(&b);
        #pragma unroll
        for (int k = 0; k < 4; k++) {
            float2 v = __half22float2(__hadd2(p[k], q[k]));
            p[k] = __floats2half2_rn(gelu(v.x), gelu(v.y));
        }
        x[i] = a;
    }
}
__global__ void bias_2d(const __nv_bfloat16* in, const __nv_bfloat16* bias, __nv_bfloat16* out, int cols) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y;
    if (c < cols) out[r * cols + c] = __hadd(in[r * cols + c], bias[c]);
}
__global__ void bias_2dx8(const uint4* in, const uint4* bias, uint4* out, int cols) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y;
    if (c < cols / 8) {
        uint4 a = in[r * (cols / 8) + c], b = bias[c];
        __nv_bfloat162* p = reinterpret_cast<__nv_bfloat162*>(&a); __nv_bfloat162* q = reinterpret_cast<__nv_bfloat162*>(&b);
        #pragma unroll
        for (int k = 0; k < 4; k++) p[k] = __hadd2(p[k], q[k]);
        out[r * (cols / 8) + c] = a;
    }
}
__global__ void off1(const float* __restrict__ in, float* __restrict__ out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i + 1] * 2.0f;
}
__global__ void off1x4(const float* __restrict__ in, float* __restrict__ out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int step = gridDim.x * blockDim.x;
    float v[4];
    #pragma unroll
    for (int j = 0; j < 4; j++) if (i + j * step < n) v[j] = in[i + j * step + 1] * 2.0f;
    #pragma unroll
    for (int j = 0; j < 4; j++) if (i + j * step < n) out[i + j * step] = v[j];
}
__global__ void stride3(const float* __restrict__ in, float* __restrict__ out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[3 * i] + in[3 * i + 1] + in[3 * i + 2];
}
__global__ void stride3x4(const float* __restrict__ in, float* __restrict__ out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int step = gridDim.x * blockDim.x;
    float v[4];
    #pragma unroll
    for (int j = 0; j < 4; j++) { int k = i + j * step; if (k < n) v[j] = in[3 * k] + in[3 * k + 1] + in[3 * k + 2]; }
    #pragma unroll
    for (int j = 0; j < 4; j++) if (i + j * step < n) out[i + j * step] = v[j];
}
__global__ void naive(const float* A, const float* B, float* C, int M, int N, int K) {
    const int m = blockIdx.x * blockDim.x + threadIdx.x;
    const int n = blockIdx.y * blockDim.y + threadIdx.y;
    if (m < M && n < N) {
        float sum = 0.0f;
        for (int k = 0; k < K; ++k) sum += A[m * K + k] * B[k * N + n];
        C[m * N + n] = sum;
    }
}
__global__ void smem(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float a[32 * 32], b[32 * 32];
    const int row = threadIdx.x / 32, col = threadIdx.x % 32;
    const int m = blockIdx.y * 32 + row, n = blockIdx.x * 32 + col;
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += 32) {
        a[row * 32 + col] = A[m * K + k0 + col];
        b[row * 32 + col] = B[(k0 + row) * N + n];
        __syncthreads();
        for (int k = 0; k < 32; ++k) sum += a[row * 32 + k] * b[k * 32 + col];
        __syncthreads();
    }
    C[m * N + n] = sum;
}
__global__ void coalesced(const float* A, const float* B, float* C, int M, int N, int K) {
    const int BLOCKSIZE = 32;
    const int m = blockIdx.y * BLOCKSIZE + (threadIdx.x / BLOCKSIZE);
    const int n = blockIdx.x * BLOCKSIZE + (threadIdx.x % BLOCKSIZE);
    if (m < M && n < N) {
        float sum = 0.0f;
        for (int k = 0; k < K; ++k) sum += A[m * K + k] * B[k * N + n];
        C[m * N + n] = sum;
    }
}
__global__ void down(const float* in, float* out, int rows, int cols,
                     int pitch) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int r = i % rows, c = i / rows;
    out[r * pitch + c] = in[r * pitch + c] * 2.0f;
}
__global__ void along(const float* in, float* out, int rows, int cols,
                     int pitch) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int r = i / cols, c = i % cols;
    out[r * pitch + c] = in[r * pitch + c] * 2.0f;
}
}
