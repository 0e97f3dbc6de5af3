"""Kernels on the command line: ``NAME``, ``NAME:MAPPING``, files, programs; and what ``-D`` gives.

A built-in or a kernel file is one kernel with open parameters. A program is a kernel for each
launch, and another one for each value that ``-D`` gives, for what it does follows from that.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from perfmodel.cli.defines import check_free, combinations
from perfmodel.cli.grouped_options import argument
from perfmodel.cli.options import complete_kernel
from perfmodel.cli.program_options import ProgramOptions, is_program
from perfmodel.cli.progress import progress_bar
from perfmodel.errors import PerfmodelError, nearest, shown
from perfmodel.records import record

if TYPE_CHECKING:
    from perfmodel.cli.program_options import ProgramLaunches
    from perfmodel.hardware import Device
    from perfmodel.kernels import Kernel
    from perfmodel.prediction.advise import Advice

KERNELS: Final[Any] = argument(
    "Names of built-in kernels, NAME:MAPPING for a variant, TOML kernel files, CUDA "
    "sources or PTX.",
    metavar="KERNEL...",
    complete=complete_kernel,
    default=...,
)

Tell = Callable[[float, float], None]
Values = dict[str, Any]
"""Parameters by name: whole numbers, or words."""


@record
class Configuration:
    """A kernel with values for those of its parameters that are given.

    `text` is what the command line calls it, `launch` what a file with several launches does.
    `in_other_blocks` makes a program's launch in blocks of other sizes.
    """

    text: str
    kernel: "Kernel"
    values: Values
    launch: str = ""
    in_other_blocks: "Callable[[], tuple[Kernel, ...]]" = tuple

    def advice(self, tell: Tell, **platform: Any) -> "Advice":
        """Return advice on it; `platform`: the other arguments of `perfmodel.predict`."""
        from perfmodel.prediction.advise import advise

        self.check_free(advise)
        blocks = self.in_other_blocks()
        return advise(self.kernel, **platform, in_other_blocks=blocks, tell=tell, **self.values)

    def check_free(self, called: Callable[..., Any]) -> None:
        """Refuse values that a function, which takes them by name, has own arguments for."""
        check_free(self.values, [p.name for p in self.kernel.parameters], called)


@record
class NamedKernel:
    """A kernel as the command line names it: with open parameters, or a program's launches.

    Either `kernel` or `launches` is set.
    """

    text: str
    kernel: "Kernel | None" = None
    launches: "ProgramLaunches | None" = None

    @property
    def word_parameters(self) -> tuple[str, ...]:
        """Parameters whose values are words."""
        return self.kernel.word_parameters if self.kernel is not None else ()

    @property
    def known(self) -> tuple[str, ...] | None:
        """Its parameters; None of a program, which finds out itself what it takes."""
        return None if self.kernel is None else tuple(p.name for p in self.kernel.parameters)

    def takes(self, values: Mapping[str, Any]) -> set[str]:
        """Return which of the names it has as parameters, or its launches follow from."""
        if self.launches is not None:
            return self.launches.takes(values)
        return {*(self.known or ())} & values.keys()

    def configured(self, values: Values, tell: Tell) -> list[Configuration]:
        """Return it at some values: one configuration, or one for each launch of a program."""
        if self.launches is None:
            assert self.kernel is not None
            return [Configuration(self.text, self.kernel, values)]
        # What -D gives is in the launch already.
        made = zip(self.launches.kernels(values, tell), self.launches.names(), strict=True)
        others = self.launches.in_other_blocks
        return [
            Configuration(self.text, kernel, {}, name, partial(others, values, kernel, place))
            for place, (kernel, name) in enumerate(made)
        ]

    def one(self, values: Values, option: str | None = None) -> Configuration:
        """Return the one configuration that a command is about; `option` is what --launch said."""
        with progress_bar("translating", counted=False) as tell:
            found = self.configured(values, tell)
        if len(found) > 1:
            raise PerfmodelError(
                f"the launch file has {len(found)} launches, but here one is needed: choose one, "
                f"as in --launch {option}:1"
            )
        return found[0]


def find_kernels(
    texts: Sequence[str], mapping: str | None, program: ProgramOptions, device: "Device | None"
) -> list[NamedKernel]:
    """Return the kernels that texts name; `mapping` is of those that name none.

    `program` says how those that are programs are launched, and `device` what they run on.
    """
    if not any(is_program(text) for text in texts):
        program.check_unused(texts[0])
    parts = [(text, None) if is_program(text) else _parts(text) for text in texts]
    if mapping is not None and all(own for _, own in parts):
        raise PerfmodelError(
            f"--mapping {shown(mapping)} is for kernels without one, but each names its own: "
            "leave it out"
        )
    return [find_kernel(name, own or mapping, program, device, check=False) for name, own in parts]


def find_kernel(
    text: str,
    mapping: str | None,
    program: ProgramOptions,
    device: "Device | None",
    check: bool = True,
) -> NamedKernel:
    """Return the kernel that a text names, without ``:MAPPING``.

    `check` is whether options of programs are refused where it is none.
    """
    if is_program(text):
        return NamedKernel(text, launches=program.load(text, mapping, device))
    from perfmodel.kernels import find_kernel as find

    if check:
        program.check_unused(text)
    return NamedKernel(text, find(text, mapping))


def value_lists(
    define: Iterable[str], kernels: Sequence[NamedKernel]
) -> dict[str, tuple[int | str, ...]]:
    """Return what ``-D`` gives to any of the kernels; of several some must have the parameter."""
    from perfmodel.cli.defines import parse_value_lists

    known = sorted({name for kernel in kernels for name in kernel.known or ()})
    programs = any(kernel.launches is not None for kernel in kernels)
    words = {word for kernel in kernels for word in kernel.word_parameters}
    lists = parse_value_lists(define, words, None if programs else known)
    firsts = {name: values[0] for name, values in lists.items()}
    if len(kernels) == 1:
        if (launches := kernels[0].launches) is not None:
            launches.check_takes(firsts)
        return lists
    taken = {name for kernel in kernels for name in kernel.takes(firsts)}
    for name in lists:
        if name not in taken:
            hint = nearest(name, known) or f"; there are {', '.join(known) or 'none'}"
            raise PerfmodelError(f"-D {name}: none of the kernels has such a parameter{hint}")
    return lists


def own_combinations(
    lists: Mapping[str, Sequence[int | str]], kernel: NamedKernel, alone: bool
) -> list[Values]:
    """Return every combination of the values that a kernel takes; all of them if it is `alone`."""
    taken = lists if alone else kernel.takes({name: v[0] for name, v in lists.items()})
    return combinations({name: v for name, v in lists.items() if name in taken})


def configurations(
    kernels: Sequence[NamedKernel], lists: Mapping[str, Sequence[int | str]]
) -> list[Configuration]:
    """Return every kernel at every combination of the values that it takes."""
    found: list[Configuration] = []
    work = [
        (kernel, values)
        for kernel in kernels
        for values in own_combinations(lists, kernel, len(kernels) == 1)
    ]
    with progress_bar("translating", counted=False) as tell:
        for done, (kernel, values) in enumerate(work):

            def part(threads: float, of: float, done: int = done) -> None:
                tell(done + threads / max(of, 1), len(work))

            found += kernel.configured(values, part)
    return found


def _parts(text: str) -> tuple[str, str | None]:
    """Return name and mapping of ``NAME:MAPPING``; a file has none."""
    name, colon, mapping = text.rpartition(":")
    if not colon or text.endswith(".toml"):
        return text, None
    if not name or not mapping:
        raise PerfmodelError(f"kernel {text!r} must be NAME:MAPPING, such as gemm:naive")
    return name, mapping
