# Configures, builds and runs one consumer project. See CMakeLists.txt for the variables it is given.

set(options -DHAVE_IO=${HAVE_IO} -DHAVE_OPENMP=${HAVE_OPENMP})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
  message("${said}")
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${status}")
  endif()
endfunction()

file(REMOVE_RECURSE "${WORK_DIR}")
if(ROUTE STREQUAL "find_package")
  # The package must work from wherever it is moved, and know nothing of the machine that made it.
  run(${CMAKE_COMMAND} --install ${GATED_BINARY_DIR} --config ${CONFIG} --prefix "${WORK_DIR}/installed here")
  file(RENAME "${WORK_DIR}/installed here" "${WORK_DIR}/moved there")
  file(GLOB_RECURSE package_files "${WORK_DIR}/moved there/*.cmake")
  if(NOT package_files)
    message(FATAL_ERROR "No package files were installed")
  endif()
  foreach(file IN LISTS package_files)
    foreach(path "${GATED_SOURCE_DIR}" "${GATED_BINARY_DIR}" "${WORK_DIR}" "/usr/")
      file(STRINGS "${file}" lines)
      string(FIND "${lines}" "${path}" at)
      if(NOT at EQUAL -1)
        message(FATAL_ERROR "${file} contains the path ${path}")
      endif()
    endforeach()
  endforeach()
  list(APPEND options "-Dgated_ROOT=${WORK_DIR}/moved there")
elseif(ROUTE STREQUAL "add_subdirectory")
  list(APPEND options "-DGATED_CHECKOUT=${GATED_SOURCE_DIR}")
elseif(ROUTE STREQUAL "fetch_content")
  list(APPEND options "-DFETCHCONTENT_SOURCE_DIR_GATED=${GATED_SOURCE_DIR}")  # this checkout, not the network
endif()

set(build "${WORK_DIR}/build")
run(${CMAKE_COMMAND} -S "${CMAKE_CURRENT_LIST_DIR}/${ROUTE}" -B "${build}" -G ${GENERATOR} -C "${SETTINGS}"
    -DCMAKE_BUILD_TYPE=Release ${options})
run(${CMAKE_COMMAND} --build "${build}" --config Release)
find_program(consumer NAMES consumer PATHS "${build}" "${build}/Release" NO_DEFAULT_PATH NO_CACHE REQUIRED)
run("${consumer}")
