# Run in this folder with OUT2 set to where results go.
set -u
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,temperature.gpu --format=csv > $OUT2/gpu.txt
date -u >> $OUT2/gpu.txt
nvcc -arch=sm_90 -O3 -std=c++17 streams.cu -o streams.exe & nvcc -arch=sm_90 -O3 -std=c++17 -Xcompiler -fPIC -shared -o streams.so streams.cu & wait
for w in all few lives; do python3 stream_points.py $w > $w.txt; cp $w.txt $OUT2/; done
timeout 8 ./streams.exe events < all.txt > $OUT2/events.txt 2>&1; echo events $? $SECONDS
timeout 5 ./streams.exe lives < lives.txt > $OUT2/lives.txt 2>&1; echo lives $? $SECONDS; gzip $OUT2/lives.txt
timeout 20 python3 stream_cupti.py $OUT2 > $OUT2/cupti.log 2>&1; echo cupti $? $SECONDS
for how in all none; do
timeout 9 ncu --clock-control none --profile-from-start off --cache-control $how --csv --page raw --print-units base --metrics gpu__time_duration.sum --log-file $OUT2/ncu-$how.csv ./streams.exe counted < few.txt > $OUT2/ncu-$how.txt 2>&1; echo ncu $how $? $SECONDS; gzip $OUT2/ncu-$how.csv
done
nvidia-smi --query-gpu=clocks.sm,clocks.mem,temperature.gpu --format=csv >> $OUT2/gpu.txt
