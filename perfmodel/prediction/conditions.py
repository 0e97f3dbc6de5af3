"""What launches are predicted under: the GPU, the protocol, and L2 control."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

from perfmodel.errors import PerfmodelError
from perfmodel.hardware import Device, load_device
from perfmodel.kernels import Instance, Kernel, bind, find_kernel
from perfmodel.kernels.l2_control import AccessPolicyWindow, L2Control
from perfmodel.models.global_accesses import CacheState
from perfmodel.models.time.stage import Timing
from perfmodel.prediction.details import Details
from perfmodel.prediction.evaluate import Asked, evaluate
from perfmodel.prediction.l2_rules import l2_setting
from perfmodel.prediction.record import Method
from perfmodel.records import record

if TYPE_CHECKING:
    from perfmodel.prediction.compiled.forms import Forms

_DRIVERS: Final = L2Control()
"""What L2 control is unless somebody sets it."""

_asked: Final[set[tuple[object, ...]]] = set()
_off: Final[ContextVar[bool]] = ContextVar("compiled_forms_off", default=False)


@contextmanager
def by_the_models() -> Iterator[None]:
    """Predict by the models alone within the block: compiled forms may differ in the last bit."""
    token = _off.set(True)
    try:
        yield
    finally:
        _off.reset(token)


@record
class Conditions:
    """What launches are predicted under; fields are the arguments of `perfmodel.predict`."""

    device: Device
    timing: Timing
    cache: CacheState
    l2: L2Control | None = None
    mig: bool = False
    mps: bool = False
    concurrent: Sequence[AccessPolicyWindow] = ()

    def evaluated(
        self,
        instance: Instance,
        method: Method = "closed-form",
        sets: int = 1,
        asked: Asked | None = None,
    ) -> Details:
        """Return bound launches evaluated under these conditions; see `evaluate`."""
        setting = l2_setting(
            *(self.l2 or L2Control(), instance, self.device),
            mig=self.mig,
            mps=self.mps,
            concurrent=self.concurrent,
        )
        platform = (self.device, self.timing, self.cache, setting)
        return evaluate(instance, *platform, method, sets, asked)

    def details(self, kernel: Kernel, given: Mapping[str, Any]) -> Details:
        """Return a launch of a kernel with its parameters evaluated."""
        return self.evaluated(bind(kernel, given))

    def came_before(self, kernel: Kernel) -> bool:
        """Say whether such launches came before: for one, a command need not import programs."""
        key = (id(kernel), id(self.device), self.timing, self.cache)
        if key in _asked:
            return True
        _asked.add(key)
        return False

    def forms(self, kernel: Kernel, given: Mapping[str, Any]) -> "Forms | None":
        """Return the compiled forms of such launches; None where there may be none."""
        controlled = self.l2 not in (None, _DRIVERS)
        if controlled or self.mig or self.mps or self.concurrent or _off.get():
            return None
        from perfmodel.prediction.compiled.forms import forms_of

        return forms_of(kernel, self.device, given, self.timing, self.cache)


def kernel_of(kernel: str | Path | Kernel, mapping: str | None) -> Kernel:
    """Return the kernel of a name, a file or itself."""
    return kernel if isinstance(kernel, Kernel) else find_kernel(kernel, mapping)


def device_of(device: str | Path | Device) -> Device:
    """Return the device of a name, a file or itself."""
    return device if isinstance(device, Device) else load_device(device)


def check_protocol(timing: str, cache: str, traffic: str = "closed-form") -> None:
    """Refuse a protocol that there is not."""
    for name, value, allowed in (
        ("timing", timing, get_args(Timing)),
        ("cache", cache, ("cold", "warm")),
        ("traffic", traffic, ("closed-form", "simulated")),
    ):
        if value not in allowed:
            raise PerfmodelError(f"{name} {value!r} is unknown; choose {' or '.join(allowed)}")
