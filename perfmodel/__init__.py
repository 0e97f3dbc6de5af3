"""perfmodel: how long a CUDA kernel takes on an H100 or an A100, and why, without a GPU."""

from perfmodel.errors import PerfmodelError
from perfmodel.hardware import Device, device_names, load_device
from perfmodel.kernels import Kernel, builtin_names, find_kernel, kernel_from_table, load_kernel
from perfmodel.prediction import Prediction, Predictions, predict, predict_many

__all__ = [
    "Device",
    "Kernel",
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
