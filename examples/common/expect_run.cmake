# Included by the examples' end_to_end.cmake.

# expect_run(<code> <pattern> <arguments>...): runs ${PROGRAM}, in ${WORK_FOLDER} if set. The program must exit with this
# code, and its output must match the pattern. Sets ${said} to the output.
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

# expect_no_file(<arguments>...): replaces the argument FILE by the path of a missing file, an empty file and a folder in turn.
# Each time, the program must exit with code 1 and print one line that names the path.
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

# expect_shell(<pattern> <script>): runs the script by ${SH} in ${FOLDER}. Its output must match the pattern. In the script,
# $program is ${PROGRAM}.
function(expect_shell pattern script)
  set(ENV{program} ${PROGRAM})
  execute_process(COMMAND ${SH} -c "${script}" WORKING_DIRECTORY ${FOLDER} OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT said MATCHES "${pattern}")
    message(FATAL_ERROR "${script}\nshould print ${pattern}:\n${said}")
  endif()
endfunction()
