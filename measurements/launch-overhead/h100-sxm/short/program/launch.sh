# Run in this folder with OUT2 set to where results go.
set -u
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,temperature.gpu --format=csv > $OUT2/gpu.txt
date -u >> $OUT2/gpu.txt
nvcc -arch=sm_90 -O3 -std=c++17 launch.cu -o launch.exe & nvcc -arch=sm_90 -O3 -std=c++17 -Xcompiler -fPIC -shared -o launch.so launch.cu & wait
for w in all few near; do python3 launch_points.py $w > $w.txt; done; cp all.txt few.txt near.txt $OUT2/
timeout 8 ./launch.exe events < all.txt > $OUT2/events.txt 2>&1; echo events $? $SECONDS
timeout 10 ncu --clock-control none --profile-from-start off --cache-control none --csv --page raw --print-units base --metrics gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum --log-file $OUT2/ncu-near.csv ./launch.exe counted < near.txt > $OUT2/ncu-near.txt 2>&1; echo near $? $SECONDS
M=gpu__time_duration.sum,sm__cycles_active.max,sm__cycles_active.avg
for how in all none; do
timeout 11 ncu --clock-control none --profile-from-start off --cache-control $how --csv --page raw --print-units base --metrics $M --log-file $OUT2/ncu-$how.csv ./launch.exe counted < few.txt > $OUT2/ncu-$how.txt 2>&1; echo ncu $how $? $SECONDS
done
timeout 18 python3 launch_cupti.py $OUT2 > $OUT2/cupti.log 2>&1; echo cupti $? $SECONDS
nvidia-smi --query-gpu=clocks.sm,clocks.mem,temperature.gpu --format=csv >> $OUT2/gpu.txt
