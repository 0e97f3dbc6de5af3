#!/usr/bin/env bash
# OUT=FOLDER bash measure.sh: loops that wait and compute, then attention of a token in parts, timed and counted.
set -u
cp ../../../../built-in-kernels/h200-sxm/first/program/builtins.cu .
nvcc -arch=sm_90 -O3 -std=c++17 -o crowds crowds.cu && nvcc -arch=sm_90 -O3 -std=c++17 -o split split.cu || exit 1
timeout 40 ./crowds > "$OUT/crowds.csv" 2>&1
timeout 20 ./split > "$OUT/split.csv" 2>&1
M=lts__t_sectors_srcunit_tex_op_read.sum,dram__bytes_read.sum,smsp__inst_executed.sum,sm__cycles_active.avg,sm__warps_active.avg.per_cycle_active,smsp__issue_active.avg.per_cycle_active
for s in long_scoreboard short_scoreboard wait not_selected; do M=$M,smsp__average_warps_issue_stalled_${s}_per_issue_active.ratio; done
timeout 30 ncu --clock-control none -k regex:decode --csv --print-units base --metrics $M ./split count > "$OUT/split-counts.csv" 2>&1
rm -f builtins.cu crowds split
