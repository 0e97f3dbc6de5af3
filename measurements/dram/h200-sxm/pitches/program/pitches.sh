# Pitches of strided copies and reads, and warm streams by size: bash pitches.sh FOLDER (CUDA 13, Nsight Compute).
set -u
here=$(dirname "$0") && out=$1 && mkdir -p "$out"
nvcc -O3 -arch=sm_90 -o "$out/pitches" "$here/pitches.cu" || exit 1
"$out/pitches" strided 9 > "$out/pitches.csv"
"$out/pitches" warm 15 > "$out/warm.csv"
ncu --clock-control none --csv --page raw -k regex:strided --metrics \
  gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum,dram__sectors_read.max,dram__sectors_read.avg,dram__cycles_active.avg,dram__cycles_elapsed.avg,lts__t_sectors.max,lts__t_sectors.avg \
  "$out/pitches" ncu 1 > "$out/counters.csv"
