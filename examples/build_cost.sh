#!/bin/sh
# sh examples/build_cost.sh [target...]: builds each target (by default, those listed below) from scratch, without ccache, and
# prints a Markdown table of the CPU time in seconds.
set -eu
cd "$(dirname "$0")/.."
. cmake/functions.sh
export CCACHE_DISABLE=1 LC_ALL=C  # `times` prints decimal points, not commas
configure build/cost -S . -B build/cost -DCMAKE_BUILD_TYPE=Release -DGATED_BUILD_TESTS=OFF -DGATED_BUILD_BENCH=OFF >&2

if [ $# = 0 ]; then
  set -- check_parity classify_digits classify_image custom_layer fine_tune gated_inspect generate_text gmlp_from_scratch \
    own_model train_digits train_text visualize_gates
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
echo "| target | seconds |"
echo "|---|---:|"
for target in "$@"; do
  cmake --build build/cost --target clean > /dev/null
  # The second line of `times` is the user and system time of this shell's children: "0m1.250000s 0m0.080000s".
  (
    cmake --build build/cost --target "$target" > "$scratch/log" 2>&1 || exit 1
    times > "$scratch/times"
  ) || { cat "$scratch/log" >&2; exit 1; }
  awk -v target="$target" 'NR == 2 { gsub("s", ""); split($1, user, "m"); split($2, kernel, "m")
       printf "| %s | %.0f |\n", target, 60 * (user[1] + kernel[1]) + user[2] + kernel[2] }' "$scratch/times"
done
