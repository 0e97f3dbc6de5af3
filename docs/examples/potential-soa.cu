// The potential energy of particles in a uniform field, from an array for each property.
extern "C" __global__ void potential(const float* z, const float* mass, float* energy, float g, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) energy[i] = mass[i] * g * z[i];
}
