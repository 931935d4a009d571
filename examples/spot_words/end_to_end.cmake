# Run by ctest: the shipped model finds the words in the shipped recording, from a file and from stdin. Training writes the same
# model for any number of threads, and that model can be tested and used. Invalid input is refused with a one-line error.

include(${CMAKE_CURRENT_LIST_DIR}/../common/expect_run.cmake)

file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
set(sound ${CMAKE_CURRENT_LIST_DIR}/three_words.wav)

set(words "^ +[0-9.]+ s  yes +[01].[0-9]+\n +[0-9.]+ s  stop +[01].[0-9]+\n +[0-9.]+ s  left +[01].[0-9]+\n$")
expect_run(0 "${words}" ${sound})
expect_run(0 "^$" ${sound} --threshold 1)
expect_run(0 "^seconds,down,go,left,no,off,on,right,stop,up,yes,_unknown_,_silence_\n-0.45,0" ${sound} --scores)

# Reads the WAV file as raw samples: its header of 44 bytes becomes a click of about a millisecond.
execute_process(COMMAND ${PROGRAM} - INPUT_FILE ${sound} OUTPUT_VARIABLE said RESULT_VARIABLE code)
if(NOT code EQUAL 0 OR NOT said MATCHES "${words}")
  message(FATAL_ERROR "spot_words - : exit code ${code}, printed\n${said}")
endif()
execute_process(COMMAND ${PROGRAM} - INPUT_FILE /dev/null OUTPUT_VARIABLE said RESULT_VARIABLE code)
if(EXISTS /dev/null AND (NOT code EQUAL 0 OR NOT said STREQUAL ""))
  message(FATAL_ERROR "spot_words - < /dev/null: exit code ${code}, printed\n${said}")
endif()
if(EXISTS /dev/full)
  execute_process(COMMAND ${PROGRAM} ${sound} OUTPUT_FILE /dev/full ERROR_VARIABLE said RESULT_VARIABLE code)
  if(NOT code EQUAL 1 OR NOT said MATCHES "^spot_words: stdout: cannot write[^\n]*\n$")
    message(FATAL_ERROR "spot_words > /dev/full: exit code ${code}, printed\n${said}")
  endif()
endif()

find_program(SH sh)
if(SH AND NOT WIN32)
  execute_process(COMMAND ${SH} ${CMAKE_CURRENT_LIST_DIR}/../denoise/sounds.sh ${FOLDER} COMMAND_ERROR_IS_FATAL ANY)
  foreach(quiet IN ITEMS silence clipped one)
    expect_run(0 "^$" ${FOLDER}/${quiet}.wav)
  endforeach()
  expect_run(1 "nan.wav: the sample at byte [0-9]+ is NaN or infinite" ${FOLDER}/nan.wav)
  expect_run(1 "slow.wav: the rate at byte 24 is 4000, expected 8000 to 96000" ${FOLDER}/slow.wav)
  expect_shell("spot_words: stdout: cannot write[^\n]*\ncode 1" "{ \$program long.wav --scores; echo code \$? >&2; } | head -c 10")
endif()

# A smoke test: the same recording serves as two words and as an unknown word.
foreach(word IN ITEMS alpha beta _unknown_)
  file(COPY ${sound} DESTINATION ${FOLDER}/words/${word})
endforeach()
file(MAKE_DIRECTORY ${FOLDER}/words/_background_noise_)
file(WRITE ${FOLDER}/words/alpha/notes.txt "no sound")
set(train --train ${FOLDER}/words --depth 1 --epochs 60)
expect_run(0 "3 recordings of 2 words.*step +2 .*alone +[0-9.]+ % of 2 words right, +[0-9.]+ % of 1 others refused" ${train}
  --test ${FOLDER}/words --out ${FOLDER}/one.safetensors)
expect_run(0 "" ${train} --threads 2 --out ${FOLDER}/two.safetensors)
file(SHA256 ${FOLDER}/one.safetensors one)
file(SHA256 ${FOLDER}/two.safetensors two)
if(NOT one STREQUAL two)
  message(FATAL_ERROR "the number of threads changes the model")
endif()
expect_run(0 "^seconds,alpha,beta,_unknown_,_silence_\n" ${sound} --model ${FOLDER}/one.safetensors --scores)
expect_run(0 "recordings of 1 words" ${train} --words beta --out ${FOLDER}/beta.safetensors)
expect_run(1 "words: has no WAV file in a subfolder called gamma" ${train} --words beta,gamma --out ${FOLDER}/gamma.safetensors)

expect_no_file(FILE)
expect_no_file(${sound} --model FILE)
expect_run(1 "nothing: no such folder" --train ${FOLDER}/nothing)
expect_run(1 "no folder ${FOLDER}/nothing" ${train} --out ${FOLDER}/nothing/one.safetensors)
expect_run(1 "expected the architecture \"gated.ImageClassifier" ${sound}
           --model ${CMAKE_CURRENT_LIST_DIR}/../forecast/births_ttm.safetensors)
expect_run(2 "give a WAV file, - for stdin, --train or --test")
expect_run(2 "--epochs is for training. Add --train." ${sound} --epochs 3)
expect_run(2 "--depth is for a new model. Leave out --model." ${train} --model ${FOLDER}/one.safetensors)
if(SH AND NOT WIN32)  # Ctrl-C keeps the model so far
  expect_shell("stopped.safetensors, stopped before its last step.*code 130"
    "\$program --train words --depth 1 --epochs 5000 --out stopped.safetensors > log 2>&1 & until grep -qs 'step  *[0-9]' log || ! kill -0 \$! 2> /dev/null; do sleep 0.1; done; kill -INT \$!; wait \$!; code=\$?; cat log; echo code \$code")
  expect_run(0 "^seconds,alpha,beta" ${sound} --model ${FOLDER}/stopped.safetensors --scores)
endif()

if(SH AND NOT WIN32 AND NOT CMAKE_HOST_APPLE)  # a word that no model file can name is refused before training
  expect_shell("^spot_words: labels_text: the string [^\n]* is not valid UTF-8"
    "mkdir -p latin/\$(printf 'caf\\351') && cp words/alpha/*.wav latin/* && \$program --train latin --out latin.safetensors")
endif()

set(further --train ${FOLDER}/words --epochs 60 --model ${FOLDER}/one.safetensors)
expect_run(0 "1 blocks" ${further} --out ${FOLDER}/further.safetensors)
expect_run(1 "the model's words differ" ${further} --words beta --out ${FOLDER}/further.safetensors)

# Further training leaves the bias of unknown words as it is if nothing is learned. Here they are three times as frequent as
# the others.
foreach(i IN ITEMS 1 2)
  file(COPY_FILE ${sound} ${FOLDER}/words/_unknown_/${i}.wav)
endforeach()
expect_run(0 "" --train ${FOLDER}/words --epochs 1 --learning-rate 1e-9 --model ${FOLDER}/one.safetensors
  --out ${FOLDER}/same.safetensors)
foreach(model IN ITEMS one same)
  expect_run(0 "" ${sound} --model ${FOLDER}/${model}.safetensors --scores)
  set(scores_of_${model} "${said}")
endforeach()
if(NOT scores_of_one STREQUAL scores_of_same)
  message(FATAL_ERROR "a model changes without learning")
endif()
