# cmake -DPROGRAM=… -DHIDDEN=A;B -DEXPORTED=C;D -DCOMPILED=… -DNM=… -P shared_libraries.cmake
#
# Loads two shared libraries with different alignments into one program and runs them in either order. They work if they hide
# their symbols or are loaded with RTLD_LOCAL; otherwise loading the second one fails. A library that links gated::compiled
# exports none of gated's symbols. COMPILED must be empty if a sanitizer exports hidden symbols; this check is then skipped.

cmake_minimum_required(VERSION 3.21)

function(expect_run words scope libraries)
  set(wanted "^0$")
  if(NOT words STREQUAL "all is well")
    set(wanted "^[^0]")
  endif()
  foreach(order IN ITEMS first last)
    execute_process(COMMAND ${PROGRAM} ${scope} ${libraries} ${order} RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
    if(NOT said MATCHES "${words}" OR NOT status MATCHES "${wanted}")
      message(SEND_ERROR "${scope} ${libraries} ${order}: expected '${words}', got ${status}:\n${said}")
    endif()
  endforeach()
endfunction()

set(refused "EIGEN_MAX_ALIGN_BYTES = (16|64) calls gated and Eigen functions .* -fvisibility=hidden")
foreach(turn RANGE 1)
  expect_run("all is well" global "${HIDDEN}")
  expect_run("all is well" local "${HIDDEN}")
  expect_run("all is well" local "${EXPORTED}")
  expect_run("${refused}" global "${EXPORTED}")
  list(GET HIDDEN 0 hidden)
  list(GET EXPORTED 1 exported)
  expect_run("all is well" global "${hidden};${exported}")
  list(REVERSE HIDDEN)
  list(REVERSE EXPORTED)
endforeach()

if(NOT COMPILED)
  return()
endif()
execute_process(COMMAND ${NM} -DC --defined-only ${COMPILED} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]*(gated|Eigen)[^\n]*" exports "${symbols}")
if(exports OR NOT symbols MATCHES " T run")
  list(JOIN exports "\n" exports)
  message(SEND_ERROR "${COMPILED} exports\n${exports}")
endif()
