#!/bin/sh
# sh bench/run.sh [--quick] [--threads N] [work ...]: gated beside ONNX Runtime and PyTorch, in one table.
#
# Builds what is needed, makes the work (weights, inputs, expected results), runs all runtimes by turns, and writes the table to
# build/peers/peers.md. A runtime that is missing is left out. --quick shows that everything works; its figures mean nothing.
# The works are those of peers/models.py: gmlp_s16_b8, flash, gau_head, ...
set -eu
cd "$(dirname "$0")/.."
. cmake/functions.sh
work=build/peers/work
export PYTHONDONTWRITEBYTECODE=1  # no folders beside the scripts

quick=""
if [ "${1:-}" = --quick ]; then
  quick=--quick
  shift
  [ $# -gt 0 ] || set -- gmlp_s16_b1 gau_head train_gmlp
fi
threads=$(nproc 2> /dev/null || sysctl -n hw.ncpu)
if [ "${1:-}" = --threads ]; then
  threads=$2
  shift 2
fi

configure build/bench -S . -B build/bench -DCMAKE_BUILD_TYPE=Release -DGATED_BUILD_TESTS=OFF -DGATED_BUILD_EXAMPLES=OFF
cmake --build build/bench --target compare_peers --parallel "$(jobs)"

# PyTorch, which also makes the work. The system's own python3 may have it where another stands first in the path.
torch=""
for candidate in "${PYTHON:-python3}" /usr/bin/python3; do
  if [ -z "$torch" ] && "$candidate" -c "import torch, numpy" 2> /dev/null; then
    torch=$candidate
  fi
done
if [ -z "$torch" ]; then
  echo "PyTorch is missing, and it makes the work: nothing can be compared." >&2
  echo "Debian, Ubuntu: apt-get install python3-torch python3-onnx libopenblas0-pthread. Elsewhere: pip install torch onnx" >&2
  exit 1
fi
mkdir -p $work
"$torch" -W ignore bench/peers/make_work.py $work "$@"

# ONNX Runtime, from npm's package; its CPU library is inside, so that no script of the package need run.
onnx=build/peers/node_modules/onnxruntime-node
if [ ! -d $onnx ] && command -v npm > /dev/null 2>&1; then
  npm install --prefix build/peers --ignore-scripts --no-audit --no-fund --loglevel=error onnxruntime-node@1.30.0 || true
fi
if ! command -v node > /dev/null 2>&1 || [ ! -d $onnx ]; then
  echo "ONNX Runtime is left out: it needs node and npm's package onnxruntime-node."
  onnx=""
fi

"$torch" bench/peers/compare.py --ours build/bench/bench/compare_peers --work $work --torch "$torch" --onnx "$onnx" \
  --out build/peers/peers.md --threads "$threads" $quick "$@"
