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

# expect_no_file(<arguments>...): a file that is missing or empty, and a folder, in the place of FILE among the arguments, are refused
# in one line that names it, with exit code 1.
function(expect_no_file)
  file(REMOVE_RECURSE ${FOLDER}/no_file)
  file(MAKE_DIRECTORY ${FOLDER}/no_file/folder)
  file(WRITE ${FOLDER}/no_file/empty "")
  foreach(name IN ITEMS missing empty folder)
    list(TRANSFORM ARGN REPLACE "^FILE$" ${FOLDER}/no_file/${name} OUTPUT_VARIABLE arguments)
    expect_run(1 "(^|\n)[a-z_]+: [^\n]*no_file/${name}[^\n]*\n" ${arguments})
  endforeach()
  file(REMOVE_RECURSE ${FOLDER}/no_file)
endfunction()
