#!/bin/bash
# Counts and times every launch of main.cu: measure.sh OUT
set -e
cd "$(dirname "$0")"
out=${1:?measure.sh OUT}
mkdir -p "$out"
nvcc -O3 -std=c++17 -arch=sm_90a -lineinfo -Xptxas -v -o "$out/bench" main.cu 2> "$out/build.txt"
# The first two launches fill the buffers.
ncu --clock-control none --cache-control all --csv --page raw --metrics "$(cat metrics.txt)" \
    --launch-skip 2 "$out/bench" > "$out/counters.csv"
