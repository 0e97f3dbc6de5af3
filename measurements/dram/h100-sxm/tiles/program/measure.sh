#!/bin/bash
# measure.sh OUT: the counters of both programs, caches flushed before each launch.
set -eu
metrics=gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum
sectors=lts__t_sectors_srcunit_tex_op_read.sum,lts__t_sectors_srcunit_tex_op_write.sum
sectors=$sectors,lts__t_sectors.sum,lts__t_tag_requests.sum
cd "$(dirname "$0")"
mkdir -p "$1"
for name in tiles partial; do
  nvcc -arch=sm_90 -O3 -std=c++17 $name.cu -o "$1/$name"
  options="--clock-control none --csv --page raw --print-units base"
  only="regex:tiles|tree|transpose|columns|rows|runs|interleave|shifted"
  ncu $options -k "$only" --cache-control all --metrics $metrics --log-file "$1/$name-cold.csv" \
    "$1/$name" 2 > "$1/$name.txt"
  ncu $options -k "$only" --cache-control all --metrics $sectors --log-file "$1/$name-sectors.csv" \
    "$1/$name" 1 > /dev/null
done
