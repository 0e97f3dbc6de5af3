"""What keeps a measurement from starting is one line: expected values are the issue's words."""

import sys
from enum import IntEnum
from types import ModuleType, SimpleNamespace

import pytest

from perfmodel.errors import PerfmodelError
from perfmodel.measure.cuda import CudaGpu, clean_at, compile_cubin


class Status(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_NO_DEVICE = 100


class Attribute(IntEnum):
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16
    CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38
    CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE = 108
    CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE = 109
    CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13
    CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36
    CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37


class MissingLibraryError(Exception):
    """As the loader's own, which no class of Python's is."""


def missing(*_: object) -> None:
    raise MissingLibraryError("Failure finding the library\nin many places")


def a_driver(**other: object) -> SimpleNamespace:
    """Return a driver with one GPU, of compute capability 7.5."""
    good = {
        "CUdevice_attribute": Attribute,
        "cuInit": lambda _: (Status.CUDA_SUCCESS,),
        "cuDeviceGetCount": lambda: (Status.CUDA_SUCCESS, 1),
        "cuDeviceGet": lambda index: (Status.CUDA_SUCCESS, index),
        "cuDeviceGetName": lambda *_: (Status.CUDA_SUCCESS, b"Tesla T4\0"),
        "cuDeviceGetPCIBusId": lambda *_: (Status.CUDA_SUCCESS, b"0000:00:00.0\0"),
        "cuDeviceTotalMem": lambda _: (Status.CUDA_SUCCESS, 16 << 30),
        "cuDeviceGetAttribute": lambda which, _: (
            Status.CUDA_SUCCESS,
            {Attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: 7}.get(which, 5),
        ),
    }
    return SimpleNamespace(**(good | other))


def pretend(monkeypatch: pytest.MonkeyPatch, driver: object, **nvrtc: object) -> None:
    """Put other modules in the place of NVIDIA's."""
    bindings = ModuleType("cuda.bindings")
    bindings.driver = driver  # type: ignore[attr-defined]
    bindings.nvrtc = SimpleNamespace(  # type: ignore[attr-defined]
        **({"nvrtcVersion": lambda: (0, 13, 0)} | nvrtc)
    )
    monkeypatch.setitem(sys.modules, "cuda.bindings", bindings)


@pytest.mark.parametrize(
    ("driver", "index", "message"),
    [
        (a_driver(cuInit=missing), 0, r"^no NVIDIA driver \(Failure finding the library in many"),
        (a_driver(cuInit=lambda _: (Status.CUDA_ERROR_NO_DEVICE,)), 0, r"GPU \(no device\): inst"),
        (a_driver(), 1, r"^--gpu 1: this machine has 1 GPU, numbered from 0$"),
        (a_driver(), 0, r"^Tesla T4 has compute capability 7\.5: measuring needs 8\.0"),
    ],
)
def test_what_is_no_gpu_to_measure(monkeypatch, driver, index, message):
    pretend(monkeypatch, driver)
    with pytest.raises(PerfmodelError, match=message) as caught:
        CudaGpu(index)
    assert "\n" not in str(caught.value)


def test_no_packages(monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    for start in (CudaGpu, lambda: compile_cubin("fill.cu", {}, "sm_90")):
        with pytest.raises(PerfmodelError, match=r"install perfmodel\[gpu\]"):
            start()


def test_no_compiler(monkeypatch):
    pretend(monkeypatch, a_driver(), nvrtcVersion=missing, nvrtcCreateProgram=missing)
    for start in (CudaGpu, lambda: compile_cubin("fill.cu", {}, "sm_90")):
        with pytest.raises(PerfmodelError, match=r"^no run-time compiler \(Failure finding"):
            start()


def test_freed_memory_is_waited_for():
    """Measured: an H200 clears 2 GiB for 5.4 ms; what is freed meanwhile queues behind it."""
    assert clean_at(0.0, 100.0, 2 << 30) - 100 > 0.0054
    assert clean_at(0.0, 100.0, 2 << 30) - 100 < 0.02
    once = clean_at(0.0, 100.0, 1 << 30)
    assert clean_at(once, 100.0, 1 << 30) == pytest.approx(clean_at(0.0, 100.0, 2 << 30))
    assert clean_at(50.0, 100.0, 0) == 100.0
