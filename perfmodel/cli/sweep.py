"""`perfmodel sweep`: time and DRAM bytes over a knob or a parameter, as table or figure."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from perfmodel.cli.defines import parse_defines, parse_value_lists
from perfmodel.cli.grouped_options import option
from perfmodel.cli.kernel_list import NamedKernel
from perfmodel.cli.launch_options import LaunchOptions
from perfmodel.cli.options import (
    FIGURE,
    JSON,
    KERNEL,
)
from perfmodel.cli.output import print_json, save_drawing, show
from perfmodel.cli.progress import progress_bar
from perfmodel.errors import PerfmodelError, shown

if TYPE_CHECKING:
    from perfmodel.kernels import Kernel

EXAMPLES = (
    "perfmodel sweep stream-persistent --over persistent_bytes=1MiB:64MiB:*2",
    "perfmodel sweep data-reset -D in_bytes=32MiB --set-aside 16MiB --window 32MiB "
    "--over hit-ratio=0:1:0.125 -o hit-ratio.svg",
    "perfmodel sweep gather -D run=8 --over fetch-granularity=32,64,128 --over run=1:64:*2 "
    "-o knobs.png",
    "perfmodel sweep saxpy.cu --grid 'ceil_div(n, 256)' --block 256 --arg a=2 "
    "--over n=1Mi:256Mi:*4 -o saxpy.svg",
    "perfmodel sweep table.cu --grid 65536 --block 256 --arg table=32MiB --set-aside 16MiB "
    "--window 32MiB --window-buffer table --over hit-ratio=0:1:0.125",
)

_FRACTIONS = ("hit-ratio", "compression")


def sweep(
    *,
    kernel: str = KERNEL,
    over: list[str] = option(
        "What to vary: hit-ratio, set-aside, window, fetch-granularity, compression or a "
        "parameter; a list a,b,c or a range start:stop:step or start:stop:*factor. Several "
        "have a panel each.",
        metavar="NAME=VALUES",
        default=...,
    ),
    chosen: LaunchOptions,
    output: str | None = FIGURE,
    json: bool = JSON,
) -> None:
    """Vary one thing and see time and DRAM bytes: a knob of L2, or a size of the kernel."""
    from perfmodel.prediction.sweep import sweep as sweep_over

    named, gpu = chosen.named(kernel)
    ranges = [_over(text, named.word_parameters) for text in over]
    names = [name for name, _ in ranges]
    if again := next((name for name in names if names.count(name) > 1), None):
        raise PerfmodelError(f"--over {again} is given twice: give its values as one list")
    given = parse_defines(chosen.define or (), named.word_parameters)
    if len(ranges) == 1 and names[0] in given:
        raise PerfmodelError(f"{names[0]} is given by -D and by --over: give it once")
    # -D says where sweeps over other things keep a parameter, or its sweep's first value does.
    firsts = {name: int(values[0]) for name, values in ranges if _of_launch(named, name)}
    params = chosen.values(named, firsts)
    base = named.one(params, chosen.program.launch)
    platform = chosen.platform(base.kernel, gpu, base.values)
    control = platform.pop("l2")
    sweeps = []
    for name, values in ranges:

        def at(value: int, name: str = name) -> Kernel:
            # Only the sweep's own bar shows.
            return named.configured({**params, name: value}, lambda *_: None)[0].kernel

        with progress_bar(f"predicting over {name}") as tell:
            sweeps.append(
                sweep_over(
                    *(at if name in firsts else base.kernel, name, values),
                    control=control,
                    params=base.values,
                    progress=tell,
                    **platform,
                )
            )
    if output is not None:
        from perfmodel.reports.sweep_figure import sweep_figure

        save_drawing(sweep_figure(sweeps), output)
    if json:
        print_json([each.to_json() for each in sweeps])
    elif output is None:
        from perfmodel.reports.sweep_text import sweeps_report

        show(sweeps_report(sweeps))


def _of_launch(named: NamedKernel, name: str) -> bool:
    """Say whether a name is one that a program's launch follows from, not a knob of L2."""
    from perfmodel.prediction.sweep import KNOBS

    return named.launches is not None and name not in KNOBS


def _over(text: str, words: Collection[str]) -> tuple[str, tuple[float | str, ...]]:
    """Return the name and the values of an ``--over`` option; `words` names those not numbers."""
    name, _, values = text.partition("=")
    if name.strip() in _FRACTIONS:
        return name.strip(), _fractions(values, text)
    # A knob's name has a dash, which no parameter has.
    plain = name.strip().replace("-", "_")
    found = parse_value_lists([f"{plain}={values}"], words, option="--over")[plain]
    return name.strip(), tuple(v if isinstance(v, str) else float(v) for v in found)


def _fractions(values: str, text: str) -> tuple[float, ...]:
    """Return the numbers of ``a,b,c`` or ``start:stop:step``."""
    try:
        if ":" not in values:
            return tuple(float(part) for part in values.split(","))
        start, stop, step = (float(part) for part in values.split(":"))
    except ValueError:
        raise PerfmodelError(
            f"--over {shown(text)} must be NAME=a,b,c or NAME=start:stop:step"
        ) from None
    if not step > 0 or not start <= stop:
        raise PerfmodelError(f"--over {shown(text)}: a range goes up, by steps above 0")
    if not (stop - start) / step <= 10_000:
        raise PerfmodelError(
            f"--over {shown(text)} has over 10000 values: give a finite range of larger steps"
        )
    return tuple(start + i * step for i in range(int((stop - start) / step + 1e-9) + 1))
