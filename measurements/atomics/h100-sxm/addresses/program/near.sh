#!/usr/bin/env bash
# Loops of compare-and-swap and locks near and far, additions that return by pieces, counters of the busiest slice.
cd "$(dirname "$0")"
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem --format=csv > $OUT/session.txt 2>&1
date -u >> $OUT/session.txt
nvcc -O3 -std=c++17 -arch=sm_90 near.cu -o near >> $OUT/session.txt 2>&1
timeout 25 ./near >> $OUT/session.txt 2>&1
count() { timeout 14 ncu --clock-control none --cache-control none --kernel-name regex:add --csv --page raw --metrics $2 ./near counted > $OUT/$1.csv 2>$OUT/$1.err; }
count slices lts__t_sectors.sum,lts__t_sectors.max,lts__t_sectors_srcunit_tex_op_red.sum,lts__t_sectors_srcunit_tex_op_red.max,lts__t_sectors_srcunit_tex_op_atom.sum,lts__t_sectors_srcunit_tex_op_atom.max,lts__t_requests_srcunit_tex_op_atom.max,lts__t_requests_srcunit_tex_op_red.max,lts__cycles_elapsed.max,l1tex__m_xbar2l1tex_read_sectors.sum,gpu__time_duration.sum
count ports lts__lts2xbar_cycles_active.max,lts__lts2xbar_cycles_active.avg,lts__xbar2lts_cycles_active.max,lts__xbar2lts_cycles_active.avg,lts__t_tag_requests.max,lts__d_atomic_input_cycles_active.max,lts__d_atomic_input_cycles_active.avg,lts__ltcfabric2lts_cycles_active.max,gpu__time_duration.sum
nvidia-smi --query-gpu=clocks.sm,clocks.mem --format=csv >> $OUT/session.txt 2>&1
