#!/usr/bin/env bash
# Measure what l2/h200-sxm/after-use has: bash measure.sh OUT, in this folder, on a GPU with nvcc and ncu.
set -eu
out=$1
limit=CUDA_DEVICE_DEFAULT_PERSISTING_L2_CACHE_PERCENTAGE_LIMIT
nvcc -O3 -std=c++17 -arch=sm_90 -o after after_use.cu
nvcc -O3 -std=c++17 -arch=sm_90 -o miss miss_prop.cu
./after 5 > "$out/after.csv"
./after 5 as-is > "$out/as-is.csv"
./after limit > "$out/limit.csv"
for percent in 1 6 7 10 12 18 19 25 50 62; do
  env $limit=$percent ./after limit >> "$out/limit.csv"
done
./miss 6 > "$out/miss.csv"
ncu --clock-control none --cache-control all --csv -k regex:'data_reset|stream_persistent' \
  --metrics gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum \
  ./miss 0 > "$out/counters.csv"
