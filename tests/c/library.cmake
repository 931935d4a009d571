# cmake -DLIBRARY=… -DHEADER=… -DNM=… -DSTRIP=… -DMOST=<bytes> -P library.cmake
#
# The library must export exactly gated.h's functions. Stripped, it may have at most MOST bytes; an empty MOST skips this check.

cmake_minimum_required(VERSION 3.21)

file(STRINGS ${HEADER} declarations REGEX "^GATED_API ")
list(TRANSFORM declarations REPLACE "^.*(gated_[a-z_]+)\\(.*$" "\\1" OUTPUT_VARIABLE declared)
execute_process(COMMAND ${NM} -D --defined-only ${LIBRARY} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" lines "${symbols}")
list(TRANSFORM lines REPLACE "^.* " "" OUTPUT_VARIABLE exported)
list(SORT declared)
list(SORT exported)
if(NOT declared STREQUAL exported OR NOT "gated_run" IN_LIST declared)
  message(SEND_ERROR "The library exports\n  ${exported}\ngated.h declares\n  ${declared}")
endif()

if(MOST)
  execute_process(COMMAND ${STRIP} -o ${LIBRARY}.stripped ${LIBRARY} COMMAND_ERROR_IS_FATAL ANY)
  file(SIZE ${LIBRARY}.stripped bytes)
  message("${bytes} bytes stripped")
  if(bytes GREATER MOST)
    message(SEND_ERROR "The stripped library has ${bytes} bytes, expected at most ${MOST}")
  endif()
endif()
