// Kernels of numbers: common divisors, primes, a filter, products of integers, vortices.

// Greatest common divisors of pairs by Euclid's rule: a pair a thread, as many divisions as its numbers need.
extern "C" __global__ void gcd_pairs(const uint2* __restrict__ pairs, unsigned* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint2 pair = pairs[i];
  unsigned a = pair.x, b = pair.y;
  while (b != 0) {
    unsigned rest = a % b;
    a = b;
    b = rest;
  }
  out[i] = a;
}

#define ODDS 4096

__constant__ unsigned short odd_primes[302] = {
    3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109,
    113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173, 179, 181, 191, 193, 197, 199, 211, 223, 227, 229, 233, 239,
    241, 251, 257, 263, 269, 271, 277, 281, 283, 293, 307, 311, 313, 317, 331, 337, 347, 349, 353, 359, 367, 373, 379,
    383, 389, 397, 401, 409, 419, 421, 431, 433, 439, 443, 449, 457, 461, 463, 467, 479, 487, 491, 499, 503, 509, 521,
    523, 541, 547, 557, 563, 569, 571, 577, 587, 593, 599, 601, 607, 613, 617, 619, 631, 641, 643, 647, 653, 659, 661,
    673, 677, 683, 691, 701, 709, 719, 727, 733, 739, 743, 751, 757, 761, 769, 773, 787, 797, 809, 811, 821, 823, 827,
    829, 839, 853, 857, 859, 863, 877, 881, 883, 887, 907, 911, 919, 929, 937, 941, 947, 953, 967, 971, 977, 983, 991,
    997, 1009, 1013, 1019, 1021, 1031, 1033, 1039, 1049, 1051, 1061, 1063, 1069, 1087, 1091, 1093, 1097, 1103, 1109,
    1117, 1123, 1129, 1151, 1153, 1163, 1171, 1181, 1187, 1193, 1201, 1213, 1217, 1223, 1229, 1231, 1237, 1249, 1259,
    1277, 1279, 1283, 1289, 1291, 1297, 1301, 1303, 1307, 1319, 1321, 1327, 1361, 1367, 1373, 1381, 1399, 1409, 1423,
    1427, 1429, 1433, 1439, 1447, 1451, 1453, 1459, 1471, 1481, 1483, 1487, 1489, 1493, 1499, 1511, 1523, 1531, 1543,
    1549, 1553, 1559, 1567, 1571, 1579, 1583, 1597, 1601, 1607, 1609, 1613, 1619, 1621, 1627, 1637, 1657, 1663, 1667,
    1669, 1693, 1697, 1699, 1709, 1721, 1723, 1733, 1741, 1747, 1753, 1759, 1777, 1783, 1787, 1789, 1801, 1811, 1823,
    1831, 1847, 1861, 1867, 1871, 1873, 1877, 1879, 1889, 1901, 1907, 1913, 1931, 1933, 1949, 1951, 1973, 1979, 1987,
    1993, 1997, 1999};

// Eratosthenes: a block strikes the multiples of primes below 2000 from 4096 odd numbers, bits in shared memory.
extern "C" __global__ void __launch_bounds__(256) sieve_segments(unsigned* __restrict__ flags, int* __restrict__ count,
                                                                 int limit) {
  __shared__ unsigned struck[ODDS / 32];
  __shared__ int found;
  int t = threadIdx.x, first = blockIdx.x * ODDS, odds = (limit + 1) / 2;
  int low = 2 * first + 1, high = low + 2 * ODDS;
  if (t == 0) found = 0;
  for (int w = t; w < ODDS / 32; w += blockDim.x) struck[w] = 0;
  __syncthreads();
  for (int k = 0; k < 302; ++k) {
    int p = odd_primes[k], from = p * p;
    if (from >= high) break;
    if (from < low) {
      from = (low + p - 1) / p * p;
      if (from % 2 == 0) from += p;
    }
    for (int bit = (from - low) / 2 + t * p; bit < ODDS; bit += blockDim.x * p)
      atomicOr(&struck[bit / 32], 1u << bit % 32);
  }
  __syncthreads();
  int own = 0;
  for (int w = t; w < ODDS / 32; w += blockDim.x) {
    int rest = odds - first - 32 * w;
    if (rest <= 0) break;
    unsigned left = ~struck[w];
    if (rest < 32) left &= (1u << rest) - 1u;
    if (first + w == 0) left &= ~1u;
    flags[first / 32 + w] = left;
    own += __popc(left);
  }
  if (own > 0) atomicAdd(&found, own);
  __syncthreads();
  if (t == 0) atomicAdd(count, found);
}

__constant__ float low_pass[32] = {
    -0.00116169848f, -0.00138798088f, 0.00195534388f, 0.00292510632f, -0.00436604908f, -0.00635958929f,
    0.00900883973f, 0.0124546373f, -0.016904898f, -0.0226914398f, 0.0303890035f, 0.0410928763f,
    -0.0571719334f, -0.0848277509f, 0.146887213f, 0.449095726f, 0.449095726f, 0.146887213f,
    -0.0848277509f, -0.0571719334f, 0.0410928763f, 0.0303890035f, -0.0226914398f, -0.016904898f,
    0.0124546373f, 0.00900883973f, -0.00635958929f, -0.00436604908f, 0.00292510632f, 0.00195534388f,
    -0.00138798088f, -0.00116169848f};

// A filter of 32 constant taps over 16-bit samples, every second result kept: staged as floats in shared memory.
extern "C" __global__ void __launch_bounds__(256) fir_constant(const short* __restrict__ in, float* __restrict__ out,
                                                               int n, int samples) {
  __shared__ float line[2 * 256 + 30];
  int width = blockDim.x, first = 2 * blockIdx.x * width;
  for (int k = threadIdx.x; k < 2 * width + 30; k += width)
    line[k] = first + k < samples ? in[first + k] * (1.0f / 32768.0f) : 0.0f;
  __syncthreads();
  int i = blockIdx.x * width + threadIdx.x;
  if (i >= n) return;
  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k < 32; ++k) sum += low_pass[k] * line[2 * threadIdx.x + k];
  out[i] = sum;
}

// A times B transposed, 32-bit integers: 64 by 64 a block, four by four a thread, sixteen deep in shared memory.
extern "C" __global__ void __launch_bounds__(256) matmul_integers(const int* __restrict__ a, const int* __restrict__ b,
                                                                  int* __restrict__ c, int m, int n, int k) {
  __shared__ int left[16][65], right[16][65];
  int t = threadIdx.x, tx = t % 16, ty = t / 16, row = blockIdx.y * 64, column = blockIdx.x * 64;
  int sums[4][4] = {};
  for (int deep = 0; deep < k; deep += 16) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      int r = ty + 16 * e;
      bool inside = deep + tx < k;
      left[tx][r] = inside && row + r < m ? a[(row + r) * k + deep + tx] : 0;
      right[tx][r] = inside && column + r < n ? b[(column + r) * k + deep + tx] : 0;
    }
    __syncthreads();
#pragma unroll
    for (int d = 0; d < 16; ++d) {
      int x[4], y[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        x[e] = left[d][ty + 16 * e];
        y[e] = right[d][tx + 16 * e];
      }
#pragma unroll
      for (int p = 0; p < 4; ++p)
#pragma unroll
        for (int q = 0; q < 4; ++q) sums[p][q] += x[p] * y[q];
    }
    __syncthreads();
  }
#pragma unroll
  for (int p = 0; p < 4; ++p)
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      int r = row + ty + 16 * p, s = column + tx + 16 * q;
      if (r < m && s < n) c[r * n + s] = sums[p][q];
    }
}

// Velocities that point vortices give each other: a share of the sources a block of y, added up by atomics.
extern "C" __global__ void __launch_bounds__(128)
    vortex_velocities(const float* __restrict__ x, const float* __restrict__ y, const float* __restrict__ strength,
                      float* __restrict__ u, float* __restrict__ v, int n, int share, float core) {
  __shared__ float3 tile[128];
  int i = blockIdx.x * blockDim.x + threadIdx.x, begin = blockIdx.y * share, end = min(begin + share, n);
  float px = i < n ? x[i] : 0.0f, py = i < n ? y[i] : 0.0f, pu = 0.0f, pv = 0.0f;
  for (int base = begin; base < end; base += blockDim.x) {
    int j = base + threadIdx.x, many = min(end - base, (int)blockDim.x);
    if (j < end) tile[threadIdx.x] = make_float3(x[j], y[j], strength[j]);
    __syncthreads();
    for (int k = 0; k < many; ++k) {
      float dx = px - tile[k].x, dy = py - tile[k].y;
      float turn = tile[k].z / (dx * dx + dy * dy + core);
      pu -= turn * dy;
      pv += turn * dx;
    }
    __syncthreads();
  }
  if (i >= n) return;
  atomicAdd(&u[i], pu * 0.15915494f);
  atomicAdd(&v[i], pv * 0.15915494f);
}
