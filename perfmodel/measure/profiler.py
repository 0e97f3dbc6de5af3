"""Times and counters from Nsight Compute, which runs `perfmodel.measure.replay` and counts."""

import csv
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from perfmodel.errors import PerfmodelError
from perfmodel.measure.gpu import GpuFacts
from perfmodel.measure.record import Folder
from perfmodel.measure.sweep import Sweep, counter_metrics, points

TIME: Final = "gpu__time_duration.sum"
LAUNCHES: Final = 3
"""Launches of a point whose median time is recorded."""

Pair = tuple[int, int]


def profiler_path() -> str | None:
    """Return where Nsight Compute's command line is, or None."""
    return shutil.which("ncu") or next(
        (str(p) for p in sorted(Path("/opt/nvidia/nsight-compute").glob("*/ncu"))), None
    )


def profile_sweeps(
    program: str,
    sweeps: Sequence[Sweep],
    gpu_index: int,
    facts: GpuFacts,
    folder: Folder,
    seconds: float,
) -> Iterator[str]:
    """Time, and count where a sweep asks for it, every point under the profiler; write the rows.

    `program`: Nsight Compute's command line. `seconds`: limit for each of its three runs [s].
    Yields what was done, a line a run; a run that failed says why.
    """
    every = {
        (s, p): (sweep, point)
        for s, sweep in enumerate(sweeps)
        for p, point in enumerate(points(sweep, facts.numbers()))
        if "profiler" in sweep.timings or sweep.counters
    }
    told = [[str(s.path), s.number] for s in sweeps]
    rows: dict[tuple[str, Pair], dict[str, Any]] = {}
    for cache_state in ("cold", "warm"):
        chosen = [
            pair
            for pair, (sweep, point) in every.items()
            if (cache_state in sweep.cache and "profiler" in sweep.timings)
            or (cache_state == "cold" and sweep.counters)
            if not folder.has(sweep, point, "profiler", cache_state)
        ]
        plan = {"sweeps": told, "gpu": gpu_index, "warm": cache_state == "warm"}
        try:
            found = _run(program, plan | {"points": chosen, "launches": LAUNCHES}, [TIME], seconds)
        except PerfmodelError as error:
            yield str(error)
            continue
        for pair, values in found.items():
            times = [v[TIME] for v in values]
            rows[cache_state, pair] = {
                "timing": "profiler",
                "cache": cache_state,
                "repeats": len(times),
                "time_us": round(median(times) * 1e-3, 3),
                "spread": round((max(times) - min(times)) / median(times), 4),
            }
        yield f"profiler, {cache_state}: {len(found)} points"
    counted: dict[tuple[str, ...], list[Pair]] = {}
    for state, pair in rows:
        if state == "cold" and every[pair][0].counters:
            counted.setdefault(every[pair][0].counters, []).append(pair)
    for names, chosen in counted.items():
        metrics = sorted({m for name in names for m in counter_metrics()[name]})
        plan = {"sweeps": told, "gpu": gpu_index, "warm": False}
        try:
            known = _supported(program, metrics, facts)
            found = _run(program, plan | {"points": chosen, "launches": 1}, known, seconds)
        except PerfmodelError as error:
            yield str(error)
            continue
        for pair, values in found.items():
            rows["cold", pair] |= _columns(values[0], names)
        yield f"{len(names)} counters: {len(found)} points"
    for (_, pair), row in rows.items():
        folder.add(*every[pair], row)


def _columns(values: Mapping[str, float], names: Sequence[str]) -> dict[str, float]:
    """Return the columns that the counters give."""
    sums = {
        name: [values[m] for m in metrics if m in values]
        for name, metrics in counter_metrics().items()
        if name in names
    }
    return {name: round(sum(found), 3) for name, found in sums.items() if found}


def _supported(program: str, metrics: Sequence[str], facts: GpuFacts) -> list[str]:
    """Return the metrics that the profiler knows for this GPU."""
    chip = {(8, 0): "ga100", (8, 6): "ga102", (8, 9): "ad102", (9, 0): "gh100"}
    name = chip.get(facts.compute_capability)
    if name is None:
        return [TIME, "dram__bytes_read.sum", "dram__bytes_write.sum"]
    known = subprocess.run(
        [program, "--query-metrics", "--chip", name], capture_output=True, text=True, check=False
    ).stdout
    words = {line.split()[0] for line in known.splitlines() if line.strip()}
    return [m for m in metrics if m.split(".")[0] in words or m.startswith("launch__")]


def _run(
    program: str, plan: Mapping[str, Any], metrics: Sequence[str], seconds: float
) -> dict[Pair, list[dict[str, float]]]:
    """Return the metrics of each launch of a plan, by [sweep, point]."""
    if not plan["points"]:
        return {}
    with tempfile.TemporaryDirectory() as scratch:
        plan_path, done_path, log = (Path(scratch) / n for n in ("plan", "done", "log"))
        plan_path.write_text(json.dumps(plan))
        command = [
            *(program, "--profile-from-start", "off", "--clock-control", "none"),
            *("--cache-control", "none" if plan["warm"] else "all", "--csv", "--page", "raw"),
            *("--print-units", "base", "--metrics", ",".join(metrics), "--log-file", str(log)),
            *(sys.executable, "-m", "perfmodel.measure.replay", str(plan_path), str(done_path)),
        ]
        try:
            ended = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=seconds
            )
            trouble = ended.stderr
        except subprocess.TimeoutExpired:
            trouble = f"stopped after {seconds:.0f} s"
        launches = done_path.read_text().split("\n")[:-1] if done_path.exists() else []
        rows = list(read_rows(log.read_text())) if log.exists() else []
        if not rows:
            last = (trouble.strip().splitlines() or ["no output"])[-1]
            raise PerfmodelError(
                f"the profiler counted nothing ({last[:200]}); --no-profiler measures without it"
            )
        found: dict[Pair, list[dict[str, float]]] = {}
        # An interrupted profiler leaves fewer rows than launches.
        for line, row in zip(launches, rows, strict=False):
            s, p = line.split()
            found.setdefault((int(s), int(p)), []).append(row)
        return found


def read_rows(text: str) -> Iterator[dict[str, float]]:
    """Yield the metrics of each launch in Nsight Compute's raw CSV page, in base units.

    Raises `PerfmodelError` if a metric came in a unit that is not a base unit.
    """
    lines = [line for line in text.splitlines() if line.startswith('"')]
    reader = csv.reader(lines)
    header = next(reader, [])
    units = next(reader, [])
    for name, unit in zip(header, units, strict=True):
        if unit and unit[:1] in "KMGTkmgu" and "__" in name:
            raise PerfmodelError(f"the profiler gave {name} in {unit}, not in a base unit")
    for row in reader:
        yield {
            name: float(value.replace(",", ""))
            for name, value in zip(header, row, strict=True)
            if "__" in name and value and _is_number(value)
        }


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", ""))
    except ValueError:
        return False
    return True
