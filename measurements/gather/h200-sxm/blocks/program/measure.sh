#!/bin/bash
# When blocks start and end, gathers from few and many pages, windows over random tables: measure.sh OUT
set -e
cd "$(dirname "$0")"
out=${1:?measure.sh OUT}
mkdir -p "$out"
for name in blocks pages windows; do nvcc -O3 -std=c++17 -arch=sm_90 -o "$out/$name" $name.cu; done
cd "$out"
./blocks > blocks.csv
./pages > pages.csv
./windows second > second.csv
./windows third > third.csv
./windows second count > list.csv
counted="ncu --clock-control none --cache-control none --csv --page raw --metrics dram__bytes_read.sum"
$counted -k regex:^gather ./pages count > pages_ncu.csv
$counted -k "regex:^(gather|embedding)" ./windows second count > windows_ncu.csv
cd -
python tidy.py "$out" ..
