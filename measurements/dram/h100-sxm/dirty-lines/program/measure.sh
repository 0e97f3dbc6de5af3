#!/bin/bash
# Counts of dirty.cu and passes.cu, tidied: measure.sh OUT
set -e
cd "$(dirname "$0")"
out=${1:?measure.sh OUT}
mkdir -p "$out"
for name in dirty passes; do nvcc -O3 -std=c++17 -arch=sm_90 -o "$out/$name" $name.cu; done
cp tidy.py "$out"
cd "$out"
moved=dram__bytes_read.sum,dram__bytes_write.sum
one_pass=gpu__time_duration.sum,$moved,lts__t_sectors_op_read.sum,lts__t_sectors_op_write.sum
one_pass=$one_pass,lts__t_sectors_srcunit_tex.sum,lts__t_sectors_srcunit_ltcfabric.sum
several=gpu__time_duration.sum,$moved,lts__t_sectors_srcunit_tex_op_read.sum,lts__t_sectors.sum
several=$several,lts__t_sectors_srcunit_tex_op_write.sum,lts__t_sectors_srcunit_tex_lookup_hit.sum
count() {
    ncu --clock-control none --profile-from-start off --csv --page raw --print-units base \
        --log-file "$1.csv" --metrics "$2" --cache-control "$3" "${@:4}" > "$1.txt"
}
count dirty $one_pass all ./dirty
count all $moved all ./passes all
count many $several all ./passes
count flush $moved none ./passes flush
count manyflush $several none ./passes flush
cd -
python tidy.py "$out" ..
