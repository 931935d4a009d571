# Run by ctest. The shipped model cleans a noisy sentence; a file and a stream yield the same samples. Training writes the
# same model for any number of threads. The program accepts recordings with silence, clipping, a single sample or another
# rate, and refuses invalid input. A closed pipe, a full disk and Ctrl-C leave valid files.

include(${CMAKE_CURRENT_LIST_DIR}/../common/expect_run.cmake)

file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER}/speech)
file(COPY ${CMAKE_CURRENT_LIST_DIR}/speech.wav DESTINATION ${FOLDER}/speech)

expect_run(0 "3.0 s of 3.0 s, [0-9.]+ × real time" ${NOISY} ${FOLDER}/clean.wav --picture ${FOLDER}/clean.svg)
file(READ ${FOLDER}/clean.svg picture)
if(NOT picture MATCHES "dB.*>kHz<.*>8<.*>seconds<")
  message(FATAL_ERROR "the picture lacks its units: ${picture}")
endif()
# The speaker of this sentence is not in the training data. The model must raise the SI-SDR by at least 5 dB in noises
# that it was trained on, and by at least 3 dB in others (over 41 sentences: 6.3 and 4.2). A copy of the mixture gains nothing.
expect_run(0 "known +-?0.[01] +[-0-9.]+ +([5-9]|1[0-9])\\.[0-9] +-?0.[01]\n.*unknown +-?0.[01] +[-0-9.]+ +([3-9]|1[0-9])\\.[0-9] +-?0.[01]\n" --test ${FOLDER}/speech --compare "${CMAKE_COMMAND} -E copy")

set(small --train ${FOLDER}/speech --steps 3 --batch 2 --channels 8 --depth 1)
expect_run(0 "1 files of speech, [0-9]+ parameters.*step 3 of 3   loss 0\\.[0-9]+" ${small} ${FOLDER}/one.safetensors)
expect_run(0 "" ${small} ${FOLDER}/two.safetensors --threads 2)
file(SHA256 ${FOLDER}/one.safetensors one)
file(SHA256 ${FOLDER}/two.safetensors two)
if(NOT one STREQUAL two)
  message(FATAL_ERROR "the number of threads changes the model")
endif()
expect_run(0 "3.0 s of 3.0 s" ${NOISY} ${FOLDER}/other.wav --model ${FOLDER}/one.safetensors)

expect_no_file(FILE ${FOLDER}/out.wav)
expect_no_file(${NOISY} ${FOLDER}/out.wav --model FILE)
expect_run(1 "clean.wav: is also an input, [^\n]*clean.wav. Give the result another name" ${FOLDER}/clean.wav ${FOLDER}/clean.wav)
expect_run(1 "one.safetensors: is also an input" ${NOISY} ${FOLDER}/one.safetensors --model ${FOLDER}/one.safetensors)
expect_run(1 "one.safetensors: is also an input" ${NOISY} ${FOLDER}/out.wav --model ${FOLDER}/one.safetensors --picture ${FOLDER}/one.safetensors)
expect_run(1 "no_folder/out.wav: there is no folder [^\n]*no_folder. Create it first." ${NOISY} ${FOLDER}/no_folder/out.wav)
file(REMOVE ${FOLDER}/out.wav)
expect_run(1 "no_folder/x.svg: there is no folder" ${NOISY} ${FOLDER}/out.wav --picture ${FOLDER}/no_folder/x.svg)
if(EXISTS ${FOLDER}/out.wav)
  message(FATAL_ERROR "a command line that is refused writes out.wav")
endif()
expect_run(1 "no_folder: there is no such folder." --test ${FOLDER}/no_folder)
expect_run(1 "its architecture is timm.gmlp, expected gated.SpeechDenoiser from denoise --train, or MossFormer2_SE_48K" ${NOISY}
  ${FOLDER}/out.wav --model ${CMAKE_CURRENT_LIST_DIR}/../classify_digits/digits_gmlp.safetensors)
expect_run(2 "OUT.wav is missing: denoise IN.wav OUT.wav." ${NOISY})
expect_run(2 "expected IN.wav and OUT.wav, or --stream, or --train, or --test.")
expect_run(2 "expected IN.wav and OUT.wav, or --stream, or --train, or --test." --stream --test ${FOLDER}/speech)
expect_run(2 "--compare is for --test FOLDER." ${NOISY} ${FOLDER}/out.wav --compare true)
expect_run(1 "--compare: no_program failed with status [0-9]+." --test ${FOLDER}/speech --compare no_program)
expect_run(2 "--steps is for training. Add --train FOLDER." --steps 3 --test ${FOLDER}/speech)
expect_run(2 "--seed is for training. Add --train FOLDER." --seed 3 --test ${FOLDER}/speech)
expect_run(2 "--train starts a new model. Leave out --model." ${small} ${FOLDER}/x.safetensors --model ${FOLDER}/one.safetensors)
expect_run(2 "--picture needs files." --stream --picture x.svg)

find_program(SH sh)
if(NOT SH OR WIN32)
  return()
endif()
execute_process(COMMAND ${SH} ${CMAKE_CURRENT_LIST_DIR}/sounds.sh ${FOLDER} COMMAND_ERROR_IS_FATAL ANY)
foreach(sound IN ITEMS silence clipped one)
  expect_run(0 "× real time" ${FOLDER}/${sound}.wav ${FOLDER}/out.wav)
  expect_run(0 "× real time" ${FOLDER}/out.wav ${FOLDER}/again.wav)
endforeach()
expect_run(0 "out.wav has the model's sampling rate, 16000 samples a second." ${FOLDER}/silence.wav ${FOLDER}/out.wav)
file(COPY_FILE ${FOLDER}/again.wav ${FOLDER}/out.wav)
expect_run(1 "nan.wav: the sample at byte [0-9]+ is NaN or infinite" ${FOLDER}/nan.wav ${FOLDER}/out.wav)
file(SHA256 ${FOLDER}/again.wav before)
file(SHA256 ${FOLDER}/out.wav after)
if(NOT before STREQUAL after)
  message(FATAL_ERROR "an error before the first part changes an older out.wav")
endif()
expect_run(1 "slow.wav: the rate at byte 24 is 4000, expected 8000 to 96000" ${FOLDER}/slow.wav ${FOLDER}/out.wav)

expect_shell("same" "tail -c +45 ${NOISY} | \$program --stream > stream.raw; tail -c +45 clean.wav | cmp - stream.raw && echo same")
expect_shell("stdin: the last sample has one byte, expected two.*code 1" "head -c 3 ${NOISY} | \$program --stream > stream.raw; echo code \$?")
expect_shell("stdin: cannot be read: Is a directory.*code 1" "\$program --stream < . > stream.raw; echo code \$?")
expect_shell("same.*code 130"
  "mkfifo idle; \$program --stream < idle > stream.raw & exec 3> idle; tail -c +45 ${NOISY} >&3; until [ \$(wc -c < stream.raw) -gt 90000 ]; do :; done; kill -INT \$!; wait \$!; code=\$?; head -c 90000 stream.raw > begin; tail -c +45 clean.wav | head -c 90000 | cmp - begin && echo same; echo code \$code")
expect_shell("code 130.*3.0 s of 3.0 s"
  "\$program --train speech stopped.safetensors --steps 100000 --batch 1 --channels 8 --depth 1 > train.log & until [ -s stopped.safetensors ] || ! kill -0 \$! 2> /dev/null; do sleep 0.1; done; kill -INT \$!; wait \$!; echo code \$?; \$program ${NOISY} again.wav --model stopped.safetensors")
expect_shell("stdout is closed or the disk is full.*code 1" "{ \$program --stream < long.wav; echo code \$? >&2; } | head -c 10 > ten_bytes")
expect_shell("part.wav: cannot be written: File too large.*code 1.*1.3 s of 1.3 s"
  "(trap '' XFSZ; ulimit -f 80; \$program long.wav part.wav; echo code \$?); \$program part.wav again.wav")
expect_shell("code 130.*× real time"
  "rm -f part.wav; \$program long.wav part.wav & until [ -s part.wav ]; do :; done; kill -INT \$!; wait \$!; echo code \$?; \$program part.wav again.wav")
expect_shell("code 143.*no last line"  # --test has nothing to save, and stops at once
  "\$program --test speech > test.log & until [ -s test.log ] || ! kill -0 \$! 2> /dev/null; do :; done; kill -TERM \$!; wait \$!; echo code \$?; grep -q unknown test.log || echo no last line")
