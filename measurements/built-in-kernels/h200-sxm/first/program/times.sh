#!/usr/bin/env bash
# The built-in kernels as a stranger writes them, timed six ways, then counted: OUT=FOLDER bash times.sh, beside points.csv and counted.txt.
set -u
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,clocks.max.sm --format=csv | tee "$OUT/gpu.txt"
nvcc --version | tail -2 >> "$OUT/gpu.txt"
nvcc -arch=sm_90 -O3 -std=c++17 -Xcompiler -fPIC -shared -o builtins.so builtins.cu || exit 1
LIMIT=50 timeout 75 python3 times.py "$OUT" 2>&1 | tee "$OUT/times.log"
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem --format=csv >> "$OUT/gpu.txt"
cp points.csv "$OUT/"
S=l1tex__t_; G=pipe_lsu_mem_global_op
M=gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum,lts__t_sectors_srcunit_tex_op_read.sum,lts__t_sectors_srcunit_tex_op_write.sum,lts__t_sectors_srcunit_tex_op_atom.sum,lts__t_sectors_srcunit_tex_op_red.sum,lts__t_sectors_srcunit_tex_lookup_hit.sum,${S}requests_${G}_ld.sum,${S}sectors_${G}_ld.sum,${S}sectors_${G}_ld_lookup_hit.sum,${S}requests_${G}_st.sum,${S}sectors_${G}_st.sum,smsp__inst_executed.sum,sm__warps_active.avg.per_cycle_active,launch__registers_per_thread
COUNTS=1 LIMIT=50 timeout 60 ncu --clock-control none --profile-from-start off --csv --print-units base --metrics $M python3 times.py "$OUT" > "$OUT/counts.csv" 2> "$OUT/counts.err"
tail -3 "$OUT/counts.csv"
