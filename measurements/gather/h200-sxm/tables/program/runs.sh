#!/usr/bin/env bash
# OUT=FOLDER bash runs.sh: what gather/h200-sxm/runs holds.
set -u
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem --format=csv > "$OUT/gpu.txt"
nvcc -arch=sm_90 -O3 -std=c++17 -Xcompiler -fPIC -c -o g.o gather.cu && nvcc -shared -o g.so g.o && nvcc -o gx g.o || exit 1
timeout 25 python3 runs.py "$OUT" 14 > "$OUT/runs.log" 2>&1
for points in kept kept-more; do
  for what in read write; do
    timeout 26 ncu --clock-control none --cache-control none --profile-from-start off --csv --print-units base --metrics dram__bytes_$what.sum ./gx $points.txt 22 > "$OUT/$points-$what.csv" 2> "$OUT/$points-$what.err"
  done
done
tail -3 "$OUT/runs.log"
