set -u
cd "$(dirname "$0")"
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,temperature.gpu --format=csv
nvcc -O3 -std=c++17 -arch=sm_90 -o graph graph.cu
./graph > "$OUT/graph.csv"
ncu --clock-control none --cache-control none --metrics gpu__time_duration.sum --csv --page raw --log-file "$OUT/graph_ncu.csv" ./graph profiled
nvidia-smi --query-gpu=clocks.sm,clocks.mem,temperature.gpu --format=csv
