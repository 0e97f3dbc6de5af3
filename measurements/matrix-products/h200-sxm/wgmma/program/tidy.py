"""Tidies what measure.sh left: products.csv, launches.jsonl and ptx.tar.gz of a measurement folder.

python tidy.py RAW FOLDER
"""

import csv
import gzip
import hashlib
import io
import json
import sys
import tarfile
from pathlib import Path

COLUMNS = {
    "time_us": ("gpu__time_duration.sum", 1e-3),
    "dram_read_bytes": ("dram__bytes_read.sum", 1),
    "dram_write_bytes": ("dram__bytes_write.sum", 1),
    "l2_read_sectors": ("lts__t_sectors_srcunit_tex_op_read.sum", 1),
    "instructions": ("smsp__inst_executed.sum", 1),
    "tensor_instructions": ("sm__inst_executed_pipe_tensor.sum", 1),
    "sm_cycles_elapsed": ("sm__cycles_elapsed.max", 1),
    "issue_cycles": ("smsp__issue_active.sum", 1),
}


def arguments(launch):
    """Return a launch's arguments in PTX's order: tensor maps before their shape and pitches."""
    buffers, numbers = launch["buffers"], launch["numbers"]
    scratch = [{"bytes": 16}, {"bytes": 16}]
    if launch["kernel"] == "product_async":
        return [*buffers, *numbers[:6], *scratch]
    if launch["kernel"] == "attention_async":
        return [*buffers, *numbers[:2], *scratch]
    m, n, k = numbers[:3]
    maps = [[{"fields": ["pad 128"]}, r, c, c, 1] for r, c in ((m, k), (n, k), (m, n))]
    return [*maps[0], *maps[1], *maps[2], m, n, k, *scratch]


def stripped(ptx):
    """Return PTX without what is for debuggers."""
    code = ptx.split("\t.section\t.debug")[0]
    unwanted = (".loc", ".file", "//", "$L__tmp", "$L__func")
    kept = (x for x in code.splitlines() if x.strip() and not x.strip().startswith(unwanted))
    return "\n".join(kept) + "\n"


def main(raw, folder):
    """Write the three files."""
    with gzip.open(raw / "cold.csv.gz", "rt") as file:
        lines = [x for x in file if not x.startswith("==")]
    counted = list(csv.DictReader(lines))[1:]  # the first row has units
    names = [row[0] for row in csv.reader((raw / "profiled.csv").open())]
    checked = {row[0]: row for row in csv.reader((raw / "checks.csv").open())}
    launches = [json.loads(line) for line in (raw / "launches.jsonl").open()]
    rows, made = [], []
    for number, (name, count, launch) in enumerate(zip(names, counted, launches, strict=True), 1):
        assert name == launch["name"]
        assert launch["kernel"] in count["Kernel Name"]
        odd = int(hashlib.sha256(f"wgmma:{name}".encode()).hexdigest(), 16) % 2
        row = {"launch": number, "name": name, "kernel": launch["kernel"]}
        row["feed"] = "tma" if "tma" in name else "cp.async"
        row["use"] = "fit" if odd else "validation"
        for column, (metric, scale) in COLUMNS.items():
            value = float(count[metric].replace(",", "")) * scale
            row[column] = f"{value:.3f}" if column == "time_us" else f"{value:.0f}"
        row["events_us"], row["error"] = checked[name][1:]
        rows.append(row)
        keys = ("kernel", "name", "grid", "block", "shared_bytes")
        made.append({k: launch[k] for k in keys} | {"arguments": arguments(launch)})
    with (folder / "products.csv").open("w", newline="") as file:
        out = csv.DictWriter(file, rows[0], lineterminator="\n")
        out.writeheader()
        out.writerows(rows)
    (folder / "launches.jsonl").write_text("".join(json.dumps(x) + "\n" for x in made))
    packed = folder / "ptx.tar.gz"
    with tarfile.open(raw / packed.name) as given, tarfile.open(packed, "w:gz") as to:
        for name in sorted(names):
            text = stripped(given.extractfile(f"ptx/{name}.ptx").read().decode()).encode()
            info = tarfile.TarInfo(f"{name}.ptx")
            info.size = len(text)
            to.addfile(info, io.BytesIO(text))


main(Path(sys.argv[1]), Path(sys.argv[2]))
