"""Make measurements/published/libraries/rows.csv from others' tables of library kernels.

Usage: python libraries.py FOLDER_WITH_TABLES OUTPUT_FOLDER

The tables are CSVs of the sources that ``sources.toml`` names, a comment line before the header. Of
each table the rows are kept whose text has the smallest SHA-256, as many as `KEPT` says: chosen
before anything was predicted. A row says what is launched in the words of the built-in kernels.
"""

import csv
import hashlib
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

Row = dict[str, str]
Point = tuple[str, str, dict[str, object], float]
"""Workload, kernel, parameters and time [us]."""

KEPT = {
    "products-16": 36,
    "products-32": 60,
    "prefill": 60,
    "decode": 60,
    "rows": 60,
    "streams": 30,
}
UNARY = ("addu", "mulu", "divu", "relu")
"""Elementwise operations that read one array and write one."""
GPUS = {
    "NVIDIA A100-PCIE-40GB": "a100-sxm-40",
    "NVIDIA A100 80GB PCIe": "a100-pcie-80",
    "NVIDIA H100 80GB HBM3": "h100-sxm",
}
STACKS = {"a100_sxm": "a100-sxm-80", "h100_sxm": "h100-sxm"}
LEAST_US = 20.0
"""Of times rounded to a microsecond."""


def served_product(row: Row) -> Point | None:
    """Return the point of a product of a serving stack."""
    if row["gemm_dtype"] != "bfloat16":
        return None
    sizes = {"M": row["m"], "N": row["n"], "K": row["k"], "dtype": "bf16"}
    return "products-16", "gemm/tensor-core", sizes, float(row["latency"]) * 1e3


def served_attention(row: Row) -> Point | None:
    """Return the point of a serving stack's attention, of a prompt or of a token."""
    whole = row.get("window_size", "0") == "0"
    types = (row["attn_dtype"], row["kv_cache_dtype"])
    if not whole or types != ("bfloat16", "bfloat16") or row["head_dim"] not in ("64", "128"):
        return None
    if int(row["num_heads"]) % int(row["num_key_value_heads"]):
        return None
    sizes = {"batch": row["batch_size"], "heads": row["num_heads"]}
    sizes |= {"kv_heads": row["num_key_value_heads"], "width": row["head_dim"], "dtype": "bf16"}
    time = float(row["latency"]) * 1e3
    if row["step"] == "0" and row["isl"] != "1":
        return "prefill", "prefill-attention", sizes | {"tokens": row["isl"], "causal": 1}, time
    if row["isl"] != "1":
        return None
    return "decode", "decode-attention", sizes | {"context": int(row["step"]) + 1}, time


def single_kernel(row: Row) -> Point | None:
    """Return the point of an FP32 operator of one kernel through PyTorch."""
    time, name = float(row["Latency"]) * 1e3, row["OPName"]
    if name in ("linear", "bmm"):
        # rows, the depth, and columns, as the grids of their kernels show
        sizes = {"M": row["M"], "K": row["N"], "N": row["K"], "dtype": "fp32"}
        batch = {"batch": row["B"], "operation": "matmul"} if name == "bmm" else {}
        return "products-32", "gemm/tensor-core", sizes | batch, time
    if name in ("softmax", "ln"):
        kernel = {"softmax": "softmax", "ln": "layernorm"}[name]
        return "rows", kernel, {"rows": row["B"], "cols": row["H"], "dtype": "fp32"}, time
    if name in UNARY:
        return "streams", "copy", {"bytes": 4 * int(row["B"]) * int(row["H"])}, time
    return None


def layer_products(row: Row) -> Iterator[Point]:
    """Yield the products of a layer of a language model in FP16."""
    tokens, split = row["num_tokens"], int(row["num_tensor_parallel_workers"])
    width, inner = int(row["n_embd"]), int(row["n_expanded_embd"]) // split
    gated = 2 if row["use_gated_mlp"] == "True" else 1
    for name, columns, depth in (
        ("mlp_up_proj", gated * inner, width),
        ("mlp_down_proj", width, inner),
    ):
        time = row[f"time_stats.{name}.median"]
        if time and float(time) * 1e3 >= LEAST_US:
            sizes = {"M": tokens, "N": columns, "K": depth, "dtype": "fp16"}
            yield "products-16", "gemm/tensor-core", sizes, float(time) * 1e3


def points(path: Path) -> Iterator[tuple[str, str, Point]]:
    """Yield the device, the source and the point of each row of a table that has one."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    stack = re.fullmatch(r"(\w+)-(gemm|context|generation)-(\w+)-.*", path.stem)
    read: Callable[[Row], Point | None] = single_kernel
    if stack is not None:
        read = served_product if stack[2] == "gemm" else served_attention
    for row in rows:
        if path.stem.startswith("vidur"):
            device = {"a100": "a100-sxm-80", "h100": "h100-sxm"}[path.stem.split("-")[1]]
            yield from ((device, "vidur", point) for point in layer_products(row))
        elif (point := read(row)) is not None:
            device = STACKS[stack[1]] if stack is not None else GPUS[row["Device"]]
            yield device, f"aiconfigurator-{stack[3]}" if stack is not None else "neusight", point


def main(folder: Path, output: Path) -> None:
    """Write the rows that are kept."""
    groups: dict[tuple[str, ...], dict[str, tuple[str, ...]]] = {}
    patterns = ("a100_sxm-[gc]*", "h100_sxm-[gc]*", "vidur-*", "neusight-test-*")
    for path in sorted(p for pattern in patterns for p in folder.glob(f"{pattern}.csv")):
        if path.stem == "neusight-test-vec":  # rows of the others again
            continue
        for device, source, (workload, kernel, sizes, time) in points(path):
            text = " ".join(f"{k}={v}" for k, v in sorted(sizes.items()))
            cells = (workload, device, source, kernel, text, f"{time:.6g}")
            key = hashlib.sha256(",".join(cells).encode()).hexdigest()
            groups.setdefault((workload, device, source, kernel), {})[key] = cells
    with (output / "rows.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("workload", "device", "source", "kernel", "params", "time_us"))
        for (workload, *_), cells in sorted(groups.items()):
            writer.writerows(cells[key] for key in sorted(cells)[: KEPT[workload]])


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
