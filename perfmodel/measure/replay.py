"""What a profiler runs: each planned point set up, then launched with the profiler counting.

    python -m perfmodel.measure.replay PLAN DONE

PLAN is JSON: the GPU's number, sweeps (file and number in it), whether caches are warm, how many
launches each, and
[sweep, point] pairs. One line a launch is written to DONE, in order, for the reader of the
profiler's rows.
"""

import json
import sys
from pathlib import Path

from perfmodel.measure.cuda import CudaGpu
from perfmodel.measure.gpu import GpuError
from perfmodel.measure.stage import Pool, set_up
from perfmodel.measure.stage import pool as memory_pool
from perfmodel.measure.sweep import Point, Sweep, points, read_sweeps


def main(plan_path: str, done_path: str) -> None:
    """Replay a plan."""
    plan = json.loads(Path(plan_path).read_text())
    gpu = CudaGpu(plan["gpu"])
    sweeps = [read_sweeps(Path(path))[number] for path, number in plan["sweeps"]]
    wanted: dict[int, list[int]] = {}
    for s, p in plan["points"]:
        wanted.setdefault(s, []).append(p)
    with open(done_path, "w") as done:
        for s, chosen in wanted.items():
            some = list(points(sweeps[s], gpu.facts.numbers()))
            with memory_pool(gpu) as memory:
                for p in chosen:
                    for _ in range(plan["launches"]):
                        if not _launch(gpu, sweeps[s], some[p], memory, plan["warm"]):
                            break
                        done.write(f"{s} {p}\n")
                        done.flush()


def _launch(gpu: CudaGpu, sweep: Sweep, point: Point, memory: Pool, warm: bool) -> bool:
    """Launch a point under the profiler; say whether it went well."""
    try:
        prepared, _ = set_up(gpu, sweep, point, memory)
        if warm:
            gpu.launch(prepared)
        gpu.profile(True)
        gpu.launch(prepared)
        gpu.profile(False)
    except GpuError:
        memory.forget()
        gpu.recover()
        return False
    return True


if __name__ == "__main__":
    main(*sys.argv[1:])
