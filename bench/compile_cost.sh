#!/bin/sh
# sh bench/compile_cost.sh [--quick]: what gated costs to compile.
#
# Each public header alone, parsed and checked (-fsyntax-only), and a program for each model with all of its code, optimised.
# The figures are seconds of processor time, medians of three, in turn with <Eigen/Core>, which is their measure. Writes
# Markdown, also to build/compile_cost.md. --quick takes the umbrella and one model, once. CXX and CXXFLAGS are respected.
set -eu
cd "$(dirname "$0")/.."
cxx="${CXX:-c++} -std=c++20 ${CXXFLAGS:-}"
libraries="$(pkg-config --cflags eigen3 2> /dev/null || echo -I/usr/include/eigen3) \
$(pkg-config --cflags stb 2> /dev/null || echo -I/usr/include/stb)"
mkdir -p build
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# cpu_seconds <name> <flags>: of compiling the source text on standard input; appended to the list of that name.
cpu_seconds() {
  name=$1
  shift
  cat > "$scratch/source.cpp"
  # The second line of `times` is what the children of this shell took, "0m1.250000s 0m0.080000s".
  # shellcheck disable=SC2086
  (
    $cxx $libraries -Iinclude "$@" "$scratch/source.cpp" || exit 1
    times > "$scratch/times"
  ) > "$scratch/log" 2>&1 || { cat "$scratch/log" >&2; return 1; }
  awk 'NR == 2 { gsub("s", ""); split($1, user, "m"); split($2, kernel, "m")
       print 60 * (user[1] + kernel[1]) + user[2] + kernel[2] }' "$scratch/times" >> "$scratch/$name"
}

median() { sort -n "$scratch/$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# in_turns <source> <flags>: the median of three (or one), each after one of Eigen/Core, and its multiple of theirs.
in_turns() {
  source=$1
  shift
  : > "$scratch/ours"
  : > "$scratch/eigen"
  for _ in $turns; do
    echo '#include <Eigen/Core>' | cpu_seconds eigen -fsyntax-only || return 1
    printf '%s\n' "$source" | cpu_seconds ours "$@" || return 1
  done
  awk -v ours="$(median ours)" -v eigen="$(median eigen)" 'BEGIN { printf "%.2f | %.2f", ours, ours / eigen }'
}

headers=$(cd include && find gated -name '*.hpp' | sort)
models="Gmlp:gmlp GmlpLanguageModel:gmlp_language_model GmlpImageClassifier:gmlp_image_classifier GauEncoder:gau_encoder \
Flash:flash FlashLanguageModel:flash_language_model"
turns="1 2 3"
if [ "${1:-}" = --quick ]; then
  turns=1
  headers=gated/gated.hpp
  models=Gmlp:gmlp
fi

# gated.hpp first, then the floors from below.
ordered=""
for floor in gated core ops layers models io train; do
  for header in $headers; do
    case $header in
      "gated/$floor.hpp" | "gated/$floor/"*) ordered="$ordered $header" ;;
      gated/version.hpp) [ $floor != core ] || ordered="$ordered $header" ;;
    esac
  done
done

{
  $cxx --version | head -n 1
  echo
  echo "| program with all of the code of | s | × Eigen/Core |"
  echo "|---|---:|---:|"
  for entry in $models; do
    model=${entry%%:*} header=${entry#*:}
    source="#include \"gated/models/$header.hpp\"
template struct gated::$model<float>;"
    echo "| \`$model<float>\`, -O2 | $(in_turns "$source" -O2 -c -o "$scratch/object.o") |"
  done
  echo
  echo "| header | s | × Eigen/Core |"
  echo "|---|---:|---:|"
  for header in $ordered; do
    # Those that need a library which is not here are left out.
    if cost=$(in_turns "#include \"$header\"" -fsyntax-only 2> /dev/null); then
      echo "| $header | $cost |"
    else
      echo "left out: $header" >&2
    fi
  done
} | tee build/compile_cost.md
