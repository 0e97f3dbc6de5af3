// Stores of warps to one to 32 lines and one to four sectors of each, whole or in part.
#include <cstdio>
#include <cstdlib>

// `times` stores of each warp, lanes `apart` bytes from group to group of `together` lanes that lie
// side by side; a warp goes through `places` of its own, which start a line after one another.
template <class T>
__global__ void stores(char* q, int times, int together, int apart, int places, int room) {
  int lane = threadIdx.x % 32, warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  char* own = q + (size_t)warp * room + (lane / together) * apart + lane % together * sizeof(T);
  T value = {};
#pragma unroll 8
  for (int t = 0; t < times; ++t) *(T*)(own + (t & places - 1) * 4096) = value;
}

int main() {
  int sms;
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
  char* q;
  cudaMalloc(&q, 1ull << 32);
  cudaMemset(q, 0, 1ull << 32);
  auto check = [] {
    cudaError_t error = cudaDeviceSynchronize();
    if (error != cudaSuccess) { printf("%s\n", cudaGetErrorString(error)); exit(1); }
  };
  int shapes[][3] = {  // bytes of a lane, lanes side by side, bytes from group to group
      {4, 1, 4096}, {4, 1, 128}, {4, 2, 128}, {4, 4, 128}, {4, 8, 128}, {4, 1, 64}, {4, 1, 32},
      {4, 1, 16}, {4, 1, 8}, {4, 32, 128}, {8, 1, 128}, {8, 1, 32}, {8, 4, 128}, {8, 32, 256},
      {16, 1, 128}, {16, 1, 32}, {16, 2, 128}, {16, 4, 128}, {16, 32, 512}};
  int times = 4096;
  printf("block,blocks,bytes,together,apart\n");
  for (auto& s : shapes)
    for (int blocks : {1, 8, 33, 66, 132})
      for (int warps : {1, 4, 16}) {
        if (blocks != 8 && blocks != 132 && warps != 4) continue;
        printf("%d,%d,%d,%d,%d\n", 32 * warps, blocks, s[0], s[1], s[2]);
        int room = s[2] == 4096 ? 1 << 18 : 1 << 14, places = s[2] == 4096 ? 1 : 2;
        if (s[0] == 4) stores<float><<<blocks, 32 * warps>>>(q, times, s[1], s[2], places, room);
        if (s[0] == 8) stores<float2><<<blocks, 32 * warps>>>(q, times, s[1], s[2], places, room);
        if (s[0] == 16) stores<float4><<<blocks, 32 * warps>>>(q, times, s[1], s[2], places, room);
        check();
      }
}
