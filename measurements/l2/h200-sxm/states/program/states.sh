# What the state of process, host and L2 does to launches: bash states.sh FOLDER (CUDA 13, Nsight Compute).
set -u
here=$(dirname "$0") && out=$1 && mkdir -p "$out"
for program in again sms states; do nvcc -O3 -arch=sm_90 -o "$out/$program" "$here/$program.cu" || exit 1; done
for process in 1 2 3 4; do "$out/again" empty $process before >> "$out/empty.csv"; done
"$out/again" series > "$out/series.csv"
"$out/again" places > "$out/places.csv"
"$out/again" warm > "$out/warm.csv"
ncu --clock-control none --cache-control none --csv --page raw -k regex:strided \
  --metrics gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum \
  --log-file "$out/keep-ncu.csv" "$out/again" keep > "$out/keep.csv"
"$out/sms" > "$out/sms.csv"
for process in 5 6 7 8; do "$out/again" empty $process after >> "$out/empty.csv"; done
for extra in 2 16 64; do "$out/states" $extra > "$out/states-$extra.csv"; done
python "$here/tidy.py" "$out" FOLDER_OF_THE_RECORDING
