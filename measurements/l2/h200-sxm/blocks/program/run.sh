#!/bin/bash
# Blocks that do more than others, chains before a load, bursts; dirty bytes; warm sets. Writes to $OUT; tidy.py makes the CSVs.
set -e
for name in blocks dirty sets; do nvcc -O3 -std=c++17 -arch=sm_90 -o $name $name.cu; done
./blocks > "$OUT/blocks.txt"
counted() { ncu --clock-control none --cache-control "$1" --metrics "$2" -k "regex:$3" --csv --page raw "./$4"; }
counted all gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum 'copy_kernel|write_kernel' dirty > "$OUT/dirty.txt"
# One counter: more would take several passes, between which the profiler writes to L2.
counted none dram__bytes_read.sum set_plain sets > "$OUT/sets.txt"
