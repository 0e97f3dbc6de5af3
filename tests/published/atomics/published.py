"""Published rates of additions on an A100, and the kernel that predicts them."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from perfmodel.kernels import Kernel
from perfmodel.kernels.tables import kernel_from_table

ROWS = Path(__file__).parent / "a100-pcie-40.csv"
TYPES = {"int": "int32", "ull": "uint64", "float": "float32", "double": "float64"}
ROUNDS = 20_000


class Row(NamedTuple):
    """One rate: `blocks` of `threads`, each adding to element i*step, or all to one (step 0)."""

    dtype: str
    step: int
    blocks: int
    threads: int
    lanes_per_s: float


def rows() -> Iterator[Row]:
    """Yield the published rates, lanes a second by the slowest thread."""
    with ROWS.open() as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            yield Row(
                TYPES[row["type"]],
                int(row["step"] or 0),
                int(row["blocks"]),
                int(row["threads"]),
                float(row["G_lane_ops_per_s"]) * 1e9,
            )


def addition() -> Kernel:
    """Return the kernel: `rounds` additions a thread, one after the other."""
    return kernel_from_table(
        {
            "name": "additions",
            "parameters": {
                "blocks": {},
                "threads": {"maximum": 1024},
                "step": {"minimum": 0},
                "rounds": {"default": ROUNDS},
                "dtype": {"default": "int32", "choices": ["int32", "uint64", "float32", "float64"]},
                "aggregated": False,
            },
            "launch": {"grid": "blocks", "block": "threads", "registers": 16},
            "buffers": {
                "data": {
                    "length": "blocks*threads*step + 1",
                    "element_bytes": "where(dtype == uint64 or dtype == float64, 8, 4)",
                }
            },
            "loops": [{"variable": "k", "trips": "rounds"}],
            "accesses": [
                {
                    "atomic": "data",
                    "index": "(blockIdx.x*blockDim.x + threadIdx.x)*step",
                    "loop": "k",
                    "dtype": "dtype",
                    "aggregated": "aggregated",
                }
            ],
            "arithmetic": [{"pipe": "other", "count": 1, "loop": "k"}],
        }
    )
