#!/usr/bin/env bash
# Times products and attention through PyTorch, reads the SM clock beside them, and the clocks of steps.
# Needs torch, cupy, nvcc and one GPU; leaves clocks and settings alone. Usage: OUT=FOLDER bash run.sh
set -u
cd "$(dirname "$0")"
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,power.draw,power.limit --format=csv > "$OUT/session.txt"
timeout 58 python3 clock.py
timeout 58 python3 torch_products.py fp32 batched
timeout 58 python3 torch_products.py others
timeout 58 python3 sdpa.py
timeout 58 python3 pitch.py
nvcc -arch=sm_90 -O3 -o steps steps.cu && ./steps > "$OUT/steps.csv"
