// The same elementwise work by 2, 4, 8 and 16 bytes a thread, and by several elements a thread.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ __forceinline__ float gelu(float x) {
    return 0.5f * x * (1.0f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
}

extern "C" __global__ void add_half(const __half* x, const __half* y, __half* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = __hadd(x[i], y[i]);
}
extern "C" __global__ void add_half2(const __half2* x, const __half2* y, __half2* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 2) out[i] = __hadd2(x[i], y[i]);
}
extern "C" __global__ void add_half8(const float4* x, const float4* y, float4* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 8) {
        float4 a = x[i], b = y[i], c;
        const __half2* p = reinterpret_cast<const __half2*>(&a);
        const __half2* q = reinterpret_cast<const __half2*>(&b);
        __half2* r = reinterpret_cast<__half2*>(&c);
        for (int j = 0; j < 4; ++j) r[j] = __hadd2(p[j], q[j]);
        out[i] = c;
    }
}
extern "C" __global__ void bias_half(const __half* x, const __half* bias, __half* out, int columns, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = __hadd(x[i], bias[i % columns]);
}
extern "C" __global__ void bias_half2(const __half2* x, const __half2* bias, __half2* out, int columns, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 2) out[i] = __hadd2(x[i], bias[i % (columns / 2)]);
}
extern "C" __global__ void gelu_bfloat(const __nv_bfloat16* x, __nv_bfloat16* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = __float2bfloat16(gelu(__bfloat162float(x[i])));
}
extern "C" __global__ void gelu_bfloat2(const __nv_bfloat162* x, __nv_bfloat162* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 2) {
        float2 f = __bfloat1622float2(x[i]);
        out[i] = __floats2bfloat162_rn(gelu(f.x), gelu(f.y));
    }
}
extern "C" __global__ void gelu_float(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = gelu(x[i]);
}
extern "C" __global__ void gelu_float4(const float4* x, float4* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 4) {
        float4 f = x[i];
        out[i] = make_float4(gelu(f.x), gelu(f.y), gelu(f.z), gelu(f.w));
    }
}
extern "C" __global__ void scale_int(const int* x, int* out, int factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] * factor;
}
extern "C" __global__ void scale_int4(const int4* x, int4* out, int factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 4) {
        int4 v = x[i];
        out[i] = make_int4(v.x * factor, v.y * factor, v.z * factor, v.w * factor);
    }
}
extern "C" __global__ void scale_int_in_fours(const int* x, int* out, int factor, int n) {
    int i = blockIdx.x * blockDim.x * 4 + threadIdx.x;
    for (int j = 0; j < 4; ++j, i += blockDim.x)
        if (i < n) out[i] = x[i] * factor;
}
extern "C" __global__ void widen_bytes(const unsigned char* x, float* out, float scale, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = scale * x[i];
}
extern "C" __global__ void widen_bytes4(const uchar4* x, float4* out, float scale, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 4) {
        uchar4 v = x[i];
        out[i] = make_float4(scale * v.x, scale * v.y, scale * v.z, scale * v.w);
    }
}
extern "C" __global__ void norm_double(const double* x, const double* y, double* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] * x[i] + y[i] * y[i];
}
extern "C" __global__ void norm_double2(const double2* x, const double2* y, double2* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 2) {
        double2 a = x[i], b = y[i];
        out[i] = make_double2(a.x * a.x + b.x * b.x, a.y * a.y + b.y * b.y);
    }
}
