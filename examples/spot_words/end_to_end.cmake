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
set(further --train ${FOLDER}/words --epochs 60 --model ${FOLDER}/one.safetensors)
expect_run(0 "1 blocks" ${further} --out ${FOLDER}/further.safetensors)
expect_run(1 "the model's words differ" ${further} --words beta --out ${FOLDER}/further.safetensors)
