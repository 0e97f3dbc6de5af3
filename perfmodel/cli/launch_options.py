"""Options of one launch on one GPU: the kernel's parameters, how it is timed, and L2."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from perfmodel.cli.defines import parse_defines
from perfmodel.cli.kernel_list import Configuration, NamedKernel, find_kernel
from perfmodel.cli.l2_options import L2Options
from perfmodel.cli.options import CACHE, DEFINE, DEVICE, MAPPING, TIMING, Cache, TileOptions, Timing
from perfmodel.cli.program_options import ProgramOptions
from perfmodel.records import record

if TYPE_CHECKING:
    from perfmodel.hardware import Device
    from perfmodel.kernels import Kernel


@record(kw_only=True)
class LaunchOptions:
    """What the options say."""

    define: list[str] | None = DEFINE
    mapping: str | None = MAPPING
    tiles: TileOptions
    device: str = DEVICE
    timing: Timing = TIMING
    cache: Cache = CACHE
    program: ProgramOptions
    l2: L2Options

    def of(self, text: str) -> tuple[Configuration, dict[str, Any]]:
        """Return a kernel with the values of its parameters, and `predict`'s other arguments."""
        named, gpu = self.named(text)
        found = named.one(self.values(named), self.program.launch)
        return found, self.platform(found.kernel, gpu, found.values)

    def named(self, text: str) -> "tuple[NamedKernel, Device]":
        """Return the kernel that a text names, with its parameters open, and the GPU."""
        from perfmodel.hardware import load_device

        gpu = load_device(self.device)
        return find_kernel(text, self.mapping, self.program, gpu), gpu

    def values(self, named: NamedKernel, **defaults: int) -> dict[str, Any]:
        """Return what -D and the options of tiles give, one value for each parameter."""
        defines = self.tiles.added_to(self.define, [named])
        values = {**defaults, **parse_defines(defines, named.word_parameters, named.known)}
        if named.launches is not None:
            named.launches.check_takes(values)
        return values

    def platform(
        self, kernel: "Kernel", gpu: "Device", values: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the arguments of `perfmodel.predict` but the kernel and its parameters."""
        platform: dict[str, Any] = {"device": gpu, "timing": self.timing, "cache": self.cache}
        return platform | {"l2": self.l2.control(kernel, gpu, values), **self.l2.platform()}
