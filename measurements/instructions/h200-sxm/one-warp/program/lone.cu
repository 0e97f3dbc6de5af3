// Loops of a lone warp: each turn waits for the last.  Prints: kernel,warps,clocks   (of a turn, at the SM clock)
#include <algorithm>
#include <cstdio>
#include <vector>
#define OK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { printf("ERR %s: %s\n", #x, cudaGetErrorString(e_)); exit(1); } } while (0)
#define LOOP(NAME, T, ...)                                                               \
  extern "C" __global__ void NAME(T* io, int turns) {                                    \
    T x = io[threadIdx.x], y = io[threadIdx.x + 1024];                                   \
    _Pragma("unroll 1") for (int i = 0; i < turns; ++i) { __VA_ARGS__; }                 \
    io[threadIdx.x] = x + y;                                                             \
  }
LOOP(divide_by, float, x = y / x)
LOOP(divide, float, x = x / y + y)
LOOP(divide_fast, float, x = __fdividef(x, y) + y)
LOOP(reciprocal, float, x = 1.0f / x)
LOOP(square_root, float, x = sqrtf(x) + y)
LOOP(reciprocal_root, float, x = rsqrtf(x) + y)
LOOP(exponential_fast, float, x = __expf(-x))
LOOP(exponential, float, x = expf(-x))
LOOP(logarithm_fast, float, x = __logf(x) + 3.0f)
LOOP(logarithm, float, x = logf(x) + 3.0f)
LOOP(power, float, x = powf(x, 0.7f) + y)
LOOP(sine, float, x = sinf(x) + y)
LOOP(sine_pi, float, float s; float c; sincospif(x, &s, &c); x = s * c + y)
LOOP(hyperbolic, float, x = tanhf(x) + y)
LOOP(error_function, float, x = erff(x) + y)
LOOP(logistic, float, x = x / (1.0f + __expf(-x)) + y)
LOOP(logistic_exact, float, x = 1.0f / (1.0f + expf(-x)) + y)
LOOP(least, float, float d = x * y; if (d < y) { y = d; x = i; })
LOOP(lengths, float, float d = x * x + y * y; x = d > 4.0f ? x * 0.5f : x + y)
LOOP(divide_d, double, x = x / y + y)
LOOP(reciprocal_d, double, x = 1.0 / x + y)
LOOP(root_d, double, x = sqrt(x) + y)
LOOP(reciprocal_root_d, double, x = rsqrt(x) + y)
LOOP(exponential_d, double, x = exp(-x))
LOOP(sine_d, double, x = sin(x) + y)
LOOP(least_d, double, x = fmin(x, y) + y)
LOOP(compare_d, double, if (x < y) x = x + y; else x = x * 0.5)
LOOP(float_of_double, double, x = (float)x + y)
LOOP(divide_u, unsigned, x = y / (x & 1023u | 1u) + 7u)
LOOP(divide_u_same, unsigned, x = x / y + 0x7fffffffu)
LOOP(rest_s, int, x = (x ^ i) % (y | 1) + 1000000)
LOOP(rest_l, long long, x = (x ^ i) % (y | 1) + 1000000)
LOOP(odd_part, unsigned, x = (x * 5u + 1u) >> (__ffs(x) & 3))
LOOP(multiply_long, unsigned long long, x = x * y + 3u)
LOOP(upper_long, unsigned long long, x = __umul64hi(x, y) ^ y)
LOOP(leading, unsigned, x = __clz(x) + y)
LOOP(turned, unsigned, x = __brev(x) + y)
LOOP(whole, float, x = (int)x * 1.5f + y)
LOOP(floor_f, float, x = floorf(x) * 0.5f + y)
// tables in shared memory
extern "C" __global__ void lookups(unsigned* io, int turns) {
  __shared__ unsigned table[256];
  for (int k = threadIdx.x; k < 256; k += blockDim.x) table[k] = io[k];
  __syncthreads();
  unsigned x = io[threadIdx.x], w = io[threadIdx.x + 1024];
#pragma unroll 1
  for (int i = 0; i < turns; ++i) {
#pragma unroll
    for (int b = 0; b < 4; ++b) x = x >> 8 ^ table[(x ^ w >> (8 * b)) & 255u];
  }
  io[threadIdx.x] = x;
}
// neighbours through shared memory, two barriers a turn
extern "C" __global__ void neighbours(float* io, int turns) {
  __shared__ float line[1026];
  int t = threadIdx.x;
  line[t + 1] = io[t]; if (t == 0) line[0] = line[blockDim.x + 1] = 0;
  __syncthreads();
#pragma unroll 1
  for (int i = 0; i < turns; ++i) {
    float s = line[t] + line[t + 1] + line[t + 2];
    __syncthreads();
    line[t + 1] = s * 0.3f;
    __syncthreads();
  }
  io[t] = line[t + 1];
}
// wavefront: a part of the threads has work, three barriers a turn
extern "C" __global__ void wavefront(int* io, int turns) {
  __shared__ int before[1025], last[1025], now[1025];
  int t = threadIdx.x, j = t + 1, mine = io[t];
  before[j] = last[j] = now[j] = t; if (t == 0) before[0] = last[0] = now[0] = 0;
  __syncthreads();
#pragma unroll 1
  for (int d = 0; d < turns; ++d) {
    int i = (d & 255) - j;
    if (i == 0) now[j] = j;
    if (i > 0 && i <= 128) now[j] = min(min(last[j], last[j - 1]) + 1, before[j - 1] + (i != mine));
    __syncthreads();
    int moved = last[j], latest = now[j];
    __syncthreads();
    before[j] = moved; last[j] = latest;
    __syncthreads();
  }
  io[t] = last[j];
}
// chains of shuffles, in groups that depend on nothing of one another
extern "C" __global__ void sums_of_eight(float* io, int turns) {
  float x = io[threadIdx.x], all = 0;
#pragma unroll 1
  for (int i = 0; i < turns; ++i) {
    float mine = 0;
#pragma unroll
    for (int g = 0; g < 8; ++g) {
      float s = x * (g + 1);
#pragma unroll
      for (int a = 16; a > 0; a /= 2) s += __shfl_xor_sync(~0u, s, a);
      if ((threadIdx.x & 31) == g) mine = s;
    }
    x = mine * 1e-3f + 1.0f; all += x;
  }
  io[threadIdx.x] = all;
}
template <class T> void time(const char* name, void (*f)(T*, int), std::vector<T> h, int turns, bool many) {
  T* io; OK(cudaMalloc(&io, h.size() * sizeof(T)));
  cudaEvent_t a, b; cudaEventCreate(&a); cudaEventCreate(&b);
  for (int warps : {1, 4, 8, 16, 32}) {
    double t[2];
    for (int side = 0; side < 2; ++side) {
      std::vector<float> v;
      for (int r = 0; r < 4; ++r) {
        OK(cudaMemcpy(io, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice));
        cudaEventRecord(a); f<<<1, warps * 32>>>(io, turns * (1 + side)); cudaEventRecord(b); OK(cudaDeviceSynchronize());
        float ms; cudaEventElapsedTime(&ms, a, b); if (r) v.push_back(ms);
      }
      std::sort(v.begin(), v.end()); t[side] = v[0];
    }
    printf("%s,%d,%.2f\n", name, warps, (t[1] - t[0]) * 1.98e6 / turns);
  }
  fflush(stdout); cudaFree(io); (void)many;
}
int main() {
  std::vector<float> f(2048); std::vector<double> d(2048); std::vector<unsigned> u(2048); std::vector<int> s(2048); std::vector<long long> l(2048); std::vector<unsigned long long> ul(2048);
  unsigned x = 12345;
  for (int k = 0; k < 2048; ++k) { x ^= x << 13; x ^= x >> 17; x ^= x << 5; f[k] = 0.6f + (x & 0xffff) * 1e-5f; d[k] = 0.6 + (x & 0xffff) * 1e-5; u[k] = x; s[k] = x & 0x3fffffff; l[k] = (long long)x * 77777 + x; ul[k] = (unsigned long long)x * x; }
  int n = 4000;
#define F(k) time<float>(#k, k, f, n, true);
#define D(k) time<double>(#k, k, d, n, true);
#define U(k) time<unsigned>(#k, k, u, n, true);
  F(divide_by) F(divide) F(divide_fast) F(reciprocal) F(square_root) F(reciprocal_root) F(exponential_fast) F(exponential) F(logarithm_fast) F(logarithm) F(power) F(sine) F(sine_pi) F(hyperbolic) F(error_function) F(logistic) F(logistic_exact) F(least) F(lengths)
  D(divide_d) D(reciprocal_d) D(root_d) D(reciprocal_root_d) D(exponential_d) D(sine_d) D(least_d) D(compare_d) D(float_of_double)
  U(divide_u) U(divide_u_same) time<int>("rest_s", rest_s, s, n, true); time<long long>("rest_l", rest_l, l, n, true); U(odd_part)
  time<unsigned long long>("multiply_long", multiply_long, ul, n, true); time<unsigned long long>("upper_long", upper_long, ul, n, true);
  U(leading) U(turned) F(whole) F(floor_f) U(lookups) F(neighbours) time<int>("wavefront", wavefront, s, n, true); F(sums_of_eight)
}
