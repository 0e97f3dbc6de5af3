// Kernels of signals, runs, small sorts and prices.

#define SECTIONS 4

__constant__ float sections[SECTIONS][5] = {  // b0, b1, b2, a1, a2
    {0.2066f, 0.4132f, 0.2066f, -0.3695f, 0.1958f},
    {0.7478f, -1.4956f, 0.7478f, -1.4221f, 0.5533f},
    {1.0560f, -1.6210f, 0.6840f, -1.6210f, 0.7400f},
    {0.9150f, -0.3300f, 0.7200f, -0.3300f, 0.6350f}};

// A cascade of second-order sections over many channels, samples of all channels side by side; a thread a channel.
extern "C" __global__ void biquad_cascade(const float* __restrict__ in, float* __restrict__ out, int channels,
                                          int samples) {
  int channel = blockIdx.x * blockDim.x + threadIdx.x;
  if (channel >= channels) return;
  float first[SECTIONS] = {}, second[SECTIONS] = {};
  for (int t = 0; t < samples; ++t) {
    float v = in[(size_t)t * channels + channel];
#pragma unroll
    for (int s = 0; s < SECTIONS; ++s) {
      float w = sections[s][0] * v + first[s];
      first[s] = sections[s][1] * v - sections[s][3] * w + second[s];
      second[s] = sections[s][2] * v - sections[s][4] * w;
      v = w;
    }
    out[(size_t)t * channels + channel] = v;
  }
}

#define PHASES 4
#define MOST_TAPS 128
#define MOST_THREADS 256

// Filtered, and every fourth sample kept: samples lie by phase in shared memory, so that neighbours read neighbours.
extern "C" __global__ void __launch_bounds__(MOST_THREADS)
    polyphase_decimate(const float* __restrict__ in, const float* __restrict__ taps, float* __restrict__ out, int n,
                       int many, int total) {
  __shared__ float phase[PHASES][MOST_THREADS + MOST_TAPS / PHASES + 1];
  __shared__ float weights[MOST_TAPS];
  int t = threadIdx.x, first = blockIdx.x * blockDim.x * PHASES, needed = blockDim.x * PHASES + many;
  for (int e = t; e < needed; e += blockDim.x) phase[e % PHASES][e / PHASES] = first + e < n ? in[first + e] : 0.0f;
  for (int e = t; e < many; e += blockDim.x) weights[e] = taps[e];
  __syncthreads();
  int i = blockIdx.x * blockDim.x + t;
  if (i >= total) return;
  float sum = 0.0f;
  for (int k = 0; k < many; k += PHASES) {
#pragma unroll
    for (int p = 0; p < PHASES; ++p) sum += weights[k + p] * phase[p][t + k / PHASES];
  }
  out[i] = sum;
}

// Where runs of equal values begin, in order, the places of a block at its own part of the list.
extern "C" __global__ void run_starts(const int* __restrict__ in, int* __restrict__ starts, int* __restrict__ counts,
                                      int n) {
  __shared__ int before[32];
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  bool begins = i < n && (i == 0 || in[i] != in[i - 1]);
  unsigned lanes = __ballot_sync(0xffffffffu, begins);
  if (lane == 0) before[warp] = __popc(lanes);
  __syncthreads();
  if (threadIdx.x == 0) {
    int sum = 0;
    for (int w = 0; w < blockDim.x / 32; ++w) {
      int here = before[w];
      before[w] = sum;
      sum += here;
    }
    counts[blockIdx.x] = sum;
  }
  __syncthreads();
  if (!begins) return;
  int rank = before[warp] + __popc(lanes & ((1u << lane) - 1));
  starts[(size_t)blockIdx.x * blockDim.x + rank] = i;
}

#define MOST 32

// Each thread sorts its few values by insertion, in an array of its own.
extern "C" __global__ void insertion_sort_local(const float* __restrict__ in, float* __restrict__ out, int n,
                                                int many) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float values[MOST];
  for (int k = 0; k < many; ++k) {
    float v = in[(size_t)k * n + i];
    int j = k;
    while (j > 0 && values[j - 1] > v) {
      values[j] = values[j - 1];
      --j;
    }
    values[j] = v;
  }
  for (int k = 0; k < many; ++k) out[(size_t)k * n + i] = values[k];
}

__device__ __forceinline__ unsigned next_random(unsigned& state) {
  state = state * 747796405u + 2891336453u;
  unsigned word = ((state >> ((state >> 28) + 4)) ^ state) * 277803737u;
  return (word >> 22) ^ word;
}

// Payoffs of a down-and-out call, a path a thread; a path that falls through the barrier ends there.
extern "C" __global__ void barrier_paths(float* __restrict__ payoffs, int n, int steps, float barrier, float strike,
                                         float drift, float swing, unsigned seed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned state = (i + seed) * 2654435769u;
  float level = 0.0f, lowest = logf(barrier);
  bool alive = true;
  for (int k = 0; k < steps && alive; ++k) {
    float u = ((next_random(state) >> 8) + 1) * (1.0f / 16777216.0f);
    float v = (next_random(state) >> 8) * (1.0f / 16777216.0f);
    float normal = sqrtf(-2.0f * logf(u)) * cosf(6.2831853f * v);
    level += drift + swing * normal;
    alive = level > lowest;
  }
  payoffs[i] = alive ? fmaxf(expf(level) - strike, 0.0f) : 0.0f;
}
