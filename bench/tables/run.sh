#!/bin/sh
# sh bench/tables/run.sh [--quick] [--threads N] [table ...]: measures the tables of bench/README.md and draws the plots.
#
# Tables: lengths, blocks, streaming, threads, busy, spatial, crossover, weights, products, int8_forms, callbacks, arithmetic,
# opening. A full run writes tables.csv, <table>.md and <table>.svg to build/tables; a quick or partial run writes to
# build/tables/partial.
# --quick checks that everything works; its figures mean nothing.
set -eu
cd "$(dirname "$0")/../.."
. cmake/functions.sh

out=build/tables
for argument in "$@"; do
  case $argument in
    --threads | [0-9]*) ;;
    *) out=build/tables/partial ;;
  esac
done

configure_bench
cmake --build build/bench --target measure_tables draw_lines --parallel "$(jobs)"
mkdir -p $out
build/bench/bench/measure_tables "$@" > $out/tables.csv.tmp
mv $out/tables.csv.tmp $out/tables.csv
rm -f $out/*.md $out/*.svg  # left by an earlier run
"${PYTHON:-python3}" bench/tables/draw.py $out/tables.csv --markdown $out --plots $out --draw build/bench/bench/draw_lines
cat $out/*.md
