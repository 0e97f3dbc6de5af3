#!/usr/bin/env bash
# Measures what L1 does with loads that miss, into a folder: l1.sh FOLDER
set -u
here=$(cd "$(dirname "$0")" && pwd)
state() { nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem --format=csv,noheader; }
state > "$1/clocks.txt"
python3 "$here/l1.py" "$1"
ncu --clock-control none --cache-control none -k regex:walk --csv --page raw --print-units base --metrics \
l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_miss.sum,l1tex__data_pipe_lsu_wavefronts.sum,l1tex__t_output_wavefronts_pipe_lsu_mem_global_op_ld.sum,sm__cycles_active.avg,gpu__time_duration.sum \
  python3 "$here/l1.py" "$1" counters > "$1/counters.txt"
state >> "$1/clocks.txt"
