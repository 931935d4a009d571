#!/bin/sh
# sh bench/tables/run.sh [--quick] [--threads N] [table ...]: measures the tables of bench/README.md and draws the plots.
#
# The tables are lengths, blocks, streaming, threads, busy, spatial, crossover, weights, products, opening. They go to build/tables:
# tables.csv, <table>.md and, to be copied beside this script, <table>.png; those of a run which is quick, or of some tables only, to
# build/tables/partial. --quick shows that everything works; its figures mean nothing.
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
cmake --build build/bench --target measure_tables --parallel "$(jobs)"
mkdir -p $out
build/bench/bench/measure_tables "$@" > $out/tables.csv.tmp
mv $out/tables.csv.tmp $out/tables.csv
rm -f $out/*.md $out/*.png  # of another run
python=$(python_with matplotlib) || python=${PYTHON:-python3}  # draw.py does without, with a word
"$python" bench/tables/draw.py $out/tables.csv --plots $out --markdown $out
cat $out/*.md
