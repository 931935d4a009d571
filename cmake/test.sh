#!/bin/sh
# sh cmake/test.sh [--all | --leg <name>] [arguments of ctest], --oldest [minutes] or --presets: builds and runs the tests.
# Installs missing packages.
#
#   sh cmake/test.sh -R layers/     only the tests whose name contains layers/
#   sh cmake/test.sh --all          also all legs of cmake/legs.txt: sanitizers, other compilers, …
#   sh cmake/test.sh --leg avx2     only this leg
#   sh cmake/test.sh --oldest       the leg that passed longest ago, of those that this machine can run
#   sh cmake/test.sh --oldest 25    the same, of those that took at most 25 minutes
#   sh cmake/test.sh --presets      configures every preset, and builds and runs one test in `dev`
#
# A leg that this machine cannot run is skipped with exit status 77. A leg that passes in full is recorded in
# cmake/legs_passed.txt. --all continues after a failure and ends with a table of results.
set -eu
cd "$(dirname "$0")/.."
. cmake/functions.sh

passed=cmake/legs_passed.txt

# The line of a leg in cmake/legs.txt.
leg_line() { grep "^$1 *|" cmake/legs.txt; }

run_tests() {
  # Compiling with -O1 takes 60 % of the time of -O3. Do not use this build for timing.
  configure build/test -S . -B build/test -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG"
  cmake --build build/test --parallel "$(jobs)"
  ctest --test-dir build/test --output-on-failure --no-tests=error --parallel "$(jobs)" "$@"
}

# lacks <leg>: prints why this machine cannot run the leg, or fails if it can.
lacks() {
  needs=$(leg_line "$1" | cut -d '|' -f 2)
  for need in ${needs#*preset}; do
    case $need in
      machine=*) [ "$(uname -m)" = "${need#machine=}" ] || { echo "this machine is not ${need#machine=}"; return; } ;;
      runs=*) "${need#runs=}" --version > /dev/null 2>&1 || { echo "this machine cannot run ${need#runs=}"; return; } ;;
      *) command -v "$need" > /dev/null 2>&1 || { echo "$need is not installed"; return; } ;;
    esac
  done
  return 1
}

# The current commit, with "+changes" if the tree is modified.
commit_here() {
  git rev-parse --short HEAD 2> /dev/null | tr -d '\n'
  [ -z "$(git status --porcelain -- . ":!$passed" 2>&1)" ] || echo "+changes"
}

# run_leg <name> <arguments of ctest>: builds a leg and runs its tests. If these are all tests, records the pass.
run_leg() {
  leg=$1
  shift
  if lack=$(lacks "$leg"); then
    echo "left out, because $lack"
    exit 77
  fi
  commit=$(commit_here)
  configure "build/$leg" --preset "$leg"
  cmake --build --preset "$leg" --parallel "$(jobs)"
  ctest --preset "$leg" --parallel "$(jobs)" --no-tests=error --output-log "build/$leg/ctest.log" "$@"
  if [ $# -eq 0 ]; then
    [ "$commit" = "$(commit_here)" ] || commit=${commit%+changes}+changes  # the tree changed meanwhile
    times > "build/$leg/times"
    note_leg "$passed" "$leg" "$commit" "$(awk -F '[ms ]+' 'END { printf "%.0f", $1 + $3 + ($2 + $4) / 60 }' "build/$leg/times")" \
      "$(sed -n 's/.* tests failed out of //p' "build/$leg/ctest.log")"
  fi
}

run_presets() {
  ulimit -t 300  # stops a process after 300 CPU seconds: CMake once hung on a list that kept doubling
  for preset in $(cmake --list-presets | sed -n 's/^ *"\([^"]*\)".*/\1/p'); do
    if lack=$(lacks "$preset"); then
      echo "preset $preset: left out, because $lack"
    else
      echo "preset $preset"
      configure "build/$preset" --preset "$preset" > /dev/null
    fi
  done
  cmake --build --preset dev --target ops_softmax_test --parallel "$(jobs)"
  build/dev/tests/ops_softmax_test --gtest_brief=1
}

# report <name> <command>: runs the command and adds a row to the table.
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
    leg=${2:?"--leg needs the name of a leg in cmake/legs.txt"}
    leg_line "$leg" > /dev/null || { echo "cmake/legs.txt has no leg $leg" >&2; exit 2; }
    shift 2
    sh cmake/install_dependencies.sh
    run_leg "$leg" "$@"
    ;;
  --oldest)
    limit=${2:+$(($2 * $(jobs)))}  # in processor time
    for leg in $(legs_by_age cmake/legs.txt "$passed" "$limit"); do
      if lack=$(lacks "$leg"); then
        echo "leg $leg: left out, because $lack"
      else
        printf '%s\n' "--- leg $leg ---"
        exec sh cmake/test.sh --leg "$leg"
      fi
    done
    echo "no leg ran: this machine can run none${2:+ that took at most $2 minutes}"
    ;;
  --presets)
    sh cmake/install_dependencies.sh
    run_presets
    ;;
  *)
    sh cmake/install_dependencies.sh
    run_tests "$@"
    ;;
esac
