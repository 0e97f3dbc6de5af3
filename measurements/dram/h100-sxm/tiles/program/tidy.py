"""tidy.py OUT FOLDER: the counters that measure.sh wrote to OUT as the CSVs of FOLDER."""

import csv
import sys
from pathlib import Path

NAMES = {
    "tiles": ("blocks", "tiles", "block"),
    "trees": ("loads", "far", "tree"),
    "transposes": ("width", "height", "tile"),
    "rows": ("rows", "length", "stride"),
    "planes": ("planes", "n"),
    "shifted": ("shift", "n"),
}
COUNTERS = {
    "dram_read_bytes": "dram__bytes_read.sum",
    "dram_write_bytes": "dram__bytes_write.sum",
    "l2_read_sectors": "lts__t_sectors_srcunit_tex_op_read.sum",
    "l2_write_sectors": "lts__t_sectors_srcunit_tex_op_write.sum",
    "l2_all_sectors": "lts__t_sectors.sum",
    "l2_tag_requests": "lts__t_tag_requests.sum",
}


def read(path: Path) -> list[dict[str, str]]:
    """Return the launches of a file that the profiler wrote."""
    if not path.exists():
        return []
    lines = [line for line in path.read_text().splitlines() if line.startswith('"')]
    return [row for row in csv.DictReader(lines) if row["ID"]]


def number(text: str) -> float:
    """Return a number that may have commas."""
    return float(text.replace(",", ""))


def topic(name: str) -> str:
    """Return the CSV that a variant belongs to."""
    if name == "tree":
        return "trees"
    if name.startswith(("transpose", "float", "double", "columns")):
        return "transposes"
    if name in ("rows", "runs"):
        return "rows"
    if name in ("interleave", "known", "alias", "one"):
        return "planes"
    return name if name == "shifted" else "tiles"


def main(out: Path, folder: Path) -> None:
    """Write the CSVs."""
    found: dict[str, list[dict[str, object]]] = {}
    for program in ("tiles", "partial"):
        lines = [x.split(",") for x in (out / f"{program}.txt").read_text().splitlines()]
        launches = [x for x in lines if len(x) == 6 and x[0].isdigit()]
        cold = read(out / f"{program}-cold.csv")
        assert len(cold) == len(launches)
        once = [x for x in launches if x[5] == "0"]
        sectors = read(out / f"{program}-sectors.csv")
        apart = len(once) - len(sectors)  # some were counted for the last of them only
        for at, (_, name, *sizes, _) in enumerate(once):
            both = [row for row, x in zip(cold, launches, strict=True) if x[1:5] == [name, *sizes]]
            times = sorted(number(row["gpu__time_duration.sum"]) / 1e3 for row in both)
            row: dict[str, object] = {"variant": name}
            row |= dict(zip(NAMES[topic(name)], sizes, strict=False))
            if name == "rows":  # of 16 bytes each
                row["length"] = 4 * int(sizes[1])
            row["use"] = "fit"
            row["time_us"] = f"{sum(times) / len(times):.2f}"
            row["spread"] = f"{times[-1] / times[0] - 1:.4f}"
            given = both[0] | (sectors[at - apart] if at >= apart else {})
            row |= {k: f"{number(given[v]):.0f}" if v in given else "" for k, v in COUNTERS.items()}
            found.setdefault(topic(name), []).append(row)
    for name, rows in found.items():
        with (folder / f"{name}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


main(Path(sys.argv[1]), Path(sys.argv[2]))
