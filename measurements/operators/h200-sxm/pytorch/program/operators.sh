#!/bin/bash
# Operators of a language model on one GPU: times (CUPTI and events), then counters of a few points.
OUT=${OUT:-out}
mkdir -p "$OUT"
date -u
nvidia-smi --query-gpu=clocks.sm,clocks.mem,clocks.max.sm,name,driver_version --format=csv | tee "$OUT/gpu.csv"
nvcc -O3 -std=c++17 -arch=sm_90 -shared -Xcompiler -fPIC operators.cu -o /tmp/libops.so || exit 1
python3 -c 'import torch; print(torch.__version__, torch.version.cuda, torch.cuda.get_device_properties(0))'
export PYTHONUNBUFFERED=1
timeout 200 python3 operators.py "$OUT"
echo "rc $?"
cat "$OUT/failed.txt" | head -40
M=gpu__time_duration.sum,smsp__inst_executed.sum,smsp__inst_executed_pipe_fma.sum,smsp__inst_executed_pipe_alu.sum,smsp__inst_executed_pipe_xu.sum,smsp__inst_executed_pipe_fp16.sum,smsp__inst_executed_pipe_lsu.sum,smsp__inst_executed_pipe_tensor.sum,dram__bytes_read.sum,dram__bytes_write.sum,lts__t_sectors_srcunit_tex_op_read.sum,lts__t_sectors_srcunit_tex_op_write.sum,l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,l1tex__t_requests_pipe_lsu_mem_global_op_st.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum,l1tex__data_pipe_lsu_wavefronts_mem_shared.sum,launch__registers_per_thread,launch__occupancy_limit_registers,sm__warps_active.avg.pct_of_peak_sustained_active
timeout 80 ncu --clock-control none --profile-from-start off --csv --page raw --print-units base --metrics $M --log-file "$OUT/counters.csv" python3 operators.py "$OUT" count > "$OUT/counted.txt" 2>&1
echo "ncu rc $?"
tail -3 "$OUT/counted.txt"
nvidia-smi --query-gpu=clocks.sm,clocks.mem,name,driver_version --format=csv
date -u
