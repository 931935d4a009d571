#!/bin/sh
# sh examples/train_digits/compare_mixers.sh MNIST [--epochs N] [--seeds N] [--out FOLDER]: trains each kind of mixer on MNIST,
# with several seeds, from the files in the folder MNIST. Prints a table of the accuracies on the test images.
#
# TRAIN_DIGITS names the program (build/release/examples/train_digits/train_digits). Two trainings run at a time, with one thread
# each. Finished ones are kept in FOLDER (build/mixers), so a stopped run continues where it stopped.
set -eu

usage() {
  echo "usage: sh compare_mixers.sh MNIST [--epochs N] [--seeds N] [--out FOLDER]" >&2
  exit 2
}
epochs=4 seeds=3 out=build/mixers mnist=""
while [ $# -gt 0 ]; do
  case $1 in
    --epochs | --seeds | --out)
      [ $# -ge 2 ] || usage
      case $1 in
        --epochs) epochs=$2 ;;
        --seeds) seeds=$2 ;;
        --out) out=$2 ;;
      esac
      shift
      ;;
    -*) usage ;;
    *)
      [ -z "$mnist" ] || usage
      mnist=$1
      ;;
  esac
  shift
done
[ -n "$mnist" ] || usage
program=${TRAIN_DIGITS:-build/release/examples/train_digits/train_digits}
mixers="gmlp toeplitz mlp fourier synthesizer attention"

# The trainings that are not done yet, two at a time.
for seed in $(seq "$seeds"); do
  for mixer in $mixers; do
    folder=$out/epochs-$epochs/$mixer-$seed
    [ -f "$folder/done" ] || echo "$mixer $seed $folder"
  done
done | xargs -r -P 2 -L 1 sh -c '
  mkdir -p "$5"
  "$0" --mnist "$1" --epochs "$2" --mixer "$3" --seed "$4" --out "$5" > "$5/log" 2>&1 && mv "$5/log" "$5/done"' \
  "$program" "$mnist" "$epochs" || {
  echo "compare_mixers.sh: a training failed. See the file log in its folder below $out/epochs-$epochs." >&2
  exit 1
}

echo "| mixer | parameters | accuracy, mean % | smallest … largest | seconds |"
echo "|---|---:|---:|---:|---:|"
for mixer in $mixers; do
  for seed in $(seq "$seeds"); do
    cat "$out/epochs-$epochs/$mixer-$seed/done"
  done | awk -v mixer="$mixer" '
    $1 == "model" && / parameters/ { parameters = $5 }
    $1 == "time" { seconds += $2; n += 1 }
    $1 == "right" { sum += $2; if (least == "" || $2 < least) least = $2; if ($2 > largest) largest = $2 }
    END { printf "| %s | %d | %.2f | %.2f … %.2f | %.0f |\n", mixer, parameters, sum / n, least, largest, seconds / n }'
done
