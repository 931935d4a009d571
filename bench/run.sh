#!/bin/sh
# sh bench/run.sh [--quick] [--int8] [--threads N] [work ...]: compares gated with ONNX Runtime, oneDNN and PyTorch.
#
# Builds gated twice, for this processor and with -O2 alone, and writes the workloads (weights, inputs, expected outputs). Runs the
# runtimes in turn, and writes one table to build/peers/peers.md. A quick, partial or failed run writes to build/peers/partial.
# Missing runtimes are left out. The workloads are those of peers/models.py: gmlp_s16_b8, flash, gau_head, ...
#
# --quick   only checks that everything works; its figures mean nothing
# --int8    compares only gated and ONNX Runtime, in float and in int8, and writes int8.md;
#           by default, measures the models that are often quantized
set -eu
cd "$(dirname "$0")/.."
. cmake/functions.sh
work=build/peers/work
export PYTHONDONTWRITEBYTECODE=1  # no __pycache__ beside the scripts

quick="" int8="" names=""
threads=$(nproc 2> /dev/null || sysctl -n hw.ncpu)
while [ $# -gt 0 ]; do
  case $1 in
    --quick) quick=--quick ;;
    --int8) int8=--int8 ;;
    --threads)
      shift
      threads=${1:-}
      ;;
    -*) threads="" ;;
    *) names="$names $1" ;;
  esac
  [ $# -eq 0 ] || shift
done
case $threads in
  "" | 0* | *[!0-9]*)
    echo "usage: sh bench/run.sh [--quick] [--int8] [--threads N] [work ...]" >&2
    exit 2
    ;;
esac
is_whole=false
if [ -z "$quick$names" ]; then
  is_whole=true
fi
table=peers
if [ -n "$int8" ]; then
  table=int8
  names=${names:-"gmlp_s16_b1 gmlp_s16_b8 gmlp_nlp_b1 gmlp_nlp_b8 mixer_b16_b1 gau_head ttm_b64"}
elif [ -n "$quick" ]; then
  names=${names:-"gmlp_s16_b1 gau_head train_gmlp"}
fi

# Find PyTorch, which also writes the workloads.
torch=$(python_with "torch, numpy") || {
  echo "PyTorch, which writes the workloads, is missing${PYTHON:+ from PYTHON=$PYTHON}. Install it." >&2
  echo "Debian, Ubuntu: apt-get install python3-torch python3-onnx libopenblas0-pthread. Elsewhere: pip install torch onnx" >&2
  exit 1
}
mkdir -p $work build/peers/partial
# shellcheck disable=SC2086  # $names is a list
"$torch" -W ignore bench/peers/make_work.py $work $names

configure_bench
cmake --build build/bench --target compare_peers --parallel "$(jobs)"

default="" onednn=""
if [ -z "$int8" ]; then
  # Build gated again as users compile it, without a flag for this processor.
  default=build/bench-default/bench/compare_peers
  configure build/bench-default -S . -B build/bench-default -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O2 \
    -DGATED_NATIVE=OFF -DGATED_WERROR=OFF -DGATED_BUILD_TESTS=OFF -DGATED_BUILD_EXAMPLES=OFF
  cmake --build build/bench-default --target compare_peers --parallel "$(jobs)"

  # Build run_onednn, if oneDNN is installed.
  onednn=build/bench/bench/run_onednn
  cmake --build build/bench --target run_onednn --parallel "$(jobs)" > /dev/null 2>&1 || {
    echo "oneDNN is left out. Install oneDNN 2.6 or a later 2.x (Debian: libdnnl-dev)." >&2
    onednn=""
  }
fi

# Install ONNX Runtime from npm. The package contains the CPU library, so its scripts need not run.
onnx=build/peers/node_modules/onnxruntime-node
onnx_version=1.30.0
onnx_found() { node -p "require('./$onnx/package.json').version" 2> /dev/null || true; }
if command -v npm > /dev/null 2>&1 && [ "$(onnx_found)" != $onnx_version ]; then
  npm install --prefix build/peers --ignore-scripts --no-audit --no-fund --loglevel=error onnxruntime-node@$onnx_version ||
    echo "npm could not fetch onnxruntime-node $onnx_version" >&2
fi
if [ -z "$(onnx_found)" ]; then
  echo "ONNX Runtime is left out. Install node and npm; this script then fetches onnxruntime-node." >&2
  onnx=""
fi

if $is_whole; then
  rm -f build/peers/$table.md  # left by an earlier run
fi
# shellcheck disable=SC2086
"$torch" bench/peers/compare.py --ours build/bench/bench/compare_peers --default "$default" --work $work --torch "$torch" \
  --onnx "$onnx" --onednn "$onednn" --out build/peers/partial/$table.md --threads "$threads" $quick $int8 $names
if $is_whole; then
  mv build/peers/partial/$table.md build/peers/$table.md
fi
