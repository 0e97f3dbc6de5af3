#!/usr/bin/env bash
# Turns of blocks, sets read a few times, strides, dependent loads, jumps: OUT=FOLDER bash times.sh
set -u
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem --format=csv | tee "$OUT/gpu.txt"
nvcc -arch=sm_90 -O3 -std=c++17 -Xcompiler -fPIC -shared -o turns.so turns.cu || exit 1
python3 times.py "$OUT" 2>&1 | tee "$OUT/times.log"
nvidia-smi --query-gpu=clocks.sm,clocks.mem --format=csv >> "$OUT/gpu.txt"
