"""A program with its launches as the options state them, at the values that ``-D`` gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from perfmodel.errors import PerfmodelError, nearest, shown
from perfmodel.records import record

if TYPE_CHECKING:
    from perfmodel.cuda.compile.program import Program
    from perfmodel.cuda.launch.launch_file import StatedLaunch
    from perfmodel.cuda.launch.spec import LaunchSpec
    from perfmodel.kernels import Kernel


@record
class ProgramLaunches:
    """A program and its launches.

    The kernel's name is None where a launch says so or the program has only one. Where options
    state the launch, not a file, -D and --arg must not both give a number.
    """

    program: Program
    stated: tuple[StatedLaunch, ...]
    kernel_name: str | None
    by_options: bool
    assume: bool = False

    def names(self) -> list[str]:
        """Return what to call the launches, if there are several: their names, else numbers."""
        several = len(self.stated) > 1
        return [
            (launch.name or str(i)) if several else "" for i, launch in enumerate(self.stated, 1)
        ]

    def takes(self, values: Mapping[str, Any]) -> set[str]:
        """Return which of the names some launch follows from: parameters, and names in rules."""
        return {name for _, used in self._at(values) for name in used}

    def check_takes(self, values: Mapping[str, Any]) -> None:
        """Refuse names that no launch follows from."""
        unused = [name for name in values if name not in self.takes(values)]
        if unused:
            first = self.program.kernel(self.kernel_name or self.stated[0].kernel)
            known = self._parameters(self.stated[0])
            raise PerfmodelError(
                f"kernel {_readable(first.name)} has no parameter {shown(unused[0])}"
                f"{nearest(unused[0], known)}: it has {', '.join(known) or 'none'}, and no rule of "
                f"its launch (--grid, --block, --shared, --arg) uses {unused[0]}"
            )

    def kernels(
        self, values: Mapping[str, Any], tell: Callable[[float, float], None] | None = None
    ) -> list[Kernel]:
        """Return the kernel of each launch; `tell` is told the progress of emulation."""
        from perfmodel.cuda.kernel.translate import translated

        return [
            translated(self.program, spec, self.kernel_name, tell, assume=self.assume)
            for spec, _ in self._at(values)
        ]

    def in_other_blocks(self, values: Mapping[str, Any], made: Kernel) -> tuple[Kernel, ...]:
        """Return its launch in blocks of other sizes; see `perfmodel.cuda.kernel.translate`."""
        from perfmodel.cuda.kernel.translate import in_other_blocks
        from perfmodel.prediction.changes import BLOCKS

        spec, _ = next(self._at(values))
        return in_other_blocks(self.program, spec, self.kernel_name, made, BLOCKS)

    def _at(self, values: Mapping[str, Any]) -> Iterator[tuple[LaunchSpec, frozenset[str]]]:
        from perfmodel.cuda.launch.launch_file import check_once

        for launch in self.stated:
            parameters = self._parameters(launch)
            if self.by_options:
                check_once(values, launch, parameters)
            yield launch.at(values, parameters)

    def _parameters(self, launch: StatedLaunch) -> tuple[str, ...]:
        from perfmodel.cuda.launch.spec import parameter_names

        function = self.program.kernel(self.kernel_name or launch.kernel)
        return parameter_names(function, self.program.parameter_names(function))


def _readable(name: str) -> str:
    from perfmodel.cuda.parse.template_names import source_name

    return source_name(name)
