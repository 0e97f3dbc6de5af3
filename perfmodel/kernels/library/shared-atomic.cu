// Thread t of each block adds to element t % addresses of the block in shared memory, `iterations`
// times. With CONSTANT the compiler knows that 1 is added, and 32-bit integers have an instruction for
// that (ATOMS.POPC.INC).
//
// Launch: `blocks` blocks, addresses * sizeof(TYPE) bytes of dynamic shared memory; amount = 1.
using int32 = int;
using uint32 = unsigned;
using uint64 = unsigned long long;
using float32 = float;
using float64 = double;

#ifndef TYPE
#define TYPE int32
#endif
#ifndef CONSTANT
#define CONSTANT 1
#endif

extern "C" __global__ void shared_atomic(float* out, int iterations, int addresses, int amount) {
  extern __shared__ __align__(16) unsigned char raw[];
  TYPE* sums = (TYPE*)raw;
  for (int t = threadIdx.x; t < addresses; t += blockDim.x) sums[t] = 0;
  __syncthreads();
  for (int k = 0; k < iterations; ++k)
    atomicAdd(&sums[threadIdx.x % addresses], CONSTANT ? (TYPE)1 : (TYPE)amount);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = (float)sums[0];
}
