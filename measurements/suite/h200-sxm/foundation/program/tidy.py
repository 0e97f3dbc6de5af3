"""Turns what measure.sh wrote into one tidy CSV a topic.

    python tidy.py OUTPUT SESSION [SESSION ...]

A SESSION is an output folder of measure.sh: events.csv (times between events, cycles), cases.csv
(what the profiler saw launched, in order) and one SWEEP.csv.gz a sweep that the profiler counted.
Sessions are numbered 1, 2, ... as given. What the columns mean stands in session.toml beside the
data.
"""

from __future__ import annotations

import argparse
import csv
import gzip
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

Row = dict[str, str | int | float]

# Topic (file name) to the sweeps of the program that belong to it.
TOPICS: Mapping[str, tuple[str, ...]] = {
    "gemm": ("gemm",),
    "streams": ("copy", "read", "write", "copy-gridstride", "read-gridstride"),
    "strided": ("strided-copy",),
    "blocks": ("copy-block", "read-block", "write-block"),
    "in-flight": ("in-flight",),
    "working-set": ("working-set-read", "working-set-shared", "working-set-write"),
    "latency": ("latency",),
    "launch": ("empty",),
    "l1-patterns": ("l1-pattern",),
    "l1-pairs": ("l1-pair",),
    "coalescer": ("coalesce-load", "coalesce-store"),
    "tag-banks": ("tag-bank",),
    "gemm-resident": ("gemm-resident",),
    "runs": ("run-copy",),
    "stores": ("store-runs",),
    "l2-states": ("l2-state",),
    "validation": (
        *("transpose", "row-sum", "column-sum", "stencil5"),
        *("triad", "field-read", "polynomial"),
    ),
}
TOPIC_OF = {sweep: topic for topic, sweeps in TOPICS.items() for sweep in sweeps}

# The profiler's file to the topic whose cases it counted, "" for all of cases.csv.
COUNTED: Mapping[str, str] = {
    "holdout": "",
    "gemm": "gemm",
    "stream": "streams",
    "strided": "strided",
    "l2": "working-set",
    "launch": "launch",
    "coalesce": "coalescer",
    "tags": "tag-banks",
    "validate": "validation",
}
# Counted without cache control and for L1 alone: no cache state to tell, no registers to report.
L1_ONLY = ("coalescer", "tag-banks")

# Parameters that the program fixes and its labels leave out.
FIXED: Mapping[str, Row] = {
    **{sweep: {"block": 256} for sweep in ("copy", "read", "write", "strided-copy", "run-copy")},
    "store-runs": {"block": 256},
    **{sweep: {"vector": 16} for sweep in ("copy-gridstride", "read-gridstride")},
    **{
        sweep: {"bx": 256, "by": 1}
        for sweep in ("row-sum", "column-sum", "triad", "field-read", "polynomial")
    },
}

RENAMED: Mapping[str, Mapping[str, str]] = {
    "in-flight": {"width": "vector"},
    "l1-pairs": {
        "stride": "stride_bytes",
        "stride2": "stride2_bytes",
        "warp_step": "warp_step_bytes",
    },
    "latency": {"l1": "through_l1"},
    "gemm-resident": {"repeats": "iterations"},
    "validation": {"type": "element_bytes"},
}

COUNTERS: Mapping[str, str] = {
    "global_load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "global_load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1_hit_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
    "global_store_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "global_store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "l1_requests": "l1tex__lsuin_requests.sum",
    "l1_tag_wavefronts_load": "l1tex__t_output_wavefronts_pipe_lsu_mem_global_op_ld.sum",
    "l1_tag_wavefronts_store": "l1tex__t_output_wavefronts_pipe_lsu_mem_global_op_st.sum",
    "l1_set_accesses_load": "l1tex__t_set_accesses_pipe_lsu_mem_global_op_ld.sum",
    "l1_set_conflicts_load": "l1tex__t_set_conflicts_pipe_lsu_mem_global_op_ld.sum",
    "l1_data_wavefronts": "l1tex__data_pipe_lsu_wavefronts.sum",
    "l1_bank_conflicts": "l1tex__data_bank_conflicts_pipe_lsu.sum",
    "l1_bank_reads": "l1tex__data_bank_reads.sum",
    "l1_bank_writes": "l1tex__data_bank_writes.sum",
    "l1_writeback_cycles": "l1tex__lsu_writeback_active.sum",
    "l1_fill_sectors": "l1tex__m_xbar2l1tex_read_sectors_mem_lg_op_ld.sum",
    "l2_read_sectors": "lts__t_sectors_srcunit_tex_op_read.sum",
    "l2_write_sectors": "lts__t_sectors_srcunit_tex_op_write.sum",
    "l2_hit_sectors": "lts__t_sectors_srcunit_tex_lookup_hit.sum",
    "l2_all_sectors": "lts__t_sectors.sum",
    "l2_all_read_sectors": "lts__t_sectors_op_read.sum",
    "l2_all_write_sectors": "lts__t_sectors_op_write.sum",
    "l2_cycles_elapsed": "lts__cycles_elapsed.max",
    "dram_read_bytes": "dram__bytes_read.sum",
    "dram_write_bytes": "dram__bytes_write.sum",
    "instructions": "smsp__inst_executed.sum",
    "lsu_instructions": "sm__inst_executed_pipe_lsu.sum",
    "issue_cycles": "smsp__issue_active.sum",
    "sm_cycles_elapsed": "sm__cycles_elapsed.max",
    "sm_cycles_active": "sm__cycles_active.avg",
    "warps_active": "sm__warps_active.avg.per_cycle_active",
    "registers": "launch__registers_per_thread",
}
TIME = "gpu__time_duration.sum"
MICROSECONDS: Mapping[str, float] = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}
# Units in which a count is already what session.toml says; a scaled one ("Mbyte") is an error.
UNSCALED = ("", "byte", "sector", "cycle", "inst", "warp", "register/thread")


def main() -> None:
    """Read the sessions named on the command line and write the CSVs."""
    parser = argparse.ArgumentParser(description="measure.sh output to one tidy CSV a topic")
    parser.add_argument("output", type=Path)
    parser.add_argument("sessions", type=Path, nargs="+")
    arguments = parser.parse_args()
    tables: dict[str, list[Row]] = {topic: [] for topic in TOPICS}
    for number, folder in enumerate(arguments.sessions, start=1):
        for topic, row in (*timed(folder), *counted(folder)):
            tables[topic].append({"session": number, **row})
    arguments.output.mkdir(parents=True, exist_ok=True)
    for topic, rows in tables.items():
        if rows:
            write(arguments.output / f"{topic}.csv", rows)


def timed(folder: Path) -> Iterator[tuple[str, Row]]:
    """Yield topic and row of every case in events.csv, one row a cache state."""
    with (folder / "events.csv").open() as lines:
        for sweep, label, *numbers in csv.reader(lines):
            topic, case = TOPIC_OF[sweep], parameters(sweep, label)
            if topic == "l1-patterns":
                yield topic, {**case, "cycles": l1_cost(numbers[0]), "offsets": numbers[1]}
            elif topic == "l1-pairs":
                yield topic, {**case, "cycles": l1_cost(numbers[0])}
            elif topic == "latency":
                yield topic, {**case, "cycles": number(numbers[0])}
            else:
                warm, dirty, repeats = (number(text) for text in numbers)
                case["timing"] = "events"
                yield topic, {**case, "cache": "warm", "repeats": repeats, "time_us": warm}
                if dirty:  # 0 stands for not measured; nine times at most
                    repeats = min(repeats, 9)
                    yield topic, {**case, "cache": "dirty", "repeats": repeats, "time_us": dirty}


def l1_cost(text: str) -> float:
    """Return the cycles of an L1 request, refusing what no SM can reach: under one a cycle."""
    cycles = float(text)
    if cycles < 0.99:
        raise SystemExit(f"an L1 request in {text} cycles: the compiler dropped the loads")
    return cycles


def counted(folder: Path) -> Iterator[tuple[str, Row]]:
    """Yield topic and row of every launch that the profiler counted."""
    for name, topic in COUNTED.items():
        if not (folder / f"{name}.csv.gz").exists():
            continue
        cases = [
            (sweep, label.strip())
            for sweep, label in cases_of(folder / "cases.csv")
            if TOPIC_OF[sweep] == topic or not topic
        ]
        launches = list(profiled(folder / f"{name}.csv.gz"))
        if len(cases) != len(launches):
            raise SystemExit(f"{folder}: {len(launches)} launches, {len(cases)} cases of {name}")
        for (sweep, label), launch in zip(cases, launches, strict=True):
            case: Row = {**parameters(sweep, label), "timing": "profiler"}
            if launch["time_us"] != launch["time_us"]:  # the profiler lost the last launch
                continue
            if topic in L1_ONLY:
                launch.pop("registers")
            else:
                case["cache"] = "cold"
            yield topic or TOPIC_OF[sweep], {**case, "repeats": 1, **launch}


def cases_of(path: Path) -> Iterator[tuple[str, str]]:
    """Yield sweep and label of each case; the profiler's own lines have no comma."""
    for line in path.read_text().splitlines():
        sweep, comma, label = line.partition(",")
        if comma:
            yield sweep, label


def profiled(path: Path) -> Iterator[Row]:
    """Yield time and counters of each launch in a raw-page CSV of the profiler."""
    with gzip.open(path, "rt") as text:
        table = csv.reader(line for line in text if line.startswith('"'))
        head, units = next(table), next(table)
        for cells in table:
            launch = dict(zip(head, cells, strict=True))
            if launch["Kernel Name"].startswith("fill_random"):
                continue
            unit = dict(zip(head, units, strict=True))
            time = float(launch[TIME].replace(",", "")) * MICROSECONDS[unit[TIME]]
            row: Row = {"time_us": round(time, 3)}
            for name, counter in COUNTERS.items():
                if launch.get(counter):
                    if unit[counter] not in UNSCALED:
                        raise SystemExit(f"{path}: {counter} in {unit[counter]}: use base units")
                    row[name] = number(launch[counter])
            yield row


def parameters(sweep: str, label: str) -> Row:
    """Return the parameters of a case from its label, with those that the program fixes."""
    topic = TOPIC_OF[sweep]
    case: Row = {"kernel": sweep} if len(TOPICS[topic]) > 1 else {}
    pairs = dict(part.split("=", 1) for part in label.split(";"))
    if topic in ("l1-patterns", "coalescer"):  # the offsets say it all: a name is enough
        case["vector"] = int(pairs.pop("width"))
        offsets = pairs.pop("offsets", "")
        case["pattern"] = ";".join(f"{key}={value}" for key, value in pairs.items())
        return {**case, "offsets": offsets} if offsets else case
    for key, value in pairs.items():
        case[RENAMED.get(topic, {}).get(key, key)] = value if key == "mapping" else number(value)
    case.update(FIXED.get(sweep, {}))
    if topic == "blocks":
        bytes_, vector, block = (int(case[key]) for key in ("bytes", "vector", "block"))
        case["grid"] = -(-bytes_ // vector // block)
        if vector == 4:  # the program launches threads for `bytes` and lets the upper half idle
            case["bytes"] = bytes_ // 2
    if topic == "tag-banks":  # as the program lays them out: three lines by turns
        lines = (int(case["line"]), int(case["line2"]), 1 << int(case["bit"]))
        case["offsets"] = " ".join(str(lines[i % 3] * 128 + i // 3 * 4) for i in range(32))
    return case


def number(text: str) -> int | float:
    """Return the number that `text` writes, as an int where it is whole."""
    value = float(text.replace(",", ""))
    return int(value) if value.is_integer() else value


def write(path: Path, rows: Iterable[Row]) -> None:
    """Write rows under the union of their columns, parameters first and counters last."""
    rows = list(rows)
    last = ("timing", "cache", "repeats", "time_us", "cycles", "offsets", *COUNTERS)
    seen = list(dict.fromkeys(key for row in rows for key in row))
    columns = [key for key in seen if key not in last] + [key for key in last if key in seen]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
