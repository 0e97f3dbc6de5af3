// Stores at places in order or shuffled: `words` floats side by side, one place every `span` words of
// an array, each place once. For the profiler, cold: one launch after the other.
// Prints a line a launch: order, words, span, array bytes, places stored to.
#include <cstdio>
#include <cstdlib>
typedef unsigned u32;
// A number of `bits` bits for each of as many, none twice.
__device__ __forceinline__ u32 shuffled(u32 i, int bits) {
  u32 mask = (1u << bits) - 1, half = (bits + 1) / 2;
  for (int round = 0; round < 3; ++round) {
    i = (i * 2654435761u + 0x9e3779b9u) & mask;
    i ^= i >> half;
  }
  return i;
}
__global__ void __launch_bounds__(256) store(float* out, int bits, int words, int span, int apart) {
  u32 i = blockIdx.x * 256 + threadIdx.x, place = i / words, word = i % words;
  if (apart) place = shuffled(place, bits);
  out[(size_t)place * span + word] = __uint_as_float((i * 2246822519u & 0x3fffff) | 0x3f800000);
}
float* out;
void go(int apart, int words, int span, int bits, size_t places) {
  printf("%s,%d,%d,%zu,%zu\n", apart ? "shuffled" : "in order", words, span, 4ull * span << bits, places);
  store<<<places * words / 256, 256>>>(out, bits, words, span, apart);
}
int main() {
  cudaMalloc(&out, 1ull << 30);
  cudaMemset(out, 1, 1ull << 30);
  const int shape[][2] = {{8, 8}, {2, 8}, {1, 8}, {16, 16}, {8, 16}, {2, 16}, {32, 32}, {16, 32}, {8, 32}, {2, 32}, {2, 2}, {4, 4}};
  for (auto& s : shape)
    for (int log = 20; log <= 30; ++log)
      for (int apart = 0; apart < 2; ++apart) {
        int words = s[0], span = s[1], bits = log - 2;
        for (int k = span; k > 1; k /= 2) --bits;
        if ((bits > 23 && log < 30) || log == 29 || (log == 20 && !apart)) continue;
        // Of the largest array only some places, of that of 64 MiB sixteenths too.
        if (log == 30)
          for (int few = 18; few <= 22 && few <= bits; few += 2) go(apart, words, span, bits, 1ull << few);
        else
          go(apart, words, span, bits, 1ull << bits);
        if (log == 26 && apart && (words == 2 || words == span) && span >= 8)
          for (size_t part = 1; part < 16; ++part) go(apart, words, span, bits, part << (bits - 4));
      }
  cudaDeviceSynchronize();
  fprintf(stderr, "%s\n", cudaGetErrorString(cudaGetLastError()));
}
