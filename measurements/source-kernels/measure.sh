#!/bin/bash
# measure.sh SESSION OUT: times and counts every launch of a session once, cold, such as those of
# h100-sxm/independent; one that fails is left out.
set -u
out=$(realpath "$2")
cd "$(dirname "$0")/$1/program"
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem --format=csv
for source in *.cu; do
  nvcc -O3 -arch=sm_90 -cubin -o "${source%.cu}.cubin" "$source"
done
metrics=gpu__time_duration.sum,gpc__cycles_elapsed.avg.per_second
metrics+=,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum
metrics+=,l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum,l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum
metrics+=,l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_miss.sum
for of in read write red atom; do metrics+=,lts__t_sectors_srcunit_tex_op_$of.sum; done
metrics+=,dram__bytes_read.sum,dram__bytes_write.sum,smsp__inst_executed.sum
first=0
for part in $(seq 0 40); do
  ncu --profile-from-start off --clock-control none --cache-control all --metrics $metrics --csv \
    --page raw --log-file "$out/part$part.csv" \
    python3 ../../../drive.py $first marker > "$out/part$part.txt" 2>&1
  grep -q "all done" "$out/part$part.txt" && break
  first=$(( $(cat marker) + 1 ))
done
nvidia-smi --query-gpu=clocks.sm,clocks.mem --format=csv
