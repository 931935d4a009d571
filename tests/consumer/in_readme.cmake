# cmake -DSOURCE=… -DPROGRAM=… -DARGUMENTS=… -DREADME=… -P in_readme.cmake
#
# Runs a program. The README must contain the program's source and output.

execute_process(COMMAND ${EMULATOR} "${PROGRAM}" ${ARGUMENTS} RESULT_VARIABLE status OUTPUT_VARIABLE said)
string(REPLACE "\r" "" said "${said}")  # Windows ends lines with \r\n
message("${said}")
if(NOT status EQUAL 0)
  message(FATAL_ERROR "The program ended with ${status}")
endif()
file(READ "${README}" readme)
file(READ "${SOURCE}" program)
foreach(part IN ITEMS "${program}" "${said}")
  string(FIND "${readme}" "${part}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "The README lacks:\n${part}")
  endif()
endforeach()
