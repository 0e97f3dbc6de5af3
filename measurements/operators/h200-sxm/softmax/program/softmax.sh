#!/usr/bin/env bash
# Times PyTorch's softmax on rows of 2304 to 8192 columns and counts its instructions. Needs torch,
# ncu and one GPU; leaves clocks and settings alone. Usage: OUT=FOLDER bash softmax.sh
set -u
cd "$(dirname "$0")"
Q="nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem --format=csv"
{ date -u; $Q; } > $OUT/session.txt 2>&1
timeout 30 python3 softmax.py times $OUT/times.csv
timeout 50 ncu --clock-control none --cache-control all --profile-from-start off --csv --print-units base --log-file $OUT/counts.csv --metrics gpu__time_duration.sum,smsp__inst_executed.sum,smsp__inst_executed_pipe_xu.sum,smsp__inst_executed_pipe_fma.sum,smsp__inst_executed_pipe_alu.sum,l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum,l1tex__t_requests_pipe_lsu_mem_local_op_st.sum,sm__cycles_active.avg,smsp__issue_active.avg.pct_of_peak_sustained_active,smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio,smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active.ratio,smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio,smsp__average_warps_issue_stalled_wait_per_issue_active.ratio,smsp__average_warps_issue_stalled_no_instruction_per_issue_active.ratio,launch__registers_per_thread python3 softmax.py counts > $OUT/counts.txt 2>&1
tail -2 $OUT/counts.txt; ls -l $OUT
