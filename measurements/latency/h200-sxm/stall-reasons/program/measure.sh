#!/bin/bash
# measure.sh OUT: what the warps of the launches of launches.txt wait for, each cold and once.
set -eu
out=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
work=$(mktemp -d)
python3 "$here/select_launches.py" "$work"
cd "$work"
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem --format=csv
for source in *.cu; do
  nvcc -O3 -arch=sm_90 -cubin -o "${source%.cu}.cubin" "$source" &
done
wait
metrics=gpu__time_duration.sum,smsp__inst_executed.sum,sm__cycles_active.max
metrics+=,smsp__warps_active.avg.per_cycle_active,l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum
metrics+=,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum
metrics+=,l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_miss.sum
metrics+=,l1tex__data_pipe_lsu_wavefronts.sum,dram__bytes_read.sum
ncu --profile-from-start off --clock-control none --cache-control all --metrics $metrics \
  --section WarpStateStats --csv --page raw --log-file "$out/raw.csv" \
  python3 "$here/../../../../source-kernels/drive.py" 0 "$work/marker" > "$out/launched.txt"
nvidia-smi --query-gpu=clocks.sm,clocks.mem --format=csv
date -u +%Y-%m-%dT%H:%M:00Z
ncu --version | tail -1
