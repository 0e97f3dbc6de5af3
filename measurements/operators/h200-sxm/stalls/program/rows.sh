#!/bin/bash
# Counters of operators on rows, and the rate of straight code. Usage, in this folder: OUT=FOLDER bash rows.sh
export OUT=${OUT:-out}; mkdir -p "$OUT"; export PYTHONUNBUFFERED=1
Q="nvidia-smi --query-gpu=clocks.sm,clocks.mem,name,driver_version,temperature.gpu,power.draw --format=csv"
date -u > $OUT/session.txt; $Q >> $OUT/session.txt
python3 straight.py > /tmp/straight.cu; ( nvcc -O1 -std=c++17 -arch=sm_90 /tmp/straight.cu -o /tmp/straight > $OUT/straight.log 2>&1 ) &
S=smsp__average_warps_issue_stalled; E=_per_issue_active.ratio
M=gpu__time_duration.sum,smsp__inst_executed.sum,smsp__issue_active.avg.pct_of_peak_sustained_active,sm__cycles_active.avg,sm__cycles_elapsed.max,sm__warps_active.avg.pct_of_peak_sustained_active
for s in barrier branch_resolving dispatch_stall imc_miss lg_throttle long_scoreboard math_pipe_throttle mio_throttle no_instruction not_selected short_scoreboard wait membar; do M=$M,${S}_$s$E; done
for p in alu fma fmaheavy xu lsu cbu; do M=$M,smsp__inst_executed_pipe_$p.sum; done
M=$M,l1tex__data_pipe_lsu_wavefronts.sum,l1tex__data_pipe_lsu_wavefronts_mem_shared.sum,sm__icc_requests.sum,sm__icc_requests_lookup_miss.sum,gcc__requests.sum,dram__bytes_read.sum,dram__bytes_write.sum,lts__t_sectors_srcunit_tex_op_read.sum,lts__t_sectors_srcunit_tex_op_write.sum,l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum,l1tex__t_requests_pipe_lsu_mem_global_op_st.sum,l1tex__lsuin_requests.avg.pct_of_peak_sustained_active,l1tex__throughput.avg.pct_of_peak_sustained_active,l1tex__data_bank_reads.avg.pct_of_peak_sustained_active,l1tex__t_output_wavefronts.sum,l1tex__m_xbar2l1tex_read_sectors.sum,l1tex__f_wavefronts.sum,lts__t_sectors.avg.pct_of_peak_sustained_elapsed,dram__throughput.avg.pct_of_peak_sustained_elapsed,launch__registers_per_thread,launch__occupancy_limit_registers,launch__occupancy_limit_shared_mem
timeout 75 ncu --clock-control none --cache-control none --profile-from-start off --csv --print-units base --metrics $M python3 seen.py > $OUT/seen.csv 2> $OUT/seen.err; echo seen $?
wait
timeout 15 /tmp/straight > $OUT/straight.csv; echo straight $?
$Q | tail -1 >> $OUT/session.txt
