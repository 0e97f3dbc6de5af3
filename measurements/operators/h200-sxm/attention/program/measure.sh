#!/usr/bin/env bash
# OUT=FOLDER bash measure.sh: times, then counters, then PyTorch's kernels, then turns.
set -u
cp ../../pytorch/program/operators.cu ../../../../built-in-kernels/h200-sxm/first/program/builtins.cu .
nvcc -arch=sm_90 -O3 -std=c++17 -o alone alone.cu && nvcc -arch=sm_90 -O3 -std=c++17 -o turns turns.cu || exit 1
timeout 10 ./alone > "$OUT/times.csv" 2>&1
S=l1tex__t_; G=pipe_lsu_mem_global_op
M=gpu__time_duration.sum,lts__t_sectors_srcunit_tex_op_read.sum,${S}requests_${G}_ld.sum,${S}sectors_${G}_ld.sum,${S}sectors_${G}_ld_lookup_hit.sum,smsp__inst_executed.sum,sm__warps_active.avg.per_cycle_active,launch__registers_per_thread,l1tex__data_pipe_lsu_wavefronts.sum,smsp__issue_active.avg.per_cycle_active,launch__grid_size
for k in prefill_naive decode gemv; do
  timeout 14 ncu --clock-control none -k "regex:$k" --csv --print-units base --metrics $M ./alone count $k > "$OUT/counts-$k.csv"
done
timeout 18 python3 library.py "$OUT"
timeout 12 ./turns > "$OUT/turns.csv" 2>&1
rm -f operators.cu builtins.cu alone turns
