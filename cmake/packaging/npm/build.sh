#!/bin/sh
# sh cmake/packaging/npm/build.sh
#
# Installs Emscripten and Eigen with apt-get if they are missing, and builds the npm package in build/npm.
set -eu
cd "$(dirname "$0")/../../.."

sh cmake/install_dependencies.sh browser
package=build/npm
here=cmake/packaging/npm
mkdir -p $package
eigen=$(pkg-config --cflags-only-I eigen3 2> /dev/null | sed 's/^-I//; s/ .*//')

functions=$(sed -n 's/^GATED_API .*\(gated_[a-z_]*\)(.*/_\1,/p' include/gated/c/gated.h | tr -d '\n')
em++ -std=c++20 -Os -flto -fno-rtti -msimd128 -fwasm-exceptions -DNDEBUG -DGATED_ONLY_BASELINE -DGATED_PORTABLE -Iinclude \
  -isystem "${eigen:-/usr/include/eigen3}" cmake/c/gated.cpp -o $package/gated.wasm -sSTANDALONE_WASM --no-entry \
  -sALLOW_MEMORY_GROWTH=1 -sEXPORTED_FUNCTIONS="${functions}_malloc,_free"
cp $here/package.json $here/gated.js $here/gated.d.ts $here/README.md LICENSE $package/
wc -c $package/gated.wasm
echo "Pack it: npm pack ./$package"
