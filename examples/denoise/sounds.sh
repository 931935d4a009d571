#!/bin/sh
# sh examples/denoise/sounds.sh <folder>: writes sounds that are hard to process. Part of the tests.
set -eu
cd "$1"

two() { printf "\\$(printf %03o $(($1 & 255)))\\$(printf %03o $(($1 >> 8 & 255)))"; }
four() { two $(($1 & 65535)); two $(($1 >> 16)); }

# wav <tag: 1 PCM, 3 float> <channels> <rate> <bits> <file of samples>
wav() {
  size=$(wc -c < "$5")
  frame=$(($2 * $4 / 8))
  printf RIFF; four $((size + 36)); printf 'WAVEfmt '; four 16; two "$1"; two "$2"; four "$3"; four $(($3 * frame)); two $frame; two "$4"
  printf data; four "$size"; cat "$5"
}

head -c 176400 /dev/zero > zeros
wav 1 2 44100 16 zeros > silence.wav                       # stereo, at another sample rate
yes "$(printf '\377\177\001\200')" | tr -d '\n' | head -c 32000 > loudest
wav 1 1 16000 16 loudest > clipped.wav
{ head -c 4000 zeros; printf '\000\000\300\177'; head -c 4000 zeros; } > nan
wav 3 1 16000 32 nan > nan.wav
head -c 2 loudest > two_bytes
wav 1 1 16000 16 two_bytes > one.wav                       # one sample
wav 1 1 4000 16 loudest > slow.wav                         # 4 kHz
head -c 19200000 /dev/zero > long
wav 1 1 16000 16 long > long.wav                           # ten minutes
rm zeros loudest nan two_bytes long
