// Prints what NVIDIA's occupancy header answers for many block shapes, as CSV.
//
// An independent reference for perfmodel.models.occupancy: the arithmetic is all in
// <cuda_occupancy.h> from the CUDA toolkit, which is included here and not copied.
// README.md beside this file has the command that made reference.csv.gz.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <cuda_occupancy.h>

namespace {

constexpr int kDefaultCarveout = -1;

// Limits per compute capability: CUDA C++ Programming Guide, "Compute Capabilities" tables.
cudaOccDeviceProp device(int major, int minor, int threads_per_sm, size_t shared_per_sm_kib, int sms) {
    cudaOccDeviceProp prop;
    prop.computeMajor = major;
    prop.computeMinor = minor;
    prop.maxThreadsPerBlock = 1024;
    prop.maxThreadsPerMultiprocessor = threads_per_sm;
    prop.regsPerBlock = 65536;
    prop.regsPerMultiprocessor = 65536;
    prop.warpSize = 32;
    prop.sharedMemPerBlock = 48 * 1024;
    prop.sharedMemPerMultiprocessor = shared_per_sm_kib * 1024;
    prop.numSms = sms;
    prop.sharedMemPerBlockOptin = (shared_per_sm_kib - 1) * 1024;
    prop.reservedSharedMemPerBlock = 1024;
    return prop;
}

// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): the same cases on every machine.
struct Random {
    uint64_t state;
    uint64_t next() {
        uint64_t z = (state += 0x9E3779B97F4A7C15ull);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
        return z ^ (z >> 31);
    }
    int between(int low, int high) { return low + static_cast<int>(next() % (high - low + 1)); }
};

bool print_case(const cudaOccDeviceProp &prop, int threads, int registers, int shared, int carveout) {
    cudaOccFuncAttributes function;
    function.maxThreadsPerBlock = 1024;
    function.numRegs = registers;
    function.sharedSizeBytes = 0;
    function.partitionedGCConfig = PARTITIONED_GC_OFF;
    function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    function.maxDynamicSharedSizeBytes = prop.sharedMemPerBlockOptin;
    function.numBlockBarriers = 1;

    cudaOccDeviceState state;
    state.cacheConfig = CACHE_PREFER_NONE;
    state.carveoutConfig = carveout;

    cudaOccResult result;
    if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &prop, &function, &state, threads, shared) !=
        CUDA_OCC_SUCCESS) {
        std::fprintf(stderr, "refused: %d threads, %d registers, %d B, carve-out %d\n", threads,
                     registers, shared, carveout);
        return false;
    }
    std::printf("%d.%d,%d,%d,%d,%d,%d,%u,%d,%d,%d,%d\n", prop.computeMajor, prop.computeMinor, threads,
                registers, shared, carveout, result.activeBlocksPerMultiprocessor,
                result.limitingFactors, result.blockLimitWarps, result.blockLimitBlocks,
                result.blockLimitRegs, result.blockLimitSharedMem);
    return true;
}

bool print_device(const cudaOccDeviceProp &prop) {
    const int optin = static_cast<int>(prop.sharedMemPerBlockOptin);
    const int per_sm = static_cast<int>(prop.sharedMemPerMultiprocessor);
    const std::vector<int> all_threads = {1,   17,  31,  32,  33,  48,  64,  65,  96,  100,  127,
                                          128, 160, 192, 224, 256, 257, 288, 320, 352, 384,  416,
                                          448, 480, 500, 512, 544, 576, 640, 672, 704, 736,  768,
                                          800, 832, 896, 928, 960, 992, 993, 1000, 1023, 1024, 1025};
    const std::vector<int> all_registers = {0,  1,  8,  16, 17, 24, 25, 31, 32,  33,  37,  40, 41,
                                            48, 56, 63, 64, 65, 72, 80, 96, 104, 128, 129, 168, 255};
    const std::vector<int> all_shared = {0, 1, 1025, 7000, 8192, 20000, 49152, 49153, optin};
    bool good = true;

    // Every combination of the usual and the awkward values.
    for (int threads : all_threads)
        for (int registers : all_registers)
            for (int shared : all_shared)
                good &= print_case(prop, threads, registers, shared, kDefaultCarveout);

    Random random{static_cast<uint64_t>(prop.computeMajor * 10 + prop.computeMinor)};
    // Anything at all, past the limits too.
    for (int i = 0; i < 1200; ++i)
        good &= print_case(prop, random.between(1, 1056), random.between(0, 255),
                           random.between(0, optin + 2048), kDefaultCarveout);
    // Shared memory at, and a byte beside, the sizes where one block more or fewer fits.
    for (int i = 0; i < 1000; ++i) {
        const int edge = per_sm / random.between(1, 32) / 128 * 128 - 1024 + random.between(-1, 1);
        good &= print_case(prop, random.between(1, 256), random.between(0, 64), edge < 0 ? 0 : edge,
                           kDefaultCarveout);
    }
    // A carve-out asked for, as the percentage that cudaFuncSetAttribute takes.
    for (int i = 0; i < 1200; ++i)
        good &= print_case(prop, random.between(1, 512), random.between(0, 96),
                           random.between(0, i % 2 ? optin : 12000), random.between(0, 100));
    return good;
}

}  // namespace

int main() {
    std::puts("compute_capability,threads,registers,shared,carveout_percent,blocks,limiting_bits,"
              "by_warps,by_blocks,by_registers,by_shared");
    bool good = print_device(device(8, 0, 2048, 164, 108));  // A100
    good &= print_device(device(8, 6, 1536, 100, 84));       // RTX A6000
    good &= print_device(device(9, 0, 2048, 228, 132));      // H100 SXM
    return good ? 0 : 1;
}
