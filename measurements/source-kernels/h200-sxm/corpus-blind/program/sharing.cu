// Blocks that work together: sorting, transforms and distances in shared memory.
extern "C" __global__ void bitonic_sort(const int* __restrict__ in, int* __restrict__ out) {
  __shared__ int box[512];
  int t = threadIdx.x, base = blockIdx.x * 512;
  box[t] = in[base + t];
  __syncthreads();
  for (int size = 2; size <= 512; size *= 2)
    for (int apart = size / 2; apart > 0; apart /= 2) {
      int other = t ^ apart;
      if (other > t) {
        int a = box[t], b = box[other];
        if ((a > b) == ((t & size) == 0)) {
          box[t] = b;
          box[other] = a;
        }
      }
      __syncthreads();
    }
  out[base + t] = box[t];
}

// Transforms of 256 complex numbers each, by halves, in bit-reversed order of input.
extern "C" __global__ void fourier_256(const float2* __restrict__ in, float2* __restrict__ out) {
  __shared__ float2 box[256];
  int t = threadIdx.x, base = blockIdx.x * 256;
  box[__brev(t) >> 24] = in[base + t];
  box[__brev(t + 128) >> 24] = in[base + t + 128];
  for (int half = 1; half < 256; half *= 2) {
    __syncthreads();
    int k = t & (half - 1), at = 2 * t - k;
    float s, c;
    __sincosf(-3.14159265f * k / half, &s, &c);
    float2 a = box[at], b = box[at + half];
    float2 turned = make_float2(b.x * c - b.y * s, b.x * s + b.y * c);
    box[at] = make_float2(a.x + turned.x, a.y + turned.y);
    box[at + half] = make_float2(a.x - turned.x, a.y - turned.y);
  }
  __syncthreads();
  out[base + t] = box[t];
  out[base + t + 128] = box[t + 128];
}

// Edits from one word of 128 letters to another, a pair a block, along the anti-diagonals.
extern "C" __global__ void edit_distance(const unsigned char* __restrict__ first, const unsigned char* __restrict__ second, int* __restrict__ distance) {
  __shared__ int before[129], last[129], now[129];
  __shared__ unsigned char a[128];
  int t = threadIdx.x;
  a[t] = first[blockIdx.x * 128 + t];
  unsigned char mine = second[blockIdx.x * 128 + t];
  __syncthreads();
  for (int d = 0; d <= 256; ++d) {
    int j = t + 1, i = d - j;
    if (t == 0 && d <= 128) now[0] = d;
    if (i == 0) now[j] = j;
    if (i > 0 && i <= 128) now[j] = min(min(last[j], last[j - 1]) + 1, before[j - 1] + (a[i - 1] != mine));
    __syncthreads();
    int moved = last[j], latest = now[j], moved0 = last[0], latest0 = now[0];
    __syncthreads();
    before[j] = moved;
    last[j] = latest;
    if (t == 0) {
      before[0] = moved0;
      last[0] = latest0;
    }
    __syncthreads();
  }
  if (t == 127) distance[blockIdx.x] = last[128];
}
