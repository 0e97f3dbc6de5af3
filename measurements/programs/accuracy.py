"""Holds predictions against the measurements of a folder, and writes the table as Markdown.

    python measurements/programs/accuracy.py measurements/h200-sxm h200-sxm > reports/accuracy.md

Profiler rows, cold caches. What the models were fitted on, what was measured after they were
(holdout/), and kernels that no fit has seen (validation.csv) stand apart.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import perfmodel

KERNELS = Path(__file__).parents[2] / "tests" / "prediction" / "kernels"


@dataclass(frozen=True)
class Case:
    """One measured launch and its prediction, times in seconds."""

    group: str
    kernel: str
    label: str
    measured: float
    prediction: perfmodel.Prediction

    @property
    def error(self) -> float:
        """Predicted over measured time, less one."""
        return self.prediction.time_s / self.measured - 1

    @property
    def covered(self) -> bool:
        """Whether the 90% interval holds the measured time."""
        low, high = self.prediction.interval_s
        return low <= self.measured <= high


def cases(folder: Path, device: str) -> Iterator[Case]:
    """Yield every profiler row of the folder that a built-in or a validation kernel describes."""
    for group, root in (("fitted on", folder), ("holdout", folder / "holdout")):
        for topic in ("gemm", "streams", "strided"):
            if (root / f"{topic}.csv").exists():
                yield from _built_ins(group, topic, root / f"{topic}.csv", device)
    if (folder / "validation.csv").exists():
        yield from _validation(folder / "validation.csv", device)


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open() as lines:
        for row in csv.DictReader(lines):
            if row["timing"] == "profiler":
                yield row


def _built_ins(group: str, topic: str, path: Path, device: str) -> Iterator[Case]:
    names = {"gemm": "M N K", "streams": "bytes vector", "strided": "n stride offset"}[
        topic
    ].split()
    for row in _rows(path):
        params = {name: int(row[name]) for name in names}
        kernel = {"gemm": "gemm", "strided": "strided-copy"}.get(topic) or row["kernel"]
        if kernel.endswith("gridstride"):
            continue
        mapping = row.get("mapping") or None
        prediction = perfmodel.predict(kernel, mapping=mapping, device=device, **params)
        label = " ".join(f"{name}={value}" for name, value in params.items())
        name = f"{kernel} {mapping}" if mapping else kernel
        yield Case(group, name, label, float(row["time_us"]) * 1e-6, prediction)


def _validation(path: Path, device: str) -> Iterator[Case]:
    for row in _rows(path):
        kernel = perfmodel.load_kernel(KERNELS / f"{row['kernel']}.toml")
        params = {p.name: int(row[p.name]) for p in kernel.parameters if row.get(p.name)}
        prediction = perfmodel.predict(kernel, device=device, **params)
        label = " ".join(f"{name}={value}" for name, value in params.items())
        yield Case("validation", row["kernel"], label, float(row["time_us"]) * 1e-6, prediction)


def table(found: list[Case]) -> Iterator[str]:
    """Yield the lines of the summary: one row a kernel and group."""
    yield "| data | kernel | cases | median error | 90th percentile | bias | in 90% interval |"
    yield "|---|---|---:|---:|---:|---:|---:|"
    for group, kernel in dict.fromkeys((c.group, c.kernel) for c in found):
        some = [c for c in found if (c.group, c.kernel) == (group, kernel)]
        errors = np.array([c.error for c in some])
        inside = float(np.mean([c.covered for c in some]))
        yield (
            f"| {group} | {kernel} | {len(some)} | {np.median(abs(errors)):.1%} "
            f"| {np.quantile(abs(errors), 0.9):.1%} | {np.median(errors):+.1%} | {inside:.0%} |"
        )


def worst(found: list[Case], count: int = 10) -> Iterator[str]:
    """Yield the cases with the largest errors."""
    yield "| data | kernel | sizes | measured | predicted | error | largest term |"
    yield "|---|---|---|---:|---:|---:|---|"
    for c in sorted(found, key=lambda c: -abs(c.error))[:count]:
        yield (
            f"| {c.group} | {c.kernel} | {c.label} | {c.measured * 1e6:.2f} us "
            f"| {c.prediction.time_s * 1e6:.2f} us | {c.error:+.1%} | {c.prediction.bottleneck} |"
        )


def products(found: list[Case]) -> Iterator[str]:
    """Yield the square matrix products, size by size."""
    yield "| data | mapping | N | measured | predicted | error |"
    yield "|---|---|---:|---:|---:|---:|"
    for c in found:
        sizes = c.prediction.params
        if c.kernel.startswith("gemm") and len(set(sizes.values())) == 1:
            yield (
                f"| {c.group} | {c.prediction.mapping} | {sizes['N']} | {c.measured * 1e3:.3f} ms "
                f"| {c.prediction.time_s * 1e3:.3f} ms | {c.error:+.1%} |"
            )


def main() -> None:
    """Print the report."""
    folder, device = Path(sys.argv[1]), sys.argv[2]
    found = list(cases(folder, device))
    print(f"# Accuracy on {device}\n")
    print(f"Generated by `python measurements/programs/accuracy.py {folder} {device}`.")
    print("Profiler times, cold caches; predicted over measured, less one.\n")
    print(*table(found), sep="\n")
    print("\n## Worst ten\n")
    print(*worst(found), sep="\n")
    print("\n## Square matrix products\n")
    print(*products(found), sep="\n")


if __name__ == "__main__":
    main()
