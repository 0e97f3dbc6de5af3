// The potential energy of particles in a uniform field, from an array of structures.
struct Particle {
  float x, y, z, mass, vx, vy, vz, charge;
};

extern "C" __global__ void potential(const Particle* particles, float* energy, float g, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) energy[i] = particles[i].mass * g * particles[i].z;
}
