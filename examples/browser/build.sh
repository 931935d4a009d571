#!/bin/sh
# sh examples/browser/build.sh
#
# Installs what is missing (Emscripten and Eigen, with apt-get), and builds the page in build/browser, for any static server.
# Fails if a module is larger than 450 KB, or 160 KB compressed.
set -eu
cd "$(dirname "$0")/../.."

sh cmake/install_dependencies.sh browser
page=build/browser
here=examples/browser
mkdir -p $page

eigen=$(pkg-config --cflags-only-I eigen3 2> /dev/null | sed 's/^-I//; s/ .*//')
eigen=${eigen:-/usr/include/eigen3}

# -Os: the kernels are vector code, which -O2 does not speed up. -flto saves a tenth of the size.
compile() {
  em++ -std=c++20 -msimd128 -fwasm-exceptions -DNDEBUG -DGATED_ONLY_BASELINE -Iinclude -Iexamples -I$here -isystem "$eigen" \
    -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Werror "$@"
}

# is_old <file>: true if the file is missing or older than a source.
is_old() {
  [ ! -f "$1" ] || [ -n "$(find include examples -newer "$1" \( -name '*.[chi]pp' -o -name '*.inl' -o -name build.sh \) | head -n 1)" ]
}

# module <name> <further sources>: builds the module, prints its sizes, and fails if it is too large.
module() {
  wasm=$page/$1.wasm
  if is_old $wasm; then
    name=$1
    shift
    compile -Os -flto -fno-rtti $here/$name.cpp "$@" -o $wasm -sSTANDALONE_WASM --no-entry -sALLOW_MEMORY_GROWTH=1
  fi
  size=$(wc -c < $wasm)
  compressed=$(gzip -9 -c $wasm | wc -c)
  echo "$wasm: $((size / 1000)) KB, compressed $((compressed / 1000)) KB"
  if [ "$size" -gt 450000 ] || [ "$compressed" -gt 160000 ]; then
    echo "$wasm is too large: expected at most 450 KB, and at most 160 KB compressed." >&2
    exit 1
  fi
}

module digits
module forecast $(printf "examples/forecast/%s.cpp " calendar delimited_text table time_axis time_notation)
module text examples/common/safe_text.cpp
module speed

# Quantizes models to int8. The text model is shipped in int8.
if is_old $page/births.safetensors; then
  compile -O1 $here/quantize.cpp -o $page/quantize.js -sNODERAWFS=1 -sALLOW_MEMORY_GROWTH=1 -sWASM_ASYNC_COMPILATION=0
  node $page/quantize.js examples/classify_digits/mnist_gmlp.safetensors $page/mnist.safetensors
  node $page/quantize.js examples/forecast/births_ttm.safetensors $page/births.safetensors
  rm $page/quantize.js $page/quantize.wasm
fi
cp examples/generate_text/bible.int8.safetensors examples/forecast/us_births_daily.csv $here/*.html $here/*.css $here/*.js \
  $here/icon.svg $page/

echo "Serve it with any static server, such as: python3 -m http.server --directory $page"
