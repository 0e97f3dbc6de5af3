// What an SM's L1 does with loads that miss: their clocks by lines a request, by how many SMs read at
// once, and where the next loads find their sector on the way.

__device__ __forceinline__ long long now() {
  long long t;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory");
  return t;
}
__device__ __forceinline__ void end(float sum, long long start, float* out, long long* clocks) {
  if (sum == -1) out[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0) clocks[blockIdx.x] = now() - start;
}

// Eight loads of 16 B a lane at a time, past L1, round and round `vectors` of the block's own.
extern "C" __global__ void port(const float4* in, int vectors, int trips, float* out, long long* clocks) {
  const float4* mine = in + (size_t)blockIdx.x * vectors;
  float sum = 0;
  int at = threadIdx.x;
  __syncthreads();
  const long long start = now();
  for (int i = 0; i < trips; ++i) {
    float4 v[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) v[j] = __ldcg(mine + (at + j * blockDim.x) % vectors);
#pragma unroll
    for (int j = 0; j < 8; ++j) sum += v[j].x + v[j].y + v[j].z + v[j].w;
    at += 8 * blockDim.x;
  }
  end(sum, start, out, clocks);
}

// Requests whose lanes are `lane_step` floats apart, each of new sectors, past L1.
extern "C" __global__ void request(const float* in, int lane_step, int warp_step, int step, int trips,
                                   float* out, long long* clocks) {
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  const float* mine = in + (size_t)warp * warp_step + (size_t)lane * lane_step;
  float sum = 0;
  __syncthreads();
  const long long start = now();
  for (int i = 0; i < trips; i += 4) {
    float v[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) v[j] = __ldcg(mine + (size_t)(i + j) * step);
#pragma unroll
    for (int j = 0; j < 4; ++j) sum += v[j];
  }
  end(sum, start, out, clocks);
}

// Each thread walks along its own row of `width` floats: `in_flight` loads at a time.
template <int IN_FLIGHT>
__device__ void walk(const float* in, int width, float* out, long long* clocks) {
  const float* mine = in + (size_t)(blockIdx.x * blockDim.x + threadIdx.x) * width;
  float sum = 0;
  __syncthreads();
  const long long start = now();
#pragma unroll 1
  for (int i = 0; i + IN_FLIGHT <= width; i += IN_FLIGHT) {
    float v[IN_FLIGHT];
#pragma unroll
    for (int j = 0; j < IN_FLIGHT; ++j) v[j] = mine[i + j];
#pragma unroll
    for (int j = 0; j < IN_FLIGHT; ++j) sum += v[j];
  }
  end(sum, start, out, clocks);
}
extern "C" __global__ void walk_1(const float* in, int width, float* out, long long* clocks) { walk<1>(in, width, out, clocks); }
extern "C" __global__ void walk_4(const float* in, int width, float* out, long long* clocks) { walk<4>(in, width, out, clocks); }
extern "C" __global__ void walk_8(const float* in, int width, float* out, long long* clocks) { walk<8>(in, width, out, clocks); }
extern "C" __global__ void walk_16(const float* in, int width, float* out, long long* clocks) { walk<16>(in, width, out, clocks); }

// Batches of M loads, `step` floats apart, whose next addresses wait for all of them: a warp's lanes
// read neighbours, its batches follow on.
template <int M>
__device__ void batch(const float* in, long long step, long long warp_step, int trips, float* out, long long* clocks) {
  const long long warp = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / 32;
  const float* mine = in + warp * warp_step + threadIdx.x % 32;
  float sum = 0;
  __syncthreads();
  const long long start = now();
#pragma unroll 1
  for (int i = 0; i < trips; ++i) {
    float v[M], all = 0;
#pragma unroll
    for (int j = 0; j < M; ++j) v[j] = __ldcg(mine + j * step);
#pragma unroll
    for (int j = 0; j < M; ++j) all += v[j];
    sum += all;
    mine += M * step + (all == -1);
  }
  end(sum, start, out, clocks);
}
#define BATCH(M) extern "C" __global__ void batch_##M(const float* in, long long step, long long warp_step, int trips, float* out, long long* clocks) { batch<M>(in, step, warp_step, trips, out, clocks); }
BATCH(1) BATCH(2) BATCH(4) BATCH(8) BATCH(16) BATCH(32)
