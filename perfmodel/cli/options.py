"""Options that several commands share, with their help and shell completion.

A command has them as defaults of its parameters::

    def predict(*, kernel: str = KERNEL, device: str = DEVICE) -> None:
        '''Predict one launch.'''
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from perfmodel.cli.grouped_options import argument, option
from perfmodel.errors import PerfmodelError, shown
from perfmodel.records import record

if TYPE_CHECKING:
    from perfmodel.cli.kernel_list import NamedKernel
    from perfmodel.hardware import Device
    from perfmodel.kernels import Kernel

DEFAULT_DEVICE = "h100-sxm"
Traffic = Literal["closed-form", "simulated"]
Timing = Literal["profiler", "events", "graph"]
Cache = Literal["cold", "warm"]


def complete_from(listed: str) -> Callable[[str], list[str]]:
    """Return a completion: what a function of `names` lists and starts with what is typed."""

    def complete(incomplete: str) -> list[str]:
        from perfmodel import names

        return [name for name in getattr(names, listed)() if name.startswith(incomplete)]

    return complete


complete_kernel = complete_from("builtin_names")
complete_device = complete_from("device_names")


def complete_mapping(ctx: Any, incomplete: str) -> list[str]:
    """Return the mappings of the kernels named before, or those of all kernels."""
    from perfmodel.names import MAPPINGS, builtin_names

    known = builtin_names()
    # While an option is being completed, arguments before it are not assigned yet.
    words = (ctx.params.get("kernel"), *(ctx.params.get("kernels") or ()), *ctx.args)
    kernels = [word for word in words if word in known] or known
    found = dict.fromkeys(m for kernel in kernels for m in MAPPINGS.get(kernel, ()))
    return [mapping for mapping in found if mapping.startswith(incomplete)]


KERNEL: Final[Any] = argument(
    "Name of a built-in kernel (see `perfmodel kernels`), a TOML kernel file, a CUDA "
    "source or PTX.",
    metavar="KERNEL",
    complete=complete_kernel,
    default=...,
)
MAPPING: Final[Any] = option(
    "Variant of a built-in kernel, such as naive or coalesced.",
    metavar="NAME",
    complete=complete_mapping,
)
DEVICE: Final[Any] = option(
    "GPU: a name (see `perfmodel devices`), or a TOML device file.",
    metavar="NAME|FILE",
    complete=complete_device,
    default=DEFAULT_DEVICE,
)
MAPPINGS: Final[Any] = option(
    "Variant of a built-in kernel, such as naive or coalesced; several make a table.",
    metavar="NAME[,NAME...]",
    complete=complete_mapping,
)
DEVICES: Final[Any] = option(
    "GPU: a name (see `perfmodel devices`), or a TOML device file; several make a table.",
    metavar="NAME|FILE[,...]",
    complete=complete_device,
    default=DEFAULT_DEVICE,
)
DEFINE: Final[Any] = option(
    "Parameter of the kernel, once for each. Sizes may end in KiB, MiB, GiB, TiB (powers "
    "of 1024) or kB, MB, GB, TB (powers of 1000).",
    "-D",
    metavar="NAME=VALUE",
)
DEFINES: Final[Any] = option(
    "Parameter of the kernel, once for each: a value, a list a,b,c, or a range "
    "start:stop:step or start:stop:*factor, stop included. Sizes may end in KiB, MiB, GiB, "
    "TiB (powers of 1024) or kB, MB, GB, TB (powers of 1000).",
    "-D",
    metavar="NAME=VALUES",
)
TRAFFIC: Final[Any] = option(
    "What counts requests, sectors and bytes: formulas, or a simulator of the caches.",
    default="closed-form",
)
TIMING: Final[Any] = option(
    "What is timed: the kernel alone, all between two events around it, or a kernel of a replayed "
    "CUDA graph (cold: each with its own buffers, of which nothing is in L2).",
    default="profiler",
)
CACHE: Final[Any] = option(
    "L2 at the start: empty, or as the same launch just left it. Beyond L2 a copy may be "
    "slower warm, for what the last launch left dirty is written back.",
    default="cold",
)


def parts(text: str) -> list[str]:
    """Return the names of a list a,b,c."""
    return [part.strip() for part in text.split(",")]


def load_devices(text: str) -> "list[Device]":
    """Return the GPUs of a list of names and files."""
    from perfmodel.hardware import load_device

    # A file's name may have a comma.
    return [load_device(each) for each in ([text] if Path(text).exists() else parts(text))]


def figure_option(help: str, *names: str) -> Any:
    """Return an option that names a figure's file; it is refused before anything is computed."""

    def checked(path: str | None) -> str | None:
        if path is not None:
            from perfmodel.reports.figure_style import check_figure_path

            check_figure_path(path)
        return path

    return option(help, *names, metavar="FILE", callback=checked)


FIGURE: Final[Any] = figure_option("Draw it into a .svg, .png or .pdf file.", "-o", "--output")
JSON: Final[Any] = option("Print JSON instead of text.", "--json", default=False)


_TILES: Final = {
    "tile": ("--tile", ("BM", "BN", "BK")),
    "thread_tile": ("--thread-tile", ("TM", "TN")),
    "warp_tile": ("--warp-tile", ("WM", "WN")),
    "stages": ("--stages", ("stages",)),
}


@record
class TileOptions:
    """What the options of tiles say."""

    tile: str | None = option("A block's tile: rows and columns of C, depth.", metavar="BM,BN,BK")
    thread_tile: str | None = option("A thread's tile: rows and columns of C.", metavar="TM,TN")
    warp_tile: str | None = option("A warp's tile: rows and columns of C.", metavar="WM,WN")
    stages: str | None = option("Steps whose tiles shared memory holds.", metavar="STAGES")

    def added_to(self, define: list[str] | None, kernels: "Sequence[NamedKernel]") -> list[str]:
        """Return the texts of ``-D``, and those that the options stand for.

        Options that none of the kernels takes are refused.
        """
        found = list(define or ())
        given = {name: value for name in _TILES if (value := getattr(self, name)) is not None}
        for name, value in given.items():
            refusals = [_refusal(name, value, each) for each in kernels]
            if all(refusals):
                raise PerfmodelError(refusals[0])
        return found + [text for name, value in given.items() for text in _defines(name, value)]


def _refusal(name: str, value: str, named: "NamedKernel") -> str:
    """Return that a built-in's mapping lacks what an option sets, and which have it; else empty."""
    from perfmodel.kernels import builtin_names, find_kernel, mappings

    kernel = named.text
    if named.kernel is None or kernel not in builtin_names():
        return ""
    option, parts = _TILES[name]
    wanted = parts[: value.count(",") + 1]

    def lacks(which: "Kernel") -> list[str]:
        known = {p.name for p in which.parameters}
        return [part for part in wanted if part not in known]

    missing = lacks(named.kernel)
    if not missing:
        return ""
    others = [m for m in mappings(kernel) if not lacks(find_kernel(kernel, m))]
    chosen = named.kernel.mapping
    which = f"{kernel} --mapping {chosen}" if chosen else kernel
    none = "has no such tiles" if name != "stages" else "has none"
    some = f"has no {', '.join(missing)}" if len(missing) < len(wanted) else none
    remedy = f"--mapping {', '.join(others)} {'takes' if len(others) == 1 else 'take'} it"
    return (
        f"{option} {shown(value)} sets {', '.join(wanted)}, but {which} {some}; "
        f"{remedy if others else 'leave it out'}"
    )


def _defines(name: str, value: str) -> list[str]:
    """Return the ``-D`` texts that an option stands for; fewer sizes leave the last ones open."""
    option, parts = _TILES[name]
    sizes = [size.strip() for size in value.split(",")]
    if len(sizes) > len(parts) or not all(size.isdigit() for size in sizes):
        wanted = ",".join(parts)
        raise PerfmodelError(
            f"{option} must be {wanted}, whole numbers, such as "
            f"{option} {','.join('128' for _ in parts)}, not {shown(value)}"
            if len(parts) > 1
            else f"{option} must be a whole number, not {shown(value)}"
        )
    return [f"{part}={size}" for part, size in zip(parts, sizes, strict=False)]
