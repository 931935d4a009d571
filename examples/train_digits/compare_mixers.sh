#!/bin/sh
# sh examples/train_digits/compare_mixers.sh MNIST [--epochs N] [--seeds N] [--bf16] [--out FOLDER]: trains models with six
# token mixers on the MNIST files in the folder MNIST, and prints a table of their test accuracies.
#
# For each mixer, tries five learning rates with two weight decays each, for two epochs. Then trains from several seeds with the
# recipe that has the highest accuracy on held-out training images. Patches of 4 × 4 pixels: 49 tokens.
#
# The environment variable TRAIN_DIGITS is the program's path (default: build/release/examples/train_digits/train_digits). Two
# models train at a time, with one thread each. Finished runs are kept in FOLDER (default: build/mixers), so a stopped
# comparison can be resumed. --bf16 trains with bf16 matmuls, which is faster and needs AVX512-BF16; give it its own FOLDER.
set -eu

usage() {
  echo "usage: sh compare_mixers.sh MNIST [--epochs N] [--seeds N] [--bf16] [--out FOLDER]" >&2
  exit 2
}
epochs=12 seeds=3 out=build/mixers mnist="" bf16=""
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
    --bf16) bf16=--bf16 ;;
    -*) usage ;;
    *)
      [ -z "$mnist" ] || usage
      mnist=$1
      ;;
  esac
  shift
done
[ -n "$mnist" ] || usage
seq "$seeds" > /dev/null || usage
case $out in *" "*) usage ;; esac
program=${TRAIN_DIGITS:-build/release/examples/train_digits/train_digits}
mixers="gmlp toeplitz mlp fourier synthesizer attention"

# Reads one training run per line, "<folder> <arguments>", and executes those that are not done yet, two at a time.
train() {
  while read -r folder arguments; do
    [ -f "$out/$folder/done" ] || echo "$out/$folder $arguments"
  done | xargs -r -P 2 -L 1 sh -c '
    program=$0 mnist=$1 folder=$2
    shift 2
    mkdir -p "$folder"
    "$program" --mnist "$mnist" --patch 4 --out "$folder" "$@" > "$folder/log" 2>&1 && mv "$folder/log" "$folder/done"' \
    "$program" "$mnist" || {
    echo "compare_mixers.sh: a training run failed. See the file 'log' in its folder in $out." >&2
    exit 1
  }
}
recipe() { echo "--mixer $1 --learning-rate ${2%_*} --weight-decay ${2#*_} $bf16"; } # recipe <mixer> <rate>_<decay>
accuracy() { awk '$1 == "right" { print $2 }' "$1"; }

for mixer in $mixers; do
  for rate in 1e-3 2e-3 4e-3 8e-3 1.6e-2; do
    for decay in 0.05 0.3; do
      echo "tuning/$mixer/${rate}_$decay --seed 0 --validate --epochs 2 $(recipe "$mixer" "${rate}_$decay")"
    done
  done
done | train

best() { # best <mixer>: prints the name of the mixer's best recipe
  for run in "$out/tuning/$1"/*/done; do
    echo "$(accuracy "$run") $(basename "$(dirname "$run")")"
  done | LC_ALL=C sort -k 1,1nr -s | head -n 1 | cut -d ' ' -f 2
}
for seed in $(seq "$seeds"); do
  for mixer in $mixers; do
    chosen=$(best "$mixer")
    echo "epochs-$epochs/$mixer-$chosen-$seed --epochs $epochs --seed $seed $(recipe "$mixer" "$chosen")"
  done
done | train

echo "| mixer | parameters | learning rate, weight decay | accuracy, mean % | smallest … largest | seconds |"
echo "|---|---:|---|---:|---:|---:|"
for mixer in $mixers; do
  chosen=$(best "$mixer")
  for seed in $(seq "$seeds"); do
    cat "$out/epochs-$epochs/$mixer-$chosen-$seed/done"
  done | awk -v mixer="$mixer" -v recipe="${chosen%_*}, ${chosen#*_}" -v seeds="$seeds" '
    $1 == "model" && / parameters/ { parameters = $5 }
    $1 == "time" { seconds += $2; n += 1 }
    $1 == "right" { sum += $2; if (least == "" || $2 < least) least = $2; if ($2 > largest) largest = $2 }
    END { if (n != seeds) exit 1
          printf "| %s | %d | %s | %.2f | %.2f … %.2f | %.0f |\n", mixer, parameters, recipe, sum / n, least, largest, seconds / n }'
done
