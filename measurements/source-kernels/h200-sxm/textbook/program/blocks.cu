// Blocks that reduce, scan, sort and solve in shared memory.

extern "C" __global__ void reduce_tree(const float* __restrict__ in, float* __restrict__ out, int n) {
  __shared__ float part[256];
  int t = threadIdx.x, i = blockIdx.x * 512 + t;
  float s = 0.0f;
  if (i < n) s += in[i];
  if (i + 256 < n) s += in[i + 256];
  part[t] = s;
  __syncthreads();
  for (int k = blockDim.x / 2; k > 0; k >>= 1) {
    if (t < k) part[t] += part[t + k];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = part[0];
}

extern "C" __global__ void scan_doubling(const float* __restrict__ in, float* __restrict__ out, int n) {
  __shared__ float a[2][1024];
  int t = threadIdx.x, i = blockIdx.x * 1024 + t, now = 0;
  a[0][t] = i < n ? in[i] : 0.0f;
  __syncthreads();
  for (int k = 1; k < 1024; k *= 2) {
    a[1 - now][t] = t >= k ? a[now][t] + a[now][t - k] : a[now][t];
    now = 1 - now;
    __syncthreads();
  }
  if (i < n) out[i] = a[now][t];
}

extern "C" __global__ void scan_blelloch(const int* __restrict__ in, int* __restrict__ out, int* __restrict__ sums) {
  __shared__ int a[512];
  int t = threadIdx.x, base = blockIdx.x * 512;
  a[2 * t] = in[base + 2 * t];
  a[2 * t + 1] = in[base + 2 * t + 1];
  int offset = 1;
  for (int d = 256; d > 0; d >>= 1) {
    __syncthreads();
    if (t < d) a[offset * (2 * t + 2) - 1] += a[offset * (2 * t + 1) - 1];
    offset *= 2;
  }
  if (t == 0) {
    sums[blockIdx.x] = a[511];
    a[511] = 0;
  }
  for (int d = 1; d < 512; d *= 2) {
    offset >>= 1;
    __syncthreads();
    if (t < d) {
      int l = offset * (2 * t + 1) - 1, r = offset * (2 * t + 2) - 1, v = a[l];
      a[l] = a[r];
      a[r] += v;
    }
  }
  __syncthreads();
  out[base + 2 * t] = a[2 * t];
  out[base + 2 * t + 1] = a[2 * t + 1];
}

extern "C" __global__ void bitonic_block(const unsigned* __restrict__ in, unsigned* __restrict__ out) {
  __shared__ unsigned a[1024];
  int t = threadIdx.x, base = blockIdx.x * 1024;
  a[t] = in[base + t];
  a[t + 512] = in[base + t + 512];
  for (int k = 2; k <= 1024; k *= 2)
    for (int j = k / 2; j > 0; j /= 2) {
      __syncthreads();
      int l = 2 * t - (t & (j - 1)), r = l + j;
      bool up = (l & k) == 0;
      unsigned x = a[l], y = a[r];
      if ((x > y) == up) {
        a[l] = y;
        a[r] = x;
      }
    }
  __syncthreads();
  out[base + t] = a[t];
  out[base + t + 512] = a[t + 512];
}

extern "C" __global__ void pcr_block(const float* __restrict__ below, const float* __restrict__ diagonal,
                                     const float* __restrict__ above, const float* __restrict__ right,
                                     float* __restrict__ out) {
  __shared__ float a[256], b[256], c[256], d[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  a[t] = t > 0 ? below[i] : 0.0f;
  b[t] = 4.0f + diagonal[i];
  c[t] = t < 255 ? above[i] : 0.0f;
  d[t] = right[i];
  __syncthreads();
  for (int k = 1; k < 256; k *= 2) {
    int l = max(t - k, 0), r = min(t + k, 255);
    float p = t - k >= 0 ? a[t] / b[l] : 0.0f, q = t + k < 256 ? c[t] / b[r] : 0.0f;
    float na = -a[l] * p, nb = b[t] - c[l] * p - a[r] * q, nc = -c[r] * q, nd = d[t] - d[l] * p - d[r] * q;
    __syncthreads();
    a[t] = na;
    b[t] = nb;
    c[t] = nc;
    d[t] = nd;
    __syncthreads();
  }
  out[i] = d[t] / b[t];
}

extern "C" __global__ void cholesky_block(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float a[16][17];
  int c = threadIdx.x, r = threadIdx.y;
  const float* from = in + blockIdx.x * 256;
  a[r][c] = from[r * 16 + c] + (r == c ? 20.0f : 0.0f);
  __syncthreads();
  for (int k = 0; k < 16; ++k) {
    if (r == k && c == k) a[k][k] = sqrtf(a[k][k]);
    __syncthreads();
    if (c == k && r > k) a[r][k] /= a[k][k];
    __syncthreads();
    if (c > k && r >= c) a[r][c] -= a[r][k] * a[c][k];
    __syncthreads();
  }
  out[blockIdx.x * 256 + r * 16 + c] = c <= r ? a[r][c] : 0.0f;
}

extern "C" __global__ void fft_block(const float2* __restrict__ in, float2* __restrict__ out) {
  __shared__ float2 a[512];
  int t = threadIdx.x, base = blockIdx.x * 512;
  a[__brev(t) >> 23] = in[base + t];
  a[__brev(t + 256) >> 23] = in[base + t + 256];
  __syncthreads();
  for (int h = 1; h < 512; h *= 2) {
    int k = t & (h - 1), l = 2 * t - k;
    float s, c;
    __sincosf(-3.14159265f * k / h, &s, &c);
    float2 x = a[l], y = a[l + h];
    float re = y.x * c - y.y * s, im = y.x * s + y.y * c;
    a[l] = make_float2(x.x + re, x.y + im);
    a[l + h] = make_float2(x.x - re, x.y - im);
    __syncthreads();
  }
  out[base + t] = a[t];
  out[base + t + 256] = a[t + 256];
}

extern "C" __global__ void compact_block(const int* __restrict__ in, int* __restrict__ out, int* __restrict__ count, int n,
                                         int limit) {
  __shared__ int sums[8], base;
  int i = blockIdx.x * 256 + threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  int v = i < n ? in[i] : limit;
  bool keep = v < limit;
  unsigned votes = __ballot_sync(~0u, keep);
  int before = __popc(votes & ((1u << lane) - 1));
  if (lane == 0) sums[warp] = __popc(votes);
  __syncthreads();
  if (threadIdx.x == 0) {
    int s = 0;
    for (int w = 0; w < 8; ++w) {
      int x = sums[w];
      sums[w] = s;
      s += x;
    }
    base = atomicAdd(count, s);
  }
  __syncthreads();
  if (keep) out[base + sums[warp] + before] = v;
}

extern "C" __global__ void radix_counts(const unsigned* __restrict__ keys, unsigned* __restrict__ counts, int n, int shift) {
  __shared__ unsigned bins[256];
  bins[threadIdx.x] = 0;
  __syncthreads();
  int begin = blockIdx.x * 4096, end = min(begin + 4096, n);
  for (int i = begin + threadIdx.x; i < end; i += 256) atomicAdd(&bins[keys[i] >> shift & 255], 1u);
  __syncthreads();
  counts[threadIdx.x * gridDim.x + blockIdx.x] = bins[threadIdx.x];
}

extern "C" __global__ void levenshtein_block(const unsigned char* __restrict__ left, const unsigned char* __restrict__ right,
                                             int* __restrict__ out, int length) {
  __shared__ int d[3][257];
  __shared__ unsigned char a[256], b[256];
  int t = threadIdx.x;
  a[t] = left[blockIdx.x * 256 + t];
  b[t] = right[blockIdx.x * 256 + t];
  if (t == 0) d[0][0] = 0, d[1][0] = 1, d[1][1] = 1;
  __syncthreads();
  for (int s = 2; s <= 2 * length; ++s) {
    int* now = d[s % 3];
    const int *last = d[(s + 2) % 3], *old = d[(s + 1) % 3];
    int i = t + 1, j = s - i;
    if (i <= length && j >= 1 && j <= length)
      now[i] = min(min(last[i], last[i - 1]) + 1, old[i - 1] + (a[i - 1] != b[j - 1]));
    if (t == 0 && s <= length) now[0] = s;
    if (i == s && i <= length) now[i] = s;
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = d[2 * length % 3][length];
}
