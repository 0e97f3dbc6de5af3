"""A whole measurement: sweeps between events, then under the profiler, then sealed."""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from perfmodel.errors import PerfmodelError, nearest
from perfmodel.measure.gpu import Gpu
from perfmodel.measure.profiler import profile_sweeps, profiler_path
from perfmodel.measure.record import note_floor, open_folder
from perfmodel.measure.run import Step, run_sweeps
from perfmodel.measure.seal import seal
from perfmodel.measure.sweep import SWEEPS, read_sweeps
from perfmodel.names import sweep_names

_PROFILER_SECONDS: Final = 400.0
"""Limit for each of the profiler's runs [s]: chosen."""


def measure_gpu(
    folder: Path,
    gpu_index: int = 0,
    names: Sequence[str] | None = None,
    profiler: bool = True,
    step: Step = lambda *_: None,
    gpu: Gpu | None = None,
) -> list[str]:
    """Measure a GPU of this machine into a folder, and return what was done, a line each.

    `folder`: new, or of an earlier run of the same GPU, which is gone on with. `names`: sweep files
    or topics; all by default. `profiler`: whether to use Nsight Compute if it is there. `step`: see
    `perfmodel.measure.run.run_sweeps`. `gpu`: another layer than CUDA's, for tests.

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
        from perfmodel.measure.cuda import CudaGpu

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
