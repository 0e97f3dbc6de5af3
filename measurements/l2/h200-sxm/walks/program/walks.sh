#!/usr/bin/env bash
# Measures walk.cu and turns.cu by their own clocks, products.cu by events, and fetch.cu by the profiler. Usage: walks.sh OUT
set -u
out=${1:?output folder}
here=$(cd "$(dirname "$0")" && pwd)
built=$(mktemp -d)
for name in walk turns products fetch; do nvcc -arch=sm_90 -O3 -o "$built/$name" "$here/$name.cu" || exit 1; done
nvidia-smi --query-gpu=clocks.sm,clocks.mem,name,driver_version --format=csv > "$out/machine.txt"
for name in walk turns products; do timeout 20 "$built/$name" > "$out/$name.csv"; done
for cache in all none; do
  timeout 20 ncu --clock-control none --cache-control $cache --csv --page raw --print-units base \
    --metrics gpu__time_duration.sum,smsp__inst_executed.sum --log-file "$out/fetch-$cache.csv" "$built/fetch"
done
rm -r "$built"
