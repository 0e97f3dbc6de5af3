#!/usr/bin/env bash
# Kernels for rows that are no whole pieces of 16 bytes, alone and as the library takes them:
# OUT=FOLDER bash narrow.sh. Needs torch, cupy and one GPU.
set -eu
cd "$(dirname "$0")"
timeout 60 python3 tiles.py
timeout 30 python3 tiles.py rows
