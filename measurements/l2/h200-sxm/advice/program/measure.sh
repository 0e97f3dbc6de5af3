#!/bin/bash
# Times of advised.cu and counts of sets_windows.cu and sides.cu, tidied: measure.sh OUT
set -e
cd "$(dirname "$0")"
out=${1:?measure.sh OUT}
mkdir -p "$out"
for name in advised sets_windows sides; do nvcc -O3 -std=c++17 -arch=sm_90 -o "$out/$name" $name.cu; done
counted=gpu__time_duration.sum,dram__bytes_read.sum,lts__cycles_elapsed.avg.per_second
counted=$counted,lts__t_sectors_srcunit_tex_op_read.sum,lts__t_sectors_srcunit_tex_lookup_hit.sum
"$out/advised" first > "$out/first.csv"
"$out/advised" second > "$out/second.csv"
cd "$out"
ncu --clock-control none --cache-control none --replay-mode application --csv --page raw \
    --metrics $counted -k regex:^counted ./sets_windows > sets_ncu.csv
crossing=lts__t_sectors.sum,lts__t_sectors_srcunit_ltcfabric.sum
crossing=$crossing,lts__t_sectors_srcunit_ltcfabric_lookup_hit.sum,dram__bytes_write.sum
ncu --clock-control none --cache-control none --replay-mode application --csv --page raw \
    --metrics $counted,$crossing -k regex:^counted ./sides > sides_ncu.csv
cd -
python tidy.py "$out" ..
