#!/bin/bash
# measure.sh OUT: the SM of each block of many grids; L2 reads of columns that blocks share, cold.
set -u
out=$(realpath "$1")
cd "$(dirname "$0")"
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem --format=csv
nvcc -O3 -std=c++17 -arch=sm_90 -o shared_columns shared_columns.cu
./shared_columns places > "$out/places.txt"
metrics=gpu__time_duration.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum
metrics+=,lts__t_sectors_srcunit_tex_op_read.sum
ncu --clock-control none --cache-control all -k regex:columns --metrics $metrics --csv \
  --log-file "$out/counted.csv" ./shared_columns > "$out/launches.csv"
nvidia-smi --query-gpu=clocks.sm,clocks.mem --format=csv
