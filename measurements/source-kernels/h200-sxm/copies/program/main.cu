// Launches every kernel of local.cu and copies.cu once; a profiler counts.
#include "local.cu"
#include "copies.cu"
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>
#define OK(x) do { cudaError_t e = (x); if (e != cudaSuccess) fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(e)); } while (0)
__global__ void fill(float *p, long long n) {
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) {
        unsigned h = (unsigned)i * 2654435761u; h ^= h >> 15; h *= 2246822519u; h ^= h >> 13;
        p[i] = (float)(h >> 8) / 16777216.0f;
    }
}
int main() {
    const long long bytes = 256ll << 20;
    float *in, *out;
    OK(cudaMalloc(&in, bytes)); OK(cudaMalloc(&out, bytes));
    fill<<<1024, 256>>>(in, bytes / 4); fill<<<1024, 256>>>(out, bytes / 4);
    OK(cudaDeviceSynchronize());
    int *io = (int *)out;
    words_8<<<4096, 256>>>(io, 3, 8);
    words_32<<<4096, 256>>>(io, 3, 8);
    words_32<<<1056, 256>>>(io, 3, 8);
    words_32<<<4096, 256>>>(io, 3, 1);
    words_32<<<4096, dim3(16, 16)>>>(io, 3, 8);
    words_128<<<4096, 256>>>(io, 3, 8);
    words_128<<<132, 256>>>(io, 3, 8);
    words_512<<<2048, 256>>>(io, 3, 4);
    words_512<<<132, 128>>>(io, 3, 4);
    words_apart_64<<<4096, 256>>>(io, 3, 8);
    doubles_32<<<4096, 256>>>((double *)out, 3, 8);
    bytes_64<<<4096, 256>>>((unsigned char *)out, 3, 8);
    shorts_64<<<4096, 256>>>((short *)out, 3, 8);
    quads_32<<<4096, 256>>>(out, 3, 8);
    quads_32<<<132, 128>>>(out, 3, 8);
    words_and_stream<<<2048, 256>>>((const float4 *)in, out, 3, 16);
    written_only<<<4096, 256>>>(io, 3, 5);
    written_only<<<132, 256>>>(io, 3, 5);
    spilled<<<1024, 1024>>>(in, out, 1024 * 1024);
    OK(cudaDeviceSynchronize());
    async_4<<<16384, 256>>>(in, out, 1);
    async_4<<<8192, 256>>>(in, out, 3);
    async_8<<<16384, 256>>>((float2 *)in, (float2 *)out, 1);
    async_16<<<16384, 256>>>((float4 *)in, (float4 *)out, 1);
    async_16_past<<<16384, 256>>>((float4 *)in, (float4 *)out, 1);
    async_16_past<<<8192, 256>>>((float4 *)in, (float4 *)out, 2);
    async_again<<<4096, 256>>>((float4 *)in, (float4 *)out);
    OK(cudaDeviceSynchronize());
    bulk_copy<<<8192, 128, 4096 * 4>>>(in, out, 4096);
    bulk_copy<<<8192, 128, 1024 * 4>>>(in, out, 1024);
    OK(cudaDeviceSynchronize());
    typedef CUresult (*Encode)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *, const cuuint64_t *, const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
    void *found = nullptr; cudaDriverEntryPointQueryResult status;
    OK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &status));
    if (found) {
        CUtensorMap from, to;
        cuuint64_t sizes[2] = {4096, 8192}, pitch[1] = {4096 * 4};
        cuuint32_t box[2] = {32, 64}, steps[2] = {1, 1};
        Encode encode = (Encode)found;
        encode(&from, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, in, sizes, pitch, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
        encode(&to, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, out, sizes, pitch, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
        tensor_copy<<<dim3(128, 128), 128>>>(from, to);
        OK(cudaDeviceSynchronize());
        float a, b; size_t place = 4096 * 1000 + 77;
        OK(cudaMemcpy(&a, in + place, 4, cudaMemcpyDeviceToHost)); OK(cudaMemcpy(&b, out + place, 4, cudaMemcpyDeviceToHost));
        fprintf(stderr, "tensor_copy check: %g + 1 = %g\n", a, b);
    }
    const half *hin = (const half *)in; uint32_t *uo = (uint32_t *)out;
    matrix_x1<<<1024, 128>>>(hin, uo, 72, 64); matrix_x1<<<1024, 128>>>(hin, uo, 64, 64);
    matrix_x2<<<1024, 128>>>(hin, uo, 72, 64); matrix_x2<<<1024, 128>>>(hin, uo, 64, 64);
    matrix_x4<<<1024, 128>>>(hin, uo, 72, 64); matrix_x4<<<1024, 128>>>(hin, uo, 64, 64); matrix_x4<<<1024, 128>>>(hin, uo, 40, 64);
    matrix_x4_trans<<<1024, 128>>>(hin, uo, 72, 64);
    matrix_store<<<1024, 128>>>(hin, uo, 72, 64); matrix_store<<<1024, 128>>>(hin, uo, 64, 64);
    OK(cudaDeviceSynchronize());
    reduce_quads<<<4096, 256>>>(out, 1 << 20); reduce_quads<<<4096, 256>>>(out, 1 << 10);
    reduce_pairs<<<4096, 256>>>(out, 1 << 20);
    read_only_quads<<<16384, 256>>>((const float4 *)in, out);
    products_mma<<<1056, 256>>>(out, 512);
    OK(cudaDeviceSynchronize());
    fprintf(stderr, "done\n");
    return 0;
}
