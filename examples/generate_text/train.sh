#!/bin/sh
# sh examples/generate_text/train.sh [folder]: retrains bible.int8.safetensors in `folder` (by default build/bible).
#
# The text is the King James Bible from Debian's package bible-kjv: one file per book, one line per verse, an empty line between
# chapters. It is in the public domain, except in the United Kingdom, where printing it requires a licence from the Crown.
set -eu
cd "$(dirname "$0")/../.."
. cmake/functions.sh
out=${1:-build/bible}
command -v bible > /dev/null || { echo "train.sh: install Debian's package bible-kjv, which contains the text" >&2; exit 1; }

rm -rf "$out/books"
mkdir -p "$out/books"
bible -f Gen1:1-Rev22:21 | awk -v folder="$out/books/" '
{
  match($1, /[0-9]+:[0-9]+$/)
  book = substr($1, 1, RSTART - 1)
  chapter = $1
  sub(/:[0-9]+$/, "", chapter)
  file = folder book ".txt"
  if (book == last_book && chapter != last_chapter) print "" > file
  print substr($0, length($1) + 2) > file
  last_book = book
  last_chapter = chapter
}'

configure build/release -S . -B build/release -DCMAKE_BUILD_TYPE=Release -DGATED_BUILD_TESTS=OFF -DGATED_BUILD_BENCH=OFF
cmake --build build/release --parallel "$(jobs)" --target train_text quantized_weights
build/release/examples/train_text/train_text "$out/books" --model flash --parameters 1250000 --channels 192 --depth 8 \
  --length 512 --batch 16 --rate 0.003 --steps 5000 --threads "$(nproc)" --sample-every 300 --out "$out/bible.safetensors"
build/release/examples/quantized_weights/quantized_weights "$out/bible.safetensors" --texts "$out/books" --threads "$(nproc)" \
  --format int8 --out "$out/bible.int8.safetensors"
