"""The CUDA lines that carry out advice on L2."""

from __future__ import annotations

from perfmodel.kernels.l2_control import L2Control


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
        f"window.hitRatio = {window.hit_ratio:.4g}f;",
        f"window.hitProp = {_property(window.hit_prop)};",
        f"window.missProp = {_property(window.miss_prop)};",
        "cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &attribute);",
        "// launch, as often as the data is used; then give L2 back to everyone:",
        "window.num_bytes = 0;",
        "cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &attribute);",
        "cudaCtxResetPersistingL2Cache();",
    )


def fetch_lines(granularity: int) -> tuple[str, ...]:
    """Return the line that sets the fetch granularity, a limit of the whole context."""
    return (f"cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity, {granularity});",)


def _property(name: str) -> str:
    return f"cudaAccessProperty{name.capitalize()}"
