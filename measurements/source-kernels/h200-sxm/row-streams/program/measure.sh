#!/bin/bash
# measure.sh OUT: times and counts every launch once, cold, with what its warps wait for.
set -u
out=$(realpath "$1")
cd "$(dirname "$0")"
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem --format=csv
nvcc -O3 -arch=sm_90 -cubin -o streams.cubin streams.cu
metrics=gpu__time_duration.sum,gpc__cycles_elapsed.avg.per_second,smsp__inst_executed.sum
metrics+=,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum
metrics+=,l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_miss.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_st_lookup_miss.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_st_lookup_hit.sum
metrics+=,l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum,l1tex__data_pipe_lsu_wavefronts.sum
metrics+=,l1tex__t_output_wavefronts_pipe_lsu_mem_global_op_ld.sum,l1tex__lsuin_requests.sum
for of in read write red atom; do metrics+=,lts__t_sectors_srcunit_tex_op_$of.sum; done
metrics+=,lts__t_sectors_srcunit_tex_lookup_miss.sum,dram__bytes_read.sum,dram__bytes_write.sum
metrics+=,sm__cycles_active.max
for why in long_scoreboard lg_throttle short_scoreboard wait math_pipe_throttle not_selected selected; do
  metrics+=,smsp__average_warps_issue_stalled_${why}_per_issue_active.ratio
done
ncu --profile-from-start off --clock-control none --cache-control all --metrics $metrics --csv \
  --page raw --log-file "$out/part0.csv" python3 ../../../drive.py 0 marker > "$out/part0.txt" 2>&1
nvidia-smi --query-gpu=clocks.sm,clocks.mem --format=csv
