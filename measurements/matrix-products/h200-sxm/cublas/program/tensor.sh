#!/usr/bin/env bash
# Times products through the vendor library and counts some of them. Needs torch, cupy, ncu and one
# GPU; leaves clocks and settings alone. Usage: OUT=FOLDER bash tensor.sh
set -u
cd "$(dirname "$0")"
Q="nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,power.draw,power.limit,temperature.gpu --format=csv"
{ date -u; $Q; python3 -c "import torch; print(torch.__version__, torch.version.cuda)"; python3 -m pip list 2>/dev/null | grep -i -E "cublas|torch|cupy|triton"; } > $OUT/session.txt 2>&1
timeout 130 python3 tensor_products.py bf16; $Q >> $OUT/session.txt
timeout 45 python3 tensor_products.py other; $Q >> $OUT/session.txt
timeout 30 python3 tensor_products.py power; $Q >> $OUT/session.txt
timeout 70 python3 tensor_products.py fresh
timeout 110 python3 tensor_loops.py
timeout 55 ncu --clock-control none --cache-control all --profile-from-start off --nvtx --csv --log-file $OUT/counters.csv \
  --metrics gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum,lts__t_sectors_op_read.sum,lts__t_sectors_op_write.sum,lts__t_sectors_srcunit_tex_op_read.sum,lts__t_sectors_srcunit_tex_op_write.sum,lts__t_sectors_srcunit_tex.sum,lts__t_sectors_lookup_miss.sum,sm__cycles_elapsed.max,sm__cycles_active.avg,sm__inst_executed_pipe_tensor.sum,sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active,lts__t_sectors.avg.pct_of_peak_sustained_elapsed,launch__cluster_dim_x,launch__cluster_dim_y,launch__grid_size,launch__block_size,launch__registers_per_thread,launch__shared_mem_per_block \
  python3 tensor_products.py counters > $OUT/counted.txt 2>&1
date -u >> $OUT/session.txt
ls -l $OUT
