#!/bin/sh
# sh cmake/test.sh [--all] [arguments of ctest]: builds and runs the tests. Installs what is missing.
#
#   sh cmake/test.sh -R layers/     only those whose name contains layers/
#   sh cmake/test.sh --all          also built in every way that cmake/legs.txt lists: with sanitizers, other compilers, …
set -eu
cd "$(dirname "$0")/.."
. cmake/functions.sh

all=""
if [ "${1:-}" = --all ]; then
  all=yes
  shift
fi

sh cmake/install_dependencies.sh
configure build/test -S . -B build/test
cmake --build build/test --parallel "$(jobs)"
ctest --test-dir build/test --output-on-failure --parallel "$(jobs)" "$@"

if [ -z "$all" ]; then
  exit 0
fi

# run_leg <name> <programs that it needs> -- <arguments of ctest>
run_leg() {
  leg=$1
  shift
  while [ "$1" != -- ]; do
    if ! command -v "$1" > /dev/null 2>&1; then
      echo "left out, because $1 is not installed"
      return
    fi
    shift
  done
  shift
  configure "build/$leg" --preset "$leg"
  cmake --build --preset "$leg" --parallel "$(jobs)"
  ctest --preset "$leg" --parallel "$(jobs)" "$@"
}

# The list comes in as file 3: file 0 stays the tests' own.
while IFS='|' read -r leg kind catches <&3; do
  leg=$(echo $leg)  # without blanks
  echo
  echo "--- $leg:$catches ---"
  run_leg "$leg" ${kind#*preset} -- "$@" < /dev/null
done 3<< LEGS
$(grep -v '^#' cmake/legs.txt)
LEGS
