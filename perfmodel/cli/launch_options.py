"""Options of one launch on one GPU: the kernel's parameters, how it is timed, and L2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from perfmodel.cli.defines import parse_defines
from perfmodel.cli.grouped_options import with_group
from perfmodel.cli.l2_options import AS_THE_DRIVER, L2Options
from perfmodel.cli.options import (
    DEFAULT_DEVICE,
    CacheOption,
    DefineOption,
    DeviceOption,
    MappingOption,
    TimingOption,
)
from perfmodel.cli.program_options import NO_PROGRAM, ProgramOptions
from perfmodel.cli.tile_options import NO_TILES, TileOptions

if TYPE_CHECKING:
    from perfmodel.kernels import Kernel


@dataclass(frozen=True, slots=True)
class LaunchOptions:
    """What the options say; a command takes them through `with_launch_options`."""

    define: DefineOption = None
    mapping: MappingOption = None
    tiles: TileOptions = NO_TILES
    device: DeviceOption = DEFAULT_DEVICE
    timing: TimingOption = "profiler"
    cache: CacheOption = "cold"
    program: ProgramOptions = NO_PROGRAM
    l2: L2Options = AS_THE_DRIVER

    def of(
        self, text: str, in_other_blocks: bool = False
    ) -> tuple[Kernel, dict[str, Any], dict[str, Any]]:
        """Return the kernel, the values of its parameters, and `predict`'s other arguments.

        Parameters
        ----------
        text : str
            A built-in's name, a kernel file, or a program.
        in_other_blocks : bool
            Whether `advise` is asked, which takes the launch in other blocks as well.

        Raises
        ------
        PerfmodelError
            If there is no such kernel or GPU, or an option is wrong or does not go with it.
        """
        from perfmodel.hardware import load_device

        gpu = load_device(self.device)
        others: dict[str, Any] = {}
        if in_other_blocks:
            kernel, blocks = self.program.kernel_in_blocks(text, self.mapping, gpu)
            others["in_other_blocks"] = blocks
        else:
            kernel = self.program.kernel(text, self.mapping, gpu)
        defines = self.tiles.added_to(self.define, text, self.mapping)
        values = parse_defines(defines, kernel.word_parameters)
        platform: dict[str, Any] = {"device": gpu, "timing": self.timing, "cache": self.cache}
        platform |= {"l2": self.l2.control(kernel), **self.l2.platform(), **others}
        return kernel, values, platform


DEFAULT_LAUNCH: Final = LaunchOptions()
"""No option given."""

with_launch_options: Final = with_group(LaunchOptions, "chosen")
"""Gives a command the options of `LaunchOptions` in place of its parameter `chosen`."""
