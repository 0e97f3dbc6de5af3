"""One row a launch out of what the profiler wrote: tidy.py counters.csv build.txt OUT.csv.

The arguments of the launches, which the profiler does not know, are repeated here from main.cu.
"""

import csv
import json
import re
import sys
from pathlib import Path

B = 256 << 20
LOCAL = [{"param_1": 3, "param_2": n} for n in (8, 8, 8, 1, 8, 8, 8, 4, 4, 8, 8, 8, 8, 8, 8)]
ARGUMENTS = [
    *({"param_0": B} | a for a in LOCAL),
    {"param_0": B, "param_1": B, "param_2": 3, "param_3": 16},
    *[{"param_0": B, "param_1": 3, "param_2": 5}] * 2,
    {"param_0": B, "param_1": B, "param_2": 1 << 20},
    *({"param_0": B, "param_1": B, "param_2": n} for n in (1, 3, 1, 1, 1, 2)),
    {"param_0": B, "param_1": B},
    *({"param_0": B, "param_1": B, "param_2": n} for n in (4096, 1024)),
    {},
    *(
        {"param_0": B, "param_1": B, "param_2": n, "param_3": 64}
        for n in (72, 64, 72, 64, 72, 64, 40, 72, 72, 64)
    ),
    *({"param_0": B, "param_1": n} for n in (1 << 20, 1 << 10, 1 << 20)),
    {"param_0": B, "param_1": B},
    {"param_0": B, "param_1": 512},
]
COLUMNS = {
    "time_us": ("gpu__time_duration", 1e-3),
    "instructions": ("smsp__inst_executed", 1),
    "local_load_requests": ("l1tex__t_requests_pipe_lsu_mem_local_op_ld", 1),
    "local_load_sectors": ("l1tex__t_sectors_pipe_lsu_mem_local_op_ld", 1),
    "local_load_hits": ("l1tex__t_sectors_pipe_lsu_mem_local_op_ld_lookup_hit", 1),
    "local_store_requests": ("l1tex__t_requests_pipe_lsu_mem_local_op_st", 1),
    "local_store_sectors": ("l1tex__t_sectors_pipe_lsu_mem_local_op_st", 1),
    "global_load_requests": ("l1tex__t_requests_pipe_lsu_mem_global_op_ld", 1),
    "global_load_sectors": ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld", 1),
    "global_store_requests": ("l1tex__t_requests_pipe_lsu_mem_global_op_st", 1),
    "global_store_sectors": ("l1tex__t_sectors_pipe_lsu_mem_global_op_st", 1),
    "reduction_requests": ("l1tex__t_requests_pipe_lsu_mem_global_op_red", 1),
    "reduction_sectors": ("l1tex__t_sectors_pipe_lsu_mem_global_op_red", 1),
    "bulk_loads": ("smsp__inst_executed_op_tma_ld", 1),
    "bulk_load_sectors": ("l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld", 1),
    "bulk_stores": ("smsp__inst_executed_op_tma_st", 1),
    "bulk_store_sectors": ("l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_st", 1),
    "l2_read_sectors": ("l1tex__m_xbar2l1tex_read_sectors", 1),
    "l2_write_sectors": ("l1tex__m_l1tex2xbar_write_sectors", 1),
    "dram_read_bytes": ("dram__bytes_read", 1),
    "dram_write_bytes": ("dram__bytes_write", 1),
    "shared_load_wavefronts": ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld", 1),
    "shared_store_wavefronts": ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st", 1),
    "matrix_loads": ("smsp__inst_executed_op_ldsm", 1),
    "tensor_instructions": ("sm__inst_executed_pipe_tensor", 1),
}


def main(counters: str, build: str, out: str) -> None:
    """Write one row a launch."""
    with open(counters, newline="") as file:
        rows = list(csv.DictReader(line for line in file if line.startswith('"')))[1:]
    found = re.findall(
        r"function '(\w+)'.*?Used (\d+) registers", Path(build).read_text(), re.DOTALL
    )
    registers = dict(found)
    assert len(rows) == len(ARGUMENTS), (len(rows), len(ARGUMENTS))
    local = len(LOCAL) + 4
    with open(out, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        names = ["source", "kernel", "grid", "block", "arguments", "registers", *COLUMNS]
        writer.writerow(names)
        for i, (row, arguments) in enumerate(zip(rows, ARGUMENTS, strict=True)):
            sizes = ["x".join(re.findall(r"\d+", row[k])) for k in ("Grid Size", "Block Size")]
            values = [
                format(float((row.get(f"{m}.sum") or "0").replace(",", "")) * scale, ".10g")
                for m, scale in COLUMNS.values()
            ]
            name = row["Kernel Name"]
            source = "local" if i < local else "copies"
            writer.writerow([source, name, *sizes, json.dumps(arguments), registers[name], *values])


main(*sys.argv[1:])
