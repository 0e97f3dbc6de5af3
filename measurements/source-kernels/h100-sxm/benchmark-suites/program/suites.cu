// Kernels in the manner of the well-known GPU benchmark suites.

#include <stdint.h>

typedef unsigned long long u64;

// ---- back propagation, layer forward: products of a 16x16 tile, summed by a tree over rows
#define EDGE 16
extern "C" __global__ void bpnn_layer_forward(const float* input, float* weights, float* partial,
                                              int in, int hid) {
  __shared__ float node[EDGE];
  __shared__ float m[EDGE][EDGE];
  int tx = threadIdx.x, ty = threadIdx.y;
  int unit = blockIdx.x * EDGE + tx;
  long long index = (long long)(hid + 1) * (blockIdx.y * EDGE + ty + 1) + unit + 1;
  if (tx == 0) node[ty] = input[blockIdx.y * EDGE + ty + 1];
  __syncthreads();
  m[ty][tx] = weights[index];
  __syncthreads();
  m[ty][tx] = m[ty][tx] * node[ty];
  __syncthreads();
  for (int i = 1; i <= 4; i++) {
    int p = 1 << i;
    if (ty % p == 0) m[ty][tx] = m[ty][tx] + m[ty + p / 2][tx];
    __syncthreads();
  }
  weights[index] = m[ty][tx];
  if (ty == 0) partial[(long long)blockIdx.y * hid + unit] = m[0][tx];
}

// ---- thermal simulation of a chip in three dimensions
extern "C" __global__ void hotspot_layers(const float* p, const float* tIn, float* tOut, float sdc, int nx,
                                          int ny, int nz, float ce, float cw, float cn, float cs, float ct,
                                          float cb, float cc) {
  float amb = 80.0f;
  int i = blockDim.x * blockIdx.x + threadIdx.x;
  int j = blockDim.y * blockIdx.y + threadIdx.y;
  if (i >= nx || j >= ny) return;
  int c = i + j * nx;
  int xy = nx * ny;
  int W = (i == 0) ? c : c - 1;
  int E = (i == nx - 1) ? c : c + 1;
  int N = (j == 0) ? c : c - nx;
  int S = (j == ny - 1) ? c : c + nx;
  float t1, t2, t3;
  t1 = t2 = tIn[c];
  t3 = nz > 1 ? tIn[c + xy] : t2;
  for (int k = 0; k < nz; ++k) {
    tOut[c] = cc * t2 + cw * tIn[W] + ce * tIn[E] + cs * tIn[S] + cn * tIn[N] + cb * t1 + ct * t3 +
              sdc * p[c] + ct * amb;
    c += xy;
    W += xy;
    E += xy;
    N += xy;
    S += xy;
    t1 = t2;
    t2 = t3;
    if (k + 2 < nz) t3 = tIn[c + xy];
  }
}

// ---- path of least cost through rows of a grid, several rows a launch, with a shrinking halo
extern "C" __global__ void pathfinder_rows(int iteration, const int* gpuWall, const int* gpuSrc,
                                           int* gpuResults, int cols, int rows, int startStep, int border) {
  extern __shared__ int sh[];
  int B = blockDim.x;
  int* prev = sh;
  int* result = sh + B;
  int bx = blockIdx.x, tx = threadIdx.x;
  int small_block = B - iteration * 2;
  int blkX = small_block * bx - border;
  int blkXmax = blkX + B - 1;
  int xidx = blkX + tx;
  int validXmin = (blkX < 0) ? -blkX : 0;
  int validXmax = (blkXmax > cols - 1) ? B - 1 - (blkXmax - cols + 1) : B - 1;
  int W = tx - 1;
  int E = tx + 1;
  W = (W < validXmin) ? validXmin : W;
  E = (E > validXmax) ? validXmax : E;
  bool isValid = tx >= validXmin && tx <= validXmax;
  if (xidx >= 0 && xidx < cols) prev[tx] = gpuSrc[xidx];
  __syncthreads();
  bool computed = false;
  for (int i = 0; i < iteration; i++) {
    computed = false;
    if (tx >= i + 1 && tx <= B - i - 2 && isValid) {
      computed = true;
      int left = prev[W];
      int up = prev[tx];
      int right = prev[E];
      int shortest = min(left, up);
      shortest = min(shortest, right);
      int index = cols * min(startStep + i, rows - 1) + xidx;
      result[tx] = shortest + gpuWall[index];
    }
    __syncthreads();
    if (i == iteration - 1) break;
    if (computed) prev[tx] = result[tx];
    __syncthreads();
  }
  if (computed) gpuResults[xidx] = result[tx];
}

// ---- speckle reducing diffusion: derivatives and the coefficient, by column-major elements
extern "C" __global__ void srad_coefficient(float lambda, int Nr, long long Ne, const int* iN, const int* iS,
                                            const int* jE, const int* jW, float* dN, float* dS, float* dE,
                                            float* dW, float q0sqr, float* c, const float* I) {
  long long ei = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (ei >= Ne) return;
  int row = (int)((ei + 1) % Nr - 1);
  int col = (int)((ei + 1) / Nr + 1 - 1);
  if ((ei + 1) % Nr == 0) {
    row = Nr - 1;
    col = col - 1;
  }
  float Jc = I[ei];
  float n = I[iN[row] + (long long)Nr * col] - Jc;
  float s = I[iS[row] + (long long)Nr * col] - Jc;
  float w = I[row + (long long)Nr * jW[col]] - Jc;
  float e = I[row + (long long)Nr * jE[col]] - Jc;
  float G2 = (n * n + s * s + w * w + e * e) / (Jc * Jc);
  float Lp = (n + s + w + e) / Jc;
  float num = (0.5f * G2) - ((1.0f / 16.0f) * (Lp * Lp));
  float den = 1 + (.25f * Lp);
  float qsqr = num / (den * den);
  den = (qsqr - q0sqr) / (q0sqr * (1 + q0sqr));
  float v = 1.0f / (1.0f + den);
  if (v < 0)
    v = 0;
  else if (v > 1)
    v = 1;
  dN[ei] = n;
  dS[ei] = s;
  dW[ei] = w;
  dE[ei] = e;
  c[ei] = v * lambda;
}

// ---- stream clustering: what each point gains from one more centre
extern "C" __global__ void streamcluster_gain(int num, int dim, int x, const float* weight, const float* cost,
                                              const int* assign, const int* center_table, int stride,
                                              const float* coord, float* work, unsigned char* switched) {
  extern __shared__ float center[];
  int tid = blockDim.x * blockIdx.x + threadIdx.x;
  for (int i = threadIdx.x; i < dim; i += blockDim.x) center[i] = coord[(long long)i * num + x];
  __syncthreads();
  if (tid < num) {
    float d = 0.0f;
    for (int i = 0; i < dim; i++) {
      float t = coord[(long long)i * num + tid] - center[i];
      d += t * t;
    }
    float x_cost = d * weight[tid];
    float current = cost[tid];
    float* lower = &work[(long long)tid * stride];
    if (x_cost < current) {
      switched[tid] = 1;
      lower[stride - 1] = x_cost - current;
    } else {
      int a = center_table[assign[tid]];
      lower[a] += current - x_cost;
    }
  }
}

// ---- Needleman-Wunsch: one diagonal of tiles of 32 by 32
#define NWT 32
extern "C" __global__ void needle_diagonal(const int* reference, int* itemsets, int cols, int penalty, int i) {
  __shared__ int temp[NWT + 1][NWT + 1];
  __shared__ int ref[NWT][NWT];
  int bx = blockIdx.x, tx = threadIdx.x;
  int b_x = bx, b_y = i - 1 - bx;
  int index = cols * NWT * b_y + NWT * b_x + tx + (cols + 1);
  int index_n = cols * NWT * b_y + NWT * b_x + tx + 1;
  int index_w = cols * NWT * b_y + NWT * b_x + cols;
  int index_nw = cols * NWT * b_y + NWT * b_x;
  if (tx == 0) temp[tx][0] = itemsets[index_nw];
  for (int ty = 0; ty < NWT; ty++) ref[ty][tx] = reference[index + cols * ty];
  __syncthreads();
  temp[tx + 1][0] = itemsets[index_w + cols * tx];
  __syncthreads();
  temp[0][tx + 1] = itemsets[index_n];
  __syncthreads();
  for (int m = 0; m < NWT; m++) {
    if (tx <= m) {
      int t_x = tx + 1;
      int t_y = m - tx + 1;
      temp[t_y][t_x] = max(temp[t_y - 1][t_x - 1] + ref[t_y - 1][t_x - 1],
                           max(temp[t_y][t_x - 1] - penalty, temp[t_y - 1][t_x] - penalty));
    }
    __syncthreads();
  }
  for (int m = NWT - 2; m >= 0; m--) {
    if (tx <= m) {
      int t_x = tx + NWT - m;
      int t_y = NWT - tx;
      temp[t_y][t_x] = max(temp[t_y - 1][t_x - 1] + ref[t_y - 1][t_x - 1],
                           max(temp[t_y][t_x - 1] - penalty, temp[t_y - 1][t_x] - penalty));
    }
    __syncthreads();
  }
  for (int ty = 0; ty < NWT; ty++) itemsets[index + ty * cols] = temp[ty + 1][tx + 1];
}

// ---- particles in boxes with up to 26 neighbouring boxes, double precision
#define PAR 100
struct Four {
  double x, y, z, w;
};

extern "C" __global__ void lavamd_boxes(double alpha, int boxes, const int* nn, const int* nei,
                                        const double* rv, const double* qv, double* fv) {
  __shared__ Four rA[PAR];
  __shared__ Four rB[PAR];
  __shared__ double qB[PAR];
  int bx = blockIdx.x;
  int wtx = threadIdx.x;
  if (bx >= boxes) return;
  double a2 = 2.0 * alpha * alpha;
  for (int i = wtx; i < PAR; i += blockDim.x) rA[i] = ((const Four*)rv)[bx * PAR + i];
  __syncthreads();
  for (int k = 0; k < 1 + nn[bx]; k++) {
    int pointer = k == 0 ? bx : nei[bx * 26 + k - 1];
    for (int i = wtx; i < PAR; i += blockDim.x) {
      rB[i] = ((const Four*)rv)[pointer * PAR + i];
      qB[i] = qv[pointer * PAR + i];
    }
    __syncthreads();
    for (int i = wtx; i < PAR; i += blockDim.x) {
      double fw = 0, fx = 0, fy = 0, fz = 0;
      for (int j = 0; j < PAR; j++) {
        double r2 = rA[i].x + rB[j].x - (rA[i].y * rB[j].y + rA[i].z * rB[j].z + rA[i].w * rB[j].w);
        double u2 = a2 * r2;
        double vij = exp(-u2);
        double fs = 2 * vij;
        double dx = rA[i].y - rB[j].y;
        double dy = rA[i].z - rB[j].z;
        double dz = rA[i].w - rB[j].w;
        fw += qB[j] * vij;
        fx += qB[j] * fs * dx;
        fy += qB[j] * fs * dy;
        fz += qB[j] * fs * dz;
      }
      Four* f = (Four*)fv + bx * PAR + i;
      f->x += fw;
      f->y += fx;
      f->z += fy;
      f->w += fz;
    }
    __syncthreads();
  }
}

// ---- Euler equations on an unstructured mesh: flux of four faces
#define GAMMA 1.4f
__device__ __forceinline__ void flux_of(float& density, float3& mom, float& energy, float& pressure, float3& vel,
                                        float3& fx, float3& fy, float3& fz, float3& fe) {
  fx.x = vel.x * mom.x + pressure;
  fx.y = vel.x * mom.y;
  fx.z = vel.x * mom.z;
  fy.x = fx.y;
  fy.y = vel.y * mom.y + pressure;
  fy.z = vel.y * mom.z;
  fz.x = fx.z;
  fz.y = fy.z;
  fz.z = vel.z * mom.z + pressure;
  float de = energy + pressure;
  fe.x = vel.x * de;
  fe.y = vel.y * de;
  fe.z = vel.z * de;
}

extern "C" __global__ void cfd_compute_flux(int nelr, const int* surrounding, const float* normals,
                                            const float* variables, float* fluxes, float far_density,
                                            float far_energy) {
  const float smoothing = 0.2f;
  int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i >= nelr) return;
  float d_i = variables[i];
  float3 m_i;
  m_i.x = variables[i + 1 * nelr];
  m_i.y = variables[i + 2 * nelr];
  m_i.z = variables[i + 3 * nelr];
  float e_i = variables[i + 4 * nelr];
  float3 v_i = make_float3(m_i.x / d_i, m_i.y / d_i, m_i.z / d_i);
  float s2_i = v_i.x * v_i.x + v_i.y * v_i.y + v_i.z * v_i.z;
  float speed_i = sqrtf(s2_i);
  float p_i = (GAMMA - 1.0f) * (e_i - 0.5f * d_i * s2_i);
  float c_i = sqrtf(GAMMA * p_i / d_i);
  float3 fx_i, fy_i, fz_i, fe_i;
  flux_of(d_i, m_i, e_i, p_i, v_i, fx_i, fy_i, fz_i, fe_i);
  float f_d = 0, f_e = 0;
  float3 f_m = make_float3(0, 0, 0);
#pragma unroll
  for (int j = 0; j < 4; j++) {
    int nb = surrounding[i + j * nelr];
    float3 n;
    n.x = normals[i + (j + 0 * 4) * nelr];
    n.y = normals[i + (j + 1 * 4) * nelr];
    n.z = normals[i + (j + 2 * 4) * nelr];
    float len = sqrtf(n.x * n.x + n.y * n.y + n.z * n.z);
    if (nb >= 0) {
      float d = variables[nb];
      float3 m;
      m.x = variables[nb + 1 * nelr];
      m.y = variables[nb + 2 * nelr];
      m.z = variables[nb + 3 * nelr];
      float e = variables[nb + 4 * nelr];
      float3 v = make_float3(m.x / d, m.y / d, m.z / d);
      float s2 = v.x * v.x + v.y * v.y + v.z * v.z;
      float p = (GAMMA - 1.0f) * (e - 0.5f * d * s2);
      float c = sqrtf(GAMMA * p / d);
      float3 fx, fy, fz, fe;
      flux_of(d, m, e, p, v, fx, fy, fz, fe);
      float factor = -len * smoothing * 0.5f * (speed_i + sqrtf(s2) + c_i + c);
      f_d += factor * (d_i - d);
      f_e += factor * (e_i - e);
      f_m.x += factor * (m_i.x - m.x);
      f_m.y += factor * (m_i.y - m.y);
      f_m.z += factor * (m_i.z - m.z);
      factor = 0.5f * n.x;
      f_d += factor * (m.x + m_i.x);
      f_e += factor * (fe.x + fe_i.x);
      f_m.x += factor * (fx.x + fx_i.x);
      f_m.y += factor * (fy.x + fy_i.x);
      f_m.z += factor * (fz.x + fz_i.x);
      factor = 0.5f * n.y;
      f_d += factor * (m.y + m_i.y);
      f_e += factor * (fe.y + fe_i.y);
      f_m.x += factor * (fx.y + fx_i.y);
      f_m.y += factor * (fy.y + fy_i.y);
      f_m.z += factor * (fz.y + fz_i.y);
      factor = 0.5f * n.z;
      f_d += factor * (m.z + m_i.z);
      f_e += factor * (fe.z + fe_i.z);
      f_m.x += factor * (fx.z + fx_i.z);
      f_m.y += factor * (fy.z + fy_i.z);
      f_m.z += factor * (fz.z + fz_i.z);
    } else if (nb == -1) {
      f_m.x += n.x * p_i;
      f_m.y += n.y * p_i;
      f_m.z += n.z * p_i;
    } else {
      float factor = 0.5f * (n.x + n.y + n.z);
      f_d += factor * (far_density + m_i.x);
      f_e += factor * (far_energy + fe_i.x);
      f_m.x += factor * fx_i.x;
      f_m.y += factor * fx_i.y;
      f_m.z += factor * fx_i.z;
    }
  }
  fluxes[i] = f_d;
  fluxes[i + 1 * nelr] = f_m.x;
  fluxes[i + 2 * nelr] = f_m.y;
  fluxes[i + 3 * nelr] = f_m.z;
  fluxes[i + 4 * nelr] = f_e;
}

// ---- Gaussian elimination, second kernel: x runs over rows as the suite has it
extern "C" __global__ void gaussian_fan2(const float* m, float* a, float* b, int size, int t) {
  int xidx = blockIdx.x * blockDim.x + threadIdx.x;
  int yidx = blockIdx.y * blockDim.y + threadIdx.y;
  if (xidx >= size - 1 - t) return;
  if (yidx >= size - t) return;
  a[size * (xidx + 1 + t) + (yidx + t)] -= m[size * (xidx + 1 + t) + t] * a[size * t + (yidx + t)];
  if (yidx == 0) b[xidx + 1 + t] -= m[size * (xidx + 1 + t) + t] * b[t];
}

// ---- B+ tree: a block walks the tree for a key, a thread a slot of the node
extern "C" __global__ void bplus_find(int height, const int* node_keys, const int* node_links, const int* leaf_values,
                                      const int* keys, int* answer, int count) {
  __shared__ int current;
  __shared__ int next;
  int order = blockDim.x;
  int tid = threadIdx.x;
  for (int q = blockIdx.x; q < count; q += gridDim.x) {
    if (tid == 0) current = next = 0;
    __syncthreads();
    int key = keys[q];
    for (int level = 0; level < height; level++) {
      const int* row = node_keys + (long long)current * (order + 1);
      if (row[tid] <= key && row[tid + 1] > key) next = node_links[(long long)current * order + tid];
      __syncthreads();
      if (tid == 0) current = next;
      __syncthreads();
    }
    if (node_keys[(long long)current * (order + 1) + tid] == key)
      answer[q] = leaf_values[(long long)current * order + tid];
    __syncthreads();
  }
}

// ---- y = alpha A x + beta B x, a thread a row
extern "C" __global__ void gesummv_rows(int n, double alpha, double beta, const double* A, const double* B,
                                        const double* x, double* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    double t = 0, s = 0;
    for (int j = 0; j < n; j++) {
      t += A[(long long)i * n + j] * x[j];
      s += B[(long long)i * n + j] * x[j];
    }
    y[i] = alpha * t + beta * s;
  }
}

// ---- C = alpha (A B' + B A') + beta C
extern "C" __global__ void syr2k_plain(int ni, int nj, float alpha, float beta, const float* a, const float* b,
                                       float* c) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if ((i < ni) && (j < ni)) {
    c[i * ni + j] *= beta;
    for (int k = 0; k < nj; k++)
      c[i * ni + j] += alpha * a[i * nj + k] * b[j * nj + k] + alpha * b[i * nj + k] * a[j * nj + k];
  }
}

// ---- correlation matrix: a thread a column, all later columns
extern "C" __global__ void correlation_matrix(int m, int n, float* symmat, const float* data) {
  int j1 = blockIdx.x * blockDim.x + threadIdx.x;
  if (j1 < m - 1) {
    symmat[j1 * m + j1] = 1.0f;
    for (int j2 = j1 + 1; j2 < m; j2++) {
      float s = 0.0f;
      for (int i = 0; i < n; i++) s += data[i * m + j1] * data[i * m + j2];
      symmat[j1 * m + j2] = s;
      symmat[j2 * m + j1] = s;
    }
  }
}

// ---- Coulomb potential with cutoff on a lattice; bins of eight atoms around each block
extern "C" __global__ void cutoff_potential(const float4* __restrict__ bin, float* __restrict__ lattice, int bx,
                                            int by, int bz, float h, float cutoff2, float inv_cutoff2, int reach) {
  __shared__ float4 atoms[8];
  int mx = blockIdx.x, my = blockIdx.y, mz = blockIdx.z;
  int tid = (threadIdx.z * 8 + threadIdx.y) * 8 + threadIdx.x;
  float x = (mx * 8 + threadIdx.x) * h;
  float y = (my * 8 + threadIdx.y) * h;
  float z0 = (mz * 8 + threadIdx.z) * h;
  float e0 = 0.f, e1 = 0.f, e2 = 0.f, e3 = 0.f;
  for (int dz = -reach; dz <= reach; dz++)
    for (int dy = -reach; dy <= reach; dy++)
      for (int dx = -reach; dx <= reach; dx++) {
        int ix = mx + dx, iy = my + dy, iz = mz + dz;
        if (ix < 0 || iy < 0 || iz < 0 || ix >= bx || iy >= by || iz >= bz) continue;
        __syncthreads();
        if (tid < 8) atoms[tid] = bin[(((long long)iz * by + iy) * bx + ix) * 8 + tid];
        __syncthreads();
        for (int i = 0; i < 8; i++) {
          float4 a = atoms[i];
          if (a.w == 0.f) break;
          float ddx = a.x - x, ddy = a.y - y;
          float rho = ddx * ddx + ddy * ddy;
          if (rho > cutoff2) continue;
          float ddz = a.z - z0;
          float r2 = ddz * ddz + rho;
          if (r2 < cutoff2) {
            float s = 1.f - r2 * inv_cutoff2;
            e0 += a.w * rsqrtf(r2) * s * s;
          }
          ddz -= 2 * h;
          r2 = ddz * ddz + rho;
          if (r2 < cutoff2) {
            float s = 1.f - r2 * inv_cutoff2;
            e1 += a.w * rsqrtf(r2) * s * s;
          }
          ddz -= 2 * h;
          r2 = ddz * ddz + rho;
          if (r2 < cutoff2) {
            float s = 1.f - r2 * inv_cutoff2;
            e2 += a.w * rsqrtf(r2) * s * s;
          }
          ddz -= 2 * h;
          r2 = ddz * ddz + rho;
          if (r2 < cutoff2) {
            float s = 1.f - r2 * inv_cutoff2;
            e3 += a.w * rsqrtf(r2) * s * s;
          }
        }
      }
  long long out = (((long long)mz * by + my) * bx + mx) * 512 + tid;
  lattice[out] = e0;
  lattice[out + 128] = e1;
  lattice[out + 256] = e2;
  lattice[out + 384] = e3;
}

// ---- magnetic resonance reconstruction: the Q matrix
#define PIx2 6.2831853071795864769f
extern "C" __global__ void mri_compute_q(int numK, int numX, const float4* __restrict__ kVals,
                                         const float* __restrict__ x, const float* __restrict__ y,
                                         const float* __restrict__ z, float* Qr, float* Qi) {
  int xIndex = blockIdx.x * blockDim.x + threadIdx.x;
  if (xIndex >= numX) return;
  float sX = x[xIndex], sY = y[xIndex], sZ = z[xIndex];
  float sQr = Qr[xIndex], sQi = Qi[xIndex];
  int k = 0;
  if (numK % 2) {
    float4 v = kVals[0];
    float a = PIx2 * (v.x * sX + v.y * sY + v.z * sZ);
    sQr += v.w * cosf(a);
    sQi += v.w * sinf(a);
    k = 1;
  }
  for (; k < numK; k += 2) {
    float4 v = kVals[k];
    float a = PIx2 * (v.x * sX + v.y * sY + v.z * sZ);
    sQr += v.w * __cosf(a);
    sQi += v.w * __sinf(a);
    float4 u = kVals[k + 1];
    float b = PIx2 * (u.x * sX + u.y * sY + u.z * sZ);
    sQr += u.w * __cosf(b);
    sQi += u.w * __sinf(b);
  }
  Qr[xIndex] = sQr;
  Qi[xIndex] = sQi;
}

// ---- sums of absolute differences of 4x4 blocks over a square of search
extern "C" __global__ void sad_4x4_search(unsigned short* blk_sad, const unsigned char* frame,
                                          const unsigned char* ref, int width, int height, int range) {
  __shared__ int cur[16];
  int bx = blockIdx.x * 4, by = blockIdx.y * 4;
  if (threadIdx.x < 16) cur[threadIdx.x] = frame[(by + threadIdx.x / 4) * width + bx + threadIdx.x % 4];
  __syncthreads();
  int side = 2 * range + 1;
  long long base = ((long long)blockIdx.y * gridDim.x + blockIdx.x) * side * side;
  for (int pos = threadIdx.x; pos < side * side; pos += blockDim.x) {
    int oy = by + pos / side - range;
    int ox = bx + pos % side - range;
    int sad = 0;
#pragma unroll
    for (int y = 0; y < 4; y++)
#pragma unroll
      for (int x = 0; x < 4; x++) {
        int ry = min(max(oy + y, 0), height - 1);
        int rx = min(max(ox + x, 0), width - 1);
        sad += abs(cur[y * 4 + x] - (int)ref[ry * width + rx]);
      }
    blk_sad[base + pos] = (unsigned short)sad;
  }
}

// ---- two-point angular correlation: pairs to bins by bisection, a histogram a warp
#define TBINS 20
extern "C" __global__ void tpacf_pairs(unsigned* histograms, const float* xs, const float* ys, const float* zs,
                                       const float* binb, int points, int data_sets) {
  __shared__ float3 tile[128];
  __shared__ unsigned warp_hist[4][TBINS + 1];
  __shared__ float edge[TBINS + 1];
  int t = threadIdx.x, w = t >> 5;
  for (int i = t; i < 4 * (TBINS + 1); i += 128) warp_hist[i / (TBINS + 1)][i % (TBINS + 1)] = 0;
  if (t <= TBINS) edge[t] = binb[t];
  const float* px = xs + (long long)blockIdx.y * points;
  const float* py = ys + (long long)blockIdx.y * points;
  const float* pz = zs + (long long)blockIdx.y * points;
  int i = blockIdx.x * 128 + t;
  float3 mine = make_float3(0, 0, 0);
  if (i < points) mine = make_float3(px[i], py[i], pz[i]);
  for (int first = 0; first < points; first += 128) {
    __syncthreads();
    if (first + t < points) tile[t] = make_float3(px[first + t], py[first + t], pz[first + t]);
    __syncthreads();
    int many = min(128, points - first);
    if (i < points)
      for (int k = 0; k < many; k++) {
        if (first + k <= i) continue;
        float dot = mine.x * tile[k].x + mine.y * tile[k].y + mine.z * tile[k].z;
        int lo = 0, hi = TBINS;
        while (hi > lo + 1) {
          int mid = (lo + hi) / 2;
          if (dot >= edge[mid])
            hi = mid;
          else
            lo = mid;
        }
        atomicAdd(&warp_hist[w][dot < edge[lo] ? hi : lo], 1u);
      }
  }
  __syncthreads();
  if (t <= TBINS)
    atomicAdd(&histograms[(blockIdx.y % data_sets) * (TBINS + 1) + t],
              warp_hist[0][t] + warp_hist[1][t] + warp_hist[2][t] + warp_hist[3][t]);
}

// ---- sparse product in jagged diagonals
extern "C" __global__ void spmv_jds_rows(float* dst, const float* d_data, const int* d_index, const int* d_perm,
                                         const float* x_vec, int dim, const int* jds_ptr, const int* zcnt) {
  int ix = blockIdx.x * blockDim.x + threadIdx.x;
  if (ix < dim) {
    float sum = 0.0f;
    int bound = zcnt[ix / 32];
    int j = jds_ptr[0] + ix;
    float d = d_data[j];
    int i = d_index[j];
    float t = x_vec[i];
    for (int k = 1; k < bound; k++) {
      j = jds_ptr[k] + ix;
      int in = d_index[j];
      float dn = d_data[j];
      sum += d * t;
      t = x_vec[in];
      d = dn;
    }
    sum += d * t;
    dst[d_perm[ix]] = sum;
  }
}

// ---- lattice Boltzmann on nine velocities in the plane, pull, structure of arrays
extern "C" __global__ void lbm_d2q9_pull(float* __restrict__ fo, const float* __restrict__ fi,
                                         const unsigned char* __restrict__ wall, int nx, int ny, float tau_inv,
                                         float force) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= nx || y >= ny) return;
  int n = nx * ny;
  int at = y * nx + x;
  int xe = x + 1 == nx ? 0 : x + 1, xw = x == 0 ? nx - 1 : x - 1;
  int yn = y + 1 == ny ? 0 : y + 1, ys = y == 0 ? ny - 1 : y - 1;
  float f0 = fi[at];
  float f1 = fi[1 * n + y * nx + xw];
  float f2 = fi[2 * n + ys * nx + x];
  float f3 = fi[3 * n + y * nx + xe];
  float f4 = fi[4 * n + yn * nx + x];
  float f5 = fi[5 * n + ys * nx + xw];
  float f6 = fi[6 * n + ys * nx + xe];
  float f7 = fi[7 * n + yn * nx + xe];
  float f8 = fi[8 * n + yn * nx + xw];
  if (wall[at]) {
    fo[at] = f0;
    fo[1 * n + at] = f3;
    fo[2 * n + at] = f4;
    fo[3 * n + at] = f1;
    fo[4 * n + at] = f2;
    fo[5 * n + at] = f7;
    fo[6 * n + at] = f8;
    fo[7 * n + at] = f5;
    fo[8 * n + at] = f6;
    return;
  }
  float rho = f0 + f1 + f2 + f3 + f4 + f5 + f6 + f7 + f8;
  float ux = (f1 + f5 + f8 - f3 - f6 - f7) / rho + force;
  float uy = (f2 + f5 + f6 - f4 - f7 - f8) / rho;
  float u2 = 1.5f * (ux * ux + uy * uy);
  float w0 = rho * 4.f / 9.f, w1 = rho / 9.f, w2 = rho / 36.f;
  fo[at] = f0 - tau_inv * (f0 - w0 * (1.f - u2));
  fo[1 * n + at] = f1 - tau_inv * (f1 - w1 * (1.f + 3.f * ux + 4.5f * ux * ux - u2));
  fo[2 * n + at] = f2 - tau_inv * (f2 - w1 * (1.f + 3.f * uy + 4.5f * uy * uy - u2));
  fo[3 * n + at] = f3 - tau_inv * (f3 - w1 * (1.f - 3.f * ux + 4.5f * ux * ux - u2));
  fo[4 * n + at] = f4 - tau_inv * (f4 - w1 * (1.f - 3.f * uy + 4.5f * uy * uy - u2));
  float a = ux + uy, b = uy - ux;
  fo[5 * n + at] = f5 - tau_inv * (f5 - w2 * (1.f + 3.f * a + 4.5f * a * a - u2));
  fo[6 * n + at] = f6 - tau_inv * (f6 - w2 * (1.f + 3.f * b + 4.5f * b * b - u2));
  fo[7 * n + at] = f7 - tau_inv * (f7 - w2 * (1.f - 3.f * a + 4.5f * a * a - u2));
  fo[8 * n + at] = f8 - tau_inv * (f8 - w2 * (1.f - 3.f * b + 4.5f * b * b - u2));
}

// ---- Monte Carlo neutron transport: macroscopic cross sections by a unionised grid
__device__ __forceinline__ double lcg63(u64* seed) {
  *seed = (2806196910506780709ULL * (*seed) + 1ULL) & 0x7fffffffffffffffULL;
  return (double)*seed / 9223372036854775808.0;
}

extern "C" __global__ void xs_lookup(int lookups, int n_isotopes, int n_gridpoints, long long n_union,
                                     const int* __restrict__ union_ticks, const int* __restrict__ index_grid,
                                     const double* __restrict__ nuclide_grid, const int* __restrict__ mats,
                                     const int* __restrict__ num_nucs, const double* __restrict__ concs,
                                     int max_nucs, int n_mats, int ticks, unsigned* verification) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= lookups) return;
  u64 seed = 1070ULL + 7919ULL * i;
  lcg63(&seed);
  double energy = lcg63(&seed);
  int tick = (int)(energy * ticks);
  int mat = (int)(lcg63(&seed) * n_mats);
  long long lower = 0, length = n_union - 1;
  while (length > 1) {
    long long half = length / 2;
    if (union_ticks[lower + half] <= tick) lower += half;
    length -= half;
  }
  double macro[5] = {0, 0, 0, 0, 0};
  int many = num_nucs[mat];
  for (int j = 0; j < many; j++) {
    int nuc = mats[mat * max_nucs + j];
    double conc = concs[mat * max_nucs + j];
    int at = index_grid[lower * n_isotopes + nuc];
    const double* low = nuclide_grid + ((long long)nuc * n_gridpoints + min(at, n_gridpoints - 2)) * 6;
    const double* high = low + 6;
    double f = (high[0] - energy) / (high[0] - low[0]);
#pragma unroll
    for (int k = 0; k < 5; k++) macro[k] += conc * (high[k + 1] - f * (high[k + 1] - low[k + 1]));
  }
  double top = -1.0;
  unsigned best = 0;
#pragma unroll
  for (int k = 0; k < 5; k++)
    if (macro[k] > top) {
      top = macro[k];
      best = k;
    }
  verification[i] = best + 1;
}

// ---- docking energies: two poses a thread, all atoms of a protein against a ligand
#define POSES 2
extern "C" __global__ void bude_energies(int natlig, int natpro, int poses, const float4* __restrict__ protein,
                                         const float4* __restrict__ ligand, const int* __restrict__ ptype,
                                         const int* __restrict__ ltype, const float* __restrict__ transform,
                                         const float4* __restrict__ field, float* __restrict__ energies) {
  int first = (blockIdx.x * blockDim.x) * POSES + threadIdx.x;
  float etot[POSES];
  float m[POSES][12];
#pragma unroll
  for (int i = 0; i < POSES; i++) {
    int ix = min(first + i * (int)blockDim.x, poses - 1);
    float sx = sinf(transform[0 * poses + ix]), cx = cosf(transform[0 * poses + ix]);
    float sy = sinf(transform[1 * poses + ix]), cy = cosf(transform[1 * poses + ix]);
    float sz = sinf(transform[2 * poses + ix]), cz = cosf(transform[2 * poses + ix]);
    m[i][0] = cy * cz;
    m[i][1] = sx * sy * cz - cx * sz;
    m[i][2] = cx * sy * cz + sx * sz;
    m[i][3] = transform[3 * poses + ix];
    m[i][4] = cy * sz;
    m[i][5] = sx * sy * sz + cx * cz;
    m[i][6] = cx * sy * sz - sx * cz;
    m[i][7] = transform[4 * poses + ix];
    m[i][8] = -sy;
    m[i][9] = sx * cy;
    m[i][10] = cx * cy;
    m[i][11] = transform[5 * poses + ix];
    etot[i] = 0.f;
  }
  for (int il = 0; il < natlig; il++) {
    float4 l = ligand[il];
    float4 lp = field[ltype[il]];
    float lx[POSES], ly[POSES], lz[POSES];
#pragma unroll
    for (int i = 0; i < POSES; i++) {
      lx[i] = m[i][3] + l.x * m[i][0] + l.y * m[i][1] + l.z * m[i][2];
      ly[i] = m[i][7] + l.x * m[i][4] + l.y * m[i][5] + l.z * m[i][6];
      lz[i] = m[i][11] + l.x * m[i][8] + l.y * m[i][9] + l.z * m[i][10];
    }
    for (int ip = 0; ip < natpro; ip++) {
      float4 p = protein[ip];
      float4 pp = field[ptype[ip]];
      float radij = pp.x + lp.x;
      float r_radij = 1.f / radij;
      float elcdst = (pp.w > 0.5f && lp.w > 0.5f) ? 4.0f : 2.0f;
      float chrg = lp.z * pp.z;
      float hard = (pp.y < 0.5f) ? 22.f : 38.f;
#pragma unroll
      for (int i = 0; i < POSES; i++) {
        float x = lx[i] - p.x, y = ly[i] - p.y, z = lz[i] - p.z;
        float distij = sqrtf(x * x + y * y + z * z);
        float distbb = distij - radij;
        bool zone1 = distbb < 0.0f;
        etot[i] += (1.0f - distij * r_radij) * (zone1 ? 2.f * hard : 0.f);
        float chrg_e = chrg * ((zone1 ? 1.f : (1.0f - distbb / elcdst)) * (distbb < elcdst ? 1.f : 0.0f));
        etot[i] += chrg_e * 45.f;
        float coeff = 1.0f - distbb * 0.8f;
        float dslv = pp.y * (distbb < 1.25f ? 1.f : 0.f);
        dslv *= zone1 ? 1.f : coeff;
        etot[i] += dslv;
      }
    }
  }
#pragma unroll
  for (int i = 0; i < POSES; i++) {
    int ix = first + i * blockDim.x;
    if (ix < poses) energies[ix] = etot[i] * 0.5f;
  }
}

// ---- a block cipher by four tables in shared memory
extern "C" __global__ void cipher_rounds(const uint4* __restrict__ in, uint4* __restrict__ out,
                                         const unsigned* __restrict__ tables, const unsigned* __restrict__ keys,
                                         int blocks, int rounds) {
  __shared__ unsigned T[4][256];
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) T[i >> 8][i & 255] = tables[i];
  __syncthreads();
  for (int b = blockIdx.x * blockDim.x + threadIdx.x; b < blocks; b += gridDim.x * blockDim.x) {
    uint4 s = in[b];
    s.x ^= keys[0];
    s.y ^= keys[1];
    s.z ^= keys[2];
    s.w ^= keys[3];
    for (int r = 1; r <= rounds; r++) {
      uint4 n;
      n.x = T[0][s.x >> 24] ^ T[1][(s.y >> 16) & 255] ^ T[2][(s.z >> 8) & 255] ^ T[3][s.w & 255] ^ keys[4 * r];
      n.y = T[0][s.y >> 24] ^ T[1][(s.z >> 16) & 255] ^ T[2][(s.w >> 8) & 255] ^ T[3][s.x & 255] ^ keys[4 * r + 1];
      n.z = T[0][s.z >> 24] ^ T[1][(s.w >> 16) & 255] ^ T[2][(s.x >> 8) & 255] ^ T[3][s.y & 255] ^ keys[4 * r + 2];
      n.w = T[0][s.w >> 24] ^ T[1][(s.x >> 16) & 255] ^ T[2][(s.y >> 8) & 255] ^ T[3][s.z & 255] ^ keys[4 * r + 3];
      s = n;
    }
    out[b] = s;
  }
}

// ---- particle filter: resampling by a linear search of the cumulative weights
extern "C" __global__ void particle_find_index(const double* arrayX, const double* arrayY, const double* CDF,
                                               const double* u, double* xj, double* yj, int particles) {
  int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i < particles) {
    int index = -1;
    for (int x = 0; x < particles; x++) {
      if (CDF[x] >= u[i]) {
        index = x;
        break;
      }
    }
    if (index == -1) index = particles - 1;
    xj[i] = arrayX[index];
    yj[i] = arrayY[index];
  }
}

// ---- embarrassingly parallel: pairs of Gaussian deviates counted by square annuli
extern "C" __global__ void ep_gaussian_pairs(double* sums, unsigned long long* counts, int pairs,
                                             unsigned long long seed) {
  __shared__ unsigned q[10];
  if (threadIdx.x < 10) q[threadIdx.x] = 0;
  __syncthreads();
  const u64 a = 1220703125ULL, mask = (1ULL << 46) - 1;
  u64 id = (u64)blockIdx.x * blockDim.x + threadIdx.x;
  u64 x = seed | 1, p = a, e = id * 2 * (u64)pairs;
  while (e) {
    if (e & 1) x = (x * p) & mask;
    p = (p * p) & mask;
    e >>= 1;
  }
  const double r46 = 1.0 / 70368744177664.0;
  double sx = 0, sy = 0;
  for (int i = 0; i < pairs; i++) {
    x = (x * a) & mask;
    double x1 = 2.0 * (double)x * r46 - 1.0;
    x = (x * a) & mask;
    double x2 = 2.0 * (double)x * r46 - 1.0;
    double t1 = x1 * x1 + x2 * x2;
    if (t1 <= 1.0) {
      double t2 = sqrt(-2.0 * log(t1) / t1);
      double t3 = x1 * t2, t4 = x2 * t2;
      int l = (int)fmax(fabs(t3), fabs(t4));
      atomicAdd(&q[min(l, 9)], 1u);
      sx += t3;
      sy += t4;
    }
  }
  for (int d = 16; d > 0; d >>= 1) {
    sx += __shfl_down_sync(0xffffffff, sx, d);
    sy += __shfl_down_sync(0xffffffff, sy, d);
  }
  if (threadIdx.x % 32 == 0) {
    atomicAdd(&sums[0], sx);
    atomicAdd(&sums[1], sy);
  }
  __syncthreads();
  if (threadIdx.x < 10) atomicAdd(&counts[threadIdx.x], (u64)q[threadIdx.x]);
}

// ---- alternating directions: the sweep along rows, a thread a row
extern "C" __global__ void adi_row_sweep(int n, const float* A, float* B, float* X) {
  int i1 = blockIdx.x * blockDim.x + threadIdx.x;
  if (i1 < n) {
    for (int i2 = 1; i2 < n; i2++) {
      X[i1 * n + i2] = X[i1 * n + i2] - X[i1 * n + (i2 - 1)] * A[i1 * n + i2] / B[i1 * n + (i2 - 1)];
      B[i1 * n + i2] = B[i1 * n + i2] - A[i1 * n + i2] * A[i1 * n + i2] / B[i1 * n + (i2 - 1)];
    }
  }
}

// ---- Gram-Schmidt, third kernel: columns after k lose their part along column k
extern "C" __global__ void gramschmidt_project(int ni, int nj, int k, float* a, float* r, const float* q) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if ((j > k) && (j < nj)) {
    float s = 0.0f;
    for (int i = 0; i < ni; i++) s += q[i * nj + k] * a[i * nj + j];
    r[k * nj + j] = s;
    for (int i = 0; i < ni; i++) a[i * nj + j] -= q[i * nj + k] * s;
  }
}
