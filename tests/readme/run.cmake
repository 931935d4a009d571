# cmake -D PROGRAM=… -D README=… -D BLOCKS=0,3,… -D MARKED=… -P run.cmake runs PROGRAM, which was built from the ```cpp blocks
# with these numbers. If a ```text block follows one of them, it must equal the block's output. If MARKED is true, the program
# prints a line "=== <number>" before each block's output.
cmake_minimum_required(VERSION 3.21)
include(${CMAKE_CURRENT_LIST_DIR}/blocks.cmake)

execute_process(COMMAND ${EMULATOR} "${PROGRAM}" RESULT_VARIABLE status OUTPUT_VARIABLE said)
message("${said}")
if(NOT status EQUAL 0)
  message(FATAL_ERROR "The program ended with ${status}")
endif()

string(REPLACE "," ";" BLOCKS "${BLOCKS}")
if(NOT MARKED)
  set(said "=== ${BLOCKS}\n${said}")
endif()
string(APPEND said "\n===")
string(REGEX REPLACE "\n+===" "\n===" said "${said}")
gated_readme_blocks(${README} cpp block)
foreach(i IN LISTS BLOCKS)
  if(NOT block_${i}_prints STREQUAL "")
    string(FIND "${said}" "=== ${i}\n${block_${i}_prints}===" at)
    if(at EQUAL -1)
      message(FATAL_ERROR "${README}: the block\n${block_${i}}does not print the output shown:\n${block_${i}_prints}")
    endif()
  endif()
endforeach()
