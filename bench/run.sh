#!/bin/sh
# sh bench/run.sh [--quick] [--int8] [--threads N] [work ...]: gated beside ONNX Runtime, oneDNN and PyTorch, in one table.
#
# gated is there twice: compiled for this processor, and with -O2 alone. Builds what is needed, makes the work (weights, inputs,
# expected results), runs all runtimes by turns, and writes the table to build/peers/peers.md; that of a run which is quick, of some
# works only, or not whole stays in build/peers/partial. A runtime that is missing is left out. --quick shows that everything works;
# its figures mean nothing. The works are those of peers/models.py: gmlp_s16_b8, flash, gau_head, ...
#
# --int8: gated and ONNX Runtime alone, each in float and in int8, on the works that people quantize unless some are named; in int8.md.
set -eu
cd "$(dirname "$0")/.."
. cmake/functions.sh
work=build/peers/work
export PYTHONDONTWRITEBYTECODE=1  # no folders beside the scripts

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

# PyTorch, which also makes the work.
torch=$(python_with "torch, numpy") || {
  echo "PyTorch is missing${PYTHON:+ from PYTHON=$PYTHON}, and it makes the work: nothing can be compared." >&2
  echo "Debian, Ubuntu: apt-get install python3-torch python3-onnx libopenblas0-pthread. Elsewhere: pip install torch onnx" >&2
  exit 1
}
mkdir -p $work build/peers/partial
# shellcheck disable=SC2086  # names are several
"$torch" -W ignore bench/peers/make_work.py $work $names

configure_bench
cmake --build build/bench --target compare_peers --parallel "$(jobs)"

default="" onednn=""
if [ -z "$int8" ]; then
  # Once more as users compile it, without a flag for this processor.
  default=build/bench-default/bench/compare_peers
  configure build/bench-default -S . -B build/bench-default -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O2 \
    -DGATED_NATIVE=OFF -DGATED_WERROR=OFF -DGATED_BUILD_TESTS=OFF -DGATED_BUILD_EXAMPLES=OFF
  cmake --build build/bench-default --target compare_peers --parallel "$(jobs)"

  # gMLP trunks on oneDNN's primitives, where the library is found.
  onednn=build/bench/bench/run_onednn
  cmake --build build/bench --target run_onednn --parallel "$(jobs)" > /dev/null 2>&1 || {
    echo "oneDNN is left out: it needs version 2.6 or a later 2 (Debian: libdnnl-dev)." >&2
    onednn=""
  }
fi

# ONNX Runtime, from npm's package; its CPU library is inside, so that no script of the package need run.
onnx=build/peers/node_modules/onnxruntime-node
onnx_version=1.30.0
onnx_found() { node -p "require('./$onnx/package.json').version" 2> /dev/null || true; }
if command -v npm > /dev/null 2>&1 && [ "$(onnx_found)" != $onnx_version ]; then
  npm install --prefix build/peers --ignore-scripts --no-audit --no-fund --loglevel=error onnxruntime-node@$onnx_version ||
    echo "npm could not fetch onnxruntime-node $onnx_version" >&2
fi
if [ -z "$(onnx_found)" ]; then
  echo "ONNX Runtime is left out: it needs node and npm's package onnxruntime-node." >&2
  onnx=""
fi

if $is_whole; then
  rm -f build/peers/$table.md  # of another run
fi
# shellcheck disable=SC2086
"$torch" bench/peers/compare.py --ours build/bench/bench/compare_peers --default "$default" --work $work --torch "$torch" \
  --onnx "$onnx" --onednn "$onednn" --out build/peers/partial/$table.md --threads "$threads" $quick $int8 $names
if $is_whole; then
  mv build/peers/partial/$table.md build/peers/$table.md
fi
