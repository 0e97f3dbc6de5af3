// Each thread adds 1 to a counter of its block in shared memory, and one thread adds the counter to
// the total: one global atomic a block.
//
// Launch: grid ceil(n / block).
using int32 = int;
using uint32 = unsigned;
using uint64 = unsigned long long;
using float32 = float;
using float64 = double;

#ifndef TYPE
#define TYPE int32
#endif

extern "C" __global__ void atomic_privatized(TYPE* out, long long n) {
  __shared__ TYPE sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&sum, (TYPE)1);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(out, sum);
}
