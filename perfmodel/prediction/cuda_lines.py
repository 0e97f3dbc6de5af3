"""The CUDA lines that carry out advice on L2."""

from __future__ import annotations

from typing import Final

from perfmodel.kernels.l2_control import L2Control

_SET_ATTRIBUTE: Final = (
    "cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow,",
    "                       &attribute);",
)


def residency_lines(control: L2Control) -> tuple[str, ...]:
    """Return the lines that set L2 aside, open the window, and undo both after the last use."""
    window = control.window
    if window is None:
        return (f"cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, {control.set_aside});",)
    start = window.buffer if not window.offset else f"(char*){window.buffer} + {window.offset}"
    return (
        f"cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, {control.set_aside});",
        "cudaStreamAttrValue attribute = {};",
        "auto& window = attribute.accessPolicyWindow;",
        f"window.base_ptr = (void*)({start});",
        f"window.num_bytes = {window.num_bytes};",
        f"window.hitRatio = {window.hit_ratio:#.4g}f;",  # the point: 1f is no C++
        f"window.hitProp = {_property(window.hit_prop)};",
        f"window.missProp = {_property(window.miss_prop)};",
        *_SET_ATTRIBUTE,
        "// launch, as often as the data is used; then give L2 back to everyone:",
        "window.num_bytes = 0;",
        *_SET_ATTRIBUTE,
        "cudaCtxResetPersistingL2Cache();",
        "cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 0);",
    )


def fetch_lines(granularity: int) -> tuple[str, ...]:
    """Return the line that sets the fetch granularity, a limit of the whole context."""
    return (f"cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity, {granularity});",)


def _property(name: str) -> str:
    return f"cudaAccessProperty{name.capitalize()}"
