// Threads that walk along a row each, by one or two arrays: read, written, in place.
#define ROW int r = blockIdx.x * blockDim.x + threadIdx.x; if (r >= rows) return; \
  const float* x = a + (size_t)r * columns; float* y = out + (size_t)r * columns;

extern "C" __global__ void scale(float* out, const float* a, int rows, int columns) {
  ROW
  for (int j = 0; j < columns; j++) y[j] *= 1.5f;
}
extern "C" __global__ void scale_rolled(float* out, const float* a, int rows, int columns) {
  ROW
#pragma unroll 1
  for (int j = 0; j < columns; j++) y[j] *= 1.5f;
}
extern "C" __global__ void copy_rolled(float* out, const float* a, int rows, int columns) {
  ROW
#pragma unroll 1
  for (int j = 0; j < columns; j++) y[j] = x[j] * 1.5f;
}
extern "C" __global__ void copy_four(float* __restrict__ out, const float* __restrict__ a, int rows, int columns) {
  ROW
#pragma unroll 4
  for (int j = 0; j < columns; j++) y[j] = x[j] * 1.5f;
}
extern "C" __global__ void write_read(float* out, const float* a, int rows, int columns) {
  ROW
#pragma unroll 1
  for (int j = 0; j < columns; j++) y[j] = j * 1.5f;
  float s = 0.0f;
#pragma unroll 1
  for (int j = 0; j < columns; j++) s += y[j];
  if (s == -1.0f) y[0] = s;
}
extern "C" __global__ void read_copy(float* out, const float* a, int rows, int columns) {
  ROW
  float s = 0.0f;
#pragma unroll 1
  for (int j = 0; j < columns; j++) s += x[j];
#pragma unroll 1
  for (int j = 0; j < columns; j++) y[j] = x[j] * s;
}
extern "C" __global__ void copy_scale(float* out, const float* a, int rows, int columns) {
  ROW
#pragma unroll 1
  for (int j = 0; j < columns; j++) y[j] = x[j] * 1.5f;
#pragma unroll 1
  for (int j = 0; j < columns; j++) y[j] *= 1.5f;
}
extern "C" __global__ void two_streams(float* out, const float* a, int rows, int columns) {
  ROW
  float s = 0.0f;
#pragma unroll 1
  for (int j = 0; j < columns; j++) s += x[j] * y[j];
  if (s == -1.0f) y[0] = s;
}
extern "C" __global__ void copy_vectors(float* out, const float* a, int rows, int columns) {
  ROW
#pragma unroll 1
  for (int j = 0; j < columns / 4; j++) ((float4*)y)[j] = ((const float4*)x)[j];
}
extern "C" __global__ void scale_vectors(float* out, const float* a, int rows, int columns) {
  ROW
#pragma unroll 1
  for (int j = 0; j < columns / 4; j++) { float4 v = ((float4*)y)[j]; v.x *= 1.5f; ((float4*)y)[j] = v; }
}
