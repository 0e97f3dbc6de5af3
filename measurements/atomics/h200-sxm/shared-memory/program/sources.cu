// Atomics as sources write them: global and shared, plain and aggregated, and locks.
#include <cuda_fp16.h>
#include <cuda_bf16.h>
extern "C" __global__ void g_add_int(int* data, int n, int addresses, int lanes, int spacing, int* sink) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int* at = data + (size_t)(i / lanes % addresses) * spacing;
  atomicAdd(at, i | 1);
}
extern "C" __global__ void g_add_int_ret(int* data, int n, int addresses, int lanes, int spacing, int* sink) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int* at = data + (size_t)(i / lanes % addresses) * spacing;
  int old = atomicAdd(at, i | 1);
  if (old == 0x7ffffff1) *sink = old;
}
extern "C" __global__ void g_add_float(float* data, int n, int addresses, int lanes, int spacing, int* sink) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float* at = data + (size_t)(i / lanes % addresses) * spacing;
  atomicAdd(at, (float)(i & 7));
}
extern "C" __global__ void g_add_float_ret(float* data, int n, int addresses, int lanes, int spacing, int* sink) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float* at = data + (size_t)(i / lanes % addresses) * spacing;
  float old = atomicAdd(at, (float)(i & 7));
  if (old == -3.5f) *sink = 1;
}
extern "C" __global__ void g_add_double(double* data, int n, int addresses, int lanes, int spacing, int* sink) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double* at = data + (size_t)(i / lanes % addresses) * spacing;
  atomicAdd(at, (double)(i & 7));
}
extern "C" __global__ void g_add_u64(unsigned long long* data, int n, int addresses, int lanes, int spacing, int* sink) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long* at = data + (size_t)(i / lanes % addresses) * spacing;
  atomicAdd(at, (unsigned long long)i);
}
extern "C" __global__ void g_add_u64_ret(unsigned long long* data, int n, int addresses, int lanes, int spacing, int* sink) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long* at = data + (size_t)(i / lanes % addresses) * spacing;
  unsigned long long old = atomicAdd(at, (unsigned long long)i);
  if (old == ~0ull) *sink = 1;
}
extern "C" __global__ void g_add_half(__half* data, int n, int addresses, int lanes, int spacing, int* sink) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __half* at = data + (size_t)(i / lanes % addresses) * spacing;
  atomicAdd(at, __int2half_rn(i & 3));
}
extern "C" __global__ void g_add_half2(__half2* data, int n, int addresses, int lanes, int spacing, int* sink) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __half2* at = data + (size_t)(i / lanes % addresses) * spacing;
  atomicAdd(at, __half2half2(__int2half_rn(i & 3)));
}
extern "C" __global__ void g_add_bf162(__nv_bfloat162* data, int n, int addresses, int lanes, int spacing, int* sink) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __nv_bfloat162* at = data + (size_t)(i / lanes % addresses) * spacing;
  atomicAdd(at, __bfloat162bfloat162(__int2bfloat16_rn(i & 3)));
}
extern "C" __global__ void g_add_float2(float2* data, int n, int addresses, int lanes, int spacing, int* sink) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float2* at = data + (size_t)(i / lanes % addresses) * spacing;
  atomicAdd(at, make_float2(i & 3, i & 7));
}
extern "C" __global__ void g_add_float4(float4* data, int n, int addresses, int lanes, int spacing, int* sink) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4* at = data + (size_t)(i / lanes % addresses) * spacing;
  atomicAdd(at, make_float4(i & 3, i & 7, 1.f, 2.f));
}
extern "C" __global__ void g_max_int(int* data, int n, int addresses, int lanes, int spacing, int* sink) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int* at = data + (size_t)(i / lanes % addresses) * spacing;
  atomicMax(at, i ^ 0x5a5a5a);
}
extern "C" __global__ void g_min_u64(unsigned long long* data, int n, int addresses, int lanes, int spacing, int* sink) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long* at = data + (size_t)(i / lanes % addresses) * spacing;
  atomicMin(at, (unsigned long long)(i ^ 0x5a5a5a));
}
extern "C" __global__ void g_exch_int(int* data, int n, int addresses, int lanes, int spacing, int* sink) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int* at = data + (size_t)(i / lanes % addresses) * spacing;
  atomicExch(at, i);
}
extern "C" __global__ void g_exch_int_ret(int* data, int n, int addresses, int lanes, int spacing, int* sink) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int* at = data + (size_t)(i / lanes % addresses) * spacing;
  int old = atomicExch(at, i);
  if (old == -5) *sink = old;
}
extern "C" __global__ void g_inc_uint(unsigned* data, int n, int addresses, int lanes, int spacing, int* sink) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned* at = data + (size_t)(i / lanes % addresses) * spacing;
  atomicInc(at, 1000000u);
}
extern "C" __global__ void g_or_uint(unsigned* data, int n, int addresses, int lanes, int spacing, int* sink) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned* at = data + (size_t)(i / lanes % addresses) * spacing;
  atomicOr(at, 1u << (i & 31));
}
extern "C" __global__ void g_xor_uint(unsigned* data, int n, int addresses, int lanes, int spacing, int* sink) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned* at = data + (size_t)(i / lanes % addresses) * spacing;
  atomicXor(at, 1u << (i & 31));
}
extern "C" __global__ void g_cas_once(int* data, int n, int addresses, int lanes, int spacing, int* sink) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int* at = data + (size_t)(i / lanes % addresses) * spacing;
  int old = atomicCAS(at, i & 3, i);
  if (old == -5) *sink = old;
}
extern "C" __global__ void g_cas_u64_once(unsigned long long* data, int n, int addresses, int lanes, int spacing, int* sink) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long* at = data + (size_t)(i / lanes % addresses) * spacing;
  unsigned long long old = atomicCAS(at, (unsigned long long)(i & 3), (unsigned long long)i);
  if (old == ~0ull) *sink = 1;
}
extern "C" __global__ void g_add_system(int* data, int n, int addresses, int lanes, int spacing, int* sink) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int* at = data + (size_t)(i / lanes % addresses) * spacing;
  atomicAdd_system(at, i | 1);
}
extern "C" __global__ void g_add_block(int* data, int n, int addresses, int lanes, int spacing, int* sink) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int* at = data + (size_t)(i / lanes % addresses) * spacing;
  atomicAdd_block(at, i | 1);
}
extern "C" __global__ void g_max_float_loop(int* data, int n, int addresses, int lanes, int spacing, int* sink) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int* at = data + (size_t)(i / lanes % addresses) * spacing;
  float v = (float)(i * 2654435761u >> 8);
  int seen = *at;
  while (__int_as_float(seen) < v) {
    int tried = seen;
    seen = atomicCAS(at, tried, __float_as_int(v));
    if (seen == tried) break;
  }
}
extern "C" __global__ void g_sum_float_loop(int* data, int n, int addresses, int lanes, int spacing, int* sink) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int* at = data + (size_t)(i / lanes % addresses) * spacing;
  int seen = *at, tried;
  do {
    tried = seen;
    seen = atomicCAS(at, tried, __float_as_int(__int_as_float(tried) + 1.5f));
  } while (seen != tried);
}
extern "C" __global__ void g_add_short_loop(unsigned short* data, int n, int addresses, int lanes, int spacing, int* sink) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned short* at = data + (size_t)(i / lanes % addresses) * spacing;
  unsigned short seen = *at, tried;
  do {
    tried = seen;
    seen = atomicCAS(at, tried, (unsigned short)(tried + 1));
  } while (seen != tried);
}
extern "C" __global__ void s_add_int(int* out, int addresses, int lanes, int spacing, int iterations, int v) {
  extern __shared__ __align__(16) unsigned char raw[];
  int* sums = (int*)raw;
  for (int j = threadIdx.x; j < addresses * spacing * 4 / 4 + 1; j += blockDim.x) ((int*)raw)[j] = 0;
  int* at = sums + threadIdx.x / lanes % addresses * spacing;
  __syncthreads();
  for (int k = 0; k < iterations; ++k) {
    atomicAdd(at, v);
  }
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}
extern "C" __global__ void s_add_one(int* out, int addresses, int lanes, int spacing, int iterations, int v) {
  extern __shared__ __align__(16) unsigned char raw[];
  int* sums = (int*)raw;
  for (int j = threadIdx.x; j < addresses * spacing * 4 / 4 + 1; j += blockDim.x) ((int*)raw)[j] = 0;
  int* at = sums + threadIdx.x / lanes % addresses * spacing;
  __syncthreads();
  for (int k = 0; k < iterations; ++k) {
    atomicAdd(at, 1);
  }
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}
extern "C" __global__ void s_add_int_ret(int* out, int addresses, int lanes, int spacing, int iterations, int v) {
  extern __shared__ __align__(16) unsigned char raw[];
  int* sums = (int*)raw;
  for (int j = threadIdx.x; j < addresses * spacing * 4 / 4 + 1; j += blockDim.x) ((int*)raw)[j] = 0;
  int* at = sums + threadIdx.x / lanes % addresses * spacing;
  __syncthreads();
  for (int k = 0; k < iterations; ++k) {
    v += atomicAdd(at, v) & 1;
  }
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}
extern "C" __global__ void s_max_int(int* out, int addresses, int lanes, int spacing, int iterations, int v) {
  extern __shared__ __align__(16) unsigned char raw[];
  int* sums = (int*)raw;
  for (int j = threadIdx.x; j < addresses * spacing * 4 / 4 + 1; j += blockDim.x) ((int*)raw)[j] = 0;
  int* at = sums + threadIdx.x / lanes % addresses * spacing;
  __syncthreads();
  for (int k = 0; k < iterations; ++k) {
    atomicMax(at, v + k);
  }
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}
extern "C" __global__ void s_or_uint(unsigned* out, int addresses, int lanes, int spacing, int iterations, int v) {
  extern __shared__ __align__(16) unsigned char raw[];
  unsigned* sums = (unsigned*)raw;
  for (int j = threadIdx.x; j < addresses * spacing * 4 / 4 + 1; j += blockDim.x) ((int*)raw)[j] = 0;
  unsigned* at = sums + threadIdx.x / lanes % addresses * spacing;
  __syncthreads();
  for (int k = 0; k < iterations; ++k) {
    atomicOr(at, 1u << (k & 31));
  }
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}
extern "C" __global__ void s_exch_int(int* out, int addresses, int lanes, int spacing, int iterations, int v) {
  extern __shared__ __align__(16) unsigned char raw[];
  int* sums = (int*)raw;
  for (int j = threadIdx.x; j < addresses * spacing * 4 / 4 + 1; j += blockDim.x) ((int*)raw)[j] = 0;
  int* at = sums + threadIdx.x / lanes % addresses * spacing;
  __syncthreads();
  for (int k = 0; k < iterations; ++k) {
    v += atomicExch(at, v) & 1;
  }
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}
extern "C" __global__ void s_cas_once(int* out, int addresses, int lanes, int spacing, int iterations, int v) {
  extern __shared__ __align__(16) unsigned char raw[];
  int* sums = (int*)raw;
  for (int j = threadIdx.x; j < addresses * spacing * 4 / 4 + 1; j += blockDim.x) ((int*)raw)[j] = 0;
  int* at = sums + threadIdx.x / lanes % addresses * spacing;
  __syncthreads();
  for (int k = 0; k < iterations; ++k) {
    v += atomicCAS(at, k, v) & 1;
  }
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}
extern "C" __global__ void s_add_float(float* out, int addresses, int lanes, int spacing, int iterations, int v) {
  extern __shared__ __align__(16) unsigned char raw[];
  float* sums = (float*)raw;
  for (int j = threadIdx.x; j < addresses * spacing * 4 / 4 + 1; j += blockDim.x) ((int*)raw)[j] = 0;
  float* at = sums + threadIdx.x / lanes % addresses * spacing;
  __syncthreads();
  for (int k = 0; k < iterations; ++k) {
    atomicAdd(at, (float)v);
  }
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}
extern "C" __global__ void s_add_double(double* out, int addresses, int lanes, int spacing, int iterations, int v) {
  extern __shared__ __align__(16) unsigned char raw[];
  double* sums = (double*)raw;
  for (int j = threadIdx.x; j < addresses * spacing * 8 / 4 + 1; j += blockDim.x) ((int*)raw)[j] = 0;
  double* at = sums + threadIdx.x / lanes % addresses * spacing;
  __syncthreads();
  for (int k = 0; k < iterations; ++k) {
    atomicAdd(at, (double)v);
  }
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}
extern "C" __global__ void s_add_u64(unsigned long long* out, int addresses, int lanes, int spacing, int iterations, int v) {
  extern __shared__ __align__(16) unsigned char raw[];
  unsigned long long* sums = (unsigned long long*)raw;
  for (int j = threadIdx.x; j < addresses * spacing * 8 / 4 + 1; j += blockDim.x) ((int*)raw)[j] = 0;
  unsigned long long* at = sums + threadIdx.x / lanes % addresses * spacing;
  __syncthreads();
  for (int k = 0; k < iterations; ++k) {
    atomicAdd(at, (unsigned long long)v);
  }
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}
extern "C" __global__ void s_max_u64(unsigned long long* out, int addresses, int lanes, int spacing, int iterations, int v) {
  extern __shared__ __align__(16) unsigned char raw[];
  unsigned long long* sums = (unsigned long long*)raw;
  for (int j = threadIdx.x; j < addresses * spacing * 8 / 4 + 1; j += blockDim.x) ((int*)raw)[j] = 0;
  unsigned long long* at = sums + threadIdx.x / lanes % addresses * spacing;
  __syncthreads();
  for (int k = 0; k < iterations; ++k) {
    atomicMax(at, (unsigned long long)(v + k));
  }
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}
extern "C" __global__ void s_exch_u64(unsigned long long* out, int addresses, int lanes, int spacing, int iterations, int v) {
  extern __shared__ __align__(16) unsigned char raw[];
  unsigned long long* sums = (unsigned long long*)raw;
  for (int j = threadIdx.x; j < addresses * spacing * 8 / 4 + 1; j += blockDim.x) ((int*)raw)[j] = 0;
  unsigned long long* at = sums + threadIdx.x / lanes % addresses * spacing;
  __syncthreads();
  for (int k = 0; k < iterations; ++k) {
    v += (int)atomicExch(at, (unsigned long long)v) & 1;
  }
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}
extern "C" __global__ void s_add_half2(__half2* out, int addresses, int lanes, int spacing, int iterations, int v) {
  extern __shared__ __align__(16) unsigned char raw[];
  __half2* sums = (__half2*)raw;
  for (int j = threadIdx.x; j < addresses * spacing * 4 / 4 + 1; j += blockDim.x) ((int*)raw)[j] = 0;
  __half2* at = sums + threadIdx.x / lanes % addresses * spacing;
  __syncthreads();
  for (int k = 0; k < iterations; ++k) {
    atomicAdd(at, __half2half2(__int2half_rn(1)));
  }
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}
extern "C" __global__ void s_sum_float_loop(int* out, int addresses, int lanes, int spacing, int iterations, int v) {
  extern __shared__ __align__(16) unsigned char raw[];
  int* sums = (int*)raw;
  for (int j = threadIdx.x; j < addresses * spacing * 4 / 4 + 1; j += blockDim.x) ((int*)raw)[j] = 0;
  int* at = sums + threadIdx.x / lanes % addresses * spacing;
  __syncthreads();
  for (int k = 0; k < iterations; ++k) {
    int seen = *(volatile int*)at, tried;
    do {
      tried = seen;
      seen = atomicCAS(at, tried, __float_as_int(__int_as_float(tried) + 1.5f));
    } while (seen != tried);
  }
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}
extern "C" __global__ void s_max_float_loop(int* out, int addresses, int lanes, int spacing, int iterations, int v) {
  extern __shared__ __align__(16) unsigned char raw[];
  int* sums = (int*)raw;
  for (int j = threadIdx.x; j < addresses * spacing * 4 / 4 + 1; j += blockDim.x) ((int*)raw)[j] = 0;
  int* at = sums + threadIdx.x / lanes % addresses * spacing;
  __syncthreads();
  for (int k = 0; k < iterations; ++k) {
    float w = (float)((threadIdx.x * 40503u + k * 2654435761u) >> 8);
    int seen = *(volatile int*)at;
    while (__int_as_float(seen) < w) {
      int tried = seen;
      seen = atomicCAS(at, tried, __float_as_int(w));
      if (seen == tried) break;
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}
extern "C" __global__ void s_add_short_loop(unsigned short* out, int addresses, int lanes, int spacing, int iterations, int v) {
  extern __shared__ __align__(16) unsigned char raw[];
  unsigned short* sums = (unsigned short*)raw;
  for (int j = threadIdx.x; j < addresses * spacing * 2 / 4 + 1; j += blockDim.x) ((int*)raw)[j] = 0;
  unsigned short* at = sums + threadIdx.x / lanes % addresses * spacing;
  __syncthreads();
  for (int k = 0; k < iterations; ++k) {
    unsigned short seen = *(volatile unsigned short*)at, tried;
    do {
      tried = seen;
      seen = atomicCAS(at, tried, (unsigned short)(tried + 1));
    } while (seen != tried);
  }
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}
extern "C" __global__ void s_min_byte_loop(unsigned char* out, int addresses, int lanes, int spacing, int iterations, int v) {
  extern __shared__ __align__(16) unsigned char raw[];
  unsigned char* sums = (unsigned char*)raw;
  for (int j = threadIdx.x; j < addresses * spacing * 1 / 4 + 1; j += blockDim.x) ((int*)raw)[j] = 0;
  unsigned char* at = sums + threadIdx.x / lanes % addresses * spacing;
  __syncthreads();
  for (int k = 0; k < iterations; ++k) {
    unsigned* word = (unsigned*)((size_t)at & ~(size_t)3);
    unsigned sh = ((size_t)at & 3) * 8, seen = *(volatile unsigned*)word, tried;
    do {
      tried = seen;
      unsigned now = ((tried >> sh & 255u) + 1u) & 255u;
      seen = atomicCAS(word, tried, (tried & ~(255u << sh)) | now << sh);
    } while (seen != tried);
  }
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}
extern "C" __global__ void h_add_int(int* out, int addresses, int iterations, int v) {
  extern __shared__ __align__(16) unsigned char raw[];
  int* sums = (int*)raw;
  for (int j = threadIdx.x; j < addresses * 4 / 4 + 1; j += blockDim.x) ((int*)raw)[j] = 0;
  __syncthreads();
  for (int k = 0; k < iterations; ++k) {
    unsigned x = (blockIdx.x * blockDim.x + threadIdx.x) * 747796405u + k * 2891336453u;
    x = ((x >> ((x >> 28) + 4)) ^ x) * 277803737u;
    x = (x >> 22) ^ x;
    int* at = sums + x % addresses;
    atomicAdd(at, v);
  }
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}
extern "C" __global__ void h_add_one(int* out, int addresses, int iterations, int v) {
  extern __shared__ __align__(16) unsigned char raw[];
  int* sums = (int*)raw;
  for (int j = threadIdx.x; j < addresses * 4 / 4 + 1; j += blockDim.x) ((int*)raw)[j] = 0;
  __syncthreads();
  for (int k = 0; k < iterations; ++k) {
    unsigned x = (blockIdx.x * blockDim.x + threadIdx.x) * 747796405u + k * 2891336453u;
    x = ((x >> ((x >> 28) + 4)) ^ x) * 277803737u;
    x = (x >> 22) ^ x;
    int* at = sums + x % addresses;
    atomicAdd(at, 1);
  }
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}
extern "C" __global__ void h_add_float(float* out, int addresses, int iterations, int v) {
  extern __shared__ __align__(16) unsigned char raw[];
  float* sums = (float*)raw;
  for (int j = threadIdx.x; j < addresses * 4 / 4 + 1; j += blockDim.x) ((int*)raw)[j] = 0;
  __syncthreads();
  for (int k = 0; k < iterations; ++k) {
    unsigned x = (blockIdx.x * blockDim.x + threadIdx.x) * 747796405u + k * 2891336453u;
    x = ((x >> ((x >> 28) + 4)) ^ x) * 277803737u;
    x = (x >> 22) ^ x;
    float* at = sums + x % addresses;
    atomicAdd(at, (float)v);
  }
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}
extern "C" __global__ void h_add_double(double* out, int addresses, int iterations, int v) {
  extern __shared__ __align__(16) unsigned char raw[];
  double* sums = (double*)raw;
  for (int j = threadIdx.x; j < addresses * 8 / 4 + 1; j += blockDim.x) ((int*)raw)[j] = 0;
  __syncthreads();
  for (int k = 0; k < iterations; ++k) {
    unsigned x = (blockIdx.x * blockDim.x + threadIdx.x) * 747796405u + k * 2891336453u;
    x = ((x >> ((x >> 28) + 4)) ^ x) * 277803737u;
    x = (x >> 22) ^ x;
    double* at = sums + x % addresses;
    atomicAdd(at, (double)v);
  }
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}
extern "C" __global__ void h_add_u64(unsigned long long* out, int addresses, int iterations, int v) {
  extern __shared__ __align__(16) unsigned char raw[];
  unsigned long long* sums = (unsigned long long*)raw;
  for (int j = threadIdx.x; j < addresses * 8 / 4 + 1; j += blockDim.x) ((int*)raw)[j] = 0;
  __syncthreads();
  for (int k = 0; k < iterations; ++k) {
    unsigned x = (blockIdx.x * blockDim.x + threadIdx.x) * 747796405u + k * 2891336453u;
    x = ((x >> ((x >> 28) + 4)) ^ x) * 277803737u;
    x = (x >> 22) ^ x;
    unsigned long long* at = sums + x % addresses;
    atomicAdd(at, (unsigned long long)v);
  }
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}
extern "C" __global__ void h_sum_float_loop(int* out, int addresses, int iterations, int v) {
  extern __shared__ __align__(16) unsigned char raw[];
  int* sums = (int*)raw;
  for (int j = threadIdx.x; j < addresses * 4 / 4 + 1; j += blockDim.x) ((int*)raw)[j] = 0;
  __syncthreads();
  for (int k = 0; k < iterations; ++k) {
    unsigned x = (blockIdx.x * blockDim.x + threadIdx.x) * 747796405u + k * 2891336453u;
    x = ((x >> ((x >> 28) + 4)) ^ x) * 277803737u;
    x = (x >> 22) ^ x;
    int* at = sums + x % addresses;
    int seen = *(volatile int*)at, tried;
    do {
      tried = seen;
      seen = atomicCAS(at, tried, __float_as_int(__int_as_float(tried) + 1.5f));
    } while (seen != tried);
  }
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}
extern "C" __global__ void kmeans_2(const float* __restrict__ points, const int* __restrict__ labels, float* sums, int* counts, int n, int clusters) {
  extern __shared__ float sums_here[]; float* raw = sums_here; float* s = raw; int* c = (int*)(raw + clusters * 2);
  for (int j = threadIdx.x; j < clusters * 3; j += blockDim.x) raw[j] = 0.f;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    int l = labels[i];
    for (int d = 0; d < 2; ++d) atomicAdd(&s[l * 2 + d], points[(size_t)d * n + i]);
    atomicAdd(&c[l], 1);
  }
  __syncthreads();
  for (int j = threadIdx.x; j < clusters * 2; j += blockDim.x) atomicAdd(&sums[j], s[j]);
  for (int j = threadIdx.x; j < clusters; j += blockDim.x) atomicAdd(&counts[j], c[j]);
}
extern "C" __global__ void kmeans_8(const float* __restrict__ points, const int* __restrict__ labels, float* sums, int* counts, int n, int clusters) {
  extern __shared__ float sums_here[]; float* raw = sums_here; float* s = raw; int* c = (int*)(raw + clusters * 8);
  for (int j = threadIdx.x; j < clusters * 9; j += blockDim.x) raw[j] = 0.f;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    int l = labels[i];
    for (int d = 0; d < 8; ++d) atomicAdd(&s[l * 8 + d], points[(size_t)d * n + i]);
    atomicAdd(&c[l], 1);
  }
  __syncthreads();
  for (int j = threadIdx.x; j < clusters * 8; j += blockDim.x) atomicAdd(&sums[j], s[j]);
  for (int j = threadIdx.x; j < clusters; j += blockDim.x) atomicAdd(&counts[j], c[j]);
}
extern "C" __global__ void agg_ballot(const float* __restrict__ in, int* counter, int n, float limit) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  bool want = i < n && in[i] > limit;
  unsigned m = __ballot_sync(~0u, want);
  if (want && (threadIdx.x & 31) == __ffs(m) - 1) atomicAdd(counter, __popc(m));
}
extern "C" __global__ void agg_none(const float* __restrict__ in, int* counter, int n, float limit) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] > limit) atomicAdd(counter, 1);
}
extern "C" __global__ void agg_shuffle(const float* __restrict__ in, float* sum, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = i < n ? in[i] : 0.f;
  for (int s = 16; s; s >>= 1) v += __shfl_down_sync(~0u, v, s);
  if ((threadIdx.x & 31) == 0) atomicAdd(sum, v);
}
extern "C" __global__ void agg_match(const int* __restrict__ keys, int* counts, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int k = keys[i];
  unsigned m = __match_any_sync(__activemask(), k);
  if ((threadIdx.x & 31) == __ffs(m) - 1) atomicAdd(&counts[k], __popc(m));
}
extern "C" __global__ void agg_compact(const float* __restrict__ in, float* out, int* counter, int n, float limit) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] > limit) {
    int at = atomicAdd(counter, 1);
    out[at] = in[i];
  }
}
extern "C" __global__ void hist_keys(const int* __restrict__ keys, int* counts, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&counts[keys[i]], 1);
}
extern "C" __global__ void hist_float(const int* __restrict__ keys, const float* __restrict__ w, float* sums, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&sums[keys[i]], w[i]);
}
extern "C" __global__ void spin_lock(int* locks, volatile int* data, int n, int count, int spacing) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int* lock = locks + (size_t)(i % count) * spacing;
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      data[(size_t)(i % count) * spacing] = data[(size_t)(i % count) * spacing] + 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}
extern "C" __global__ void warp_lock(int* locks, volatile int* data, int warps, int count, int spacing) {
  int w = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (w >= warps) return;
  if (threadIdx.x % 32 == 0) {
    int* lock = locks + (size_t)(w % count) * spacing;
    while (atomicCAS(lock, 0, 1) != 0);
    data[(size_t)(w % count) * spacing] = data[(size_t)(w % count) * spacing] + 1;
    __threadfence();
    atomicExch(lock, 0);
  }
}
extern "C" __global__ void ticket_lock(int* next, volatile int* serving, volatile int* data, int warps, int count, int spacing) {
  int w = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (w >= warps) return;
  if (threadIdx.x % 32 == 0) {
    size_t p = (size_t)(w % count) * spacing;
    int mine = atomicAdd(next + p, 1);
    while (serving[p] != mine);
    data[p] = data[p] + 1;
    __threadfence();
    serving[p] = mine + 1;
  }
}
