"""Closed forms against the trace simulator: where they agree, and what the simulator would fit.

Both are run over a grid of some 2,000 launches on a small GPU (an H200 divided by 32, so that each
takes a fraction of a second); what matters is footprints over L2's capacity, not their size. From
the re-read sets comes the knee at which reuse fails, and from streams how much of what is written
stays in L2.
"""

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.calibration.fit import standard_errors
from perfmodel.hardware import Device, load_device
from perfmodel.kernels import Kernel, find_kernel, kernel_from_table
from perfmodel.prediction import predict
from perfmodel.prediction.simulated import simulate
from perfmodel.text_files import write_file

SCALE: Final = 32
WANTED_SECTORS, WANTED_BYTES = 0.05, 0.10
"""Differences from which on a closed form is out of its range: of L2 sectors, of DRAM bytes."""
FILES: Final = (
    *("simulator-grid.csv", "simulator-fit.csv", "simulator-agreement.csv"),
    "simulator.svg",
)
"""What is written: the grid of launches, the fit, the agreement by family, and a plot."""


@dataclass(frozen=True, slots=True)
class Case:
    """A launch of the grid; `ratio` is its footprint over L2's capacity, `passes` times over it."""

    family: str
    kernel: Kernel
    params: dict[str, int]
    ratio: float
    passes: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """What both counted of a launch."""

    family: str
    params: str
    ratio: float  # footprint over L2's capacity
    passes: int  # times over it
    # Asked of L2.
    simulated_sectors: float
    closed_sectors: float
    # DRAM bytes.
    simulated_reads: float
    closed_reads: float
    simulated_writes: float
    closed_writes: float
    stored: float  # bytes stored to L2

    @property
    def sector_error(self) -> float:
        """Closed form over simulator, less 1, in L2 sectors."""
        return self.closed_sectors / max(self.simulated_sectors, 1) - 1

    @property
    def byte_error(self) -> float:
        """The same in DRAM bytes; of fewer than 1% of L2, over 1% of L2."""
        simulated = self.simulated_reads + self.simulated_writes
        closed = self.closed_reads + self.closed_writes
        return (closed - simulated) / max(simulated, 0.01 * small_gpu().l2_size)


@dataclass(frozen=True, slots=True)
class Fitted:
    """A coefficient that the simulator would give, and the residual of its fit (rms)."""

    name: str
    value: float
    standard_error: float
    residual: float
    cases: int


@cache
def small_gpu() -> Device:
    """Return an H200 of a 32nd of the SMs and of L2."""
    whole = load_device("h200-sxm")
    return replace(
        whole,
        name="h200-sxm-over-32",
        sm_count=whole.sm_count // SCALE,
        l2_size=whole.l2_size // SCALE,
    )


def grid() -> Iterator[Case]:
    """Yield the launches: re-read and rewritten sets, streams, strides, tables and products."""
    size = small_gpu().l2_size
    for element, ratio, passes in product((16, 4), np.linspace(0.2, 1.6, 70), (2, 3, 5, 8)):
        bytes_ = int(ratio * size) // 16384 * 16384
        yield Case("reread", _sweep("load", element), _set(bytes_, passes), bytes_ / size, passes)
    for ratio, passes in product(np.linspace(0.2, 1.6, 50), (2, 3, 5, 8)):
        bytes_ = int(ratio * size) // 16384 * 16384
        yield Case("rewrite", _sweep("store", 16), _set(bytes_, passes), bytes_ / size, passes)
    for name, vector, ratio in product(
        ("copy", "read", "write"), (4, 16), np.geomspace(0.05, 6, 60)
    ):
        bytes_ = int(ratio * size) // 4096 * 4096
        params = {"bytes": bytes_, "vector": vector}
        yield Case(name, find_kernel(name), params, bytes_ / size, 1)
    for stride, ratio in product((*range(1, 41), 48, 64, 100, 128), np.geomspace(0.1, 4, 14)):
        n = max(256, int(ratio * size / (4 * stride + 4)) // 256 * 256)
        params = {"n": n, "stride": stride}
        yield Case("strided-copy", find_kernel("strided-copy"), params, ratio, 1)
    # Here L1 is as large as on the whole GPU, so a table of L2's size is near its size, too: most
    # are read past it.
    for family, through, stops in (("table", "l2", 16), ("table by L1", "l1", 6)):
        for table, out in product(np.geomspace(0.03, 1.5, stops), np.geomspace(0.3, 6, 12)):
            params = {
                "table": max(1, int(table * size) // 4096) * 256,
                "n": int(out * size) // 4096 * 256,
            }
            yield Case(family, _table(through), params, float(table), 1)
    for mapping, m, n, k in product(
        ("coalesced", "naive"), (64, 256), (32, 96, 128, 160, 256, 384), (32, 100, 256, 512)
    ):
        ratio = 4 * (m * k + k * n + m * n) / size
        yield Case(
            f"gemm {mapping}", find_kernel("gemm", mapping), {"M": m, "N": n, "K": k}, ratio, 1
        )


def compare(
    cases: Sequence[Case], progress: Callable[[float], None] | None = None
) -> list[Comparison]:
    """Count all launches by closed forms and by the simulator, cold."""
    gpu = small_gpu()
    found = []
    for i, case in enumerate(cases):
        run = simulate(case.kernel, device=gpu, **case.params).simulation  # type: ignore[arg-type]
        closed = predict(case.kernel, device=gpu, **case.params).traffic  # type: ignore[arg-type]
        found.append(
            Comparison(
                family=case.family,
                params=" ".join(f"{name}={value}" for name, value in case.params.items()),
                ratio=case.ratio,
                passes=case.passes,
                simulated_sectors=run.total("l2_passes"),
                closed_sectors=closed["l2_read_sectors"]
                + closed["l2_write_sectors"]
                + closed["l2_atomic_sectors"],
                simulated_reads=run.dram_read_bytes,
                closed_reads=closed["dram_read_bytes"],
                simulated_writes=run.dram_write_bytes,
                closed_writes=closed["dram_write_bytes"],
                stored=32 * run.total("l2_sectors", "store"),
            )
        )
        if progress:
            progress((i + 1) / len(cases))
    return found


def fit(rows: Sequence[Comparison]) -> list[Fitted]:
    """Return the coefficients, refitted.

    Those of `models.reuse.reuse_windows.RESIDENT_SHARE` and `models.dram.dirty_lines.DIRTY_LEFT`.
    Least squares; standard errors from the curvature at the minimum.
    """
    size = small_gpu().l2_size
    sets = [r for r in rows if r.family == "reread" and r.passes > 2]
    ratio = np.array([r.ratio for r in sets])
    once = ratio * size
    passes = np.array([r.passes for r in sets])
    again = (np.array([r.simulated_reads for r in sets]) - once) / (once * (passes - 1))

    def knee(values: Array) -> Array:
        low, high = values
        held = np.clip((high - ratio) / max(high - low, 1e-6), 0, 1)
        return np.asarray(1 - held - again)

    streams = [r for r in rows if r.family in ("copy", "write", "strided-copy") and r.stored]
    reads = np.array([r.simulated_reads for r in streams])
    stored = np.array([r.stored for r in streams])
    left = (stored - np.array([r.simulated_writes for r in streams])) / size
    whole = stored >= 0.5 * size

    def dirty(values: Array) -> Array:
        most, share = values
        model = np.minimum(most, share * stored / np.maximum(reads + stored, 1))
        return np.asarray((np.minimum(model, stored / size) - left)[whole])

    return [
        *_least_squares(("knee low", "knee high"), knee, (0.83, 1.07)),
        *_least_squares(("dirty most", "dirty share"), dirty, (0.433, 0.7)),
    ]


def agreement(rows: Sequence[Comparison]) -> dict[str, tuple[int, float, float]]:
    """Return, by family, launches and the shares within the wanted sectors and DRAM bytes."""
    found = {}
    for family in dict.fromkeys(r.family for r in rows):
        mine = [r for r in rows if r.family == family]
        found[family] = (
            len(mine),
            float(np.mean([abs(r.sector_error) <= WANTED_SECTORS for r in mine])),
            float(np.mean([abs(r.byte_error) <= WANTED_BYTES for r in mine])),
        )
    return found


def calibrate_against_simulator(
    folder: Path, progress: Callable[[float], None] | None = None
) -> tuple[list[Comparison], list[Fitted]]:
    """Run the grid, fit, and write `FILES` to a folder."""
    rows = compare(list(grid()), progress)
    fitted = fit(rows)
    every, fits, agreed, drawn = (folder / name for name in FILES)
    _write(every, rows)
    _write(fits, fitted)
    with agreed.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["family", "launches", "sectors_within_5", "dram_bytes_within_10"])
        for family, (count, sectors, bytes_) in agreement(rows).items():
            writer.writerow([family, count, f"{sectors:.3f}", f"{bytes_:.3f}"])
    _plot(rows, fitted, drawn)
    return rows, fitted


def _least_squares(
    names: tuple[str, ...], residuals: Callable[[Array], Array], start: tuple[float, ...]
) -> list[Fitted]:
    """Minimise the sum of squares, which has kinks: from the start and from points around it."""
    from scipy.optimize import least_squares

    tries = [
        least_squares(residuals, np.array(start) * scale, bounds=(0, np.inf), x_scale=0.1)
        for scale in product((0.8, 1.0, 1.2), repeat=len(start))
    ]
    best = min(tries, key=lambda found: float(found.cost))
    left = np.asarray(best.fun)
    errors = standard_errors(best.jac, left)
    rms = float(np.sqrt(np.mean(left**2)))
    return [
        Fitted(name, float(value), float(error), rms, len(left))
        for name, value, error in zip(names, best.x, errors, strict=True)
    ]


def _write(path: Path, rows: Sequence[Any]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([f.name for f in fields(rows[0])])
        for row in rows:
            cells = asdict(row).values()
            writer.writerow([f"{c:.5g}" if isinstance(c, float) else c for c in cells])


def _plot(rows: Sequence[Comparison], fitted: Sequence[Fitted], path: Path) -> None:
    from perfmodel.reports.figure_style import BLUE, GREY, VERMILION, new_figure, written

    size = small_gpu().l2_size
    value = {f.name: f.value for f in fitted}
    with new_figure(8, 3.6, layout="constrained") as figure:
        left, right = figure.subplots(1, 2)
        sets = [r for r in rows if r.family == "reread" and r.passes > 2]
        for name, attribute, colour in (
            ("simulator", "simulated_reads", BLUE),
            ("closed form", "closed_reads", VERMILION),
        ):
            again = [(getattr(r, attribute) / (r.ratio * size) - 1) / (r.passes - 1) for r in sets]
            left.plot([r.ratio for r in sets], again, ".", color=colour, label=name, ms=3)
        x = np.linspace(0.2, 1.6, 200)
        low, high = value["knee low"], value["knee high"]
        left.plot(x, 1 - np.clip((high - x) / (high - low), 0, 1), color=GREY, label="refitted")
        left.set_xlabel("set over L2")
        left.set_ylabel("share that misses again")
        left.legend(frameon=False)
        right.hist(
            [np.clip(r.byte_error, -0.5, 0.5) for r in rows], bins=51, color=BLUE, range=(-0.5, 0.5)
        )
        right.set_xlabel("DRAM bytes, closed form over simulator, less 1")
        right.set_ylabel("launches")
        write_file(path, written(figure, path.suffix.lower().removeprefix(".")))


def _set(bytes_: int, passes: int) -> dict[str, int]:
    return {"bytes": bytes_, "iterations": passes}


@cache
def _sweep(access: str, element: int) -> Kernel:
    """Return two blocks of 1024 threads an SM that go over a set again and again, past L1."""
    blocks = 2 * small_gpu().sm_count
    made = {access: "x", "index": "i", "loop": "k", "guard": f"i < bytes // {element}"}
    if access == "load":
        made["cache"] = "l2"
    return kernel_from_table(
        {
            "name": "sweep",
            "summary": "go over a set",
            "parameters": {"bytes": {}, "iterations": {}},
            "launch": {"grid": blocks, "block": 1024},
            "buffers": {"x": {"length": f"bytes // {element}", "element_bytes": element}},
            "loops": [
                {"variable": "r", "trips": "iterations"},
                {
                    "variable": "k",
                    "trips": f"ceil_div(bytes // {element}, {blocks * 1024})",
                    "parent": "r",
                },
            ],
            "definitions": {"i": f"(k*{blocks} + blockIdx.x)*1024 + threadIdx.x"},
            "accesses": [made],
        }
    )


@cache
def _table(cache: str) -> Kernel:
    """Return ``out[i] = in[i % table]``, 16 B a lane, by L1 or past it."""
    return kernel_from_table(
        {
            "name": "table",
            "summary": "read a table repeatedly, concurrent with a stream of stores",
            "parameters": {"table": {}, "n": {}},
            "launch": {"grid": "ceil_div(n, 1024)", "block": 1024},
            "guard": "i < n",
            "definitions": {"i": "blockIdx.x*1024 + threadIdx.x"},
            "buffers": {
                "in": {"length": "table", "element_bytes": 16},
                "out": {"length": "n", "element_bytes": 16},
            },
            "accesses": [
                {"load": "in", "index": "i % table", "cache": cache},
                {"store": "out", "index": "i"},
            ],
        }
    )
