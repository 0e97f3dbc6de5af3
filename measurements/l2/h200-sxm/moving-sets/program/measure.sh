#!/bin/bash
# Times and counts of slide.cu, rounds.cu, sets.cu and follow.cu, tidied: measure.sh OUT
set -e
cd "$(dirname "$0")"
out=${1:?measure.sh OUT}
mkdir -p "$out"
for name in slide rounds sets follow; do nvcc -O3 -std=c++17 -arch=sm_90 -o "$out/$name" $name.cu; done
counted=gpu__time_duration.sum,dram__bytes_read.sum
counted=$counted,lts__t_sectors_srcunit_tex_op_read.sum,lts__t_sectors_srcunit_tex_lookup_hit.sum
"$out/slide" > "$out/slide.csv"
"$out/sets" > "$out/sets.csv"
"$out/follow" times windows > "$out/windows.csv"
ncu --clock-control none --cache-control none --csv --page raw --metrics gpu__time_duration.sum \
    -k regex:^m_ "$out/rounds" > "$out/rounds_ncu.csv"
ncu --clock-control none --cache-control all --csv --page raw --metrics $counted \
    -k regex:^working "$out/follow" count sets > "$out/counts_ncu.csv"
ncu --clock-control none --cache-control none --replay-mode application --csv --page raw \
    --metrics $counted -k regex:^working "$out/follow" count windows > "$out/windows_ncu.csv"
python tidy.py "$out" ..
