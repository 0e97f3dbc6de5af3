#!/usr/bin/env bash
# The built-in kernels as a stranger writes them, timed four ways: go.sh (results in $OUT).
set -u
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,clocks.max.sm --format=csv | tee "$OUT/gpu.txt"
nvcc --version | tail -2 >> "$OUT/gpu.txt"
nvcc -arch=sm_90 -O3 -std=c++17 -Xcompiler -fPIC -shared -o judge.so judge.cu || exit 1
LIMIT=62 timeout 92 python3 judge.py "$OUT" 2>&1 | tee "$OUT/judge.log"
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem --format=csv >> "$OUT/gpu.txt"
cp points.csv "$OUT/"
