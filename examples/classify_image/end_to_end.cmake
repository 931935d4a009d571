# Run by ctest: the top five classes of two pictures match those of PyTorch and Pillow, and invalid input is refused.

include(${CMAKE_CURRENT_LIST_DIR}/../common/expect_run.cmake)

# Expects two lines to have the same class, and probabilities that differ by at most `tolerance`, in units of 0.01 %.
function(expect_close line expected tolerance)
  string(REGEX MATCH "([0-9]+)\\.([0-9][0-9]) %  (.*)" matched "${line}")
  set(got "1${CMAKE_MATCH_1}${CMAKE_MATCH_2}")
  set(got_name "${CMAKE_MATCH_3}")
  string(REGEX MATCH "([0-9]+)\\.([0-9][0-9]) %  (.*)" matched "${expected}")
  math(EXPR difference "1${CMAKE_MATCH_1}${CMAKE_MATCH_2} - ${got}")
  if(NOT got_name STREQUAL CMAKE_MATCH_3 OR difference GREATER ${tolerance} OR difference LESS -${tolerance})
    message(FATAL_ERROR "classify_image says\n${line}\nPyTorch and Pillow\n${expected}")
  endif()
endfunction()

file(STRINGS ${HERE}/expected.txt expected)
list(LENGTH expected count)
if(NOT count EQUAL 12)
  message(FATAL_ERROR "expected.txt has ${count} lines, expected 2 x 6")
endif()

expect_run(0 "43082 parameters, 8 x 8 pixels, 10 classes.*ms per image, [0-9.]+ GFLOP/s, 1 thread\n$"
         ${HERE}/four.png --model ${DIGITS} --crop 1)
set(said_of_four.png "${said}")
expect_run(0 "32 x 32 pixels, 6 classes" ${HERE}/waves.jpg --model ${HERE}/waves.safetensors)
set(said_of_waves.jpg "${said}")
foreach(line IN LISTS expected)
  if(line MATCHES "%")
    string(REGEX MATCH "class [0-9]+" name "${line}")
    string(REGEX MATCH " ([0-9.]+ %  ${name})\n" matched "${said_of_${picture}}")
    expect_close("${CMAKE_MATCH_1}" "${line}" ${tolerance})
  else()
    string(REGEX MATCH "^[a-z]+.[a-z]+" picture "${line}")
    set(tolerance 1)  # a PNG decodes to the same pixels everywhere
    if(picture STREQUAL "waves.jpg")
      set(tolerance 20)  # pixel values differ slightly between JPEG decoders
    endif()
    string(FIND "${said_of_${picture}}" "${line}" at)
    if(at EQUAL -1)
      message(FATAL_ERROR "classify_image does not say ${line}:\n${said_of_${picture}}")
    endif()
  endif()
endforeach()

file(WRITE ${FOLDER}/labels.txt "zero\none\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n")
expect_run(0 "four.png: 300 x 200 pixels\n +[0-9.]+ %  four\n" ${HERE}/four.png --model ${DIGITS} --crop 1 --top 1
         --labels ${FOLDER}/labels.txt)
expect_run(0 "four.png.*waves.jpg: 120 x 90" ${HERE}/four.png ${HERE}/waves.jpg --model ${DIGITS})
expect_run(0 "gmlp_ti16_224, random weights: 30 blocks, 5867328 parameters, 224 x 224.*GFLOP/s" --random --preset gmlp_ti16_224)

file(WRITE ${FOLDER}/labels.txt "one\ntwo\n")
expect_run(1 "labels.txt: 2 lines, expected 10, one per class" ${HERE}/four.png --model ${DIGITS}
         --labels ${FOLDER}/labels.txt)
expect_run(1 "^classify_image: [^\n]*expected.txt: cannot be read as a JPEG or PNG picture" ${HERE}/expected.txt --model ${DIGITS})
expect_run(1 "nothing.png: cannot open" ${FOLDER}/nothing.png --model ${DIGITS})
expect_no_file(FILE --model ${DIGITS})
expect_no_file(${HERE}/four.png --model FILE)
expect_no_file(${HERE}/four.png --model ${DIGITS} --labels FILE)
expect_run(1 "entry = gmlp_x" --random --preset gmlp_x)
expect_run(2 "--model is missing" ${HERE}/four.png)
expect_run(2 "no picture is named" --model ${DIGITS})
expect_run(2 "--random excludes --model|--model excludes --random" --random --model ${DIGITS})
expect_run(2 "unknown option --modle; the nearest is --model" ${HERE}/four.png --modle ${DIGITS})
expect_run(2 "--crop: expected a number from 0.01 to 1, got nan" ${HERE}/four.png --model ${DIGITS} --crop nan)
expect_run(2 "--model: expected a value, got .--crop" ${HERE}/four.png --model --crop 1)
expect_run(2 "--top: expected a whole number from 1 to 1000, got 0" --top 0)
file(REMOVE ${FOLDER}/labels.txt)
