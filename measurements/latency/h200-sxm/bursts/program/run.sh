#!/usr/bin/env bash
# Loads of lone sectors, sets that settle, empty kernels: OUT=FOLDER bash run.sh
set -u
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem --format=csv | tee "$OUT/gpu.txt"
nvcc -arch=sm_90 -O3 -std=c++17 -Xcompiler -fPIC -shared -o lone.so lone.cu || exit 1
nvcc -arch=sm_90 -O3 -std=c++17 -o burst burst.cu || exit 1
nvcc -arch=sm_90 -O3 -std=c++17 -o settling settling.cu || exit 1
python3 times.py "$OUT" 2>&1 | tee "$OUT/times.log"
./burst > "$OUT/burst.csv" 2> "$OUT/rounds.csv"
./settling knee > "$OUT/knee.csv"
./settling empty > "$OUT/empty.csv"
ncu --clock-control none --cache-control none --csv --page raw \
  --metrics gpu__time_duration.sum,dram__bytes_read.sum -k regex:working_set ./settling count \
  > "$OUT/count.csv" 2>&1
