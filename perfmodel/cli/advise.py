"""`perfmodel advise`: which changes to a launch pay, with the lines to write, or none."""

from perfmodel.cli.launch_options import LaunchOptions
from perfmodel.cli.options import JSON, KERNEL
from perfmodel.cli.output import print_json, show
from perfmodel.cli.progress import progress_bar


def advise(
    *,
    kernel: str = KERNEL,
    chosen: LaunchOptions,
    json: bool = JSON,
) -> None:
    """Rank changes by what they are predicted to gain, with the CUDA lines to write.

    Tries residency windows (set-aside and hitRatio), fetch granularity, block size, remaps of
    threads, data layouts, vector loads and stores of up to 16 B per thread, several elements per
    thread, tiles in shared memory, privatised atomics, and a built-in's other mappings. Each is
    named as what it is (remap, vectorisation, tiling, rewrite, ...), and what was not tried is
    listed. "Leave it alone" is an answer too: nothing that was tried gains 2%. With --set-aside
    that much is taken as given, and only the window is chosen.

    L2 residency control needs compute capability 8.0, and the runtime API of CUDA 11.0 or
    cuda::annotated_ptr of libcu++ (CUDA 11.5). cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize)
    sets L2 aside, at most cudaDeviceProp::persistingL2CacheMaxSize; cudaGetDeviceProperties also
    tells l2CacheSize and accessPolicyMaxWindowSize. A window (base_ptr, num_bytes, hitRatio,
    hitProp, missProp) is an attribute of a stream (cudaStreamAttributeAccessPolicyWindow) or of a
    graph's kernel node (cudaKernelNodeAttributeAccessPolicyWindow); num_bytes = 0 closes it. MIG
    switches the set-aside off; under MPS only the server's environment sets it
    (CUDA_DEVICE_DEFAULT_PERSISTING_L2_CACHE_PERCENTAGE_LIMIT). Concurrent kernels share one
    set-aside: their windows add up. Persisting lines stay after use until a window of
    cudaAccessPropertyNormal or cudaCtxResetPersistingL2Cache() resets them; they fade by themselves
    too, after a time that nobody knows, so do not count on it.
    """
    found, platform = chosen.of(kernel)
    with progress_bar("trying changes") as tell:
        advice = found.advice(tell, **platform)
    if json:
        print_json(advice.to_json())
    else:
        from perfmodel.reports.advice_text import advice_report

        show(advice_report(advice))
