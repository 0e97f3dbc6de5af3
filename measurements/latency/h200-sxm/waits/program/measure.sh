#!/bin/bash
# Waits for loads turn by turn, and operators of PyTorch by blocks, into OUT.
set -e
nvcc -arch=sm_90 -O3 -o waits waits.cu
./waits > "$OUT/waits.csv"
python3 library.py "$OUT"
