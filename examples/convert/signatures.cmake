# Run by ctest: checks that `gated_signature` prints exactly the lines of signatures.txt for the models that ship with gated, and
# that it refuses an unknown GATED_KERNELS.
# Changing a signature is a deliberate decision, to be listed in the changes of the next version.

file(STRINGS ${LIST} lines)
set(files "")
foreach(line IN LISTS lines)
  string(REGEX REPLACE ".* " "" file "${line}")
  list(APPEND files ${file})
endforeach()
list(REMOVE_DUPLICATES files)
foreach(kernels ${KERNELS})
  if(kernels STREQUAL "default")
    set(kernels "")
  endif()
  execute_process(COMMAND ${CMAKE_COMMAND} -E env GATED_KERNELS=${kernels} ${EMULATOR} ${PROGRAM} ${files} WORKING_DIRECTORY ${EXAMPLES}
                  OUTPUT_VARIABLE got ERROR_VARIABLE said RESULT_VARIABLE code)
  file(READ ${LIST} expected)
  if(NOT code EQUAL 0 OR NOT got STREQUAL expected)
    message(FATAL_ERROR "gated_signature with GATED_KERNELS=${kernels}: exit code ${code}, printed\n${got}${said}\nexpected\n${expected}")
  endif()
endforeach()

if(KERNELS MATCHES "sse2")
  execute_process(COMMAND ${CMAKE_COMMAND} -E env GATED_KERNELS=sse3 ${EMULATOR} ${PROGRAM} ${files} WORKING_DIRECTORY ${EXAMPLES}
                  OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE code)
  if(NOT code EQUAL 1 OR NOT said MATCHES "GATED_KERNELS is \"sse3\", expected one of sse2")
    message(FATAL_ERROR "gated_signature with GATED_KERNELS=sse3: exit code ${code}, printed\n${said}")
  endif()
endif()
