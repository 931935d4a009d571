#!/bin/sh
# sh words.sh FOLDER: synthesizes ten words, and unknown words, with the voices of espeak-ng (Debian: apt install espeak-ng).
# Writes a folder per word to FOLDER/train and to FOLDER/test, which have no voice in common.
#
# A voice is a dialect and a variant, such as en-us+f2. Each voice speaks each of the ten words once; speed and pitch vary. One
# dialect and 18 variants occur only in FOLDER/test; no variant in FOLDER/train derives from those 18.
set -eu

[ $# -eq 1 ] || { echo "usage: sh words.sh FOLDER" >&2; exit 2; }
command -v espeak-ng > /dev/null || { echo "words.sh: needs espeak-ng." >&2; exit 1; }

words="yes no up down left right on off stop go"
others="bed bird cat dog happy house marvin sheila tree wow zero one two three four five six seven eight nine water people \
  morning table garden window yellow orange summer picture answer question again before number around little because \
  kitchen mother father finger paper river silver simple station visit under over open close start and the you are with this"
others_kept_back="forward backward follow learn visual market machine doctor coffee monday teacher music winter purple sunrise \
  notebook holiday thunder island elephant"
dialects="en-us en-gb en-gb-x-rp en-gb-x-gbclan en-gb-x-gbcwmd en-029 en-us-nyc"
dialect_kept_back=en-gb-scotland
kept_back="m3 m7 f2 f5 klatt3 Alicia Andy AnxiousAndy Gene Gene2 adam linda boris belinda victor Michael shelby grandpa"

variants=$(espeak-ng --voices=variant | awk 'NR > 1 { sub(".*!v/", ""); if ($2 == "" || $1 != "Mr") print $1 }' | sort -u)
for one in $kept_back; do
  echo "$variants" | grep -qx "$one" || { echo "words.sh: this espeak-ng has no variant $one; take it out of kept_back." >&2; exit 1; }
done

# speak <folder> <voice> <word>: speed and pitch depend on the number of files so far.
count=0
speak() {
  count=$((count + 1))
  mkdir -p "$1/$3"
  espeak-ng -z -v "$2" -s $((120 + count * 37 % 80)) -p $((25 + count * 23 % 50)) -w "$1/$3/$2.wav" "$3" 2> /dev/null
}

# speak_other <folder> <voice> <word>: like speak, but writes to the folder of unknown words.
speak_other() {
  count=$((count + 1))
  mkdir -p "$1/_unknown_"
  espeak-ng -z -v "$2" -s $((120 + count * 37 % 80)) -p $((25 + count * 23 % 50)) -w "$1/_unknown_/$3_$2.wav" "$3" 2> /dev/null
}

# nth <n> <word>...: prints the word with index n modulo the number of words; the first index is 0.
nth() {
  n=$(($1 % ($# - 1) + 1))
  shift "$n"
  echo "$1"
}

turn=0
for variant in $variants; do
  folder=$1/train
  heard=$dialects
  unheard=$others
  if echo " $kept_back " | grep -q " $variant "; then
    folder=$1/test
    heard="$dialects $dialect_kept_back"
    unheard=$others_kept_back
  fi
  for dialect in $heard; do
    for word in $words; do
      speak "$folder" "$dialect+$variant" "$word"
    done
    for _ in 1 2 3 4 5 6; do
      turn=$((turn + 1))
      # shellcheck disable=SC2086  # a list of words
      speak_other "$folder" "$dialect+$variant" "$(nth $((turn * 7)) $unheard)"
    done
  done
done
echo "$count files in $1"
