"""DRAM traffic of atomics: against the profiler's bytes, and by hand."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest

from perfmodel import predict
from perfmodel.models.atomics.atomic_memory import ATOMIC_MISSES, ATOMIC_WRITES, RANDOM_WRITES

SUITE = Path(__file__).parents[2] / "measurements" / "suite/h200-sxm/sweeps"


def counted(pattern: str) -> Iterator[tuple[int, int, float, float]]:
    """Yield elements, spacing, and the profiler's bytes read and written, of cold launches."""
    with (SUITE / "atomics-outgrown.csv").open(newline="") as file:
        for r in csv.DictReader(file):
            cold = (r["timing"], r["cache"], r["dtype"]) == ("profiler", "cold", "int32")
            if cold and r["pattern"] == pattern:
                moved = float(r["dram_read_bytes"]), float(r["dram_write_bytes"])
                yield int(r["addresses"]), int(r["spacing"]), *moved


@pytest.mark.parametrize(("pattern", "rows"), [("random", 5), ("modulo", 6)])
def test_elements_that_outgrow_l2_move_the_counted_bytes(pattern: str, rows: int) -> None:
    # measured: DRAM bytes of 4194304 additions by the profiler, 16 MiB to 1 GiB
    found = list(counted(pattern))
    assert len(found) == rows
    for addresses, spacing, read, written in found:
        said = predict(
            "atomic-add",
            device="h200-sxm",
            n=1 << 22,
            addresses=addresses,
            spacing=spacing,
            pattern=pattern,
            cache="cold",
        )
        assert said.traffic["dram_read_bytes"] == pytest.approx(read, rel=0.02)
        # Changed lines of elements in turn that nearly fit are written back a little less often:
        # of 64 MiB by a fifth, of 128 MiB by a fourteenth.
        more = {4: 1.21, 8: 1.076}.get(spacing, 1.0) if pattern == "modulo" else 1.0
        assert said.traffic["dram_write_bytes"] == pytest.approx(written * more, rel=0.03, abs=1e5)


def test_misses_and_writes_by_hand() -> None:
    # by hand: of 100 passes, 20 are the first at their sector; the rest miss where a quarter of the
    # lines is gone. Half of a footprint of four times what L2 keeps changed leaves it
    assert ATOMIC_MISSES(first=20.0, asked=100.0, stays=0.75) == pytest.approx(40)
    assert ATOMIC_WRITES(asked=100.0, d=0.25, c=40.0, f=20.0) == pytest.approx(50)
    assert ATOMIC_WRITES(asked=100.0, d=0.25, c=40.0, f=5.0) == 0
    assert RANDOM_WRITES(asked=100.0, before=20.0, changed=0.5) == pytest.approx(60)
