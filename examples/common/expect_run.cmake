# Included by the end_to_end.cmake of examples.

# expect_run(<code> <pattern> <arguments>...): runs ${PROGRAM} in ${WORK_FOLDER}, if that is set. It must exit with this code and
# say something that matches the pattern; what it says is ${said}.
function(expect_run expected pattern)
  set(where "")
  if(DEFINED WORK_FOLDER)
    set(where WORKING_DIRECTORY ${WORK_FOLDER})
  endif()
  execute_process(COMMAND ${PROGRAM} ${ARGN} ${where} RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT code STREQUAL expected OR NOT said MATCHES "${pattern}")
    list(JOIN ARGN " " arguments)
    message(FATAL_ERROR "${PROGRAM} ${arguments}\nexit code ${code}, expected ${expected}; this should match ${pattern}:\n${said}")
  endif()
  set(said "${said}" PARENT_SCOPE)
endfunction()
