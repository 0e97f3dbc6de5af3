"""`perfmodel advise`: which changes to a launch pay, with the lines to write, or none."""

from __future__ import annotations

from perfmodel.cli.launch_options import DEFAULT_LAUNCH, LaunchOptions, with_launch_options
from perfmodel.cli.options import (
    JsonOption,
    KernelArgument,
)
from perfmodel.cli.output import print_json, show

EXAMPLES = (
    "perfmodel advise stream-persistent -D persistent_bytes=16MiB --set-aside 8MiB",
    "perfmodel advise gather -D run=8 --device h200-sxm",
    "perfmodel advise gemm --mapping naive -D N=4096 --json",
    "perfmodel advise saxpy.cu --grid 65536 --block 256 --arg n=1.6e7 --arg a=2",
)


@with_launch_options
def advise(
    kernel: KernelArgument,
    chosen: LaunchOptions = DEFAULT_LAUNCH,
    json: JsonOption = False,
) -> None:
    """Rank changes by what they are predicted to gain, with the CUDA lines to write.

    Tries residency windows (set-aside and hitRatio), fetch granularity, other mappings, coalescing,
    vector width, block size and privatised atomics. "Leave it alone" is an answer too. With
    --set-aside that much is taken as given, and only the window is chosen.

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
    from perfmodel.prediction.advise import advise as advise_on

    found, values, platform = chosen.of(kernel, in_other_blocks=True)
    advice = advise_on(found, **platform, **values)
    if json:
        print_json(advice.to_json())
    else:
        from perfmodel.reports.advice_text import advice_report

        show(advice_report(advice))
