"""The CUDA lines that carry out advice."""

from collections.abc import Mapping
from typing import Final

from perfmodel.kernels import Access
from perfmodel.kernels.l2_control import L2Control

MPS_VARIABLE: Final = "CUDA_DEVICE_DEFAULT_PERSISTING_L2_CACHE_PERCENTAGE_LIMIT"
"""Environment variable of an MPS server: what it sets aside, in percent of L2."""

_SET_ATTRIBUTE: Final = (
    "cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow,",
    "                       &attribute);",
)


_NO_SET_ASIDE: Final = "cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 0);"


def residency_lines(control: L2Control, percent: int | None = None) -> tuple[str, ...]:
    """Return the lines that set L2 aside, open the window, and undo both after the last use.

    `percent`: of L2, for the environment of an MPS server: under one no call sets L2 aside.
    """
    window = control.window
    if window is None:
        return (
            "cudaStreamAttrValue attribute = {};",
            "attribute.accessPolicyWindow.num_bytes = 0;",
            *_SET_ATTRIBUTE,
            "cudaCtxResetPersistingL2Cache();",
            *(() if percent is not None else (_NO_SET_ASIDE,)),
        )
    start = window.buffer if not window.offset else f"(char*){window.buffer} + {window.offset}"
    aside: tuple[str, ...] = (
        f"cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, {control.set_aside});",
    )
    if percent is not None:
        aside = (
            "/* in the environment of the MPS server, before it starts: */",
            f"/* {MPS_VARIABLE}={percent} */",
        )
    return (
        *aside,
        "cudaStreamAttrValue attribute = {};",
        "auto& window = attribute.accessPolicyWindow;",
        f"window.base_ptr = (void*)({start});",
        f"window.num_bytes = {window.num_bytes};",
        f"window.hitRatio = {window.hit_ratio:#.4g}f;",  # the point: 1f is no C++
        f"window.hitProp = {_property(window.hit_prop)};",
        f"window.missProp = {_property(window.miss_prop)};",
        *_SET_ATTRIBUTE,
        "/* launch, as often as the data is used; then give L2 back to everyone: */",
        "window.num_bytes = 0;",
        *_SET_ATTRIBUTE,
        "cudaCtxResetPersistingL2Cache();",
        *(() if percent is not None else (_NO_SET_ASIDE,)),
    )


def fetch_lines(granularity: int) -> tuple[str, ...]:
    """Return the line that sets the fetch granularity, a limit of the whole context."""
    return (f"cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity, {granularity});",)


def launch_lines(name: str, grid: tuple[int, ...], block: tuple[int, ...]) -> tuple[str, ...]:
    """Return the lines of a launch with another block."""
    sizes = (", ".join(map(str, size)) for size in (grid, block))
    return (
        "const dim3 grid({}), block({});".format(*sizes),
        f"/* {name}<<<grid, block>>>(...), with the arguments that it has */",
    )


def tile_lines(sizes: Mapping[str, int]) -> tuple[str, ...]:
    """Return the line that states a product's tiles."""
    return (f"constexpr int {', '.join(f'{name} = {size}' for name, size in sizes.items())};",)


def vector_lines(accesses: tuple[Access, ...], vector: int) -> tuple[str, ...]:
    """Return the lines that move so many bytes a thread: 8 or 16; none for other widths."""
    kind = {8: "float2", 16: "float4"}.get(vector)
    if kind is None:
        return ()
    lines = ["/* i counts elements of all threads; there are fewer of them now: */"]
    loads = [a.buffer for a in accesses if a.kind == "load"]
    lines += [
        f"const {kind} {name}_i = reinterpret_cast<const {kind}*>({name})[i];" for name in loads
    ]
    value = f"{loads[0]}_i" if loads else f"{kind}{{}}"
    lines += [
        f"reinterpret_cast<{kind}*>({a.buffer})[i] = {value};  /* or what the kernel makes of it */"
        for a in accesses
        if a.kind == "store"
    ]
    return tuple(lines)


def private_lines(counter: str) -> tuple[str, ...]:
    """Return the lines that add up in shared memory, and once a block to a counter of integers."""
    return (
        "__shared__ int sum;",
        "if (threadIdx.x == 0) sum = 0;",
        "__syncthreads();",
        "atomicAdd(&sum, 1);  /* what the thread adds */",
        "__syncthreads();",
        f"if (threadIdx.x == 0) atomicAdd({counter}, sum);",
    )


def _property(name: str) -> str:
    return f"cudaAccessProperty{name.capitalize()}"
