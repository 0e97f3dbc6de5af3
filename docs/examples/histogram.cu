// Two ways to count how often each of 256 byte values occurs in n bytes.

// Every thread adds to the bins in global memory.
extern "C" __global__ void direct(unsigned* bins, const unsigned char* data, int n) {
  const int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
    atomicAdd(&bins[data[i]], 1u);
  }
}

// Every block counts in shared memory, and adds its sums to the bins once.
extern "C" __global__ void privatised(unsigned* bins, const unsigned char* data, int n) {
  __shared__ unsigned sums[256];
  for (int b = threadIdx.x; b < 256; b += blockDim.x) {
    sums[b] = 0;
  }
  __syncthreads();
  const int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
    atomicAdd(&sums[data[i]], 1u);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < 256; b += blockDim.x) {
    atomicAdd(&bins[b], sums[b]);
  }
}
