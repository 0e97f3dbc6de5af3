#!/usr/bin/env bash
# Products with few rows or columns, warm and after other data was written: OUT=FOLDER bash skinny.sh
set -eu
nvcc -O3 -std=c++17 -arch=sm_90 -I ../../../../../perfmodel/measure/sources -o skinny skinny.cu
./skinny > "$OUT/skinny.csv"
