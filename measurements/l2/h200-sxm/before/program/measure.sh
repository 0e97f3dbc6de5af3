#!/bin/bash
# Times and counts of ways.cu, states.cu, small.cu and random.cu, tidied: measure.sh OUT
set -e
cd "$(dirname "$0")"
out=${1:?measure.sh OUT}
mkdir -p "$out"
counted=gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum
for name in ways states small random; do
  nvcc -O3 -std=c++17 -arch=sm_90 -o "$out/$name" $name.cu
  "$out/$name" > "$out/$name.csv"
  ncu --clock-control none --cache-control none --replay-mode application --csv --page raw \
      --metrics $counted -k regex:'data_reset|persistent|working_set_read|gather' \
      "$out/$name" count > "$out/${name}_ncu.csv" 2> "$out/${name}_list.txt"
done
python tidy.py "$out" ..
