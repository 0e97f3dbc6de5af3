"""Compute capability: what a device has, and what a kernel needs."""

from perfmodel.errors import PerfmodelError
from perfmodel.hardware import Device
from perfmodel.kernels import Kernel


def capability(device: Device) -> tuple[int, ...]:
    """Return a device's compute capability, major and minor."""
    return tuple(int(part) for part in device.compute_capability.split("."))


def check_capability(kernel: Kernel, gpu: Device) -> None:
    """Refuse a kernel whose instructions a device has not.

    Raises `PerfmodelError`.
    """
    least = kernel.compute_capability
    if capability(gpu) >= least:
        return
    mapping = f" {kernel.mapping}" if kernel.mapping else ""
    raise PerfmodelError(
        f"kernel {kernel.name}{mapping} needs compute capability {'.'.join(map(str, least))} or "
        f"later, and {gpu.name} has {gpu.compute_capability}: choose another "
        f"{'mapping' if mapping else 'kernel'} or GPU"
    )
