// S. Veitner, "GPU L2 Cache Persistence" (simons blog): the second kernel, as the page has it.
__global__ void stream_and_persistent_kernel(const float4* __restrict__ d_in_persistent, const float4* __restrict__ d_in_streaming, float4* __restrict__ d_out, const int n, const int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    
    // Note n / 4 == n >> 2 and m / 4 == m >> 2, i % m == i & (m-1) if m 2^x
    if (i < (n >> 2)) {
        //float4 s = __ldlu(&d_in_streaming[i]);
        float4 s = d_in_streaming[i];
        float4 p = __ldcg(&d_in_persistent[i & ((m >> 2)-1)]);
        d_out[i] = make_float4(p.x+s.x, p.y+s.y, p.z+s.z, p.w+s.w);
        //atomicAdd(&d_out[i], s);
        //atomicAdd(&d_out[i], p);
    }
}
