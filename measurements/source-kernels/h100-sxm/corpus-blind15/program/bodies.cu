// Bodies and charges.

struct Body {
  float x, y, z;
  float vx, vy, vz;
  float ax, ay, az;
  float mass;
};

// Velocity Verlet in the pull of a soft centre, structures of 40 bytes.
extern "C" __global__ void verlet_step_aos(const Body* __restrict__ now, Body* __restrict__ next, float dt, float pull, float softening, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Body b = now[i];
  float half = 0.5f * dt;
  b.x += dt * (b.vx + half * b.ax);
  b.y += dt * (b.vy + half * b.ay);
  b.z += dt * (b.vz + half * b.az);
  float inverse = rsqrtf(b.x * b.x + b.y * b.y + b.z * b.z + softening);
  float k = -pull * inverse * inverse * inverse / (1.0f + b.mass);
  float ax = k * b.x, ay = k * b.y, az = k * b.z;
  b.vx += half * (b.ax + ax);
  b.vy += half * (b.ay + ay);
  b.vz += half * (b.az + az);
  b.ax = ax;
  b.ay = ay;
  b.az = az;
  next[i] = b;
}

#define CHARGES 256

// The field of all charges at each point; charges go through shared memory.
extern "C" __global__ void coulomb_field_points(const float* __restrict__ points, const float4* __restrict__ charges, float* __restrict__ field, int point_count, int charge_count) {
  __shared__ float4 tile[CHARGES];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int at = min(i, point_count - 1);
  float x = points[3 * at], y = points[3 * at + 1], z = points[3 * at + 2];
  float ex = 0.0f, ey = 0.0f, ez = 0.0f;
  for (int start = 0; start < charge_count; start += CHARGES) {
    int count = min(CHARGES, charge_count - start);
    for (int k = threadIdx.x; k < count; k += blockDim.x) tile[k] = charges[start + k];
    __syncthreads();
    for (int k = 0; k < count; ++k) {
      float4 c = tile[k];
      float dx = x - c.x, dy = y - c.y, dz = z - c.z;
      float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
      float strength = c.w * inverse * inverse * inverse;
      ex += strength * dx;
      ey += strength * dy;
      ez += strength * dz;
    }
    __syncthreads();
  }
  if (i >= point_count) return;
  field[3 * i] = ex;
  field[3 * i + 1] = ey;
  field[3 * i + 2] = ez;
}
