"""A whole measurement: sweeps between events, then under the profiler, then sealed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from perfmodel.errors import PerfmodelError, nearest
from perfmodel.measure.gpu import Gpu
from perfmodel.measure.profiler import profile_sweeps, profiler_path
from perfmodel.measure.record import open_folder
from perfmodel.measure.run import Step, run_sweeps
from perfmodel.measure.sweep import SWEEPS, read_sweeps, sweep_names

_PROFILER_SECONDS: Final = 400.0


def measure_gpu(
    folder: Path,
    gpu_index: int = 0,
    names: Sequence[str] | None = None,
    profiler: bool = True,
    step: Step = lambda *_: None,
    gpu: Gpu | None = None,
) -> list[str]:
    """Measure a GPU of this machine into a folder.

    Parameters
    ----------
    folder : Path
        New, or of an earlier run of the same GPU, which is gone on with.
    gpu_index : int
    names : sequence of str, optional
        Sweep files; all by default.
    profiler : bool
        Whether to use Nsight Compute if it is there.
    step : callable
        See `perfmodel.measure.run.run_sweeps`.
    gpu : Gpu, optional
        Another layer than CUDA's, for tests.

    Returns
    -------
    list of str
        What was done, a line each.

    Raises
    ------
    PerfmodelError
        If there is no GPU, no driver or no compiler, or the folder cannot be used.
    """
    for name in names or ():
        if name not in sweep_names():
            hint = nearest(name, sweep_names()) or f"; there are {', '.join(sweep_names())}"
            raise PerfmodelError(f"no sweep is called {name!r}{hint}")
    chosen = list(names or sweep_names())
    files = [SWEEPS / f"{name}.toml" for name in chosen]
    sweeps = [s for file in files for s in read_sweeps(file)]
    every = [s for name in sweep_names() for s in read_sweeps(SWEEPS / f"{name}.toml")]
    if gpu is None:
        from perfmodel.measure.cuda import CudaGpu

        gpu = CudaGpu(gpu_index)
    about = {
        "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "command": " ".join(["perfmodel", *sys.argv[1:]]),
        "sweeps": " ".join(chosen),
    }
    target = open_folder(folder, every, gpu.facts, about)
    lines = [f"{gpu.facts.name}, driver {gpu.facts.driver}: {folder}"]
    done = run_sweeps(gpu, sweeps, target, step)
    lines.append(f"between events: {done.written} rows written, {done.kept} there before")
    lines += [f"failed: {line}" for line in done.failed]
    facts = gpu.facts
    gpu.close()
    program = profiler_path() if profiler else None
    if program:
        lines += profile_sweeps(program, files, sweeps, gpu_index, facts, target, _PROFILER_SECONDS)
    elif profiler:
        lines.append("no profiler found: kernel times and counters are left out")
    return lines
