"""What predictions cost in counts that no machine changes: operations and calls.

    python -m benchmarks.costs > benchmarks/costs.json

Operations of the compiled programs of a launch's form, for its numbers and for its interval and
warnings, and Python and NumPy functions that the
models call for one prediction. A test compares them with the recorded ones.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from perfmodel import load_device, predict
from perfmodel.kernels import find_kernel
from perfmodel.prediction.compiled.layouts import read_numbers, read_reliability
from perfmodel.prediction.compiled.recording import record_launches
from perfmodel.prediction.compiled.writer import uses
from perfmodel.prediction.conditions import Conditions, by_the_models

RECORDED = Path(__file__).with_name("costs.json")
LAUNCHES: dict[str, tuple[str, str | None, dict[str, int]]] = {
    "copy": ("copy", None, {"bytes": 1 << 28}),
    "strided-copy": ("strided-copy", None, {"n": 1 << 24, "stride": 4}),
    "atomic-add": ("atomic-add", None, {"n": 1 << 24}),
    "layernorm": ("layernorm", None, {"rows": 4096}),
    "gather": ("gather", None, {"n": 1 << 24, "run": 8}),
    "gemm coalesced": ("gemm", "coalesced", {"M": 1000, "N": 777, "K": 555}),
    "gemm warptile": ("gemm", "warptile", {"N": 4096}),
}


@dataclass(frozen=True, slots=True)
class Cost:
    """Operations of a compiled prediction and its reliability, and calls of one by the models."""

    operations: int
    reliability: int
    calls: int


def cost(name: str, mapping: str | None, sizes: dict[str, int]) -> Cost:
    """Return what a launch costs."""
    under = Conditions(load_device("h100-sxm"), "profiler", "cold")
    kernel = find_kernel(name, mapping)
    reliability = partial(read_reliability, timing="profiler", cache="cold")
    counts = [
        len(uses(record_launches(kernel, [sizes], under.evaluated, read).program))
        for read in (read_numbers, reliability)
    ]
    with by_the_models():
        predict(kernel, **sizes)
        calls = 0

        def count(frame: Any, event: str, argument: Any) -> None:
            nonlocal calls
            calls += event in ("call", "c_call")

        sys.setprofile(count)
        try:
            predict(kernel, **sizes)
        finally:
            sys.setprofile(None)
    return Cost(*counts, calls)


def recorded() -> dict[str, Cost]:
    """Return the recorded costs."""
    found = json.loads(RECORDED.read_text(encoding="utf-8"))
    return {name: Cost(**values) for name, values in found.items()}


def main() -> None:
    found = {what: cost(*launch) for what, launch in LAUNCHES.items()}
    table = {name: asdict(c) for name, c in found.items()}
    print(json.dumps(table, indent=2))


if __name__ == "__main__":
    main()
