"""Tidies what operators.sh left into the CSVs of this session, and seals them.

python operators_tidy.py FIRST SECOND FOLDER: the outputs of the first run (counters among them) and
of the second one (sizes chosen later), and the measurement folder.
"""

import csv
import sys
from pathlib import Path

from perfmodel.measure.seal import seal

POINT = (
    *("operator", "impl", "dtype", "rows", "columns", "batch", "heads", "kv_heads", "tokens"),
    *("context", "width", "causal", "part"),
)
COUNTERS = {
    "gpu__time_duration.sum": "time_us",
    "smsp__inst_executed.sum": "instructions",
    "smsp__inst_executed_pipe_fma.sum": "fma_instructions",
    "smsp__inst_executed_pipe_alu.sum": "alu_instructions",
    "smsp__inst_executed_pipe_xu.sum": "xu_instructions",
    "smsp__inst_executed_pipe_lsu.sum": "lsu_instructions",
    "smsp__inst_executed_pipe_tensor.sum": "tensor_instructions",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": "global_load_requests",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": "global_load_sectors",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum": "global_store_requests",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": "global_store_sectors",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum": "shared_wavefronts",
    "lts__t_sectors_srcunit_tex_op_read.sum": "l2_read_sectors",
    "lts__t_sectors_srcunit_tex_op_write.sum": "l2_write_sectors",
    "dram__bytes_read.sum": "dram_read_bytes",
    "dram__bytes_write.sum": "dram_write_bytes",
    "launch__registers_per_thread": "registers",
}


def read(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def write(path: Path, rows: list[dict[str, object]]) -> None:
    """Write rows as a CSV."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n", restval="")
        writer.writeheader()
        writer.writerows(rows)


def times(folder: Path, target: Path) -> dict[str, dict[str, str]]:
    """Write the times of whole operators; return each point's parameters."""
    found = read(folder / "operators.csv")
    points = {row["point"]: {name: row[name] for name in POINT} for row in found}
    results = ("use", "timing", "cache", "repeats", "time_us", "spread", "kernels")
    write(
        target, [{n: r[n] for n in (*POINT, "point", *results)} for r in found if r["right"] == "1"]
    )
    return points


def launches(folder: Path, points: dict[str, dict[str, str]], target: Path) -> None:
    """Write each kernel of each operator, with its launch."""
    rows = []
    for r in read(folder / "launches.csv"):
        name = " ".join(r["kernel"].replace("void ", "").split())[:90]
        launch = {n: r[n] for n in ("grid", "block", "registers", "shared_bytes")}
        rows.append(
            {"operator": points[r["point"]]["operator"], "impl": points[r["point"]]["impl"]}
            | {"point": r["point"], "number": r["number"], "kernel": name}
            | {"timing": "profiler", "cache": r["cache"], "repeats": 11, "time_us": r["time_us"]}
            | launch
        )
    write(target, rows)


def counters(folder: Path, points: dict[str, dict[str, str]], target: Path) -> None:
    """Write the counters of the points that Nsight Compute saw, a row a kernel."""
    lines = (folder / "counters.csv").read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith('"ID"'))
    counted = [
        line.split()[1]
        for line in (folder / "counted.txt").read_text().splitlines()
        if line.startswith("COUNTED")
    ]
    rows: list[dict[str, object]] = []
    at, number = -1, 0
    for r in list(csv.DictReader(lines[start:]))[1:]:
        if "pm_point" in r["Kernel Name"]:
            at, number = at + 1, 0
            continue
        point = counted[at]
        row: dict[str, object] = {
            "operator": points[point]["operator"],
            "impl": points[point]["impl"],
        }
        row |= {"point": point, "number": number, "kernel": " ".join(r["Kernel Name"].split())[:90]}
        row |= {"timing": "profiler", "cache": "cold", "repeats": 1}
        for metric, name in COUNTERS.items():
            value = float(r[metric].replace(",", ""))
            row[name] = f"{value / 1e3:.3f}" if name == "time_us" else f"{value:.0f}"
        rows.append(row)
        number += 1
    write(target, rows)


def main() -> None:
    """Tidy both runs."""
    first, second, folder = map(Path, sys.argv[1:])
    points = times(first, folder / "operators.csv")
    launches(first, points, folder / "launches.csv")
    counters(first, points, folder / "counters.csv")
    if second.is_dir():
        points = times(second, folder / "unseen.csv")
        launches(second, points, folder / "unseen-launches.csv")
    seal(folder)


main()
