#!/bin/sh
# sh bench/compile_cost.sh [--headers | --quick]: measures compile times.
#
# Compiles (-O2 -c) the manual's programs and, for two models, a program that constructs, runs and streams it.
# Checks the umbrella headers (-fsyntax-only). Reports CPU seconds (the median of three runs, alternating with Eigen/Core) and,
# if GNU time is installed, peak memory. Prints Markdown, and writes it to build/compile_cost.md.
# --headers measures each public header instead. --quick measures one model and one header, once. With either option, the table
# goes to build/partial.
# Respects CXX and CXXFLAGS.
set -eu
cd "$(dirname "$0")/.."
export CCACHE_DISABLE=1  # otherwise the second and third runs would be cache hits
export LC_ALL=C          # English compiler messages, decimal points in `times`
cxx="${CXX:-c++} -std=c++20 ${CXXFLAGS:-}"
libraries="$(pkg-config --cflags eigen3 2> /dev/null || echo -I/usr/include/eigen3) \
$(pkg-config --cflags stb 2> /dev/null || echo -I/usr/include/stb)"
mkdir -p build
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# cpu_seconds <name> <flags>: compiles standard input and appends the CPU seconds to $scratch/<name>.
cpu_seconds() {
  name=$1
  shift
  cat > "$scratch/source.cpp"
  # The second line of `times` is the user and system time of this shell's children: "0m1.250000s 0m0.080000s".
  # shellcheck disable=SC2086
  (
    $measured $cxx $libraries -Iinclude "$@" "$scratch/source.cpp" || exit 1
    times > "$scratch/times"
  ) > "$scratch/log" 2>&1 || return 1
  awk 'NR == 2 { gsub("s", ""); split($1, user, "m"); split($2, kernel, "m")
       print 60 * (user[1] + kernel[1]) + user[2] + kernel[2] }' "$scratch/times" >> "$scratch/$name"
}

# Prefix for a command, to write its peak memory in KB to $scratch/memory; empty if GNU time is not installed.
measured=""
if /usr/bin/time -f %M -o "$scratch/memory" true 2> /dev/null; then
  measured="/usr/bin/time -f %M -o $scratch/memory"
fi

median() { sort -n "$scratch/$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# in_turns <source> <flags>: compiles the source three times (once with --quick), alternating with Eigen/Core. Prints the median
# CPU seconds, their ratio to those of Eigen/Core, and the peak memory in MB.
in_turns() {
  source=$1
  shift
  : > "$scratch/ours"
  : > "$scratch/eigen"
  for _ in $turns; do
    echo '#include <Eigen/Core>' | cpu_seconds eigen -fsyntax-only || return 1
    printf '%s\n' "$source" | cpu_seconds ours "$@" || return 1
  done
  megabytes=–
  [ -z "$measured" ] || megabytes=$(($(tail -n 1 "$scratch/memory") / 1000))
  awk -v ours="$(median ours)" -v eigen="$(median eigen)" -v megabytes="$megabytes" \
    'BEGIN { printf "%.2f | %.2f | %s", ours, ours / eigen, megabytes }'
}

failed() {
  cat "$scratch/log" >&2
  echo "$1 does not compile. Fix the errors above." >&2
  exit 1
}

models="Gmlp:gmlp:features FlashLanguageModel:flash:text"
headers="gated/gated.hpp gated/train.hpp gated/io/model_file.hpp"
programs="main:checkpoint training:training"  # <file in tests/consumer>:<its name in the table>
turns="1 2 3"
figures="medians of three runs"
folder=build
case ${1:-} in
  "") ;;
  --headers)
    models="" programs=""
    headers=""
    for floor in gated audio train core ops layers models io; do  # the umbrella headers first, then each folder
      headers="$headers $(cd include && find "gated/$floor.hpp" "gated/$floor" -name '*.hpp' 2> /dev/null | sort)"
    done
    folder=build/partial
    ;;
  --quick)
    turns=1
    figures="from one run"
    headers=gated/gated.hpp
    models=Gmlp:gmlp:features
    programs=""
    folder=build/partial
    ;;
  *)
    echo "usage: sh bench/compile_cost.sh [--headers | --quick]" >&2
    exit 2
    ;;
esac

# row <text>: prints a line of the table and appends it to table.md, which becomes compile_cost.md when complete.
row() { printf '%s\n' "$*" | tee -a "$scratch/table.md"; }

compiler=$($cxx --version)
row "$(echo "$compiler" | head -n 1): CPU seconds, $figures, alternating with runs on Eigen/Core alone (\`-fsyntax-only\`)." \
  "Programs are compiled (\`-O2 -c\`), headers only checked (\`-fsyntax-only\`). MB is peak memory."
row
row "| program or header | s | × Eigen/Core | MB |"
row "|---|---:|---:|---:|"
# The flags of the target gated::compiled. Compiling the library itself is not counted.
compiled="-DGATED_COMPILED -DGATED_PORTABLE -DEIGEN_MAX_ALIGN_BYTES=64"
for entry in $programs; do
  source=$(cat "tests/consumer/${entry%%:*}.cpp")
  program="the manual's ${entry#*:} program"
  cost=$(in_turns "$source" -O2 -c -o "$scratch/object.o") || failed "$program"
  row "| $program | $cost |"
  # shellcheck disable=SC2086
  cost=$(in_turns "$source" -O2 -c $compiled -o "$scratch/object.o") || failed "$program"
  row "| the same with \`gated::compiled\` | $cost |"
done
for entry in $models; do
  model=${entry%%:*} rest=${entry#*:}
  header=${rest%%:*}
  case ${rest#*:} in
    features) use="model.forward(x, s, y, w); auto state = model.start(); model.extend(x, state, y, w);" ;;
    text) use="model.forward(ids, s, y, w); auto state = model.start(); model.extend(ids, state, y, w); \
model.step(0, state, y, w);" ;;
  esac
  source="#include \"gated/models/$header.hpp\"
void use(const gated::$model<float>::Config& config, gated::Random& random, std::span<const gated::Index> ids, const gated::Sequences& s,
         gated::ConstView<float> x, gated::View<float> y, gated::Workspace<float>& w) {
  const gated::$model<float> model(config, random);
  $use
}"
  cost=$(in_turns "$source" -O2 -c -o "$scratch/object.o") || failed "$model"
  row "| build, run and stream \`$model<float>\` | $cost |"
done
for header in $headers; do
  if cost=$(in_turns "#include \"$header\"" -fsyntax-only); then
    row "| $header | $cost |"
  elif missing=$(grep -E 'fatal error: .*(mpi\.h|stb_image(_write)?\.h)' "$scratch/log"); then
    echo "left out: $header. $missing" >&2  # this header's library is not installed
  else
    failed "$header"
  fi
done
mkdir -p "$folder"
mv "$scratch/table.md" "$folder/compile_cost.md"
