// Kernels whose loads ptxas orders: see README.md.
extern "C" __global__ void plane_5_3(const float* __restrict__ in, float* __restrict__ out, int pitch) {
int i = blockIdx.x * blockDim.x + threadIdx.x; i += 16 * pitch; float s = 0.f;
s += 1.5f * in[i + -2 * pitch + -1];
s += 2.5f * in[i + -2 * pitch + 0];
s += 3.5f * in[i + -2 * pitch + 1];
s += 2.5f * in[i + -1 * pitch + -1];
s += 3.5f * in[i + -1 * pitch + 0];
s += 4.5f * in[i + -1 * pitch + 1];
s += 3.5f * in[i + 0 * pitch + -1];
s += 4.5f * in[i + 0 * pitch + 0];
s += 5.5f * in[i + 0 * pitch + 1];
s += 4.5f * in[i + 1 * pitch + -1];
s += 5.5f * in[i + 1 * pitch + 0];
s += 6.5f * in[i + 1 * pitch + 1];
s += 5.5f * in[i + 2 * pitch + -1];
s += 6.5f * in[i + 2 * pitch + 0];
s += 7.5f * in[i + 2 * pitch + 1];
out[i] = s;
}

extern "C" __global__ void plane_5_5(const float* __restrict__ in, float* __restrict__ out, int pitch) {
int i = blockIdx.x * blockDim.x + threadIdx.x; i += 16 * pitch; float s = 0.f;
s += 1.5f * in[i + -2 * pitch + -2];
s += 2.5f * in[i + -2 * pitch + -1];
s += 3.5f * in[i + -2 * pitch + 0];
s += 4.5f * in[i + -2 * pitch + 1];
s += 5.5f * in[i + -2 * pitch + 2];
s += 2.5f * in[i + -1 * pitch + -2];
s += 3.5f * in[i + -1 * pitch + -1];
s += 4.5f * in[i + -1 * pitch + 0];
s += 5.5f * in[i + -1 * pitch + 1];
s += 6.5f * in[i + -1 * pitch + 2];
s += 3.5f * in[i + 0 * pitch + -2];
s += 4.5f * in[i + 0 * pitch + -1];
s += 5.5f * in[i + 0 * pitch + 0];
s += 6.5f * in[i + 0 * pitch + 1];
s += 7.5f * in[i + 0 * pitch + 2];
s += 4.5f * in[i + 1 * pitch + -2];
s += 5.5f * in[i + 1 * pitch + -1];
s += 6.5f * in[i + 1 * pitch + 0];
s += 7.5f * in[i + 1 * pitch + 1];
s += 8.5f * in[i + 1 * pitch + 2];
s += 5.5f * in[i + 2 * pitch + -2];
s += 6.5f * in[i + 2 * pitch + -1];
s += 7.5f * in[i + 2 * pitch + 0];
s += 8.5f * in[i + 2 * pitch + 1];
s += 9.5f * in[i + 2 * pitch + 2];
out[i] = s;
}

extern "C" __global__ void plane_9_3(const float* __restrict__ in, float* __restrict__ out, int pitch) {
int i = blockIdx.x * blockDim.x + threadIdx.x; i += 16 * pitch; float s = 0.f;
s += 1.5f * in[i + -4 * pitch + -1];
s += 2.5f * in[i + -4 * pitch + 0];
s += 3.5f * in[i + -4 * pitch + 1];
s += 2.5f * in[i + -3 * pitch + -1];
s += 3.5f * in[i + -3 * pitch + 0];
s += 4.5f * in[i + -3 * pitch + 1];
s += 3.5f * in[i + -2 * pitch + -1];
s += 4.5f * in[i + -2 * pitch + 0];
s += 5.5f * in[i + -2 * pitch + 1];
s += 4.5f * in[i + -1 * pitch + -1];
s += 5.5f * in[i + -1 * pitch + 0];
s += 6.5f * in[i + -1 * pitch + 1];
s += 5.5f * in[i + 0 * pitch + -1];
s += 6.5f * in[i + 0 * pitch + 0];
s += 7.5f * in[i + 0 * pitch + 1];
s += 6.5f * in[i + 1 * pitch + -1];
s += 7.5f * in[i + 1 * pitch + 0];
s += 8.5f * in[i + 1 * pitch + 1];
s += 7.5f * in[i + 2 * pitch + -1];
s += 8.5f * in[i + 2 * pitch + 0];
s += 9.5f * in[i + 2 * pitch + 1];
s += 8.5f * in[i + 3 * pitch + -1];
s += 9.5f * in[i + 3 * pitch + 0];
s += 10.5f * in[i + 3 * pitch + 1];
s += 9.5f * in[i + 4 * pitch + -1];
s += 10.5f * in[i + 4 * pitch + 0];
s += 11.5f * in[i + 4 * pitch + 1];
out[i] = s;
}

extern "C" __global__ void clamped_4(const float* __restrict__ in, float* __restrict__ out, int width, int height) {
int i = blockIdx.x * blockDim.x + threadIdx.x; int x = i % width, y = i / width; float s = 0.f;
#pragma unroll
for (int a = 0; a < 4; ++a)
#pragma unroll
for (int b = 0; b < 4; ++b) s += (a * 3.f + b) * in[min(max(y + a - 2, 0), height - 1) * width + min(max(x + b - 2, 0), width - 1)];
out[i] = s;
}

extern "C" __global__ void clamped_5(const float* __restrict__ in, float* __restrict__ out, int width, int height) {
int i = blockIdx.x * blockDim.x + threadIdx.x; int x = i % width, y = i / width; float s = 0.f;
#pragma unroll
for (int a = 0; a < 5; ++a)
#pragma unroll
for (int b = 0; b < 5; ++b) s += (a * 3.f + b) * in[min(max(y + a - 2, 0), height - 1) * width + min(max(x + b - 2, 0), width - 1)];
out[i] = s;
}

extern "C" __global__ void arrays_16(const float* __restrict__ a0, const float* __restrict__ a1, const float* __restrict__ a2, const float* __restrict__ a3, const float* __restrict__ a4, const float* __restrict__ a5, const float* __restrict__ a6, const float* __restrict__ a7, const float* __restrict__ a8, const float* __restrict__ a9, const float* __restrict__ a10, const float* __restrict__ a11, const float* __restrict__ a12, const float* __restrict__ a13, const float* __restrict__ a14, const float* __restrict__ a15, float* __restrict__ out) {
int i = blockIdx.x * blockDim.x + threadIdx.x; float s = 0.f;
s = s * 0.5f + a0[i];
s = s * 0.5f + a1[i];
s = s * 0.5f + a2[i];
s = s * 0.5f + a3[i];
s = s * 0.5f + a4[i];
s = s * 0.5f + a5[i];
s = s * 0.5f + a6[i];
s = s * 0.5f + a7[i];
s = s * 0.5f + a8[i];
s = s * 0.5f + a9[i];
s = s * 0.5f + a10[i];
s = s * 0.5f + a11[i];
s = s * 0.5f + a12[i];
s = s * 0.5f + a13[i];
s = s * 0.5f + a14[i];
s = s * 0.5f + a15[i];
out[i] = s;
}

extern "C" __global__ void arrays_28(const float* __restrict__ a0, const float* __restrict__ a1, const float* __restrict__ a2, const float* __restrict__ a3, const float* __restrict__ a4, const float* __restrict__ a5, const float* __restrict__ a6, const float* __restrict__ a7, const float* __restrict__ a8, const float* __restrict__ a9, const float* __restrict__ a10, const float* __restrict__ a11, const float* __restrict__ a12, const float* __restrict__ a13, const float* __restrict__ a14, const float* __restrict__ a15, const float* __restrict__ a16, const float* __restrict__ a17, const float* __restrict__ a18, const float* __restrict__ a19, const float* __restrict__ a20, const float* __restrict__ a21, const float* __restrict__ a22, const float* __restrict__ a23, const float* __restrict__ a24, const float* __restrict__ a25, const float* __restrict__ a26, const float* __restrict__ a27, float* __restrict__ out) {
int i = blockIdx.x * blockDim.x + threadIdx.x; float s = 0.f;
s = s * 0.5f + a0[i];
s = s * 0.5f + a1[i];
s = s * 0.5f + a2[i];
s = s * 0.5f + a3[i];
s = s * 0.5f + a4[i];
s = s * 0.5f + a5[i];
s = s * 0.5f + a6[i];
s = s * 0.5f + a7[i];
s = s * 0.5f + a8[i];
s = s * 0.5f + a9[i];
s = s * 0.5f + a10[i];
s = s * 0.5f + a11[i];
s = s * 0.5f + a12[i];
s = s * 0.5f + a13[i];
s = s * 0.5f + a14[i];
s = s * 0.5f + a15[i];
s = s * 0.5f + a16[i];
s = s * 0.5f + a17[i];
s = s * 0.5f + a18[i];
s = s * 0.5f + a19[i];
s = s * 0.5f + a20[i];
s = s * 0.5f + a21[i];
s = s * 0.5f + a22[i];
s = s * 0.5f + a23[i];
s = s * 0.5f + a24[i];
s = s * 0.5f + a25[i];
s = s * 0.5f + a26[i];
s = s * 0.5f + a27[i];
out[i] = s;
}

extern "C" __global__ void volume_4(const float* __restrict__ in, float* __restrict__ out, int pitch, int plane, int nz) {
int i = blockIdx.x * blockDim.x + threadIdx.x; i += pitch * 8; float p = in[i - plane], h = in[i];
for (int z = 1; z < nz; ++z, i += plane) { float n = in[i + plane];
out[i] = 0.4f * h + 0.1f * (p + n + in[i + 1 * 1] + in[i - 1 * 1] + in[i + pitch * 1] + in[i - pitch * 1]); p = h; h = n; }
}

extern "C" __global__ void volume_6(const float* __restrict__ in, float* __restrict__ out, int pitch, int plane, int nz) {
int i = blockIdx.x * blockDim.x + threadIdx.x; i += pitch * 8; float p = in[i - plane], h = in[i];
for (int z = 1; z < nz; ++z, i += plane) { float n = in[i + plane];
out[i] = 0.4f * h + 0.1f * (p + n + in[i + 1 * 1] + in[i - 1 * 1] + in[i + pitch * 1] + in[i - pitch * 1] + in[i + 1 * 2] + in[i - 1 * 2]); p = h; h = n; }
}

extern "C" __global__ void rows_2(const float* __restrict__ a0, const float* __restrict__ a1, float* __restrict__ out, int n, int pitch) {
int i = blockIdx.x * blockDim.x + threadIdx.x; float s = 0.f;
for (int k = 0; k < n; ++k) s += a0[(long long)i * pitch + k] * a1[(long long)i * pitch + k];
out[i] = s;
}

extern "C" __global__ void columns_2(const float* __restrict__ a0, const float* __restrict__ a1, float* __restrict__ out, int n, int pitch) {
int i = blockIdx.x * blockDim.x + threadIdx.x; float s = 0.f;
for (int k = 0; k < n; ++k) s += a0[(long long)k * pitch + i] * a1[(long long)k * pitch + i];
out[i] = s;
}

extern "C" __global__ void columns_4(const float* __restrict__ a0, const float* __restrict__ a1, const float* __restrict__ a2, const float* __restrict__ a3, float* __restrict__ out, int n, int pitch) {
int i = blockIdx.x * blockDim.x + threadIdx.x; float s = 0.f;
for (int k = 0; k < n; ++k) s += a0[(long long)k * pitch + i] * a1[(long long)k * pitch + i] * a2[(long long)k * pitch + i] * a3[(long long)k * pitch + i];
out[i] = s;
}

extern "C" __global__ void unrolled_16(const float* __restrict__ in, float* __restrict__ out, int n, int pitch) {
int i = blockIdx.x * blockDim.x + threadIdx.x; float s = 0.f;
#pragma unroll 16
for (int k = 0; k < n; k += 1) s = fmaxf(s * 1.01f, in[k * pitch + i]);
out[i] = s;
}

extern "C" __global__ void gathers_1(const float* __restrict__ in, const int* __restrict__ index, float* __restrict__ out, int n, int pitch, int stride) {
int i = blockIdx.x * blockDim.x + threadIdx.x; float s = 0.f;
for (int k = 0; k < n; ++k) { int j = index[k * pitch + i]; s += in[j + 0 * stride]; }
out[i] = s;
}

extern "C" __global__ void columns_by_3(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ out, int n, int pitch) {
int i = blockIdx.x * blockDim.x + threadIdx.x; float s[3] = {};
for (int k = 0; k < n; ++k) { float v = a[(long long)k * pitch + i];
s[0] += v * b[k * 3 + 0];
s[1] += v * b[k * 3 + 1];
s[2] += v * b[k * 3 + 2];
}
out[i + 0 * pitch] = s[0];
out[i + 1 * pitch] = s[1];
out[i + 2 * pitch] = s[2];

}

