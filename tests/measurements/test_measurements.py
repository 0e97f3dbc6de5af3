"""The measurements: complete, documented, possible, and joined to the right cases."""

from __future__ import annotations

import csv
import re
import tomllib
from math import ceil
from statistics import median
from typing import Any

import pytest
from measured import FOLDER, rows, topics

from perfmodel.measure.recorded import read_recording
from perfmodel.measure.seal import measured_files

SESSION = tomllib.loads((FOLDER / "session.toml").read_text())
MACHINE = SESSION["machine"]
DRAM_PEAK = MACHINE["memory_clock_mhz"] * 2e6 * MACHINE["bus_bits"] / 8  # bytes/second
WARPS = 64  # of a coalescer launch: 16 blocks of 128 threads

ROOT = FOLDER.parents[2]
CITED = re.compile(r"(?<![\w/])measurements/((?:[a-z0-9-]+/)+[\w.-]*\w)")
COUNTED = [r for topic in topics() for r in rows(topic) if r.get("timing") == "profiler"]


def distinct_sectors(offsets: tuple[int, ...], width: int) -> int:
    """Count the 32 B sectors that lanes of `width` bytes touch, byte by byte."""
    return len({(offset + byte) // 32 for offset in offsets for byte in range(width)})


def test_every_topic_has_its_rows() -> None:
    # regression: cases in the program's sweeps, times cache states, plus those counted
    assert set(topics()) == set(SESSION["topics"])
    counts = {topic: len(rows(topic)) for topic in topics()}
    assert counts["coalescer"] == 816
    assert counts["l1-patterns"] == 621
    assert counts["l1-pairs"] == 81
    assert counts["validation"] == 3 * 80
    assert counts["tag-banks"] == 60
    assert counts["latency"] == 30


def indexed() -> dict[str, tuple[int, str]]:
    """Return rows and date of each session in README's tables, by its path."""
    found: dict[str, tuple[int, str]] = {}
    subject = ""
    for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip(" `") for cell in line.split("|")[1:-1]]
        if line.startswith("## "):
            subject = line.removeprefix("## ")
        elif len(cells) == 5 and cells[2].isdigit():
            name = f"{subject}/{cells[0]}/{cells[1]}"
            assert name not in found
            found[name] = int(cells[2]), cells[3]
    return found


def test_the_index_has_every_session_with_its_rows_and_date() -> None:
    # independent: what lies in the folders
    there = {}
    for path in ROOT.glob("*/*/*/session.toml"):
        session = tomllib.loads(path.read_text(encoding="utf-8"))
        runs = [*session.get("run", []), *(v for k, v in session.items() if "session-" in k)]
        count = 0
        for table in measured_files(path.parent):
            with table.open(newline="", encoding="utf-8") as file:
                count += sum(1 for row in csv.reader(file) if row) - 1
        name = path.parent.relative_to(ROOT).as_posix()
        there[name] = count, min(str(run["date"])[:10] for run in runs)
    assert indexed() == there


def test_the_index_has_the_rows_that_others_published() -> None:
    # independent: what lies in the folders
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for path in ROOT.glob("published/*/session.toml"):
        count = sum(len(topic.rows) for topic in read_recording(path.parent).topics.values())
        assert f"| {path.parent.name} | {count} |" in readme


def test_every_measurement_that_is_cited_is_there() -> None:
    # property: in the package and its tests no path leads nowhere
    missing = [
        (str(path), cited)
        for folder in ("perfmodel", "tests", "benchmarks")
        for path in sorted((ROOT.parent / folder).rglob("*"))
        if path.suffix in (".py", ".toml", ".md")
        for cited in CITED.findall(path.read_text(encoding="utf-8"))
        if not (ROOT / cited.rstrip("./")).exists()
    ]
    assert missing == []


@pytest.mark.parametrize("topic", topics())
def test_every_column_is_documented(topic: str) -> None:
    header = (FOLDER / f"{topic}.csv").open().readline().strip().split(",")
    assert set(header) <= set(SESSION["columns"])


@pytest.mark.parametrize("topic", topics())
def test_rows_parse_and_name_their_timing(topic: str) -> None:
    for row in rows(topic):
        assert row["session"] in (1, 2, 3, 4, 5)
        if "cycles" in row:
            assert row["cycles"] > 0.99
            continue
        assert row["time_us"] > 0
        assert row["repeats"] >= 1
        counted = row["timing"] == "profiler"
        assert counted or row["timing"] == "events"
        if topic not in ("coalescer", "tag-banks", "l2-states"):
            assert row["cache"] in (("cold",) if counted else ("warm", "dirty"))
        assert all(value >= 0 for value in row.values() if not isinstance(value, str | tuple))


def test_only_the_valid_l1_session_is_here() -> None:
    assert {r["session"] for t in ("l1-patterns", "l1-pairs") for r in rows(t)} == {2}


def test_no_row_beats_the_dram_peak() -> None:
    # independent: memory clock x 2 x bus width
    known = [r for r in COUNTED if "dram_read_bytes" in r]
    assert len(known) == 36 + 66 + 48 + 79 + 80
    for r in known:
        moved = r["dram_read_bytes"] + r["dram_write_bytes"]
        assert moved / (r["time_us"] * 1e-6) < 1.05 * DRAM_PEAK, r


def test_no_large_stream_beats_the_dram_peak() -> None:
    # independent: a stream of 1 GiB and more cannot have come from 60 MiB of L2
    for r in [*rows("streams"), *rows("blocks")]:
        if r["bytes"] >= 2**30:
            directions = 2 if r["kernel"].startswith("copy") else 1
            assert directions * r["bytes"] / (r["time_us"] * 1e-6) < 1.05 * DRAM_PEAK, r


def test_cycles_over_time_is_the_clock() -> None:
    # independent: the SM clock that session.toml states. Time and cycles come from different
    # replays of the kernel, so that what differs from one to the next shows here
    known = [r for r in COUNTED if "sm_cycles_elapsed" in r]
    long = [r["sm_cycles_elapsed"] / r["time_us"] for r in known if r["time_us"] > 100]
    short = [r["sm_cycles_elapsed"] / r["time_us"] for r in known if r["time_us"] <= 100]
    clock = MACHINE["sm_clock_max_mhz"]
    assert median(long) == pytest.approx(clock, rel=0.005)
    assert all(c == pytest.approx(clock, rel=0.04) for c in long)
    assert all(c == pytest.approx(clock, rel=0.18) for c in short)


def test_hits_and_parts_are_not_more_than_the_whole() -> None:
    for r in COUNTED:
        if "global_load_sectors" in r:
            assert r["l1_hit_sectors"] <= r["global_load_sectors"]
        if "l2_hit_sectors" in r:
            assert r["sm_cycles_active"] <= r["sm_cycles_elapsed"]
            assert r["warps_active"] <= 64 * 1.01  # warps and cycles: different replays


def test_streams_ask_for_their_bytes() -> None:
    # independent, by hand: each byte once, 32 B a sector; also shows that the join is right
    for r in rows("streams", timing="profiler"):
        sectors = r["bytes"] // 32
        assert r["global_load_sectors"] == (0 if r["kernel"] == "write" else sectors)
        assert r["global_store_sectors"] == (0 if r["kernel"] == "read" else sectors)
        assert r["global_load_requests"] in (0, r["bytes"] // r["vector"] // 32)


def test_strided_copies_ask_for_distinct_sectors() -> None:
    # independent: brute force over the lanes of every warp of the first period
    for r in rows("strided", timing="profiler"):
        loads = [
            distinct_sectors(
                tuple((4 * (i * r["stride"] + r["offset"])) for i in range(w, w + 32)), 4
            )
            for w in range(0, 256, 32)
        ]
        assert r["global_load_sectors"] == sum(loads) * r["n"] // 256
        assert r["global_store_sectors"] == r["n"] // 8


def test_products_store_c_once() -> None:
    # independent: a coalesced warp stores 32 floats of a row, 4 sectors where N is whole in 8
    for r in rows("gemm", timing="profiler", mapping="coalesced"):
        assert r["global_store_requests"] == r["M"] * ceil(r["N"] / 32)
        if r["N"] % 8 == 0:
            assert r["global_store_sectors"] == r["M"] * r["N"] // 8


@pytest.mark.parametrize("row", [r for r in rows("working-set") if r["timing"] == "profiler"])
def test_working_sets_pass_through_l2(row: dict[str, Any]) -> None:
    # independent: bytes x iterations; L1 merges under 0.1% of the stores
    sectors = row["bytes"] * row["iterations"] // 32
    reads = row["kernel"] == "working-set-read"
    assert row["l2_read_sectors"] == (sectors if reads else 0)
    assert row["l2_write_sectors"] == pytest.approx(0 if reads else sectors, rel=1e-3)


def test_every_load_is_charged_its_distinct_sectors() -> None:
    # independent: brute-force count. Each warp also loads its offsets: 1 request, 4 sectors
    cases = rows("coalescer", kernel="coalesce-load")
    assert len(cases) == 408
    for r in cases:
        sectors = distinct_sectors(r["offsets"], r["vector"])
        assert r["global_load_requests"] == WARPS * (1 + 1), r["pattern"]
        assert r["global_load_sectors"] == WARPS * (sectors + 4), r["pattern"]
        assert r["global_store_requests"] == 0


def test_every_store_is_charged_its_distinct_sectors() -> None:
    # independent: brute-force count. The offsets are loaded: the store counters are the store's
    cases = rows("coalescer", kernel="coalesce-store")
    assert len(cases) == 408
    for r in cases:
        sectors = distinct_sectors(r["offsets"], r["vector"])
        assert r["global_store_requests"] == WARPS, r["pattern"]
        assert r["global_store_sectors"] == WARPS * sectors, r["pattern"]
        assert r["global_load_sectors"] == WARPS * 4


def test_tag_bank_cases_ask_for_their_sectors() -> None:
    # independent: the offsets that tidy.py lays out give the sectors that the profiler counted
    for r in rows("tag-banks"):
        assert r["global_load_sectors"] == WARPS * (distinct_sectors(r["offsets"], 4) + 4)
