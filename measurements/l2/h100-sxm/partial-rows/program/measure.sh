#!/bin/bash
# measure.sh OUT: times and counts every launch once, cold.
set -eu
out=$(realpath "$1")
cd "$(dirname "$0")"
nvcc -O3 -arch=sm_90 -o partial_rows partial_rows.cu
metrics=gpu__time_duration.sum,gpc__cycles_elapsed.avg.per_second
metrics+=,lts__t_sectors_srcunit_tex_op_read.sum,lts__t_sectors_srcunit_tex_op_write.sum
metrics+=,lts__xbar2lts_cycles_active.sum,dram__bytes_read.sum,dram__bytes_write.sum
ncu --clock-control none --cache-control all --metrics $metrics --csv --page raw \
  --log-file "$out/counted.csv" ./partial_rows > "$out/launches.txt"
