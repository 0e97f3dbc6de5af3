#!/usr/bin/env bash
# Measures run.py on a GPU: checks and times between events, then times and counters by the profiler.
# Usage: measure.sh OUTPUT_FOLDER   (needs ncu and Python with PyTorch and Triton; leaves clocks and settings alone)
set -u
out=${1:?output folder}
here=$(cd "$(dirname "$0")" && pwd)
made=$(mktemp -d)
state() { nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,temperature.gpu,power.draw --format=csv,noheader; }
{ date -u; python3 -c 'import torch, triton; print(torch.__version__, triton.__version__)'; ncu --version | tail -1; state; } > "$out/environment.txt" 2>&1
timeout 200 python3 "$here/run.py" "$made" 2>&1 | tail -12
state >> "$out/environment.txt"
cp "$made"/checks.csv "$made"/launches.jsonl "$out"
tar -C "$made" -czf "$out/ptx.tar.gz" ptx
metrics=gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum,lts__t_sectors_srcunit_tex_op_read.sum,smsp__inst_executed.sum,sm__inst_executed_pipe_tensor.sum,sm__cycles_elapsed.max,smsp__issue_active.sum
timeout 250 ncu --profile-from-start off --clock-control none --cache-control all --csv --page raw --print-units base \
  --metrics "$metrics" --log-file "$made/cold.csv" python3 "$here/run.py" "$made/again" profile 2>&1 | tail -12
gzip -c "$made/cold.csv" > "$out/cold.csv.gz"
cp "$made/again/profiled.csv" "$out"
state >> "$out/environment.txt"
cat "$out/environment.txt"; wc -l "$out"/*.csv "$out"/*.jsonl; echo "$SECONDS s"
