#!/bin/bash
# measure.sh OUT: times and counts every launch once, cold.
set -u
out=$(realpath "$1")
cd "$(dirname "$0")"
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem --format=csv
nvcc -O3 -arch=sm_90 -o mixes mixes.cu
metrics=gpu__time_duration.sum,gpc__cycles_elapsed.avg.per_second,smsp__inst_executed.sum
metrics+=,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum
metrics+=,l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_miss.sum,l1tex__data_pipe_lsu_wavefronts.sum
metrics+=,lts__t_sectors_srcunit_tex_op_read.sum,lts__t_sectors_srcunit_tex_op_write.sum
metrics+=,sm__cycles_active.max
ncu --clock-control none --cache-control all --metrics $metrics --csv --page raw \
  --log-file "$out/counted.csv" ./mixes > "$out/launches.csv"
rm mixes
nvidia-smi --query-gpu=clocks.sm,clocks.mem --format=csv
