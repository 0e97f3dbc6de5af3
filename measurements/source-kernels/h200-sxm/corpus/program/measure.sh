#!/usr/bin/env bash
# Builds the corpus and measures it: events, then counters and times by the profiler, cold and warm.
# Usage: measure.sh OUTPUT_FOLDER [SOURCES]   (needs nvcc, ncu, Python with CuPy and perfmodel, and one GPU; leaves clocks and settings alone)
# SOURCES: a folder of sources, launches and checks.py; without it, this one.
set -u
out=${1:?output folder}
here=$(cd "$(dirname "$0")" && pwd)
export CORPUS_SOURCES=${2:-$here}
built=$(mktemp -d)
state() { nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,temperature.gpu,power.draw --format=csv; }
{ date -u; nvcc --version | tail -2; ncu --version | tail -1; state; } > "$out/environment.txt" 2>&1
for source in "$CORPUS_SOURCES"/*.cu; do
  name=$(basename "$source" .cu)
  nvcc -arch=sm_90 -lineinfo -cubin -Xptxas -v -o "$built/$name.cubin" "$source" 2> "$out/$name.ptxas" &
  nvcc -arch=sm_90 -lineinfo -ptx -o "$built/$name.ptx" "$source" 2>> "$out/environment.txt" &
done
wait
echo "built $SECONDS s" >> "$out/environment.txt"
timeout 100 python3 "$here/run.py" "$built" events "$out/events.csv" 2>&1 | tail -60
echo "events $SECONDS s" >> "$out/environment.txt"; state >> "$out/environment.txt"

ncu --query-metrics --chip gh100 2> /dev/null | awk '{print $1}' > "$built/known"
metrics=
for m in $(cat "$here/metrics.txt"); do
  if grep -qx "${m%%.*}" "$built/known" || [[ $m == launch__* ]]; then metrics+=$m,; else echo "no metric $m" >> "$out/environment.txt"; fi
done
count() { # name, metrics, cache control, launches each, warm or cold, seconds
  timeout "$6" ncu --profile-from-start off --clock-control none --cache-control "$3" --csv --page raw --print-units base \
    --metrics "$2" --log-file "$built/$1.csv" python3 "$here/run.py" "$built" profile "$out/$1.txt" "$4" "$5" 2>&1 | tail -20
  gzip -c "$built/$1.csv" > "$out/$1.csv.gz"
  echo "$1 $SECONDS s" >> "$out/environment.txt"; state >> "$out/environment.txt"
}
count cold-times gpu__time_duration.sum all 3 cold 60
count warm-times gpu__time_duration.sum none 3 warm 60
count counters "${metrics%,}" all 1 cold 130
cat "$out/environment.txt"; wc -l "$out"/*.csv "$out"/*.txt
