#!/bin/sh
# sh cmake/test.sh [--all] [arguments of ctest]: builds and runs the tests. Installs what is missing.
#
#   sh cmake/test.sh -R layers/     only those whose name contains layers/
#   sh cmake/test.sh --all          also with sanitizers, with clang, and without OpenMP
set -eu
cd "$(dirname "$0")/.."
. cmake/functions.sh

legs=""
if [ "${1:-}" = --all ]; then
  legs="asan clang no-openmp"
  shift
fi

sh cmake/install_dependencies.sh
configure build/test -S . -B build/test
cmake --build build/test --parallel "$(jobs)"
ctest --test-dir build/test --output-on-failure --parallel "$(jobs)" "$@"

for leg in $legs; do
  echo
  echo "--- $leg ---"
  if [ $leg = clang ] && ! command -v clang++ > /dev/null 2>&1; then
    echo "left out, because clang++ is not installed"
    continue
  fi
  configure build/$leg --preset $leg
  cmake --build build/$leg --parallel "$(jobs)"
  ctest --test-dir build/$leg --output-on-failure --parallel "$(jobs)" "$@"
done
