// Kernels of course labs, textbooks and sample programs.

#include <stdint.h>

// ---------------------------------------------------------------- reductions

// First step of the well-known seven: interleaved addressing with a modulo.
extern "C" __global__ void reduce_modulo(const int* g_idata, int* g_odata, unsigned n) {
  extern __shared__ int sdata_i[];
  unsigned tid = threadIdx.x;
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  sdata_i[tid] = (i < n) ? g_idata[i] : 0;
  __syncthreads();
  for (unsigned s = 1; s < blockDim.x; s *= 2) {
    if ((tid % (2 * s)) == 0) sdata_i[tid] += sdata_i[tid + s];
    __syncthreads();
  }
  if (tid == 0) g_odata[blockIdx.x] = sdata_i[0];
}

// Sixth step: two elements at load, many a thread, the last warp unrolled.
extern "C" __global__ void reduce_many_per_thread(const float* __restrict__ g_idata, float* __restrict__ g_odata,
                                                  unsigned n) {
  extern __shared__ float sdata[];
  unsigned tid = threadIdx.x;
  unsigned i = blockIdx.x * blockDim.x * 2 + threadIdx.x;
  unsigned gridSize = blockDim.x * 2 * gridDim.x;
  float mySum = 0.f;
  while (i < n) {
    mySum += g_idata[i];
    if (i + blockDim.x < n) mySum += g_idata[i + blockDim.x];
    i += gridSize;
  }
  sdata[tid] = mySum;
  __syncthreads();
  if (blockDim.x >= 1024 && tid < 512) sdata[tid] = mySum = mySum + sdata[tid + 512];
  __syncthreads();
  if (blockDim.x >= 512 && tid < 256) sdata[tid] = mySum = mySum + sdata[tid + 256];
  __syncthreads();
  if (blockDim.x >= 256 && tid < 128) sdata[tid] = mySum = mySum + sdata[tid + 128];
  __syncthreads();
  if (blockDim.x >= 128 && tid < 64) sdata[tid] = mySum = mySum + sdata[tid + 64];
  __syncthreads();
  if (tid < 32) {
    mySum += sdata[tid + 32];
    for (int offset = 16; offset > 0; offset /= 2) mySum += __shfl_down_sync(0xffffffff, mySum, offset);
  }
  if (tid == 0) g_odata[blockIdx.x] = mySum;
}

// Dot product finished by the block that ends last.
extern "C" __global__ void dot_last_block(const double* a, const double* b, double* partial, double* result,
                                          unsigned* retirement, int n) {
  __shared__ double cache[256];
  __shared__ bool amLast;
  int tid = threadIdx.x;
  double temp = 0;
  for (int i = tid + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x) temp += a[i] * b[i];
  cache[tid] = temp;
  __syncthreads();
  for (int i = blockDim.x / 2; i != 0; i /= 2) {
    if (tid < i) cache[tid] += cache[tid + i];
    __syncthreads();
  }
  if (tid == 0) {
    partial[blockIdx.x] = cache[0];
    __threadfence();
    unsigned ticket = atomicInc(retirement, gridDim.x);
    amLast = (ticket == gridDim.x - 1);
  }
  __syncthreads();
  if (amLast) {
    double sum = 0;
    for (int i = tid; i < gridDim.x; i += blockDim.x) sum += ((volatile double*)partial)[i];
    cache[tid] = sum;
    __syncthreads();
    for (int i = blockDim.x / 2; i != 0; i /= 2) {
      if (tid < i) cache[tid] += cache[tid + i];
      __syncthreads();
    }
    if (tid == 0) {
      *result = cache[0];
      *retirement = 0;
    }
  }
}

// ---------------------------------------------------------------- scans

extern "C" __global__ void scan_kogge_stone(const float* X, float* Y, float* S, int n) {
  extern __shared__ float XY[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  XY[threadIdx.x] = (i < n) ? X[i] : 0.0f;
  for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
    __syncthreads();
    float temp = 0.f;
    if (threadIdx.x >= stride) temp = XY[threadIdx.x] + XY[threadIdx.x - stride];
    __syncthreads();
    if (threadIdx.x >= stride) XY[threadIdx.x] = temp;
  }
  if (i < n) Y[i] = XY[threadIdx.x];
  if (threadIdx.x == blockDim.x - 1) S[blockIdx.x] = XY[threadIdx.x];
}

extern "C" __global__ void scan_brent_kung(const int* X, int* Y, int n) {
  extern __shared__ int section[];
  int size = 2 * blockDim.x;
  int i = 2 * blockIdx.x * blockDim.x + threadIdx.x;
  section[threadIdx.x] = i < n ? X[i] : 0;
  section[threadIdx.x + blockDim.x] = i + (int)blockDim.x < n ? X[i + blockDim.x] : 0;
  for (int stride = 1; stride <= blockDim.x; stride *= 2) {
    __syncthreads();
    int index = (threadIdx.x + 1) * 2 * stride - 1;
    if (index < size) section[index] += section[index - stride];
  }
  for (int stride = size / 4; stride > 0; stride /= 2) {
    __syncthreads();
    int index = (threadIdx.x + 1) * stride * 2 - 1;
    if (index + stride < size) section[index + stride] += section[index];
  }
  __syncthreads();
  if (i < n) Y[i] = section[threadIdx.x];
  if (i + (int)blockDim.x < n) Y[i + blockDim.x] = section[threadIdx.x + blockDim.x];
}

// ---------------------------------------------------------------- transposes and copies

extern "C" __global__ void transpose_naive(float* odata, const float* idata, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) odata[x * height + y] = idata[y * width + x];
}

// Without padding: the columns of the tile all lie in one bank.
extern "C" __global__ void transpose_bank_conflicts(double* odata, const double* idata, int width, int height) {
  __shared__ double tile[32][32];
  int x = blockIdx.x * 32 + threadIdx.x;
  int y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = idata[(y + j) * width + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (x < height && y + j < width) odata[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

extern "C" __global__ void saxpy_strided(int n, float a, const float* x, float* y, int stride, int offset) {
  int i = (blockIdx.x * blockDim.x + threadIdx.x) * stride + offset;
  if (i < n) y[i] = a * x[i] + y[i];
}

extern "C" __global__ void copy_vector4_unrolled(float4* d_out, const float4* d_in, int n4) {
  int step = blockDim.x * gridDim.x;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (; i + 3 * step < n4; i += 4 * step) {
    float4 a = d_in[i];
    float4 b = d_in[i + step];
    float4 c = d_in[i + 2 * step];
    float4 d = d_in[i + 3 * step];
    d_out[i] = a;
    d_out[i + step] = b;
    d_out[i + 2 * step] = c;
    d_out[i + 3 * step] = d;
  }
  for (; i < n4; i += step) d_out[i] = d_in[i];
}

// An array of structures of seven floats: each thread moves its particle.
struct Particle {
  float x, y, z;
  float vx, vy, vz;
  float mass;
};

extern "C" __global__ void particles_aos(float* particles, int n, float dt, float gravity) {
  Particle* p = (Particle*)particles;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float drag = 0.1f / (p[i].mass + 0.5f);
  p[i].vx -= drag * p[i].vx * dt;
  p[i].vy -= (drag * p[i].vy + gravity) * dt;
  p[i].vz -= drag * p[i].vz * dt;
  p[i].x += p[i].vx * dt;
  p[i].y += p[i].vy * dt;
  p[i].z += p[i].vz * dt;
  if (p[i].y < 0.f) {
    p[i].y = -p[i].y;
    p[i].vy = -0.8f * p[i].vy;
  }
}

// ---------------------------------------------------------------- convolutions and stencils

#define FILTER_RADIUS 2
#define TILE_DIM 32
__constant__ float F_c[2 * FILTER_RADIUS + 1][2 * FILTER_RADIUS + 1] = {
    {1, 4, 7, 4, 1}, {4, 16, 26, 16, 4}, {7, 26, 41, 26, 7}, {4, 16, 26, 16, 4}, {1, 4, 7, 4, 1}};

// Input tile of 32 by 32, output tile of 28 by 28, the filter in constant memory.
extern "C" __global__ void convolution_tiled_constant(const float* N, float* P, int width, int height) {
  int out = TILE_DIM - 2 * FILTER_RADIUS;
  int col = blockIdx.x * out + threadIdx.x - FILTER_RADIUS;
  int row = blockIdx.y * out + threadIdx.y - FILTER_RADIUS;
  __shared__ float N_s[TILE_DIM][TILE_DIM];
  if (row >= 0 && row < height && col >= 0 && col < width)
    N_s[threadIdx.y][threadIdx.x] = N[row * width + col];
  else
    N_s[threadIdx.y][threadIdx.x] = 0.0f;
  __syncthreads();
  int tileCol = threadIdx.x - FILTER_RADIUS;
  int tileRow = threadIdx.y - FILTER_RADIUS;
  if (col >= 0 && col < width && row >= 0 && row < height) {
    if (tileCol >= 0 && tileCol < out && tileRow >= 0 && tileRow < out) {
      float Pvalue = 0.0f;
      for (int fRow = 0; fRow < 2 * FILTER_RADIUS + 1; fRow++)
        for (int fCol = 0; fCol < 2 * FILTER_RADIUS + 1; fCol++)
          Pvalue += F_c[fRow][fCol] * N_s[tileRow + fRow][tileCol + fCol];
      P[row * width + col] = Pvalue;
    }
  }
}

// Separable convolution, the rows: eight results a thread, a halo of one block on each side.
#define ROWS_X 16
#define ROWS_Y 4
#define ROWS_STEPS 8
#define KRAD 8
extern "C" __global__ void convolution_rows_separable(float* d_Dst, const float* d_Src, const float* kernel, int imageW,
                                                      int imageH, int pitch) {
  __shared__ float s_Data[ROWS_Y][(ROWS_STEPS + 2) * ROWS_X];
  __shared__ float c_Kernel[2 * KRAD + 1];
  int tid = threadIdx.y * ROWS_X + threadIdx.x;
  if (tid < 2 * KRAD + 1) c_Kernel[tid] = kernel[tid];
  int baseX = (blockIdx.x * ROWS_STEPS - 1) * ROWS_X + threadIdx.x;
  int baseY = blockIdx.y * ROWS_Y + threadIdx.y;
  bool live = baseY < imageH;
  long long base = (long long)baseY * pitch + baseX;
#pragma unroll
  for (int i = 0; i < ROWS_STEPS + 2; i++) {
    int x = baseX + i * ROWS_X;
    s_Data[threadIdx.y][threadIdx.x + i * ROWS_X] = (live && x >= 0 && x < imageW) ? d_Src[base + i * ROWS_X] : 0;
  }
  __syncthreads();
#pragma unroll
  for (int i = 1; i < ROWS_STEPS + 1; i++) {
    float sum = 0;
#pragma unroll
    for (int j = -KRAD; j <= KRAD; j++) sum += c_Kernel[KRAD - j] * s_Data[threadIdx.y][threadIdx.x + i * ROWS_X + j];
    if (live && baseX + i * ROWS_X < imageW) d_Dst[base + i * ROWS_X] = sum;
  }
}

// Seven points in space: thread coarsening along z, neighbours in z held in registers.
#define OUT_TILE 30
#define IN_TILE 32
extern "C" __global__ void stencil_register_tiling(const float* in, float* out, int N, int M, int D, int zspan,
                                                   float c0, float c1) {
  int iStart = blockIdx.z * zspan;
  int j = blockIdx.y * OUT_TILE + threadIdx.y - 1;
  int k = blockIdx.x * OUT_TILE + threadIdx.x - 1;
  bool inside = j >= 0 && j < M && k >= 0 && k < N;
  float inPrev = 0.f, inCurr = 0.f, inNext = 0.f;
  __shared__ float inCurr_s[IN_TILE][IN_TILE];
  if (iStart - 1 >= 0 && iStart - 1 < D && inside) inPrev = in[((long long)(iStart - 1) * M + j) * N + k];
  if (iStart < D && inside) {
    inCurr = in[((long long)iStart * M + j) * N + k];
    inCurr_s[threadIdx.y][threadIdx.x] = inCurr;
  }
  for (int i = iStart; i < iStart + zspan; ++i) {
    if (i + 1 < D && inside) inNext = in[((long long)(i + 1) * M + j) * N + k];
    __syncthreads();
    if (i >= 1 && i < D - 1 && j >= 1 && j < M - 1 && k >= 1 && k < N - 1) {
      if (threadIdx.y >= 1 && threadIdx.y < IN_TILE - 1 && threadIdx.x >= 1 && threadIdx.x < IN_TILE - 1) {
        out[((long long)i * M + j) * N + k] =
            c0 * inCurr + c1 * (inCurr_s[threadIdx.y][threadIdx.x - 1] + inCurr_s[threadIdx.y][threadIdx.x + 1] +
                                inCurr_s[threadIdx.y + 1][threadIdx.x] + inCurr_s[threadIdx.y - 1][threadIdx.x] +
                                inPrev + inNext);
      }
    }
    __syncthreads();
    inPrev = inCurr;
    inCurr = inNext;
    inCurr_s[threadIdx.y][threadIdx.x] = inNext;
  }
}

// ---------------------------------------------------------------- products of matrices

#define TW 16
extern "C" __global__ void matmul_tiled(const float* M, const float* N, float* P, int rows, int inner, int cols) {
  __shared__ float Mds[TW][TW];
  __shared__ float Nds[TW][TW];
  int tx = threadIdx.x, ty = threadIdx.y;
  int Row = blockIdx.y * TW + ty;
  int Col = blockIdx.x * TW + tx;
  float Pvalue = 0;
  for (int ph = 0; ph < (inner + TW - 1) / TW; ++ph) {
    Mds[ty][tx] = (Row < rows && ph * TW + tx < inner) ? M[Row * inner + ph * TW + tx] : 0.0f;
    Nds[ty][tx] = (ph * TW + ty < inner && Col < cols) ? N[(ph * TW + ty) * cols + Col] : 0.0f;
    __syncthreads();
    for (int k = 0; k < TW; ++k) Pvalue += Mds[ty][k] * Nds[k][tx];
    __syncthreads();
  }
  if (Row < rows && Col < cols) P[Row * cols + Col] = Pvalue;
}

// Coarsened by four along columns; sides are multiples of the tile.
#define COARSE 4
extern "C" __global__ void matmul_coarsened(const float* M, const float* N, float* P, int width) {
  __shared__ float Ms[32][32];
  __shared__ float Ns[32][32];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * 32 + ty;
  int colStart = blockIdx.x * 32 * COARSE + tx;
  float Pv[COARSE];
  for (int c = 0; c < COARSE; ++c) Pv[c] = 0.0f;
  for (int ph = 0; ph < width / 32; ++ph) {
    Ms[ty][tx] = M[row * width + ph * 32 + tx];
    for (int c = 0; c < COARSE; ++c) {
      int col = colStart + c * 32;
      Ns[ty][tx] = N[(ph * 32 + ty) * width + col];
      __syncthreads();
      for (int k = 0; k < 32; ++k) Pv[c] += Ms[ty][k] * Ns[k][tx];
      __syncthreads();
    }
  }
  for (int c = 0; c < COARSE; ++c) P[row * width + colStart + c * 32] = Pv[c];
}

// ---------------------------------------------------------------- histograms and sorts

#define NUM_BINS 7
// Letters of a text in bins of four, private copies in shared memory, runs kept in a register.
extern "C" __global__ void histogram_letters(const unsigned char* data, unsigned length, unsigned* histo) {
  __shared__ unsigned histo_s[NUM_BINS];
  if (threadIdx.x < NUM_BINS) histo_s[threadIdx.x] = 0u;
  __syncthreads();
  unsigned accumulator = 0;
  int prevBin = -1;
  unsigned tid = blockIdx.x * blockDim.x + threadIdx.x;
  for (unsigned i = tid; i < length; i += blockDim.x * gridDim.x) {
    int position = data[i] - 'a';
    if (position >= 0 && position < 26) {
      int bin = position / 4;
      if (bin == prevBin) {
        ++accumulator;
      } else {
        if (accumulator > 0) atomicAdd(&histo_s[prevBin], accumulator);
        accumulator = 1;
        prevBin = bin;
      }
    }
  }
  if (accumulator > 0) atomicAdd(&histo_s[prevBin], accumulator);
  __syncthreads();
  if (threadIdx.x < NUM_BINS) {
    unsigned v = histo_s[threadIdx.x];
    if (v > 0) atomicAdd(&histo[threadIdx.x], v);
  }
}

// One bit of a radix sort: ranks within the block by ballots, the block's place from scanned counts.
extern "C" __global__ void radix_one_bit(const unsigned* input, unsigned* output, const int* ones_before_block, int N,
                                         int iter, int zeros_total) {
  __shared__ int warp_ones[32];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  unsigned key = i < N ? input[i] : 0u;
  int bit = i < N ? (key >> iter) & 1 : 0;
  unsigned votes = __ballot_sync(0xffffffff, bit);
  if (lane == 0) warp_ones[warp] = __popc(votes);
  __syncthreads();
  int ones = ones_before_block[blockIdx.x];
  for (int w = 0; w < warp; w++) ones += warp_ones[w];
  ones += __popc(votes & ((1u << lane) - 1));
  int dst = bit ? zeros_total + ones : i - ones;
  if (i < N && dst >= 0 && dst < N) output[dst] = key;
}

// Keys and values of 1024 sorted in shared memory by a bitonic network, 512 threads.
__device__ inline void comparator(unsigned& keyA, unsigned& valA, unsigned& keyB, unsigned& valB, unsigned dir) {
  if ((keyA > keyB) == dir) {
    unsigned t = keyA;
    keyA = keyB;
    keyB = t;
    t = valA;
    valA = valB;
    valB = t;
  }
}

extern "C" __global__ void bitonic_sort_pairs(unsigned* dstKey, unsigned* dstVal, const unsigned* srcKey,
                                              const unsigned* srcVal, unsigned arrayLength, unsigned dir) {
  __shared__ unsigned s_key[1024];
  __shared__ unsigned s_val[1024];
  unsigned base = blockIdx.x * 1024 + threadIdx.x;
  s_key[threadIdx.x] = srcKey[base];
  s_val[threadIdx.x] = srcVal[base];
  s_key[threadIdx.x + 512] = srcKey[base + 512];
  s_val[threadIdx.x + 512] = srcVal[base + 512];
  for (unsigned size = 2; size < arrayLength; size <<= 1) {
    unsigned ddd = dir ^ ((threadIdx.x & (size / 2)) != 0);
    for (unsigned stride = size / 2; stride > 0; stride >>= 1) {
      __syncthreads();
      unsigned pos = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
      comparator(s_key[pos], s_val[pos], s_key[pos + stride], s_val[pos + stride], ddd);
    }
  }
  for (unsigned stride = arrayLength / 2; stride > 0; stride >>= 1) {
    __syncthreads();
    unsigned pos = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
    comparator(s_key[pos], s_val[pos], s_key[pos + stride], s_val[pos + stride], dir);
  }
  __syncthreads();
  dstKey[base] = s_key[threadIdx.x];
  dstVal[base] = s_val[threadIdx.x];
  dstKey[base + 512] = s_key[threadIdx.x + 512];
  dstVal[base + 512] = s_val[threadIdx.x + 512];
}

// ---------------------------------------------------------------- sparse matrices and graphs

extern "C" __global__ void spmv_coo_atomic(const int* rowIdx, const int* colIdx, const float* value, const float* x,
                                           float* y, int numNonzeros) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < numNonzeros) {
    int row = rowIdx[i];
    int col = colIdx[i];
    atomicAdd(&y[row], x[col] * value[i]);
  }
}

#define LOCAL_FRONTIER 2048
// Breadth first by a frontier, with the block's part of the next one kept in shared memory.
extern "C" __global__ void bfs_frontier_private(const int* srcPtrs, const int* dst, int* level, const int* prevFrontier,
                                                int* currFrontier, int numPrev, int* numCurr, int currLevel, int room) {
  __shared__ int curr_s[LOCAL_FRONTIER];
  __shared__ int numCurr_s;
  __shared__ int start;
  if (threadIdx.x == 0) numCurr_s = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < numPrev) {
    int vertex = prevFrontier[i];
    for (int edge = srcPtrs[vertex]; edge < srcPtrs[vertex + 1]; ++edge) {
      int neighbor = dst[edge];
      if (atomicCAS(&level[neighbor], 0, currLevel) == 0) {
        int at = atomicAdd(&numCurr_s, 1);
        if (at < LOCAL_FRONTIER) {
          curr_s[at] = neighbor;
        } else {
          numCurr_s = LOCAL_FRONTIER;
          int to = atomicAdd(numCurr, 1);
          if (to < room) currFrontier[to] = neighbor;
        }
      }
    }
  }
  __syncthreads();
  int many = min(numCurr_s, LOCAL_FRONTIER);
  if (threadIdx.x == 0) start = atomicAdd(numCurr, many);
  __syncthreads();
  for (int j = threadIdx.x; j < many; j += blockDim.x)
    if (start + j < room) currFrontier[start + j] = curr_s[j];
}

// ---------------------------------------------------------------- finance and chance

__device__ inline float cndGPU(float d) {
  const float A1 = 0.31938153f;
  const float A2 = -0.356563782f;
  const float A3 = 1.781477937f;
  const float A4 = -1.821255978f;
  const float A5 = 1.330274429f;
  float K = __fdividef(1.0f, (1.0f + 0.2316419f * fabsf(d)));
  float cnd = 0.39894228040143267794f * __expf(-0.5f * d * d) * (K * (A1 + K * (A2 + K * (A3 + K * (A4 + K * A5)))));
  if (d > 0) cnd = 1.0f - cnd;
  return cnd;
}

extern "C" __global__ void black_scholes(float* __restrict__ d_Call, float* __restrict__ d_Put,
                                         const float* __restrict__ d_Price, const float* __restrict__ d_Strike,
                                         const float* __restrict__ d_Years, float R, float V, int optN) {
  for (int opt = blockDim.x * blockIdx.x + threadIdx.x; opt < optN; opt += blockDim.x * gridDim.x) {
    float S = d_Price[opt], X = d_Strike[opt], T = d_Years[opt];
    float sqrtT = __fdividef(1.0f, rsqrtf(T));
    float d1 = __fdividef(__logf(S / X) + (R + 0.5f * V * V) * T, V * sqrtT);
    float d2 = d1 - V * sqrtT;
    float CNDD1 = cndGPU(d1);
    float CNDD2 = cndGPU(d2);
    float expRT = __expf(-R * T);
    d_Call[opt] = S * CNDD1 - X * expRT * CNDD2;
    d_Put[opt] = X * expRT * (1.0f - CNDD2) - S * (1.0f - CNDD1);
  }
}

#define LEAVES 16
// A block an option: levels of the tree in registers, borders exchanged through shared memory.
extern "C" __global__ void binomial_option_block(const float* S, const float* X, const float* vdt, float pu, float pd,
                                                 float* value) {
  __shared__ float call_exchange[128 + 1];
  int tid = threadIdx.x;
  int steps = blockDim.x * LEAVES;
  float call[LEAVES + 1];
  float s = S[blockIdx.x] * 100.f, x = X[blockIdx.x] * 100.f, v = vdt[blockIdx.x] * 0.05f;
#pragma unroll
  for (int i = 0; i < LEAVES; i++) {
    float d = s * __expf(v * (2.0f * (tid * LEAVES + i) - steps)) - x;
    call[i] = d > 0 ? d : 0;
  }
  if (tid == 0) call_exchange[blockDim.x] = fmaxf(s * __expf(v * steps) - x, 0.f);
  int final_it = max(0, tid * LEAVES - 1);
  for (int i = steps; i > 0; --i) {
    call_exchange[tid] = call[0];
    __syncthreads();
    call[LEAVES] = call_exchange[tid + 1];
    __syncthreads();
    if (i > final_it) {
#pragma unroll
      for (int j = 0; j < LEAVES; ++j) call[j] = pu * call[j + 1] + pd * call[j];
    }
  }
  if (tid == 0) value[blockIdx.x] = call[0];
}

// Pi by darts of a linear congruence.
extern "C" __global__ void pi_darts(unsigned long long* hits, int darts, unsigned seed) {
  unsigned state = seed + 1099087573u * (blockIdx.x * blockDim.x + threadIdx.x);
  int inside = 0;
  for (int i = 0; i < darts; i++) {
    state = 1664525u * state + 1013904223u;
    float x = state * 2.3283064365386963e-10f;
    state = 1664525u * state + 1013904223u;
    float y = state * 2.3283064365386963e-10f;
    if (x * x + y * y <= 1.0f) inside++;
  }
  __shared__ int block_hits;
  if (threadIdx.x == 0) block_hits = 0;
  __syncthreads();
  atomicAdd(&block_hits, inside);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(hits, (unsigned long long)block_hits);
}

// Sobol numbers in Gray order; a row of the grid a dimension.
extern "C" __global__ void sobol_numbers(unsigned n_vectors, const unsigned* d_directions, float* d_output) {
  __shared__ unsigned v[32];
  d_directions += 32 * blockIdx.y;
  d_output += (long long)n_vectors * blockIdx.y;
  if (threadIdx.x < 32) v[threadIdx.x] = d_directions[threadIdx.x];
  __syncthreads();
  int i0 = threadIdx.x + blockIdx.x * blockDim.x;
  int stride = gridDim.x * blockDim.x;
  unsigned g = i0 ^ (i0 >> 1);
  unsigned X = 0;
  unsigned mask;
  for (unsigned k = 0; k < __ffs(stride) - 1; k++) {
    mask = -(g & 1);
    X ^= mask & v[k];
    g = g >> 1;
  }
  for (unsigned k = __ffs(stride) - 1; g != 0 && k < 32; k++) {
    mask = -(g & 1);
    X ^= mask & v[k];
    g = g >> 1;
  }
  if (i0 < n_vectors) d_output[i0] = (float)X * 2.3283064365386963e-10f;
  unsigned v_log2stridem1 = v[max(__ffs(stride) - 2, 0)];
  unsigned v_stridemask = stride - 1;
  for (unsigned i = i0 + stride; i < n_vectors; i += stride) {
    X ^= v_log2stridem1 ^ v[min(__ffs(~((i - stride) | v_stridemask)) - 1, 31) & 31];
    d_output[i] = (float)X * 2.3283064365386963e-10f;
  }
}

// ---------------------------------------------------------------- bodies, pictures, transforms

extern "C" __global__ void nbody_shared_tiles(float4* newPos, const float4* oldPos, float4* vel, int numBodies,
                                              float deltaTime, float damping, float softening2) {
  extern __shared__ float4 sharedPos[];
  int index = blockIdx.x * blockDim.x + threadIdx.x;
  float4 position = oldPos[min(index, numBodies - 1)];
  float3 acc = {0.0f, 0.0f, 0.0f};
  int tiles = (numBodies + blockDim.x - 1) / blockDim.x;
  for (int tile = 0; tile < tiles; tile++) {
    int from = tile * blockDim.x + threadIdx.x;
    sharedPos[threadIdx.x] = from < numBodies ? oldPos[from] : make_float4(0, 0, 0, 0);
    __syncthreads();
#pragma unroll 8
    for (unsigned counter = 0; counter < blockDim.x; counter++) {
      float4 b = sharedPos[counter];
      float rx = b.x - position.x, ry = b.y - position.y, rz = b.z - position.z;
      float distSqr = rx * rx + ry * ry + rz * rz + softening2;
      float invDist = rsqrtf(distSqr);
      float s = b.w * invDist * invDist * invDist;
      acc.x += rx * s;
      acc.y += ry * s;
      acc.z += rz * s;
    }
    __syncthreads();
  }
  if (index >= numBodies) return;
  float4 velocity = vel[index];
  velocity.x = (velocity.x + acc.x * deltaTime) * damping;
  velocity.y = (velocity.y + acc.y * deltaTime) * damping;
  velocity.z = (velocity.z + acc.z * deltaTime) * damping;
  position.x += velocity.x * deltaTime;
  position.y += velocity.y * deltaTime;
  position.z += velocity.z * deltaTime;
  newPos[index] = position;
  vel[index] = velocity;
}

extern "C" __global__ void mandelbrot_colours(uchar4* image, int width, int height, float x0, float y0, float scale,
                                              int max_iter) {
  int px = blockIdx.x * blockDim.x + threadIdx.x;
  int py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px >= width || py >= height) return;
  float cx = x0 + px * scale, cy = y0 + py * scale;
  float x = 0.f, y = 0.f;
  int it = 0;
  while (x * x + y * y < 4.0f && it < max_iter) {
    float t = x * x - y * y + cx;
    y = 2.0f * x * y + cy;
    x = t;
    it++;
  }
  uchar4 c;
  c.x = it == max_iter ? 0 : (unsigned char)(it * 7);
  c.y = it == max_iter ? 0 : (unsigned char)(it * 3);
  c.z = it == max_iter ? 0 : (unsigned char)(255 - it);
  c.w = 255;
  image[py * width + px] = c;
}

// Sobel's edges with the tile and a rim of one in shared memory.
extern "C" __global__ void sobel_shared(const unsigned char* in, unsigned char* out, int w, int h, float scale) {
  __shared__ unsigned char s[18][20];
  int bx = blockIdx.x * 16, by = blockIdx.y * 16;
  for (int i = threadIdx.y * 16 + threadIdx.x; i < 18 * 18; i += 256) {
    int x = bx + i % 18 - 1, y = by + i / 18 - 1;
    x = x < 0 ? 0 : (x >= w ? w - 1 : x);
    y = y < 0 ? 0 : (y >= h ? h - 1 : y);
    s[i / 18][i % 18] = in[y * w + x];
  }
  __syncthreads();
  int x = bx + threadIdx.x, y = by + threadIdx.y;
  if (x < w && y < h) {
    int tx = threadIdx.x, ty = threadIdx.y;
    int gx = s[ty][tx + 2] + 2 * s[ty + 1][tx + 2] + s[ty + 2][tx + 2] - s[ty][tx] - 2 * s[ty + 1][tx] - s[ty + 2][tx];
    int gy = s[ty][tx] + 2 * s[ty][tx + 1] + s[ty][tx + 2] - s[ty + 2][tx] - 2 * s[ty + 2][tx + 1] - s[ty + 2][tx + 2];
    int sum = (int)(scale * sqrtf((float)(gx * gx + gy * gy)));
    out[y * w + x] = sum > 255 ? 255 : sum;
  }
}

// Box filter down the columns by a running sum, a thread a column.
extern "C" __global__ void box_filter_columns(const float* id, float* od, int w, int h, int r) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= w) return;
  id += x;
  od += x;
  float scale = 1.0f / (float)((r << 1) + 1);
  float t = id[0] * r;
  for (int y = 0; y < (r + 1); y++) t += id[y * w];
  od[0] = t * scale;
  for (int y = 1; y < (r + 1); y++) {
    t += id[(y + r) * w];
    t -= id[0];
    od[y * w] = t * scale;
  }
  for (int y = (r + 1); y < (h - r); y++) {
    t += id[(y + r) * w];
    t -= id[((y - r) * w) - w];
    od[y * w] = t * scale;
  }
  for (int y = h - r; y < h; y++) {
    t += id[(h - 1) * w];
    t -= id[((y - r) * w) - w];
    od[y * w] = t * scale;
  }
}

// Walsh transform of a row in shared memory, radix four.
extern "C" __global__ void walsh_shared(float* d_Output, const float* d_Input, int log2N) {
  extern __shared__ float s_data[];
  const int N = 1 << log2N;
  const int base = blockIdx.x << log2N;
  const float* d_Src = d_Input + base;
  float* d_Dst = d_Output + base;
  for (int pos = threadIdx.x; pos < N; pos += blockDim.x) s_data[pos] = d_Src[pos];
  const int pos = threadIdx.x;
  for (int stride = N >> 2; stride > 0; stride >>= 2) {
    int lo = pos & (stride - 1);
    int i0 = ((pos - lo) << 2) + lo;
    int i1 = i0 + stride;
    int i2 = i1 + stride;
    int i3 = i2 + stride;
    __syncthreads();
    float D0 = s_data[i0], D1 = s_data[i1], D2 = s_data[i2], D3 = s_data[i3];
    float T;
    T = D0;
    D0 = D0 + D2;
    D2 = T - D2;
    T = D1;
    D1 = D1 + D3;
    D3 = T - D3;
    T = D0;
    s_data[i0] = D0 + D1;
    s_data[i1] = T - D1;
    T = D2;
    s_data[i2] = D2 + D3;
    s_data[i3] = T - D3;
  }
  if (log2N & 1) {
    __syncthreads();
    for (int p = threadIdx.x; p < N / 2; p += blockDim.x) {
      int i0 = p << 1;
      int i1 = i0 + 1;
      float D0 = s_data[i0], D1 = s_data[i1];
      s_data[i0] = D0 + D1;
      s_data[i1] = D0 - D1;
    }
  }
  __syncthreads();
  for (int p = threadIdx.x; p < N; p += blockDim.x) d_Dst[p] = s_data[p];
}
