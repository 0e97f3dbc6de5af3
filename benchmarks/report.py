"""All of the benchmarks into reports/speed.md, with the machine that they ran on.

    python -m benchmarks.report

Run it on a machine that does nothing else; it takes some ten minutes of two cores.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from datetime import date
from importlib.metadata import version
from pathlib import Path

REPORT = Path(__file__).parents[1] / "reports" / "speed.md"
PARTS = {
    "Commands (`python -m benchmarks.start`)": ["benchmarks.start", "5"],
    "Predictions (`python -m benchmarks.speed`)": ["benchmarks.speed"],
    "Sources (`python -m benchmarks.sources`)": ["benchmarks.sources"],
    "Sizes (`python -m benchmarks.flat`)": ["benchmarks.flat"],
    "Simulator (`python -m benchmarks.simulator`)": ["benchmarks.simulator"],
}


def processor() -> str:
    """Return the name of the processor, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())


def machine() -> str:
    """Return what the benchmarks ran on, in a line."""
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba"))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{processor()}, {cores} cores; Python {platform.python_version()}, {libraries}"


def main() -> None:
    parts = ["# Speed", f"{date.today()}, {machine()}."]
    for title, words in PARTS.items():
        run = [sys.executable, "-m", *words]
        environment = os.environ | {"COLUMNS": "100"}
        out = subprocess.run(run, check=True, capture_output=True, text=True, env=environment)
        parts += [f"## {title}", f"```text\n{out.stdout.strip()}\n```"]
    REPORT.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
