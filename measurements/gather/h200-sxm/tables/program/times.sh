#!/usr/bin/env bash
# OUT=FOLDER bash times.sh: what gather/h200-sxm/tables holds; then with "again" after times.py's 15, and counted-warm.txt for counted.txt.
set -u
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem --format=csv > "$OUT/gpu.txt"
nvcc -arch=sm_90 -O3 -std=c++17 -Xcompiler -fPIC -c -o g.o gather.cu && nvcc -shared -o g.so g.o && nvcc -o gx g.o || exit 1
timeout 27 python3 times.py "$OUT" 15 > "$OUT/times.log" 2>&1
M=gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum,lts__t_sectors_srcunit_tex_op_read.sum,lts__t_sectors_srcunit_tex_lookup_hit.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum,l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum,smsp__inst_executed.sum,sm__warps_active.avg.per_cycle_active
timeout 15 ncu --clock-control none --cache-control none --profile-from-start off --csv --print-units base --metrics $M ./gx counted.txt 8 > "$OUT/counts.csv" 2> "$OUT/counts.err"
tail -3 "$OUT/times.log"
