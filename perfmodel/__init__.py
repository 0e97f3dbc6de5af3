"""perfmodel: how long a CUDA kernel takes on an H100 or an A100, and why, without a GPU.

Names are imported when they are first used: the command line chooses how NumPy starts before that.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from perfmodel.errors import PerfmodelError
    from perfmodel.hardware import Device, device_names, load_device
    from perfmodel.kernels import Kernel, builtin_names, find_kernel, kernel_from_table, load_kernel
    from perfmodel.kernels.l2_control import AccessPolicyWindow, L2Control
    from perfmodel.prediction.predict import Predictions, predict, predict_many
    from perfmodel.prediction.record import Prediction

__all__ = [
    "AccessPolicyWindow",
    "Device",
    "Kernel",
    "L2Control",
    "PerfmodelError",
    "Prediction",
    "Predictions",
    "builtin_names",
    "device_names",
    "find_kernel",
    "kernel_from_table",
    "load_device",
    "load_kernel",
    "predict",
    "predict_many",
]

_HOMES: Final = {
    "errors": ("PerfmodelError",),
    "hardware": ("Device", "device_names", "load_device"),
    "kernels.l2_control": ("AccessPolicyWindow", "L2Control"),
    "kernels": ("Kernel", "builtin_names", "find_kernel", "kernel_from_table", "load_kernel"),
    "prediction": ("Prediction", "Predictions", "predict", "predict_many"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            value = getattr(import_module(f"perfmodel.{home}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'perfmodel' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
