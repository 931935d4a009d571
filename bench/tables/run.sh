#!/bin/sh
# sh bench/tables/run.sh [--quick] [--threads N] [table ...]: measures the tables of bench/README.md and draws the plots.
#
# The tables are lengths, blocks, streaming, threads, spatial. They go to build/tables: tables.csv, <table>.md and, to be copied
# beside this script, <table>.png. --quick shows that everything works; its figures mean nothing.
set -eu
cd "$(dirname "$0")/../.."
. cmake/functions.sh

configure build/bench -S . -B build/bench -DCMAKE_BUILD_TYPE=Release -DGATED_BUILD_TESTS=OFF -DGATED_BUILD_EXAMPLES=OFF
cmake --build build/bench --target measure_tables --parallel "$(jobs)"
mkdir -p build/tables
rm -f build/tables/*.md build/tables/*.png  # of another run
build/bench/bench/measure_tables "$@" > build/tables/tables.csv
python=${PYTHON:-python3}
if ! "$python" -c "import matplotlib" 2> /dev/null && /usr/bin/python3 -c "import matplotlib" 2> /dev/null; then
  python=/usr/bin/python3
fi
"$python" bench/tables/draw.py build/tables/tables.csv --plots build/tables --markdown build/tables
cat build/tables/*.md
