// S. Veitner, "GPU L2 Cache Persistence" (simons blog): the first kernel, as the page has it.
__global__ void data_reset_kernel(const float4 *d_in, float4 *d_out, const int n, const int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n/4) d_out[i] = d_in[i % (m/4)];
}
