// Networks: forward, gradients, updates, small integers.
// A layer's inputs times its weights: 16 inputs a block, sums over them by a tree in shared memory.
extern "C" __global__ void layer_forward(const float* __restrict__ in, const float* __restrict__ weights, float* __restrict__ products, float* __restrict__ sums) {
  __shared__ float node[16];
  __shared__ float part[16][16];
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.x * 16 + ty;
  if (tx == 0) node[ty] = in[row];
  __syncthreads();
  part[ty][tx] = weights[row * 16 + tx];
  __syncthreads();
  part[ty][tx] *= node[ty];
  __syncthreads();
  for (int k = 1; k <= 4; ++k) {
    int power = 1 << k;
    if (ty % power == 0) part[ty][tx] += part[ty + power / 2][tx];
    __syncthreads();
  }
  products[row * 16 + tx] = part[ty][tx];
  if (tx == 0) sums[blockIdx.x * 16 + ty] = part[0][ty];
}

// One step of Adam, in place: weights, first and second moments.
extern "C" __global__ void adam_update(float* w, float* m, float* v, const float* __restrict__ gradient, float rate, float beta1, float beta2, float unbias1, float unbias2, float decay, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float g = gradient[i] - 0.5f + decay * w[i];
  float first = beta1 * m[i] + (1.0f - beta1) * g, second = beta2 * v[i] + (1.0f - beta2) * g * g;
  m[i] = first;
  v[i] = second;
  w[i] -= rate * (first * unbias1) / (sqrtf(second * unbias2) + 1e-8f);
}

// Gradients of an embedding: each token's row is added to its word's, a block a token.
extern "C" __global__ void embedding_grads(const float* __restrict__ gradient, const int* __restrict__ words, float* table, int width) {
  int word = words[blockIdx.x];
  for (int d = threadIdx.x; d < width; d += blockDim.x) atomicAdd(&table[word * width + d], gradient[(long long)blockIdx.x * width + d]);
}

// Signed bytes times a vector of them: a warp a row, 16 bytes a lane, a scale a row.
extern "C" __global__ void matvec_int8(const int4* __restrict__ a, const int4* __restrict__ x, const float* __restrict__ scales, float* __restrict__ out, int rows, int sixteens) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
  if (row >= rows) return;
  int sum = 0;
  for (int k = lane; k < sixteens; k += 32) {
    int4 m = a[(long long)row * sixteens + k], v = x[k];
    sum = __dp4a(m.x, v.x, sum);
    sum = __dp4a(m.y, v.y, sum);
    sum = __dp4a(m.z, v.z, sum);
    sum = __dp4a(m.w, v.w, sum);
  }
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (lane == 0) out[row] = scales[row] * sum;
}

// Small matrices of 32 by 32, each into a lower and an upper triangle, a warp a matrix, a lane a column.
extern "C" __global__ void factor_small(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float s[32][33];
  int t = threadIdx.x;
  long long base = (long long)blockIdx.x * 1024;
  for (int r = 0; r < 32; ++r) s[r][t] = in[base + r * 32 + t] + (r == t ? 16.0f : 0.0f);
  __syncthreads();
  for (int k = 0; k < 31; ++k) {
    if (t > k) s[t][k] /= s[k][k];
    __syncthreads();
    if (t > k)
      for (int r = k + 1; r < 32; ++r) s[r][t] -= s[r][k] * s[k][t];
    __syncthreads();
  }
  for (int r = 0; r < 32; ++r) out[base + r * 32 + t] = s[r][t];
}

// Prices of options by a tree, from its leaves back to the root: a block an option, a thread a node.
extern "C" __global__ void backward_tree(const float* __restrict__ spot, const float* __restrict__ strike, float* __restrict__ out, int steps, float slope, float up, float down) {
  __shared__ float value[257];
  int t = threadIdx.x;
  float s = 50.0f + 50.0f * spot[blockIdx.x], k = 50.0f + 50.0f * strike[blockIdx.x];
  value[t] = fmaxf(s * __expf(slope * (2.0f * t - steps)) - k, 0.0f);
  if (t == 0) value[steps] = fmaxf(s * __expf(slope * steps) - k, 0.0f);
  for (int last = steps; last > 0; --last) {
    __syncthreads();
    float next = 0.0f;
    if (t < last) next = up * value[t + 1] + down * value[t];
    __syncthreads();
    if (t < last) value[t] = next;
  }
  if (t == 0) out[blockIdx.x] = value[0];
}
