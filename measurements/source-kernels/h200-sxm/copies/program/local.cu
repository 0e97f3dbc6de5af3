// Kernels with local memory: what L1, L2 and DRAM see of it.
extern "C" {

// An array of W words a thread, written once and read `passes` times; every lane the same word.
#define PASSES(NAME, TYPE, W, INDEX)                                                        \
    __global__ void NAME(TYPE *out, int step, int passes) {                                 \
        TYPE a[W];                                                                          \
        int t = threadIdx.x + threadIdx.y * blockDim.x;                                     \
        for (int i = 0; i < W; i++) a[(i * step) & (W - 1)] = (TYPE)(i + t);                \
        TYPE sum = 0;                                                                       \
        for (int p = 0; p < passes; p++)                                                    \
            for (int k = 0; k < W; k++) sum += a[(INDEX) & (W - 1)];                        \
        if (sum == (TYPE)-1) out[t] = sum;                                                  \
    }
PASSES(words_8, int, 8, k *step + p)
PASSES(words_32, int, 32, k *step + p)
PASSES(words_128, int, 128, k *step + p)
PASSES(words_512, int, 512, k *step + p)
PASSES(words_apart_64, int, 64, k *step + t)
PASSES(doubles_32, double, 32, k *step + p)
PASSES(bytes_64, unsigned char, 64, k *step + p)
PASSES(shorts_64, short, 64, k *step + p)

__global__ void quads_32(float *out, int step, int passes) {
    float4 a[32];
    int t = threadIdx.x;
    for (int i = 0; i < 32; i++) {
        float f = (float)(i + t);
        a[(i * step) & 31] = make_float4(f, f + 1, f + 2, f + 3);
    }
    float sum = 0;
    for (int p = 0; p < passes; p++)
        for (int k = 0; k < 32; k++) {
            float4 v = a[(k * step + p) & 31];
            sum += v.x + v.y + v.z + v.w;
        }
    if (sum == -1.0f) out[t] = sum;
}

// The same with a stream of global loads beside it.
__global__ void words_and_stream(const float4 *in, float *out, int step, int passes) {
    float a[32];
    int t = threadIdx.x + blockIdx.x * blockDim.x;
    for (int i = 0; i < 32; i++) a[(i * step) & 31] = (float)(i + t);
    float sum = 0;
    for (int p = 0; p < passes; p++) {
        float4 v = in[(long long)p * gridDim.x * blockDim.x + t];
        a[(int)(v.x * 31.0f) & 31] += v.y + v.z + v.w;
        sum += a[(p * step) & 31];
    }
    if (sum == -1.0f) out[t] = sum;
}

// Written, never read again but for one word: does it leave L1?
__global__ void written_only(int *out, int step, int at) {
    int a[64];
    int t = threadIdx.x;
    for (int i = 0; i < 64; i++) a[(i * step) & 63] = i * t;
    if (a[at & 63] == -1) out[t] = a[step & 63];
}
}
// Registers cut to 32: the rest is spilled.
extern "C" __global__ void __launch_bounds__(1024, 2) spilled(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v[40];
#pragma unroll
    for (int k = 0; k < 40; k++) v[k] = in[i + k * n];
    __syncthreads();
#pragma unroll
    for (int r = 0; r < 4; r++) {
#pragma unroll
        for (int k = 0; k < 40; k++) v[k] = v[k] * v[(k + 7) % 40] + v[(k + 13) % 40];
    }
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 40; k++) sum += v[k];
    out[i] = sum;
}
