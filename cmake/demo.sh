#!/bin/sh
# sh cmake/demo.sh [arguments]: builds and runs the example classify_digits with these arguments. Installs missing packages.
set -eu
here=$(pwd -P)
cd "$(dirname "$0")/.."
. cmake/functions.sh

sh cmake/install_dependencies.sh demo
configure build/demo -S . -B build/demo -DCMAKE_CXX_FLAGS_RELEASE="-O2 -DNDEBUG" -DGATED_BUILD_TESTS=OFF -DGATED_BUILD_BENCH=OFF  # -O3 takes longer to compile
cmake --build build/demo --target classify_digits --parallel "$(jobs)"

program=$(pwd -P)/build/demo/examples/classify_digits/classify_digits
cd "$here"  # file names in the arguments are relative to the caller's folder
exec "$program" "$@"
