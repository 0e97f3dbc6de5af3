"""A real GPU through NVIDIA's Python packages: driver, run-time compiler, management library."""

import ctypes
from collections.abc import Mapping, Sequence
from textwrap import shorten
from time import monotonic, sleep
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.errors import PerfmodelError
from perfmodel.kernels.l2_control import AccessPolicyWindow, L2Control
from perfmodel.measure.gpu import Function, GpuError, GpuFacts, Memory, OutOfMemoryError, cycle
from perfmodel.measure.run_time_compiler import (
    NoCompilerError,
    NotCompiledError,
    run_time_compiled,
)
from perfmodel.measure.sweep import SOURCES

_REMEDY: Final = (
    "install perfmodel[gpu] on a machine with an NVIDIA GPU and its driver, or fit to recorded "
    "rows with perfmodel calibrate --from DIR"
)
_KINDS: Final = {"hash": 0, "int": 1, "index": 2, "bins": 3}
_TYPES: Final = {"i32": ctypes.c_int32, "i64": ctypes.c_int64, "f32": ctypes.c_float}
_WAIT_CLOCKS: Final = 60_000
"""About 30 us: longer than the host needs to queue two events and a launch."""
_OLDEST: Final = (8, 0)
_SCRUBBED: Final = 0.2e12
"""Bytes a second of freed memory that the driver is taken to clear, behind everybody's back.

Launches that DRAM bounds take 9 to 22% longer meanwhile; an H200 clears 0.4e12
(measurements/l2/h200-sxm/states/freed.csv), others with less bandwidth perhaps half of that.
"""


class CudaGpu:
    """GPU number `index` of this machine. Its methods raise `GpuError` if they fail."""

    def __init__(self, index: int = 0) -> None:
        try:
            from cuda.bindings import driver, nvrtc
        except ImportError:
            raise PerfmodelError(f"measuring needs NVIDIA's Python packages: {_REMEDY}") from None
        self._driver, self._nvrtc = driver, nvrtc
        try:
            self._call(driver.cuInit(0))
        except GpuError as error:
            raise PerfmodelError(f"no usable NVIDIA GPU ({error}): {_REMEDY}") from None
        except Exception as error:  # the loader's own types, which differ between versions
            raise PerfmodelError(
                f"no NVIDIA driver ({shorten(str(error), 60, placeholder='...')}): {_REMEDY}"
            ) from None
        count = self._call(driver.cuDeviceGetCount())
        if not 0 <= index < count:
            raise PerfmodelError(
                f"--gpu {index}: this machine has {count} GPU{'s' * (count != 1)}, "
                f"numbered from 0{'' if count else f'; {_REMEDY}'}"
            )
        self._index = index
        self._device = self._call(driver.cuDeviceGet(index))
        self._facts = self._read_facts()
        if self._facts.compute_capability < _OLDEST:
            major, minor = self._facts.compute_capability
            raise PerfmodelError(
                f"{self._facts.name} has compute capability {major}.{minor}: measuring needs 8.0 "
                "or later"
            )
        self._open()

    def _open(self) -> None:
        driver = self._driver
        self._context = self._call(driver.cuDevicePrimaryCtxRetain(self._device))
        self._call(driver.cuCtxSetCurrent(self._context))
        blocking = driver.CUstream_flags.CU_STREAM_NON_BLOCKING
        self._stream = self._call(driver.cuStreamCreate(blocking))
        self._events = [self._call(driver.cuEventCreate(0)) for _ in range(2)]
        self._programs: dict[tuple[str, tuple[tuple[str, str], ...]], Any] = {}
        self._sizes: dict[Memory, int] = {}
        self._clean_at = monotonic()
        tools = self.compile("fill.cu", {})
        self._fill, self._sweep, self._wait = (
            self.function(tools, name, 0) for name in ("fill_words", "sweep_l2", "wait_clocks")
        )
        self._flush_bytes = max(4 * self._facts.l2_bytes, 1 << 28)
        self._flush = self.allocate(self._flush_bytes)
        self.fill(self._flush, self._flush_bytes, "int", 4, 0)

    @property
    def facts(self) -> GpuFacts:
        """What the driver says about the GPU."""
        return self._facts

    def clock_mhz(self) -> float | None:
        """Return the SM clock now [MHz], or None where that cannot be read."""
        try:
            import pynvml

            pynvml.nvmlInit()
            handle = pynvml.nvmlDeviceGetHandleByPciBusId(self._bus_id)
            return float(pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM))
        except Exception:  # no library, no permission, another version: the clock stays unknown
            return None

    def compile(self, source: str, defines: Mapping[str, str]) -> Any:
        """Compile a source file of the package for this GPU; a second call gives the same."""
        key = (source, tuple(sorted(defines.items())))
        if key not in self._programs:
            major, minor = self._facts.compute_capability
            code = compile_cubin(source, defines, f"sm_{major}{minor}")
            self._programs[key] = self._call(self._driver.cuModuleLoadData(code))
        return self._programs[key]

    def function(self, program: Any, name: str, shared_bytes: int) -> Function:
        """Return a kernel of a program, allowed so much dynamic shared memory [B]."""
        driver = self._driver
        found = self._call(driver.cuModuleGetFunction(program, name.encode()))
        if shared_bytes > 48 << 10:
            limit = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self._call(driver.cuFuncSetAttribute(found, limit, shared_bytes))
        return found

    def allocate(self, size: int) -> Memory:
        """Return `size` bytes."""
        memory = int(self._call(self._driver.cuMemAlloc(max(size, 16))))
        self._sizes[memory] = size
        return memory

    def free(self, memory: Memory) -> None:
        """Give memory back."""
        self._call(self._driver.cuMemFree(memory))
        self._clean_at = clean_at(self._clean_at, monotonic(), self._sizes.pop(memory, 0))

    def fill(self, memory: Memory, size: int, fill: str, step: int, limit: int) -> None:
        """Write what `fill` (see `perfmodel.measure.sweep.FILLS`) means into memory."""
        if fill == "zero":
            self._call(self._driver.cuMemsetD8(memory, 0, size))
            self._call(self._driver.cuCtxSynchronize())  # our stream does not wait for this one
        elif fill == "perm":
            words = step // 4
            chain = np.zeros((size // step, words), dtype=np.uint32)
            chain[:, 0] = cycle(size // step) * np.uint32(words)
            self._call(self._driver.cuMemcpyHtoD(memory, chain.ctypes.data, chain.nbytes))
        else:
            arguments = (("buffer", memory), ("i64", size // 4), ("i32", _KINDS[fill]))
            grid = (self._facts.sms * 8, 1, 1)
            self.launch(
                self.prepare(self._fill, grid, (256, 1, 1), 0, (*arguments, ("i32", limit)))
            )

    def read(self, memory: Memory, dtype: npt.DTypeLike, count: int) -> npt.NDArray[Any]:
        """Return the first `count` elements of memory."""
        host = np.empty(count, dtype=dtype)
        self._call(self._driver.cuMemcpyDtoH(host.ctypes.data, memory, host.nbytes))
        return host

    def control_l2(self, control: L2Control, window: Memory | None) -> None:
        """Set set-aside, window and fetch granularity for the launches that follow."""
        driver = self._driver
        if self._facts.persisting_max:
            aside = driver.CUlimit.CU_LIMIT_PERSISTING_L2_CACHE_SIZE
            self._call(driver.cuCtxSetLimit(aside, control.set_aside))
            self._call(driver.cuCtxResetPersistingL2Cache())
        fetch = driver.CUlimit.CU_LIMIT_MAX_L2_FETCH_GRANULARITY
        self._call(driver.cuCtxSetLimit(fetch, control.fetch_granularity))
        properties = driver.CUaccessProperty
        asked = control.window or AccessPolicyWindow("", 0)  # of no length: closed
        value = driver.CUstreamAttrValue()
        value.accessPolicyWindow.base_ptr = window or 0
        value.accessPolicyWindow.num_bytes = asked.num_bytes
        value.accessPolicyWindow.hitRatio = asked.hit_ratio
        value.accessPolicyWindow.hitProp = getattr(
            properties, f"CU_ACCESS_PROPERTY_{asked.hit_prop.upper()}"
        )
        value.accessPolicyWindow.missProp = getattr(
            properties, f"CU_ACCESS_PROPERTY_{asked.miss_prop.upper()}"
        )
        attribute = driver.CUstreamAttrID.CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW
        self._call(driver.cuStreamSetAttribute(self._stream, attribute, value))

    def prepare(
        self,
        function: Function,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared_bytes: int,
        arguments: Sequence[tuple[str, Any]],
    ) -> Any:
        """Return a launch, ready to go; the value of a "buffer" argument is its memory."""
        values: list[Any] = [
            ctypes.c_uint64(v) if kind == "buffer" else _TYPES[kind](v) for kind, v in arguments
        ]
        # Packed once: between two events nothing but the launch itself should take time.
        packed = (ctypes.c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
        return function, (*grid, *block, shared_bytes), packed, values

    def _enqueue(self, prepared: Any) -> None:
        function, shape, packed, _ = prepared
        self._call(
            self._driver.cuLaunchKernel(function, *shape, self._stream, ctypes.addressof(packed), 0)
        )

    def _finish(self) -> None:
        self._call(self._driver.cuStreamSynchronize(self._stream))

    def launch(self, prepared: Any) -> None:
        """Launch and wait."""
        self._enqueue(prepared)
        self._finish()

    def time(self, prepared: Any, cold: bool) -> float:
        """Launch between two events; return the time between them [s].

        Cold empties L2 of everything that the launch could want.
        """
        sleep(max(self._clean_at - monotonic(), 0.0))
        driver, (begin, end) = self._driver, self._events
        if cold:
            if self._facts.persisting_max:  # lines that no ordinary read displaces
                self._call(driver.cuCtxResetPersistingL2Cache())
            arguments = (("buffer", self._flush), ("i64", self._flush_bytes // 16))
            grid = (self._facts.sms * 4, 1, 1)
            reading = (*arguments, ("buffer", self._flush))
            self._enqueue(self.prepare(self._sweep, grid, (512, 1, 1), 0, reading))
        wait = self.prepare(self._wait, (1, 1, 1), (1, 1, 1), 0, (("i64", _WAIT_CLOCKS),))
        self._enqueue(wait)
        self._call(driver.cuEventRecord(begin, self._stream))
        self._enqueue(prepared)
        self._call(driver.cuEventRecord(end, self._stream))
        self._finish()
        return float(self._call(driver.cuEventElapsedTime(begin, end))) * 1e-3

    def profile(self, on: bool) -> None:
        """Tell a profiler around this process to count from here on, or no longer."""
        driver = self._driver
        self._call(driver.cuProfilerStart() if on else driver.cuProfilerStop())

    def recover(self) -> None:
        """Reset the context, which an illegal access leaves unusable; all in it is gone."""
        self._driver.cuDevicePrimaryCtxReset(self._device)
        self._open()

    def close(self) -> None:
        """Give everything back."""
        self._driver.cuDevicePrimaryCtxReset(self._device)

    def _call(self, result: tuple[Any, ...]) -> Any:
        status, *values = result
        if int(status) != 0:
            raise self._error(status)
        return values[0] if len(values) == 1 else tuple(values)

    def _error(self, status: Any) -> GpuError:
        kind = OutOfMemoryError if "OUT_OF_MEMORY" in status.name else GpuError
        return kind(status.name.removeprefix("CUDA_ERROR_").lower().replace("_", " "))

    def _read_facts(self) -> GpuFacts:
        driver, device = self._driver, self._device
        names = driver.CUdevice_attribute

        def attribute(name: str) -> int:
            which = getattr(names, f"CU_DEVICE_ATTRIBUTE_{name}")
            return int(self._call(driver.cuDeviceGetAttribute(which, device)))

        try:
            _, major, minor = self._nvrtc.nvrtcVersion()
        except Exception as error:  # the loader's own types, which differ between versions
            raise _no_compiler(error) from None
        raw = self._call(driver.cuDeviceGetName(96, device))
        self._bus_id = self._call(driver.cuDeviceGetPCIBusId(32, device)).split(b"\0")[0].decode()
        return GpuFacts(
            name=raw.split(b"\0")[0].decode(),
            driver=_driver_version(),
            cuda=f"{major}.{minor}",
            compute_capability=(
                attribute("COMPUTE_CAPABILITY_MAJOR"),
                attribute("COMPUTE_CAPABILITY_MINOR"),
            ),
            sms=attribute("MULTIPROCESSOR_COUNT"),
            l2_bytes=attribute("L2_CACHE_SIZE"),
            persisting_max=attribute("MAX_PERSISTING_L2_CACHE_SIZE"),
            window_max=attribute("MAX_ACCESS_POLICY_WINDOW_SIZE"),
            memory_bytes=int(self._call(driver.cuDeviceTotalMem(device))),
            sm_clock_mhz=attribute("CLOCK_RATE") / 1e3,
            memory_clock_mhz=attribute("MEMORY_CLOCK_RATE") / 1e3,
            bus_bits=attribute("GLOBAL_MEMORY_BUS_WIDTH"),
        )


def clean_at(before: float, now: float, freed: int) -> float:
    """Return the time at which the driver will have cleared all memory that was freed [s].

    `before`: the same without the last that was freed, of `freed` bytes, which was `now`.
    """
    return max(before, now) + freed / _SCRUBBED


def _no_compiler(error: Exception) -> PerfmodelError:
    reason = shorten(str(error), 60, placeholder="...")
    return PerfmodelError(f"no run-time compiler{reason and f' ({reason})'}: {_REMEDY}")


def compile_cubin(source: str, defines: Mapping[str, str], architecture: str) -> bytes:
    """Return the machine code of a file of `SOURCES` for an architecture such as ``sm_90``.

    Raises `GpuError` if the compiler refuses it, with its first message. Raises `PerfmodelError` if
    there is no run-time compiler.
    """
    options = [
        *(f"--gpu-architecture={architecture}", "--std=c++17"),
        *(f"--define-macro={name}={value}" for name, value in defines.items()),
    ]
    code = (SOURCES / source).read_bytes()
    try:
        return run_time_compiled(code, source.encode(), options, "CUBIN")
    except NoCompilerError as error:
        raise _no_compiler(error) from None
    except NotCompiledError as error:
        lines = str(error).splitlines()
        first = next((line for line in lines if "error" in line), lines[0])
        raise GpuError(f"{source} does not compile: {first[:200]}") from None


def _driver_version() -> str:
    try:
        import pynvml

        pynvml.nvmlInit()
        version = pynvml.nvmlSystemGetDriverVersion()
        return version.decode() if isinstance(version, bytes) else str(version)
    except Exception:  # the version is for the record only
        return "unknown"
