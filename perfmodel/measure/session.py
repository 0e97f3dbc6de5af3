"""A whole measurement: sweeps between events, then under the profiler, then sealed."""

import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.errors import PerfmodelError, nearest
from perfmodel.measure.cuda import CudaGpu
from perfmodel.measure.gpu import GpuError, Memory
from perfmodel.measure.profiler import profile_sweeps, profiler_path
from perfmodel.measure.record import Folder, note_floor, open_folder
from perfmodel.measure.seal import seal
from perfmodel.measure.stage import Pool, clock_entries, pool, set_up
from perfmodel.measure.sweep import SWEEPS, Point, Sweep, points, read_sweeps
from perfmodel.names import sweep_names

POINT_SECONDS: Final = 0.025
"""GPU time that the repeats of one point and protocol may take; at least three are made."""
_FEWEST: Final = 3
_SLOW_CLOCK: Final = 0.97
"""A clock below this share of the largest is flagged."""

Step = Callable[[Sweep, int, int], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run did: rows written, rows that were there before, and points that failed."""

    written: int
    kept: int
    failed: tuple[str, ...]


def run_sweeps(
    gpu: CudaGpu, sweeps: Sequence[Sweep], folder: Folder, step: Step = lambda *_: None
) -> Outcome:
    """Time every point of the sweeps between events, and write a row a protocol.

    Rows that the folder has already are kept: an interrupted run goes on where it stopped. A point
    that fails is recorded as failed, and the rest goes on.

    `folder`: where rows go, one after the other. `step`: called before each point with the sweep,
    and how many points are done of how many.
    """
    plan = [(s, list(points(s, gpu.facts.numbers()))) for s in sweeps if "events" in s.timings]
    total = sum(len(some) for _, some in plan)
    done = written = kept = 0
    failed: list[str] = []
    for sweep, some in plan:
        with pool(gpu) as memory:
            for point in some:
                step(sweep, done, total)
                done += 1
                wanted = [c for c in sweep.cache if not folder.has(sweep, point, "events", c)]
                kept += len(sweep.cache) - len(wanted)
                if not wanted:
                    continue
                try:
                    for row in _measure(gpu, sweep, point, memory, wanted):
                        folder.add(sweep, point, row)
                        written += 1
                except GpuError as error:
                    failed.append(folder.fail(sweep, point, str(error)))
                    memory.forget()
                    gpu.recover()
    step(sweeps[-1], total, total)
    return Outcome(written, kept, tuple(failed))


def _measure(
    gpu: CudaGpu, sweep: Sweep, point: Point, memory: Pool, caches: Iterable[str]
) -> Iterable[dict[str, Any]]:
    """Yield a row's measured columns for each state of the caches."""
    prepared, buffers = set_up(gpu, sweep, point, memory)
    before = gpu.clock_mhz()
    gpu.launch(prepared)
    check_output(gpu, sweep, point, buffers)
    for cache in caches:
        spent = time.perf_counter()
        first = gpu.time(prepared, cache == "cold")
        spent = time.perf_counter() - spent
        repeats = int(np.clip(POINT_SECONDS / max(first, spent, 1e-9), _FEWEST, sweep.repeats))
        times = np.array([gpu.time(prepared, cache == "cold") for _ in range(repeats)])
        after = gpu.clock_mhz()
        row = {
            "timing": "events",
            "cache": cache,
            "repeats": repeats,
            "time_us": round(float(np.median(times)) * 1e6, 3),
            "spread": round(float(np.ptp(times) / np.median(times)), 4),
            **_clock(before, after, gpu.facts.sm_clock_mhz),
        }
        if sweep.clocks:
            counts = gpu.read(buffers["clocks"], np.int64, clock_entries(point))
            row["cycles"] = float(np.median(counts))
        yield row


def _clock(before: float | None, after: float | None, largest: float) -> dict[str, Any]:
    """Return the clock's columns: the reading after the launches, and a flag if it is low."""
    # Before its first launch the GPU idles at a low clock: only a drop after counts.
    known = before if after is None else after
    if known is None:
        return {"clock_mhz": "", "flag": "clock unknown"}
    low = after is not None and after < _SLOW_CLOCK * largest
    return {"clock_mhz": known, "flag": "clock dropped" if low else ""}


Read = Callable[[str, Any, int], npt.NDArray[Any]]
"""Reads a buffer: its name, a dtype, how many elements."""
Check = Callable[[Mapping[str, Any], Read], bool]

_MOST: Final = 1 << 20
"""Elements that a check reads back, at most."""


def check_output(gpu: CudaGpu, sweep: Sweep, point: Point, buffers: Mapping[str, Memory]) -> None:
    """Hold what a launch wrote against its due.

    Raises `GpuError` if it is wrong.
    """
    if not sweep.check:
        return
    check = CHECKS.get(sweep.check)
    if check is None:
        raise PerfmodelError(f"{sweep.where}: no check is called {sweep.check!r}")

    def read(name: str, dtype: Any, count: int) -> npt.NDArray[Any]:
        return gpu.read(buffers[name], dtype, count)

    if not check(point.params, read):
        raise GpuError(f"wrong output (check {sweep.check})")


def copied(p: Mapping[str, Any], read: Read) -> bool:
    """``out[i] == in[i]``."""
    count = min(int(p["bytes"]) // 4, _MOST)
    return bool(np.array_equal(read("out", np.uint32, count), read("in", np.uint32, count)))


def copied_strided(p: Mapping[str, Any], read: Read) -> bool:
    """``out[i] == in[i*stride + offset]``."""
    stride, offset = int(p["stride"]), int(p.get("offset", 0))
    count = min(int(p["n"]), _MOST // stride)
    source = read("in", np.float32, count * stride + offset)[offset::stride][:count]
    return bool(np.array_equal(read("out", np.float32, count), source))


def copied_runs(p: Mapping[str, Any], read: Read) -> bool:
    """``out[i] == in[i // run * pitch + i % run]``."""
    run, pitch = int(p["run"]), int(p["pitch"])
    runs = max(1, min(int(p["n"]) // run, _MOST // pitch))
    places = (np.arange(runs)[:, None] * pitch + np.arange(run)).ravel()[: int(p["n"])]
    source = read("in", np.float32, int(places.max()) + 1)
    return bool(np.array_equal(read("out", np.float32, len(places)), source[places]))


def product(p: Mapping[str, Any], read: Read) -> bool:
    """``C = A B`` in the first row, within FP32 rounding of FP64."""
    K, N = int(p["K"]), int(p["N"])
    columns = max(1, min(N, 4))
    a = read("A", np.float32, K).astype(np.float64)
    b = read("B", np.float32, K * N).reshape(K, N)[:, :columns].astype(np.float64)
    got = read("C", np.float32, columns)
    return bool(np.allclose(got, a @ b, rtol=1e-4))


CHECKS: Final[Mapping[str, Check]] = {
    "copied": copied,
    "copied_strided": copied_strided,
    "copied_runs": copied_runs,
    "product": product,
}
"""Checks by the name that sweeps give."""


_PROFILER_SECONDS: Final = 400.0
"""Limit for each of the profiler's runs [s]: chosen."""


def measure_gpu(
    folder: Path,
    gpu_index: int = 0,
    names: Sequence[str] | None = None,
    profiler: bool = True,
    step: Step = lambda *_: None,
    gpu: CudaGpu | None = None,
) -> list[str]:
    """Measure a GPU of this machine into a folder, and return what was done, a line each.

    `folder`: new, or of an earlier run of the same GPU, which is gone on with. `names`: sweep files
    or topics; all by default. `profiler`: whether to use Nsight Compute if it is there. `step`: see
    `perfmodel.measure.session.run_sweeps`. `gpu`: in place of that, for
    tests.

    Raises `PerfmodelError` if there is no GPU, no driver or no compiler, or the folder cannot be
    used.
    """
    files = {name: read_sweeps(SWEEPS / f"{name}.toml") for name in sweep_names()}
    every = [s for some in files.values() for s in some]
    known = list(dict.fromkeys([*files, *(s.topic for s in every)]))
    for name in names or ():
        if name not in known:
            hint = nearest(name, known) or f"; there are {', '.join(known)}"
            raise PerfmodelError(f"no sweep is called {name!r}{hint}")
    chosen = [
        s
        for file, some in files.items()
        for s in some
        if not names or file in names or s.topic in names
    ]
    if gpu is None:
        gpu = CudaGpu(gpu_index)
    about = {
        "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "command": " ".join(["perfmodel", *sys.argv[1:]]),
        "sweeps": " ".join(names or ["all"]),
    }
    target = open_folder(folder, every, gpu.facts, about)
    lines = [f"{gpu.facts.name}, driver {gpu.facts.driver}: {folder}"]
    try:
        done = run_sweeps(gpu, chosen, target, step)
        lines.append(f"between events: {done.written} rows written, {done.kept} there before")
        lines += [f"failed: {line}" for line in done.failed]
        facts = gpu.facts
        gpu.close()
        program = profiler_path() if profiler else None
        if program:
            lines += profile_sweeps(program, chosen, gpu_index, facts, target, _PROFILER_SECONDS)
        elif profiler:
            lines.append("no profiler found: kernel times and counters are left out")
    finally:  # what an interruption leaves can be read
        note_floor(folder)
        seal(folder)
    return lines
