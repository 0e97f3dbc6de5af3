// Particles, cells and scanners.
// Forces between particles of a box and those of the boxes in its list: 100 particles a box.
extern "C" __global__ void box_forces(const float4* __restrict__ place, const float* __restrict__ charge, const int* __restrict__ near, float4* __restrict__ out, int neighbours, float alpha) {
  __shared__ float4 mine[100], theirs[100];
  __shared__ float loads[100];
  int t = threadIdx.x, home = blockIdx.x;
  for (int i = t; i < 100; i += blockDim.x) mine[i] = place[home * 100 + i];
  float4 force = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  for (int k = 0; k <= neighbours; ++k) {
    int other = k == 0 ? home : near[home * neighbours + k - 1];
    __syncthreads();
    for (int i = t; i < 100; i += blockDim.x) {
      theirs[i] = place[other * 100 + i];
      loads[i] = charge[other * 100 + i];
    }
    __syncthreads();
    if (t < 100) {
      float4 a = mine[t];
      for (int j = 0; j < 100; ++j) {
        float4 b = theirs[j];
        float r2 = a.w + b.w - (a.x * b.x + a.y * b.y + a.z * b.z);
        float v = __expf(-alpha * r2), q = loads[j], f = 2.0f * v * q;
        force.x += f * (a.x - b.x);
        force.y += f * (a.y - b.y);
        force.z += f * (a.z - b.z);
        force.w += q * v;
      }
    }
  }
  if (t < 100) out[home * 100 + t] = force;
}

// What flows through the four faces of a cell: four variables an array each, neighbours by number.
extern "C" __global__ void cell_fluxes(const float* __restrict__ state, const int* __restrict__ near, const float* __restrict__ normals, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float d = state[i] + 1.0f, mx = state[n + i], my = state[2 * n + i], e = state[3 * n + i] + 2.0f;
  float vx = mx / d, vy = my / d, p = 0.4f * (e - 0.5f * d * (vx * vx + vy * vy)), c = sqrtf(1.4f * p / d);
  float fd = 0.0f, fx = 0.0f, fy = 0.0f, fe = 0.0f;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    int j = near[k * n + i];
    float nx = normals[2 * k * n + i] - 0.5f, ny = normals[(2 * k + 1) * n + i] - 0.5f, area = sqrtf(nx * nx + ny * ny);
    float od = state[j] + 1.0f, ox = state[n + j], oy = state[2 * n + j], oe = state[3 * n + j] + 2.0f;
    float ux = ox / od, uy = oy / od, op = 0.4f * (oe - 0.5f * od * (ux * ux + uy * uy)), oc = sqrtf(1.4f * op / od);
    float spread = -0.1f * area * (sqrtf(vx * vx + vy * vy) + sqrtf(ux * ux + uy * uy) + c + oc);
    float through = 0.5f * (nx * vx + ny * vy), back = 0.5f * (nx * ux + ny * uy);
    fd += spread * (d - od) + through * d + back * od;
    fx += spread * (mx - ox) + through * mx + back * ox + 0.5f * nx * (p + op);
    fy += spread * (my - oy) + through * my + back * oy + 0.5f * ny * (p + op);
    fe += spread * (e - oe) + through * (e + p) + back * (oe + op);
  }
  out[i] = fd;
  out[n + i] = fx;
  out[2 * n + i] = fy;
  out[3 * n + i] = fe;
}

// Lennard-Jones forces from lists of neighbours, stored neighbour by neighbour.
extern "C" __global__ void neighbour_forces(const float4* __restrict__ place, const int* __restrict__ list, float4* __restrict__ out, int n, int neighbours, float cut, float a12, float a6) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 here = place[i];
  float fx = 0.0f, fy = 0.0f, fz = 0.0f;
  for (int k = 0; k < neighbours; ++k) {
    float4 there = place[list[k * n + i]];
    float dx = here.x - there.x, dy = here.y - there.y, dz = here.z - there.z;
    float r2 = dx * dx + dy * dy + dz * dz + 0.1f;
    if (r2 < cut) {
      float inverse = 1.0f / r2, sixth = inverse * inverse * inverse;
      float f = inverse * sixth * (a12 * sixth - a6);
      fx += dx * f;
      fy += dy * f;
      fz += dz * f;
    }
  }
  out[i] = make_float4(fx, fy, fz, 0.0f);
}

// Matrix Q of a scanner's reconstruction: each voxel adds up waves of all samples.
extern "C" __global__ void scanner_q(const float* __restrict__ x, const float* __restrict__ y, const float* __restrict__ z, const float4* __restrict__ samples, float* __restrict__ real, float* __restrict__ imaginary, int voxels, int many) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= voxels) return;
  float px = x[i], py = y[i], pz = z[i], re = 0.0f, im = 0.0f;
  for (int k = 0; k < many; ++k) {
    float4 s = samples[k];
    float angle = 6.2831853f * (s.x * px + s.y * py + s.z * pz);
    re += s.w * __cosf(angle);
    im += s.w * __sinf(angle);
  }
  real[i] = re;
  imaginary[i] = im;
}
