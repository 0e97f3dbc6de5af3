#!/usr/bin/env bash
# Builds the foundation benchmarks, times every sweep, then counts the same cases with the profiler.
# Usage: measure.sh OUTPUT_FOLDER ["SWEEPS TIMED" ["SWEEPS COUNTED"]]   (needs nvcc, ncu and one GPU; leaves clocks and settings alone)
set -u
out=${1:?output folder}
here=$(cd "$(dirname "$0")" && pwd)
program=$(mktemp -d)/foundation
nvcc -O3 -std=c++17 -arch=native -o "$program" "$here/foundation.cu" || exit 1
state() { nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,temperature.gpu,power.draw --format=csv; }
{ date -u; nvcc --version | tail -2; state; } > "$out/environment.txt" 2>&1
sweeps=${2:-launch gemm stream strided l1 l2 latency flight resident sparse validate}
counted=${3:-gemm stream l2 strided launch coalesce validate tags}
for sweep in $sweeps; do
  timeout 150 "$program" $sweep >> "$out/events.csv" 2>> "$out/environment.txt"
  echo "$sweep $? $(date +%T) $(nvidia-smi --query-gpu=clocks.sm,clocks.mem --format=csv,noheader)" >> "$out/environment.txt"
done
ncu --query-metrics --chip gh100 2>/dev/null | awk '{print $1}' > /tmp/metrics.txt
keep() { for m in "$@"; do grep -qx "${m%%.*}" /tmp/metrics.txt && printf '%s,' "$m" || echo "no metric $m" >> "$out/environment.txt"; done; }
l1=$(keep l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum \
  l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum l1tex__t_requests_pipe_lsu_mem_global_op_st.sum \
  l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum l1tex__data_pipe_lsu_wavefronts.sum \
  l1tex__data_pipe_lsu_wavefronts_mem_lg.sum l1tex__t_output_wavefronts_pipe_lsu_mem_global_op_ld.sum \
  l1tex__t_output_wavefronts_pipe_lsu_mem_global_op_st.sum l1tex__t_set_accesses_pipe_lsu_mem_global_op_ld.sum \
  l1tex__t_set_conflicts_pipe_lsu_mem_global_op_ld.sum l1tex__data_bank_conflicts_pipe_lsu.sum \
  l1tex__data_bank_reads.sum l1tex__data_bank_writes.sum l1tex__f_wavefronts.sum l1tex__lsuin_requests.sum \
  l1tex__lsu_writeback_active.sum l1tex__m_xbar2l1tex_read_sectors_mem_lg_op_ld.sum)
more=$(keep gpu__time_duration.sum sm__cycles_elapsed.max sm__cycles_active.avg lts__t_sectors_srcunit_tex_op_read.sum \
  lts__t_sectors_srcunit_tex_op_write.sum lts__t_sectors_srcunit_tex_lookup_hit.sum lts__t_sectors.sum \
  lts__t_sectors_op_read.sum lts__t_sectors_op_write.sum lts__cycles_elapsed.max dram__bytes_read.sum \
  dram__bytes_write.sum smsp__inst_executed.sum sm__inst_executed_pipe_lsu.sum smsp__issue_active.sum \
  sm__warps_active.avg.per_cycle_active)
count() { # name, metrics, cache control, sweep
  timeout 170 ncu --clock-control none --cache-control "$3" --csv --page raw --metrics "$2" --log-file "/tmp/$1.csv" \
    "$program" "$4" once > "/tmp/$1.cases" 2>> "$out/environment.txt"
  echo "ncu $1 $? $(date +%T)" >> "$out/environment.txt"
}
for sweep in $counted; do
  case $sweep in
    launch) count launch gpu__time_duration.sum all launch ;;
    coalesce | tags) count $sweep "${l1%,}" none $sweep ;;
    l2) count l2 "${more%,}" none l2 ;;
    *) count $sweep "${l1}${more%,}" all $sweep ;;
  esac
done
state >> "$out/environment.txt"
for sweep in $counted; do gzip -c /tmp/$sweep.csv > "$out/$sweep.csv.gz"; cat /tmp/$sweep.cases; done | grep -v == > "$out/cases.csv"
tail -40 "$out/environment.txt"; wc -l "$out"/*.csv
