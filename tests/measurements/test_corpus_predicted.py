"""Kernels of the corpus from their source to a prediction, against what the profiler counted.

No row of the corpus was fitted on. Instructions are counted in the machine code that ptxas makes
here; those of the blind corpora were written and measured before anybody looked at what the models
say of them.
"""

from __future__ import annotations

import csv
import tomllib
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from perfmodel import predict
from perfmodel.cuda.compile.program import Program, resources
from perfmodel.cuda.compile.to_ptx import compile_ptx
from perfmodel.cuda.compile.toolchain import find_tool
from perfmodel.cuda.kernel.translate import translated
from perfmodel.cuda.launch.launch_file import read_launches
from perfmodel.cuda.parse.reader import parse_ptx
from perfmodel.cuda.parse.signatures import parameter_names
from perfmodel.models.time.issue import warp_instructions
from perfmodel.prediction import Prediction

pytestmark = pytest.mark.skipif(find_tool("nvcc") is None, reason="needs nvcc")

ROOT = Path(__file__).parents[2] / "measurements"

# What PTX does not decide: retries of atomics that all the blocks of a launch contend for.
# Launched six times on the same data, 60,793 to 61,412 of them
# (measurements/l2/h200-sxm/merged-reads).
ELSEWHERE = {"maximum_by_compare"}


class Case(NamedTuple):
    kernel: str
    row: dict[str, str]
    prediction: Prediction

    def measured(self, *columns: str) -> float:
        return sum(float(self.row[column] or 0) for column in columns)

    def counted(self, kind: str, field: str) -> float:
        """Return what is predicted for accesses of a kind to global memory."""
        return sum(
            float(np.max(getattr(a, field)))
            for a in self.prediction.details.traffic.accesses
            if a.kind == kind and a.buffer != "local-memory"
        )

    @property
    def instructions(self) -> float:
        """Predicted warp instructions."""
        details, traffic = self.prediction.details, self.prediction.traffic
        memory = traffic["shared_requests"] + sum(
            traffic[f"global_{kind}_requests"] for kind in ("load", "store", "atomic")
        )
        memory += traffic["local_load_requests"] + traffic["local_store_requests"]
        parts = warp_instructions(details.instance, memory)
        # words of constant memory are clocks of a unit, of instructions counted elsewhere
        return float(sum(np.max(part) for pipe, part in parts.items() if pipe != "constant"))


@lru_cache
def cases(corpus: str = "corpus", left_out: frozenset[str] = frozenset()) -> list[Case]:
    with (ROOT / f"source-kernels/h200-sxm/{corpus}" / "corpus.csv").open(newline="") as file:
        rows = [
            r for r in csv.DictReader(file) if (r["timing"], r["cache"]) == ("profiler", "cold")
        ]
    by_launch = {(r["source"], int(r["launch"])): r for r in rows}
    found = []
    for path in sorted((ROOT / f"source-kernels/h200-sxm/{corpus}/program").glob("*.cu")):
        compiled = compile_ptx(path)
        module = parse_ptx(compiled.ptx, path.name)
        made = resources(module, compiled.ptx, "sm_90")
        made |= {
            r["kernel"]: replace(
                made[r["kernel"]],
                registers=int(float(r["ptxas_registers"])),
                shared_bytes=int(float(r["shared_bytes"])),
                local_bytes=0,
                spill_store_bytes=0,
                spill_load_bytes=0,
            )
            for r in rows
            if r["source"] == path.stem
        }
        program = Program(
            path.name, module, "", "sm_90", None, made, parameter_names(path.read_text())
        )
        for number, launch in enumerate(read_launches(path.with_suffix(".toml")), 1):
            if launch.kernel in left_out:
                continue
            prediction = predict(translated(program, launch), device="h200-sxm")
            found.append(Case(str(launch.kernel), by_launch[path.stem, number], prediction))
    return found


COUNTS = [
    ("load", "requests", ("global_load_requests",)),
    ("load", "sectors", ("global_load_sectors",)),
    ("store", "requests", ("global_store_requests",)),
    ("store", "sectors", ("global_store_sectors",)),
    ("atomic", "requests", ("global_atomic_requests", "global_reduction_requests")),
]


@pytest.mark.parametrize(("kind", "field", "columns"), COUNTS)
def test_requests_and_sectors_equal_the_profilers(
    kind: str, field: str, columns: tuple[str, ...]
) -> None:
    for case in cases():
        if case.kernel in ELSEWHERE:
            continue
        expected = case.measured(*columns)
        assert case.counted(kind, field) == pytest.approx(expected, rel=0.03), case.kernel


def test_regular_kernels_count_exactly() -> None:
    exact = 0
    regular = [
        case
        for case in cases()
        if all(r.sampled is None and not r.random for r in case.prediction.details.requests)
        and case.kernel not in ELSEWHERE
    ]
    for case in regular:
        for kind, field, columns in COUNTS:
            assert case.counted(kind, field) == pytest.approx(case.measured(*columns), rel=1e-9), (
                case.kernel,
                kind,
                field,
            )
        exact += 1
    assert exact >= 70


def test_machine_instructions() -> None:
    found = [c for c in cases() if c.kernel not in ELSEWHERE]
    error = [(abs(c.instructions / c.measured("instructions") - 1), c.kernel) for c in found]
    assert np.median([e for e, _ in error]) <= 0.03
    assert [kernel for e, kernel in error if e > 0.15] == []


def test_lanes_that_leave_a_loop_apart_count_exactly() -> None:
    # 1 to 64 iterations, lane by lane: ptxas runs four at a time while four are left, so a warp
    # runs more of them than any lane
    (case,) = [c for c in cases() if c.kernel == "staircase"]
    for kind, field, columns in COUNTS:
        assert case.counted(kind, field) == pytest.approx(case.measured(*columns), rel=1e-9), field


def test_a_bias_added_to_rows_is_fetched_once_an_sm() -> None:
    found = [c for c in cases() if c.kernel == "gelu_bias"]
    assert len(found) == 2
    for case in found:
        predicted = float(np.max(case.prediction.traffic["l2_read_sectors"]))
        assert predicted == pytest.approx(case.measured("l2_read_sectors"), rel=0.03)


def test_pipes_of_kernels_that_were_not_looked_into() -> None:
    # Validation: which pipe takes an opcode was not read off these kernels. Part of a kernel's
    # instructions that each pipe is off.
    ends = {("int32",): "alu_instructions", ("imad", "wide", "fma32"): "fma_instructions"}
    off: dict[str, list[float]] = {column: [] for column in ends.values()}
    for case in cases("corpus-blind3"):
        parts = warp_instructions(case.prediction.details.instance, 0.0)
        for pipes, column in ends.items():
            predicted = sum(float(np.max(parts[pipe])) for pipe in pipes if pipe in parts)
            off[column].append((predicted - case.measured(column)) / case.measured("instructions"))
    for column, errors_ in off.items():
        assert np.sqrt(np.mean(np.square(errors_))) <= 0.055, column


def errors(found: list[Case]) -> tuple[np.ndarray, float]:
    """Return the relative errors of the times, and the share that is inside the 90% intervals."""
    ratio = [c.prediction.time_s * 1e6 / c.measured("time_us") for c in found]
    inside = [
        c.prediction.interval_s[0] <= c.measured("time_us") * 1e-6 <= c.prediction.interval_s[1]
        for c in found
    ]
    return np.abs(np.array(ratio) - 1), float(np.mean(inside))


def test_passes_through_l1_of_trees_in_shared_memory() -> None:
    # what whole warps leave out passes through L1 all the same
    trees = {"block_sums", "block_sums_modulo", "scan_tree", "scan_doubling"}
    found = [c for c in cases() if c.kernel in trees]
    assert len(found) >= 7
    for case in found:
        predicted = 132 * float(np.max(case.prediction.details.time.sm.l1.stages.data))
        assert predicted == pytest.approx(case.measured("l1_data_wavefronts"), rel=0.2), case.kernel


def test_times() -> None:
    error, inside = errors(cases())
    assert np.median(error) <= 0.065
    assert np.quantile(error, 0.9) <= 0.20
    assert inside >= 0.85


def test_dram_reads_of_loops_whose_iterations_are_put_together() -> None:
    # measured: rows of a matrix come once, however many of them an iteration loads
    found = [c for c in cases() if c.kernel == "checksums"]
    assert found
    for case in found:
        predicted = float(np.max(case.prediction.traffic["dram_read_bytes"]))
        assert predicted == pytest.approx(case.measured("dram_read_bytes"), rel=0.02)


def test_times_of_kernels_never_seen() -> None:
    # kepler calls a function that the compiler did not inline: no prediction, said so.
    error, inside = errors(cases("corpus-blind", frozenset({"kepler"})))
    assert len(error) == 16
    # 0.10 while DRAM reads were counted twice, which hid waits of three_diagonals;
    # 0.11 while conversions were no special functions (life_step, +10%: the profiler counts both)
    assert np.median(error) <= 0.12
    assert np.quantile(error, 0.9) <= 0.26
    assert inside >= 0.80


def test_times_of_kernels_that_the_rules_were_mended_on() -> None:
    # read after their first look (9.5% and 34%): predicated blocks and waits in steps came of it
    error, inside = errors(cases("corpus-blind2"))
    assert len(error) == 32
    # a cube's neighbours of blocks with two rows and two planes: once each
    box = next(c for c in cases("corpus-blind2") if c.kernel == "box_27")
    sectors = float(np.max(box.prediction.traffic["l2_read_sectors"]))
    assert sectors == pytest.approx(box.measured("l2_read_sectors"), rel=0.05)
    assert np.median(error) <= 0.10
    assert np.quantile(error, 0.9) <= 0.25
    assert inside >= 0.80


def test_times_of_kernels_that_were_not_looked_into() -> None:
    # What was wanted of the corpus: 15% and 40%, 80% inside. Of these only summaries were seen, but
    # two choices heeded them: which branches keep loads apart, and that integers queue nowhere.
    error, inside = errors(cases("corpus-blind3"))
    assert len(error) == 32
    assert np.median(error) <= 0.15
    assert np.quantile(error, 0.9) <= 0.40
    assert inside >= 0.80


def test_times_of_kernels_in_the_manner_of_public_suites() -> None:
    # Half A was looked into after its first look (7.1% and 20%, 24 of 24 inside), half B (10.9% and
    # 27%, 22 of 24) never: which half a kernel is in was said before anything was measured.
    session = tomllib.loads(
        (ROOT / "source-kernels/h200-sxm/corpus-blind4" / "session.toml").read_text()
    )
    for half, median, ninth in (("a", 0.10, 0.25), ("b", 0.15, 0.40)):
        found = [c for c in cases("corpus-blind4") if c.kernel in session["halves"][half]]
        error, inside = errors(found)
        assert len(error) == 24
        assert np.median(error) <= median, half
        assert np.quantile(error, 0.9) <= ninth, half
        assert inside >= 0.80, half


def test_times_of_more_kernels_in_the_manner_of_public_suites() -> None:
    # First looks, at commit b9e8bcd: half A 11.7% and 46%, 19 of 24 inside; half B 21.6% and 68%,
    # 14 of 24. A may be looked into since; of B only summaries are seen, ever.
    session = tomllib.loads(
        (ROOT / "source-kernels/h200-sxm/corpus-blind5" / "session.toml").read_text()
    )
    for half, median, ninth, least in (("a", 0.15, 0.50, 18), ("b", 0.25, 0.75, 13)):
        found = [c for c in cases("corpus-blind5") if c.kernel in session["halves"][half]]
        error, inside = errors(found)
        assert len(error) == 24
        assert np.median(error) <= median, half
        assert np.quantile(error, 0.9) <= ninth, half
        assert inside * 24 >= least, half


def test_times_of_kernels_written_when_the_models_were_final() -> None:
    # First looks, at commit 8005c65: half A 10.2% and 40%, 12 of 14 inside;
    # half B 17.8% and 39%, 11 of 14. A may be looked into since; of B only
    # summaries are seen.
    session = tomllib.loads(
        (ROOT / "source-kernels/h200-sxm/corpus-blind6" / "session.toml").read_text()
    )
    for half, median, ninth, least in (
        ("a", 0.15, 0.45, 11),
        ("b", 0.20, 0.45, 10),
    ):
        found = [c for c in cases("corpus-blind6") if c.kernel in session["halves"][half]]
        error, inside = errors(found)
        assert len(error) == 14
        assert np.median(error) <= median, half
        assert np.quantile(error, 0.9) <= ninth, half
        assert inside * 14 >= least, half


def test_times_of_kernels_as_engineers_write_them() -> None:
    # First looks, at commit 1e78702: half A 11.3% and 44%, half B 8.8% and 39%, 14 of 16 inside in
    # either. Uniform registers came of A's wave_double. B was opened after its merge_sorted had
    # come out at 24 times its time: chunks of large grids were taken to be as long as all data.
    # Without machine code B's ninetieth percentile is 50% since tile loops wait for who is ahead.
    session = tomllib.loads(
        (ROOT / "source-kernels/h200-sxm/corpus-blind7" / "session.toml").read_text()
    )
    for half in "ab":
        found = [c for c in cases("corpus-blind7") if c.kernel in session["halves"][half]]
        error, inside = errors(found)
        assert len(error) == 16
        assert np.median(error) <= 0.15, half
        assert np.quantile(error, 0.9) <= 0.60, half
        assert inside >= 0.80, half


def test_places_made_of_several_loads_differ_between_threads() -> None:
    # a byte of (a thread's word XOR a key that all threads share) looks up one of 256 words
    found = [c for c in cases("corpus-blind4") if c.kernel == "table_rounds"]
    assert len(found) == 2
    for case in found:
        predicted = float(np.max(case.prediction.details.traffic.shared_wavefronts))
        measured = case.measured("shared_load_wavefronts", "shared_store_wavefronts")
        assert predicted == pytest.approx(measured, rel=0.05)
