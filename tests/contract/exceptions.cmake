# cmake -DWITH=… -DWITHOUT=… [-DEMULATOR=…] -P exceptions.cmake: programs with and without exceptions must print the same text.

foreach(form IN ITEMS WITH WITHOUT)
  execute_process(COMMAND ${EMULATOR} ${${form}} RESULT_VARIABLE status OUTPUT_VARIABLE said_${form})
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${${form}} ended with ${status}, and printed:\n${said_${form}}")
  endif()
endforeach()
if(NOT said_WITH STREQUAL said_WITHOUT)
  message(FATAL_ERROR "With exceptions:\n${said_WITH}\nwithout:\n${said_WITHOUT}")
endif()
message("${said_WITH}")
