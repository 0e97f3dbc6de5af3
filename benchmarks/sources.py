"""Launches a second of CUDA sources when only their sizes change, and where the time goes.

    python -m benchmarks.sources [SOURCE ...]

Each source is compiled once and then predicted at one size after another that it has not seen:
CPU of the translation and of the prediction, both as medians once the first sizes have taught
what there is to learn.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from perfmodel import find_kernel, predict
from perfmodel.cuda.compile.program import Program, load_program
from perfmodel.cuda.kernel.translate import translated
from perfmodel.cuda.launch.builtin_launch import builtin_launch
from perfmodel.cuda.launch.launch_file import stated_launch
from perfmodel.cuda.launch.spec import LaunchSpec
from perfmodel.kernels.sources import source_of

EXAMPLES: Final = Path(__file__).parents[1] / "docs" / "examples"
ARCHITECTURE: Final = "sm_90"
LEARNING: Final = 60
"""Sizes before those that are timed."""
TIMED: Final = 21

BUILTINS: Final[Mapping[str, tuple[str, int, int]]] = {
    "copy": ("bytes", 1 << 26, 4096),
    "read": ("bytes", 1 << 26, 4096),
    "write": ("bytes", 1 << 26, 4096),
    "strided-copy": ("n", 1 << 22, 1024),
    "gather": ("n", 1 << 22, 1024),
    "working-set-read": ("bytes", 1 << 24, 1 << 16),
    "data-reset": ("out_bytes", 1 << 26, 1 << 16),
    "stream-persistent": ("stream_bytes", 1 << 26, 1 << 16),
    "embedding": ("table_bytes", 1 << 23, 1 << 14),
    "atomic-add": ("n", 1 << 24, 1024),
    "cas-loop": ("n", 1 << 20, 1024),
    "lock-loop": ("n", 1 << 16, 256),
    "atomic-privatized": ("n", 1 << 24, 1024),
    "shared-atomic": ("iterations", 128, 1),
    "gemm naive": ("N", 2048, 32),
    "gemm coalesced": ("N", 2048, 32),
    "gemm smem": ("N", 2048, 32),
    "gemm blocktile-1d": ("N", 2048, 64),
    "gemm blocktile-2d": ("N", 2048, 128),
    "gemm vectorized": ("N", 2048, 128),
    "gemm warptile": ("N", 2048, 128),
    "ffn-gemv warp": ("rows", 4096, 8),
    "kv-append": ("context", 4096, 64),
    "decode-attention split": ("context", 4096, 64),
    "decode-combine": ("context", 4096, 64),
    "prefill-attention naive": ("tokens", 1024, 16),
}
"""Of built-ins that have a source: what changes, from where on, by what step."""

_MATRIX: Final = {"matrix": {"bytes": "4*rows*cols"}, "sums": {"bytes": "4*rows"}}
_ROWS: Final = {"grid": "ceil_div(rows, 256)", "block": 256}
_WARPS: Final = {"grid": "ceil_div(rows, 8)", "block": 256}
_FLAT: Final = {"grid": "ceil_div(n, 256)", "block": 256}
_TILES: Final = {"grid": ["n // 32", "n // 32"], "block": [32, 8]}
_TWO: Final = {"out": {"bytes": "4*n*n"}, "in": {"bytes": "4*n*n"}}
_SHAPE: Final = {"rows": 4096, "cols": 1024}
_UNREAD: Final = ({"bytes": 1}, {"bytes": 1})
"""Pointers that Triton adds."""
_COUNTED: Final = {
    "grid": 528,
    "block": 256,
    "arguments": {
        "bins": {"bytes": 1024},
        "data": {"bytes": "n", "type": "u8", "fill": "uniform", "below": 256},
        "n": 1,
    },
}
FILES: Final[Mapping[str, tuple[Mapping[str, Any], str, int, int]]] = {
    "saxpy.cu": (
        {**_FLAT, "arguments": {"y": {"bytes": "4*n"}, "x": {"bytes": "4*n"}, "a": 2.5, "n": 1}},
        *("n", 1 << 24, 1000),
    ),
    "my-kernel.cu": (
        {**_FLAT, "arguments": {"out": {"bytes": "4*n"}, "rgb": {"bytes": "12*n"}, "n": 1}},
        *("n", 1 << 22, 1000),
    ),
    "potential-aos.cu": (
        {
            **_FLAT,
            "arguments": {
                **{"particles": {"bytes": "32*n"}, "energy": {"bytes": "4*n"}},
                **{"g": 9.81, "n": 1},
            },
        },
        *("n", 1 << 22, 1000),
    ),
    "row-sums.cu": ({**_ROWS, "arguments": {**_MATRIX, **_SHAPE}}, "rows", 4096, 8),
    "row-sums-vector.cu": ({**_WARPS, "arguments": {**_MATRIX, **_SHAPE}}, "rows", 4096, 8),
    "row-sums-warp.cu": ({**_WARPS, "arguments": {**_MATRIX, **_SHAPE}}, "cols", 1024, 32),
    "transpose.cu straight": ({**_TILES, "arguments": {**_TWO, "n": 1}}, "n", 2048, 32),
    "transpose.cu tiled": ({**_TILES, "arguments": {**_TWO, "n": 1}}, "n", 2048, 32),
    "gather.cu": (
        {
            **_FLAT,
            "arguments": {
                "out": {"bytes": "4*n"},
                "table": {"bytes": "64MiB"},
                "index": {"bytes": "4*n", "type": "i32", "fill": "uniform", "below": 16777216},
                "n": 1,
            },
        },
        *("n", 1 << 22, 1000),
    ),
    "csr-rows.cu": (
        {
            **_ROWS,
            "arguments": {
                "out": {"bytes": "4*rows"},
                "values": {"bytes": "64*rows"},
                "start": {"bytes": "4*rows + 4", "type": "i32", "fill": "index", "step": 16},
                "rows": 1,
            },
        },
        *("rows", 1 << 16, 256),
    ),
    "histogram.cu direct": (_COUNTED, "n", 1 << 24, 1000),
    "histogram.cu privatised": (_COUNTED, "n", 1 << 24, 1000),
    "row_softmax.ptx": (
        {
            **{"grid": "rows", "block": 128, "shared_bytes": 16},
            "arguments": [{"bytes": "4000*rows"}, {"bytes": "4000*rows"}, 1000, *_UNREAD],
        },
        *("rows", 4096, 8),
    ),
}
"""Of files in docs/examples, with the kernel: the launch, what changes, from where on, its step."""


@dataclass(frozen=True, slots=True)
class Source:
    """A program, and what its launches are at any value of a parameter."""

    name: str
    program: Program
    parameter: str
    first: int
    step: int
    at: Callable[[int], LaunchSpec]

    def launches(self) -> Iterator[LaunchSpec]:
        """Yield launches at one size after another."""
        return (self.at(self.first + i * self.step) for i in itertools.count())


def source(name: str) -> Source:
    """Return a built-in's source, or a file's kernel."""
    return _file(name) if name in FILES else _builtin(name)


def _builtin(name: str) -> Source:
    parameter, first, step = BUILTINS[name]
    kernel = find_kernel(*name.split())
    of_kernel = source_of(kernel)
    _, options = builtin_launch(kernel, of_kernel, {parameter: first})
    program = load_program(of_kernel.path, ARCHITECTURE, options, of_kernel.function)

    def at(value: int) -> LaunchSpec:
        return builtin_launch(kernel, of_kernel, {parameter: value})[0]

    return Source(of_kernel.path.name, program, parameter, first, step, at)


def _file(name: str) -> Source:
    table, parameter, first, step = FILES[name]
    file, _, kernel = name.partition(" ")
    program = load_program(EXAMPLES / file, ARCHITECTURE, (), kernel or None)
    stated = stated_launch({"kernel": kernel, **table} if kernel else table, file, EXAMPLES)
    names = program.parameter_names(program.kernel(kernel or None))

    def at(value: int) -> LaunchSpec:
        return stated.at({parameter: value}, names)[0]

    return Source(f"examples/{name}", program, parameter, first, step, at)


def row(name: str) -> tuple[str, ...]:
    """Return what launches of a source take: translation, prediction, launches a second."""
    some = source(name)
    specs = some.launches()
    translating: list[float] = []
    predicting: list[float] = []
    for _ in range(LEARNING + TIMED):
        spec = next(specs)
        start = time.process_time()
        kernel = translated(some.program, spec)
        between = time.process_time()
        predict(kernel)
        end = time.process_time()
        translating.append(between - start)
        predicting.append(end - between)
    first = translating[0] + predicting[0]
    made, predicted = (median(t[-TIMED:]) for t in (translating, predicting))
    columns = (f"{1e3 * first:.0f}", f"{1e3 * made:.2f}", f"{1e3 * predicted:.2f}")
    return some.name, *columns, f"{1 / (made + predicted):,.0f}"


def main(names: Sequence[str]) -> None:
    table = Table("source", "first [ms]", "translation [ms]", "prediction [ms]", "a second")
    for name in names or (*BUILTINS, *FILES):
        try:
            table.add_row(*row(name))
        except Exception as error:
            table.add_row(name, str(error)[:60])
        print(name, file=sys.stderr)
    Console(width=100).print(table)


if __name__ == "__main__":
    main(sys.argv[1:])
