# cmake -DSOURCE_DIR=… -DVERSION=… -DWORK_DIR=… -DSETTINGS=… -DGENERATOR=… [-DPYTHON=…] -P packaging.cmake
#
# Tests cmake/packaging without vcpkg and Conan: the port installs the right files, with stand-ins for vcpkg's functions; the
# recipes are valid Python; the recipe's test program builds and runs.

cmake_minimum_required(VERSION 3.21)
set(packaging "${SOURCE_DIR}/cmake/packaging")
file(REMOVE_RECURSE "${WORK_DIR}")

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${said}\n${command}\nended with ${status}")
  endif()
endfunction()

function(expect_file file)
  if(NOT EXISTS "${file}")
    message(SEND_ERROR "There is no ${file}")
  endif()
endfunction()

# --- vcpkg ---

file(READ "${packaging}/vcpkg/gated/vcpkg.json" manifest)
string(JSON version GET "${manifest}" version)
if(NOT version STREQUAL VERSION)
  message(SEND_ERROR "vcpkg.json has version ${version}, gated is ${VERSION}")
endif()

set(PORT gated)
set(CURRENT_PACKAGES_DIR "${WORK_DIR}/package")

function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 with "" "SOURCE_PATH" "OPTIONS")
  run(${CMAKE_COMMAND} -S "${with_SOURCE_PATH}" -B "${WORK_DIR}/build" -G ${GENERATOR} -C "${SETTINGS}" ${with_OPTIONS}
      --install-prefix "${CURRENT_PACKAGES_DIR}" -Werror=dev)
endfunction()
function(vcpkg_cmake_install)
  run(${CMAKE_COMMAND} --build "${WORK_DIR}/build" --target install)
endfunction()
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 with "" "CONFIG_PATH" "")
  expect_file("${CURRENT_PACKAGES_DIR}/${with_CONFIG_PATH}/${PORT}Config.cmake")
  # vcpkg moves it to share/gated and corrects the paths in it.
endfunction()
function(vcpkg_fixup_pkgconfig)
endfunction()
function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 with "" "" "FILE_LIST")
  foreach(file IN LISTS with_FILE_LIST)
    expect_file("${file}")
  endforeach()
endfunction()

include("${packaging}/vcpkg/gated/portfile.cmake")
foreach(file include/gated/gated.hpp include/gated/io/model_file.hpp share/gated/usage share/cmake/gated/dependencies.cmake)
  expect_file("${CURRENT_PACKAGES_DIR}/${file}")
endforeach()

# --- Conan ---

if(PYTHON)
  foreach(recipe conanfile.py test_package/conanfile.py)
    run(${PYTHON} -c "import sys; compile(open(sys.argv[1]).read(), sys.argv[1], 'exec')" "${packaging}/conan/${recipe}")
  endforeach()
endif()

run(${CMAKE_COMMAND} -S "${packaging}/conan/test_package" -B "${WORK_DIR}/test_package" -G ${GENERATOR} -C "${SETTINGS}"
    -DCMAKE_BUILD_TYPE=Debug "-Dgated_DIR=${CURRENT_PACKAGES_DIR}/share/cmake/gated")
run(${CMAKE_COMMAND} --build "${WORK_DIR}/test_package")
execute_process(COMMAND "${WORK_DIR}/test_package/test_package" WORKING_DIRECTORY "${WORK_DIR}" COMMAND_ERROR_IS_FATAL ANY)
