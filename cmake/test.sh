#!/bin/sh
# sh cmake/test.sh [--all | --leg <name>] [arguments of ctest]: builds and runs the tests. Installs what is missing.
#
#   sh cmake/test.sh -R layers/     only those whose name contains layers/
#   sh cmake/test.sh --all          also built in every way that cmake/legs.txt lists: with sanitizers, other compilers, …
#   sh cmake/test.sh --leg avx2     built in one of these ways only
#
# A leg that this machine cannot run is left out with status 77. With --all, a leg that fails does not keep the next from
# running; a table at the end says what became of each.
set -eu
cd "$(dirname "$0")/.."
. cmake/functions.sh

# The line of cmake/legs.txt about a leg.
leg_line() { grep "^$1 *|" cmake/legs.txt; }

run_tests() {
  # Nothing is measured here, and -O1 compiles in 60 % of the time of -O3.
  configure build/test -S . -B build/test -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG"
  cmake --build build/test --parallel "$(jobs)"
  ctest --test-dir build/test --output-on-failure --parallel "$(jobs)" "$@"
}

left_out() {
  echo "left out, because $1"
  exit 77
}

# run_leg <name> <arguments of ctest>
run_leg() {
  leg=$1
  shift
  needs=$(leg_line "$leg" | cut -d '|' -f 2)
  for need in ${needs#*preset}; do
    case $need in
      machine=*) [ "$(uname -m)" = "${need#machine=}" ] || left_out "this machine is no ${need#machine=}" ;;
      *) command -v "$need" > /dev/null 2>&1 || left_out "$need is not installed" ;;
    esac
  done
  configure "build/$leg" --preset "$leg"
  cmake --build --preset "$leg" --parallel "$(jobs)"
  ctest --preset "$leg" --parallel "$(jobs)" "$@"
}

# report <name> <command>: runs the command, and adds a row to the table.
table=""
all_passed=true
report() {
  name=$1
  shift
  begin=$(date +%s)
  status=0
  "$@" < /dev/null || status=$?
  case $status in
    0) result=passed ;;
    77) result="left out" ;;
    *) result=FAILED all_passed=false ;;
  esac
  table="$table$(printf '%-10s %-9s %5d s' "$name" "$result" $(($(date +%s) - begin)))
"
}

case ${1:-} in
  --all)
    shift
    report tests sh cmake/test.sh "$@"
    for leg in $(sed -n 's/^\([a-z0-9-]*\) *|.*/\1/p' cmake/legs.txt); do
      printf '\n--- %s:%s ---\n' "$leg" "$(leg_line "$leg" | cut -d '|' -f 3)"
      report "$leg" sh cmake/test.sh --leg "$leg" "$@"
    done
    printf '\n%s' "$table"
    $all_passed
    ;;
  --leg)
    leg=${2:?"--leg needs a name of cmake/legs.txt"}
    leg_line "$leg" > /dev/null || { echo "cmake/legs.txt has no leg $leg" >&2; exit 2; }
    shift 2
    sh cmake/install_dependencies.sh
    run_leg "$leg" "$@"
    ;;
  *)
    sh cmake/install_dependencies.sh
    run_tests "$@"
    ;;
esac
