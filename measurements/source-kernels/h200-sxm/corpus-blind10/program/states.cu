// Kernels of states that follow one another: hidden Markov chains, gases, recurrent networks.

#define MOST 64

// Log-likelihoods of sequences under a hidden Markov chain, forwards: a block a sequence, a thread a state.
extern "C" __global__ void __launch_bounds__(MOST)
    hmm_forward(const float* __restrict__ transitions, const float* __restrict__ emissions,
                const unsigned char* __restrict__ seen, float* __restrict__ out, int states, int steps) {
  __shared__ float table[MOST * MOST], now[MOST], parts[2];
  int s = threadIdx.x;
  for (int e = s; e < states * states; e += blockDim.x) table[e] = transitions[e];
  const unsigned char* line = seen + (long long)blockIdx.x * steps;
  float value = s < states ? 1.0f / states : 0.0f, likelihood = 0.0f;
  for (int t = 0; t < steps; ++t) {
    if (s < states) {
      if (t > 0) {
        value = 0.0f;
        for (int from = 0; from < states; ++from) value += now[from] * table[from * states + s];
      }
      value *= emissions[line[t] * states + s];
    }
    float sum = value;
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) sum += __shfl_xor_sync(~0u, sum, apart);
    if (s % 32 == 0) parts[s / 32] = sum;
    __syncthreads();
    sum = blockDim.x > 32 ? parts[0] + parts[1] : parts[0];
    likelihood += logf(sum);
    now[s] = value / sum;
    __syncthreads();
  }
  if (s == 0) out[blockIdx.x] = likelihood;
}

// Fluxes of a gas between neighbouring cells by an approximate Riemann solver with a contact wave, in double precision.
extern "C" __global__ void riemann_fluxes(const double* __restrict__ density, const double* __restrict__ speed,
                                          const double* __restrict__ pressure, double* __restrict__ mass,
                                          double* __restrict__ momentum, double* __restrict__ energy, int n,
                                          double gamma, double floor, double frame) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double rl = fmax(density[i], floor), ul = speed[i] - frame, pl = fmax(pressure[i], floor);
  double rr = fmax(density[i + 1], floor), ur = speed[i + 1] - frame, pr = fmax(pressure[i + 1], floor);
  double cl = sqrt(gamma * pl / rl), cr = sqrt(gamma * pr / rr);
  double sl = fmin(ul - cl, ur - cr), sr = fmax(ul + cl, ur + cr);
  double fl = rl * (sl - ul), fr = rr * (sr - ur);
  double contact = (pr - pl + ul * fl - ur * fr) / (fl - fr);
  bool left = contact >= 0.0;
  double r = left ? rl : rr, u = left ? ul : ur, p = left ? pl : pr, s = left ? sl : sr;
  double e = p / (gamma - 1.0) + 0.5 * r * u * u;
  double f0 = r * u, f1 = r * u * u + p, f2 = u * (e + p);
  if (left ? s < 0.0 : s > 0.0) {
    double star = r * (s - u) / (s - contact);
    f0 += s * (star - r);
    f1 += s * (star * contact - r * u);
    f2 += s * (star * (e / r + (contact - u) * (contact + p / (r * (s - u)))) - e);
  }
  mass[i] = f0;
  momentum[i] = f1;
  energy[i] = f2;
}

__device__ __forceinline__ float sigmoid(float x) { return 1.0f / (1.0f + __expf(-x)); }

__device__ __forceinline__ void step(float in, float forget, float fresh, float open, float held, float& kept,
                                     float& shown) {
  kept = sigmoid(forget) * held + sigmoid(in) * tanhf(fresh);
  shown = sigmoid(open) * tanhf(kept);
}

// A step of an LSTM after its two products: four gates of two neighbouring units a thread, a row a block of y.
extern "C" __global__ void lstm_cell(const float2* __restrict__ from_input, const float2* __restrict__ from_state,
                                     const float2* __restrict__ bias, const float2* __restrict__ memory,
                                     float2* __restrict__ kept, float2* __restrict__ shown, int pairs) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= pairs) return;
  int row = blockIdx.y;
  float2 gate[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    int at = (4 * row + k) * pairs + c;
    float2 p = from_input[at], q = from_state[at], r = bias[k * pairs + c];
    gate[k] = make_float2(p.x + q.x + r.x, p.y + q.y + r.y);
  }
  float2 held = memory[row * pairs + c], after, out;
  step(gate[0].x, gate[1].x, gate[2].x, gate[3].x, held.x, after.x, out.x);
  step(gate[0].y, gate[1].y, gate[2].y, gate[3].y, held.y, after.y, out.y);
  kept[row * pairs + c] = after;
  shown[row * pairs + c] = out;
}
