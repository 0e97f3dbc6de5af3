#!/bin/bash
# Small launches, their times by CUPTI and by Nsight Compute; counters and stalls of operators,
# products and parts of a softmax. Usage, in this folder: OUT=FOLDER bash launches.sh
export OUT=${OUT:-out}; mkdir -p "$OUT"; export PYTHONUNBUFFERED=1
Q="nvidia-smi --query-gpu=clocks.sm,clocks.mem,name,driver_version,temperature.gpu,power.draw --format=csv"
date -u | tee $OUT/session.txt; $Q | tee -a $OUT/session.txt
nvcc -O3 -std=c++17 -arch=sm_90 -shared -Xcompiler -fPIC ../../../../operators/h200-sxm/pytorch/program/operators.cu -o /tmp/libops.so &
nvcc -O3 -std=c++17 -arch=sm_90 -shared -Xcompiler -fPIC small.cu -o /tmp/libsmall.so & wait
timeout 45 python3 small.py $OUT > $OUT/small.log 2>&1; echo small $?; tail -n 2 $OUT/small.log; $Q | tail -1 >> $OUT/session.txt
S=smsp__average_warps_issue_stalled; E=_per_issue_active.ratio
M=gpu__time_duration.sum,smsp__inst_executed.sum,smsp__issue_active.avg.pct_of_peak_sustained_active,sm__cycles_active.avg,sm__cycles_elapsed.max,sm__warps_active.avg.pct_of_peak_sustained_active
for s in barrier branch_resolving dispatch_stall drain imc_miss lg_throttle long_scoreboard math_pipe_throttle mio_throttle no_instruction not_selected selected short_scoreboard wait sleeping gmma membar; do M=$M,${S}_$s$E; done
for p in alu fma fmaheavy fp16 xu lsu uniform cbu adu tensor; do M=$M,smsp__inst_executed_pipe_$p.sum; done
M=$M,sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active,l1tex__data_pipe_lsu_wavefronts.sum,l1tex__data_pipe_lsu_wavefronts_mem_shared.sum,l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum,l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum,smsp__inst_executed_op_ldsm.sum,smsp__inst_executed_op_ldgsts.sum,smsp__inst_executed_op_shared_ld.sum,smsp__inst_executed_op_shared_st.sum,sm__icc_requests.sum,sm__icc_requests_lookup_miss.sum,sm__icc_requests_lookup_hit.sum,gcc__requests.sum,dram__bytes_read.sum,dram__bytes_write.sum,lts__t_sectors_srcunit_tex_op_read.sum,lts__t_sectors_srcunit_tex_op_write.sum,l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,launch__registers_per_thread,launch__occupancy_limit_registers,launch__occupancy_limit_shared_mem,launch__shared_mem_per_block
ncu --query-metrics --query-metrics-collection profiling > $OUT/known.txt 2>&1; ncu --query-metrics --query-metrics-collection launch >> $OUT/known.txt 2>&1
M=$(M=$M python3 - <<'P'
import os
known={l.split()[0] for l in open(os.environ["OUT"]+"/known.txt") if l.split()}
asked=os.environ["M"].split(",")
kept=[m for m in asked if m.split(".")[0] in known or m.startswith("launch__")]
kept=kept if len(kept)>20 else asked
open(os.environ["OUT"]+"/dropped.txt","w").write(" ".join(m for m in asked if m not in kept)+"\n")
print(",".join(kept))
P
)
N="ncu --clock-control none --profile-from-start off --csv --page raw --print-units base"
timeout 50 $N --cache-control none --metrics $M --log-file $OUT/big.csv python3 seen.py big > $OUT/big.txt 2>&1; echo big $?; tail -1 $OUT/big.txt
timeout 35 $N --cache-control none --metrics $M --log-file $OUT/products.csv python3 seen.py products > $OUT/products.txt 2>&1; echo products $?; tail -1 $OUT/products.txt
timeout 20 $N --cache-control all --metrics gpu__time_duration.sum,smsp__inst_executed.sum --log-file $OUT/micro-cold.csv python3 small.py $OUT ncu > $OUT/micro-cold.txt 2>&1; echo cold $?
timeout 20 $N --cache-control none --metrics gpu__time_duration.sum,smsp__inst_executed.sum --log-file $OUT/micro-warm.csv python3 small.py $OUT ncu > $OUT/micro-warm.txt 2>&1; echo warm $?
timeout 25 ncu --clock-control none --profile-from-start off --section SourceCounters --section LaunchStats -o /tmp/few -f python3 seen.py few > $OUT/few.txt 2>&1; echo few $?
timeout 15 ncu -i /tmp/few.ncu-rep --page source --csv > /tmp/few.csv 2> $OUT/few.err; gzip -c /tmp/few.csv > $OUT/few.csv.gz; ls -l /tmp/few.csv
$Q | tail -1 >> $OUT/session.txt; date -u | tee -a $OUT/session.txt
nvcc -O3 -std=c++17 -arch=sm_90 -shared -Xcompiler -fPIC mix.cu -o /tmp/libmix.so
timeout 100 $N --cache-control none --metrics $M --log-file $OUT/mix.csv python3 mix.py > $OUT/mix.txt 2>&1; echo mix $?
