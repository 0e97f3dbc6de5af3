// Atomic additions whose warps share an address each, or whose lanes do in part: how far apart
// addresses lie is told by the index alone.
#define I (blockIdx.x * blockDim.x + threadIdx.x)

// One address a warp of the block, the same in all blocks.
extern "C" __global__ void warps_of_block(float* x, int times) {
  for (int k = 0; k < times; k++) atomicAdd(&x[threadIdx.x / 32], 1.0f);
}
// One address a block.
extern "C" __global__ void blocks(float* x, int times) {
  for (int k = 0; k < times; k++) atomicAdd(&x[blockIdx.x], 1.0f);
}
// The same, a line apart.
extern "C" __global__ void blocks_apart(float* x, int times) {
  for (int k = 0; k < times; k++) atomicAdd(&x[blockIdx.x * 32], 1.0f);
}
// One address a warp, of all warps.
extern "C" __global__ void warps(float* x, int times) {
  for (int k = 0; k < times; k++) atomicAdd(&x[I / 32], 1.0f);
}
// Of each block only five threads add, addresses 132 B apart.
extern "C" __global__ void few_threads(float* x, int times) {
  for (int k = 0; k < times; k++)
    if (threadIdx.x < 5) atomicAdd(&x[I * 33], 1.0f);
}
// Four lanes an address, of so many addresses.
extern "C" __global__ void fours(float* x, int times, int m) {
  for (int k = 0; k < times; k++) atomicAdd(&x[I / 4 % m], 1.0f);
}
// The first lane of each warp adds to its block's address.
extern "C" __global__ void leaders(float* x, int times) {
  for (int k = 0; k < times; k++)
    if (threadIdx.x % 32 == 0) atomicAdd(&x[blockIdx.x], 1.0f);
}
