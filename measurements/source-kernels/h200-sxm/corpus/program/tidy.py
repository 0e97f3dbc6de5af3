"""Turns what measure.sh wrote into corpus.csv, a row a launch and protocol.

    python tidy.py MEASURED... FOLDER

Counts, times and events may be in several folders, each of other sources. Without events.csv there
are no rows of events.
What the columns mean stands in session.toml beside the data.
"""

from __future__ import annotations

import csv
import gzip
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from perfmodel.cuda.compile.program import read_log
from perfmodel.cuda.parse.signatures import base_name
from perfmodel.cuda.parse.template_names import is_named
from perfmodel.measure.profiler import TIME, read_rows
from perfmodel.measure.sweep import counter_metrics

MORE = {
    "thread_instructions": "smsp__thread_inst_executed.sum",
    "global_load_instructions": "smsp__inst_executed_op_global_ld.sum",
    "global_store_instructions": "smsp__inst_executed_op_global_st.sum",
    "shared_load_instructions": "smsp__inst_executed_op_shared_ld.sum",
    "shared_store_instructions": "smsp__inst_executed_op_shared_st.sum",
    "local_load_instructions": "smsp__inst_executed_op_local_ld.sum",
    "local_store_instructions": "smsp__inst_executed_op_local_st.sum",
    "fma_heavy_instructions": "sm__inst_executed_pipe_fmaheavy.sum",
    "fp64_instructions": "sm__inst_executed_pipe_fp64.sum",
    "xu_instructions": "sm__inst_executed_pipe_xu.sum",
    "uniform_instructions": "sm__inst_executed_pipe_uniform.sum",
    "branch_instructions": "sm__inst_executed_pipe_cbu.sum",
    "address_instructions": "sm__inst_executed_pipe_adu.sum",
    "local_load_requests": "l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum",
    "local_load_sectors": "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",
    "local_store_requests": "l1tex__t_requests_pipe_lsu_mem_local_op_st.sum",
    "local_store_sectors": "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum",
    "shared_load_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_store_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "shared_load_bank_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "shared_store_bank_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "waves": "launch__waves_per_multiprocessor",
}
METRICS = counter_metrics() | {name: (metric,) for name, metric in MORE.items()}


def launches(
    measured: Sequence[Path], name: str
) -> dict[tuple[str, str, str], list[dict[str, float]]]:
    """Return the profiler's rows of each launch: source, number in its launch file, kernel."""
    found: dict[tuple[str, str, str], list[dict[str, float]]] = {}
    for folder in (m for m in measured if (m / f"{name}.txt").exists()):
        told = [line.split() for line in (folder / f"{name}.txt").read_text().splitlines()]
        with gzip.open(folder / f"{name}.csv.gz", "rt") as file:
            rows = list(read_rows(file.read()))
        for (source, number, kernel), row in zip(told, rows, strict=True):
            found.setdefault((source, number, kernel), []).append(row)
    return found


def main(measured: Sequence[Path], folder: Path) -> None:
    """Write the file."""
    counted = launches(measured, "counters")
    times = {c: launches(measured, f"{c}-times") for c in ("cold", "warm")}
    taken = {
        (log.stem, k): r
        for m in measured
        for log in m.glob("*.ptxas")
        for k, r in read_log(log.read_text(), "").items()
    }
    rows = []
    for key in (k for k in counted if all(k in found for found in times.values())):
        for cache, found in times.items():
            told = [row[TIME] * 1e-3 for row in found[key]]
            row = timed(key, "profiler", cache, len(told), median(told), max(told) - min(told))
            if cache == "cold":
                for name, metrics in METRICS.items():
                    values = [counted[key][0][m] for m in metrics if m in counted[key][0]]
                    if values:
                        row[name] = f"{sum(values):.12g}"
                said = next(
                    r
                    for (source, k), r in taken.items()
                    if source == key[0] and (key[2] in (k, base_name(k)) or is_named(k, key[2]))
                )
                row |= {
                    "ptxas_registers": said.registers,
                    "shared_bytes": said.shared_bytes,
                    "local_bytes": said.local_bytes,
                    "spill_store_bytes": said.spill_store_bytes,
                    "spill_load_bytes": said.spill_load_bytes,
                }
            rows.append(row)
    logs = (m / "events.csv" for m in measured)
    for each in (row for log in logs if log.exists() for row in csv.DictReader(log.open())):
        key = (each["file"], each["number"], each["kernel"])
        span = float(each["spread"]) * float(each["time_us"])
        row = timed(key, "events", "warm", each["repeats"], float(each["time_us"]), span)
        rows.append(row | {"error": each["error"].replace("nan", "")})
    rows.sort(key=lambda r: (r["source"], int(r["launch"]), r["timing"], r["cache"]))
    write(folder / "corpus.csv", rows, ["error", *METRICS])


def timed(key: tuple[str, str, str], timing: str, cache: str, repeats, time_us, span):
    """Return the columns that every row has."""
    return {
        **dict(zip(("source", "launch", "kernel"), key, strict=True)),
        **{"use": "validation", "timing": timing, "cache": cache, "repeats": repeats},
        **{"time_us": f"{time_us:.6g}", "spread": f"{span / time_us:.4f}"},
    }


def write(path: Path, rows: list[dict[str, object]], order: list[str]) -> None:
    """Write rows with the columns that any of them has."""
    some = {name for row in rows for name in row}
    names = [*dict.fromkeys([*rows[0], *order, *sorted(some)])]
    with path.open("w", newline="") as file:
        made = csv.DictWriter(file, [n for n in names if n in some], lineterminator="\n")
        made.writeheader()
        made.writerows(rows)


if __name__ == "__main__":
    main([Path(m) for m in sys.argv[1:-1]], Path(sys.argv[-1]))
