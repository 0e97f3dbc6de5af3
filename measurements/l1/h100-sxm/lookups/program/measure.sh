#!/bin/bash
# measure.sh OUT: counts L1's lookups of every launch of three sessions of source kernels, cold.
set -u
out=$(realpath "$1")
cd "$(dirname "$0")/../../../../source-kernels/h100-sxm"
drive=$(realpath ../drive.py)
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem --format=csv
loads=l1tex__t_sectors_pipe_lsu_mem_global_op_ld
reads=lts__t_sectors_srcunit_tex_op_read
metrics=gpu__time_duration.sum,$loads.sum,${loads}_lookup_hit.sum,${loads}_lookup_miss.sum
metrics+=,l1tex__m_xbar2l1tex_read_sectors_mem_lg_op_ld.sum
metrics+=,$reads.sum,${reads}_lookup_hit.sum,${reads}_lookup_miss.sum
for session in mixed-sizes varied-sizes further-sizes; do
  cp -r $session/program "$out/$session"
  (
    cd "$out/$session"
    for source in *.cu; do nvcc -O3 -arch=sm_90 -cubin -o ${source%.cu}.cubin $source; done
    first=0
    for part in $(seq 0 40); do
      ncu --profile-from-start off --clock-control none --cache-control all --metrics $metrics \
        --csv --page raw --log-file part$part.csv \
        python3 "$drive" $first marker > part$part.txt 2>&1
      grep -q "all done" part$part.txt && break
      first=$(( $(cat marker) + 1 ))
    done
  )
done
nvidia-smi --query-gpu=clocks.sm,clocks.mem --format=csv
