"""Tidies what times.sh left into the CSVs of this session, and seals them.

python tidy.py OUT COUNTS SHARED FOLDER: the outputs of the two runs, that of a later one with
points-shared.csv for points.csv (more shared atomics, attention by the profiler), and the folder.
python tidy.py OUT FOLDER DRAW: of a run with points-DRAW.csv (and counted-DRAW.txt) in their place.
"""

import csv
import json
import sys
from pathlib import Path

from perfmodel.measure.seal import seal

COUNTERS = {
    "gpu__time_duration.sum": "time_us",
    "dram__bytes_read.sum": "dram_read_bytes",
    "dram__bytes_write.sum": "dram_write_bytes",
    "lts__t_sectors_srcunit_tex_op_read.sum": "l2_read_sectors",
    "lts__t_sectors_srcunit_tex_op_write.sum": "l2_write_sectors",
    "lts__t_sectors_srcunit_tex_op_atom.sum": "l2_atomic_sectors",
    "lts__t_sectors_srcunit_tex_op_red.sum": "l2_atomic_sectors",
    "lts__t_sectors_srcunit_tex_lookup_hit.sum": "l2_hit_sectors",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": "global_load_requests",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": "global_load_sectors",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum": "l1_hit_sectors",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum": "global_store_requests",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": "global_store_sectors",
    "smsp__inst_executed.sum": "instructions",
    "sm__warps_active.avg.per_cycle_active": "warps_active",
    "launch__registers_per_thread": "registers",
}


def read(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV, without the lines that are none."""
    lines = path.read_text(encoding="utf-8").splitlines()
    start = next(n for n, line in enumerate(lines) if line.count(",") > 4)
    return list(csv.DictReader(line for line in lines[start:] if line.count(",") > 4))


def described(point: dict[str, str]) -> dict[str, object]:
    """Return the columns that say what a point is."""
    extra = json.loads(point["extra"])
    extra.pop("window_buffer", None)
    if "fetch_granularity" in extra:
        extra["fetch_granularity"] = extra["fetch_granularity"] or 64  # the driver's
    if point["kernel"] == "stream-persistent":
        extra = {"set_aside": 0, "window": 0, "hit_ratio": 1.0} | extra
    params = json.loads(point["params"])
    if point["kernel"] == "kv-append":
        params = {"how": "direct"} | params
    if point["kernel"] in ("decode-attention", "prefill-attention"):
        params = {"causal": "false"} | params
    if point["kernel"] == "shared-atomic":
        params = {"constant": "true"} | params
    return {"mapping": point["mapping"]} | params | extra | {"by": point["by"]}


def counted(path: Path) -> list[tuple[int, dict[str, float]]]:
    """Return each launch's counters, with the number of its point."""
    numbers = [
        int(line.split()[1])
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.startswith("point ")
    ]
    launches: dict[str, dict[str, float]] = {}
    for row in read(path):
        if "combine" in row["Kernel Name"]:  # a point's second kernel
            continue
        found = launches.setdefault(row["ID"], {})
        name = COUNTERS[row["Metric Name"]]
        value = float(row["Metric Value"].replace(",", ""))
        if name == "time_us":
            value *= {"ns": 1e-3, "nsecond": 1e-3, "us": 1.0, "usecond": 1.0}[row["Metric Unit"]]
        found[name] = found.get(name, 0.0) + value
    assert len(numbers) <= len(launches) <= len(numbers) + 1, (len(numbers), len(launches))
    return list(zip(numbers, launches.values(), strict=False))


def host_late(rows: list[dict[str, object]]) -> None:
    """Flag rows of events whose first event had passed while the host was still queueing."""
    own = {
        (r["point"], r["cache"]): float(str(r["time_us"])) for r in rows if r["timing"] != "events"
    }
    for row in rows:
        time, spread = float(str(row["time_us"])), float(str(row["spread"]))
        told = own.get((row["point"], row["cache"]), time)
        late = row["timing"] == "events" and time > max(told + 5, told * 1.05) and spread > 0.3
        row["flag"] = "host late" if late else ""


def main() -> None:
    """Write one CSV a kernel, and seal the folder."""
    if len(sys.argv) == 4:
        out, folder = (Path(name) for name in sys.argv[1:3])
        counts, shared, first_look = out, None, f"first-look-{sys.argv[3]}.csv"
    else:
        out, counts, shared, folder = (Path(name) for name in sys.argv[1:])
        first_look = "first-look.csv"
    points = list(csv.DictReader((out / "points.csv").open(encoding="utf-8", newline="")))
    topics: dict[str, list[dict[str, object]]] = {}

    looks = {
        (row["point"], row["timing"], row["cache"]): row
        for row in read(Path(__file__).parent / first_look)
    }

    def add(topic: str, number: int, what: dict[str, object], results: dict[str, object]) -> None:
        own = {"point": number, "half": points[number]["half"], "use": "validation"}
        topics.setdefault(topic, []).append(what | own | results)

    for row in csv.DictReader((out / "times.csv").open(encoding="utf-8", newline="")):
        if row["timing"] != "profiler-all":
            point = points[int(row["point"])]
            found = {n: row[n] for n in ("timing", "cache", "repeats", "time_us", "spread")}
            cache = "cold" if row["cache"] == "dirty" else row["cache"]
            look = looks.get((row["point"], row["timing"], cache), {})
            found |= {n: look[n] for n in ("predicted_us", "low_us", "high_us") if look}
            add(f"builtin-{point['kernel']}", int(row["point"]), described(point), found)
    if shared:
        known = {point["params"]: number for number, point in enumerate(points)}
        later = list(csv.DictReader((shared / "points.csv").open(encoding="utf-8", newline="")))
        first = len(points)
        points += later
        for row in csv.DictReader((shared / "times.csv").open(encoding="utf-8", newline="")):
            point = later[int(row["point"])]
            number = known.get(point["params"], first + int(row["point"]))
            if number >= first or row["timing"] == "profiler":
                found = {n: row[n] for n in ("timing", "cache", "repeats", "time_us", "spread")}
                add(f"builtin-{point['kernel']}", number, described(point), found)
    if not shared:
        for rows in topics.values():
            host_late(rows)
    found = counted(counts / "counts.csv") if (counts / "counts.csv").exists() else []
    for number, values in found:
        shown = {k: f"{v:.3f}".rstrip("0").rstrip(".") for k, v in values.items()}
        what = {n: points[number][n] for n in ("kernel", "mapping")}
        add(
            "builtin-counters",
            number,
            what,
            {"timing": "profiler", "cache": "cold", "repeats": 1, **shown},
        )
    for topic, rows in topics.items():
        columns = list(dict.fromkeys(name for row in rows for name in row))
        if not any(row.get("mapping") for row in rows):
            columns.remove("mapping")
        with (folder / f"{topic}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
            writer.writeheader()
            writer.writerows(sorted(rows, key=lambda row: int(str(row["point"]))))
    seal(folder)


main()
