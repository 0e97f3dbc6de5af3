// Sums of the rows of a sparse matrix (CSR), one thread per row: start says how long each is.
extern "C" __global__ void csr_sums(float* out, const float* values, const int* start, int rows) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < rows) {
    float sum = 0;
    for (int k = start[r]; k < start[r + 1]; ++k) {
      sum += values[k];
    }
    out[r] = sum;
  }
}
