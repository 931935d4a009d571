#!/bin/sh
# sh examples/denoise/speech.sh [folder]: generates the speech on which the shipped model was trained and tested. Writes train/
# and test/ to `folder` (default: build/speech). These two have no voice, sentence or speaker in common.
#
# Debian's espeak-ng synthesizes the voices. The human recordings are from Debian's pocketsphinx-testdata (BSD-2-Clause,
# Carnegie Mellon University).
set -eu
out=${1:-build/speech}
people=/usr/share/pocketsphinx/test/data
command -v espeak-ng > /dev/null || { echo "speech.sh: install Debian's package espeak-ng" >&2; exit 1; }
[ -d "$people" ] || { echo "speech.sh: install Debian's package pocketsphinx-testdata" >&2; exit 1; }
rm -rf "$out/train" "$out/test"
mkdir -p "$out/train/voices" "$out/train/people" "$out/test"

# speak <folder> <first line> <last line> <voice> <speed> <pitch>: writes one file per sentence
sentences=$(sed -n 's/^# : //p' "$0")
speak() {
  printf '%s\n' "$sentences" | sed -n "$2,$3p" | {
    i=$2
    while read -r sentence; do
      espeak-ng -v "$4" -s "$5" -p "$6" -w "$out/$1/$(printf '%s' "$4" | tr '+' '_')_$i.wav" "$sentence"
      i=$((i + 1))
    done
  }
}

# Each espeak voice (a language and a variant) speaks ten sentences.
first=1
for language in en-gb en-us en-gb-scotland en-gb-x-rp; do
  speed=130
  for variant in m1 m2 m3 m4 m6 m7 f1 f2 f4 klatt klatt3 Andy Annie belinda max Alex; do
    speak train/voices $first $((first + 9)) "$language+$variant" $speed $((20 + speed % 7 * 10))
    speed=$((speed + 6))
    first=$((first % 29 + 3))
  done
done
for voice in en-029+m5 en-029+f3 en-gb-x-gbclan+m8 en-gb-x-gbclan+f5 en-gb-x-gbcwmd+klatt2 en-us-nyc+linda; do
  speak test 41 46 $voice 155 45
done
cp "$people"/cards/*.wav "$people"/goforward.raw "$people"/numbers.raw "$people"/something.raw "$people"/tidigits/*.raw "$out/train/people"
cp "$people"/librivox/*.wav "$out/test"
echo "$(find "$out/train" -type f | wc -l) files for training and $(ls "$out/test" | wc -l) for tests are in $out"

# The sentences.
# : The old bridge crosses a quiet river near the mill.
# : She sells fresh bread and warm cakes every morning.
# : Four boats left the harbour before the storm came in.
# : Please shut the window, the wind is getting cold.
# : He wrote a long letter to his brother in Chicago.
# : The children chased a yellow ball across the field.
# : A thin layer of ice covered the pond at dawn.
# : We should measure the length of each wooden plank.
# : My favourite jacket has three pockets and a zip.
# : The judge asked the jury to think it over again.
# : Birds fly south when the first frost touches the trees.
# : They bought six chairs and one enormous table.
# : The train to Glasgow leaves from platform nine.
# : Pour the hot soup slowly into the large blue bowl.
# : Nobody knew why the church bell rang at midnight.
# : Fresh paint makes the garden fence look new.
# : The doctor gave him two pills for his sore throat.
# : Which of these keys opens the cellar door?
# : A heavy truck rolled past the school at noon.
# : The cat slept on the chair beside the fire.
# : You can hear the ocean from our upstairs room.
# : Fifty soldiers marched along the dusty road.
# : The recipe needs sugar, flour, butter and eggs.
# : Their voices echoed through the empty hall.
# : I usually take the bus, but today I walked.
# : The farmer sold his sheep at the village market.
# : Bright stars filled the sky above the desert.
# : Could you lend me a pencil and some paper?
# : The museum shows paintings of kings and queens.
# : Twelve eggs were broken when the basket fell.
# : Smoke rose from the chimney of the small house.
# : Her father fixes watches in a shop downtown.
# : The quick answer is not always the right one.
# : We watched the sun go down behind the mountains.
# : It takes patience to teach a puppy new tricks.
# : The engineer drew a plan of the new engine.
# : Wash your hands before you touch the food.
# : Rain fell all night and flooded the lower street.
# : The singer thanked the crowd for coming.
# : An orange and a peach lay on the kitchen shelf.
# : The pilot checked the weather before the flight.
# : Every student must hand in the essay by Friday.
# : A narrow path leads through the dark forest.
# : The baker opens his shop at half past five.
# : Both teams played well, but neither of them won.
# : Children laughed as the clown dropped his hat.
