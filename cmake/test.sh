#!/bin/sh
# sh cmake/test.sh [--all | --leg <name>] [arguments of ctest]: builds and runs the tests. Installs what is missing.
#
#   sh cmake/test.sh -R layers/     only those whose name contains layers/
#   sh cmake/test.sh --all          also built in every way that cmake/legs.txt lists: with sanitizers, other compilers, …
#   sh cmake/test.sh --leg avx2     built in one of these ways only
set -eu
cd "$(dirname "$0")/.."
. cmake/functions.sh

wanted=none
case ${1:-} in
  --all)
    wanted=all
    shift
    ;;
  --leg)
    wanted=${2:?"--leg needs a name of cmake/legs.txt"}
    if ! grep -q "^$wanted *|" cmake/legs.txt; then
      echo "cmake/legs.txt has no leg $wanted" >&2
      exit 2
    fi
    shift 2
    ;;
esac

sh cmake/install_dependencies.sh
case $wanted in
  none | all)
    configure build/test -S . -B build/test
    cmake --build build/test --parallel "$(jobs)"
    ctest --test-dir build/test --output-on-failure --parallel "$(jobs)" "$@"
    ;;
esac
if [ "$wanted" = none ]; then
  exit 0
fi

# left_out <why>: no failure, unless it was asked for by name.
left_out() {
  echo "left out, because $1"
  [ "$wanted" = all ]
}

# run_leg <name> <programs that it needs> -- <arguments of ctest>
run_leg() {
  leg=$1
  shift
  while [ "$1" != -- ]; do
    case $1 in
      machine=*) [ "$(uname -m)" = "${1#machine=}" ] || { left_out "this machine is no ${1#machine=}"; return; } ;;
      *) command -v "$1" > /dev/null 2>&1 || { left_out "$1 is not installed"; return; } ;;
    esac
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
  if [ "$wanted" != all ] && [ "$wanted" != "$leg" ]; then
    continue
  fi
  echo
  echo "--- $leg:$catches ---"
  run_leg "$leg" ${kind#*preset} -- "$@" < /dev/null
done 3<< LEGS
$(grep -v '^#' cmake/legs.txt)
LEGS
