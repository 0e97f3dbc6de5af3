// Kernels as articles on the L2 cache and on matrix products give them (see launches in articles.toml).

extern "C" __global__ void data_reset_kernel(const float4 *d_in, float4 *d_out, const int n, const int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n/4) d_out[i] = d_in[i % (m/4)];
}

extern "C" __global__ void stream_and_persistent_kernel(const float4* __restrict__ d_in_persistent, const float4* __restrict__ d_in_streaming, float4* __restrict__ d_out, const int n, const int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < (n >> 2)) {
        float4 s = d_in_streaming[i];
        float4 p = __ldcg(&d_in_persistent[i & ((m >> 2)-1)]);
        d_out[i] = make_float4(p.x+s.x, p.y+s.y, p.z+s.z, p.w+s.w);
    }
}

// C = A B, a thread an element: threadIdx.x walks down a column.
extern "C" __global__ void sgemm_naive(const float* A, const float* B, float* C, int M, int N, int K) {
    const unsigned m = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned n = blockIdx.y * blockDim.y + threadIdx.y;
    if (m < M && n < N) {
        float sum = 0.0f;
        for (int k = 0; k < K; ++k) sum += A[m * K + k] * B[k * N + n];
        C[m * N + n] = sum;
    }
}

#define BLOCKSIZE 32
// The same with threads laid along rows.
extern "C" __global__ void sgemm_coalesced(const float* A, const float* B, float* C, int M, int N, int K) {
    const int m = blockIdx.y * BLOCKSIZE + (threadIdx.x / BLOCKSIZE);
    const int n = blockIdx.x * BLOCKSIZE + (threadIdx.x % BLOCKSIZE);
    if (m < M && n < N) {
        float sum = 0.0f;
        for (int k = 0; k < K; ++k) sum += A[m * K + k] * B[k * N + n];
        C[m * N + n] = sum;
    }
}
