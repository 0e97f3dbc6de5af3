#!/bin/bash
# Times and counts beside set-asides of every number of ways, in 90 s: measure.sh OUT, after
# python cases.py L2_BYTES PERSISTING_MAX SMS > cases.txt
out=$(realpath -m "${1:?measure.sh OUT}")
cd "$(dirname "$0")"
mkdir -p "$out"
build=$(mktemp -d)
for name in streams grid ways replay; do
  nvcc -O3 -std=c++17 -arch=sm_90 -o "$build/$name" $name.cu > "$out/$name.log" 2>&1 &
done
wait
counted=gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum
for name in streams grid ways; do
  timeout 15 "$build/$name" > "$out/$name.csv" 2>> "$out/$name.log" || echo "$name: rc $?" >> "$out/$name.log"
done
count() {  # seconds, state of the caches, name, command: what it prints and what the profiler counts
  timeout --signal=INT "$1" ncu --clock-control none --cache-control "$2" --profile-from-start off \
    --csv --page raw --print-units base --metrics $counted --log-file "$out/$3.ncu" \
    "${@:4}" > "$out/$3.txt" 2>> "$out/$3.log" || echo "$3: rc $?" >> "$out/$3.log"
}
count 40 all replay "$build/replay" cases.txt
count 20 none ways_counted "$build/ways" count
rm -rf "$build"
