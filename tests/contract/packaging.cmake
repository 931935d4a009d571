# cmake -DSOURCE_DIR=… -DVERSION=… -DWORK_DIR=… -DSETTINGS=… -DGENERATOR=… -DEIGEN_DIR=… [-DPYTHON=…] -P packaging.cmake
#
# Tests cmake/packaging without vcpkg, Conan and Docker. The vcpkg port, run with stand-ins for vcpkg's functions, installs its
# files, including an SBOM. The Conan recipes are valid Python, and their test program builds and runs. The script for OSS-Fuzz
# builds a target. REUSE.toml names the licences in LICENSES/.

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
file(READ ${SOURCE_DIR}/cmake/packaging/npm/package.json manifest)
string(JSON version GET "${manifest}" version)
if(NOT version STREQUAL VERSION)
  message(SEND_ERROR "npm's package.json has version ${version}, gated is ${VERSION}")
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
  # vcpkg would move this file to share/gated and correct the paths in it.
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
foreach(file include/gated/gated.hpp include/gated/io/model_file.hpp share/gated/usage share/cmake/gated/dependencies.cmake
        share/doc/gated/LICENSE share/doc/gated/gated.cdx.json)
  expect_file("${CURRENT_PACKAGES_DIR}/${file}")
endforeach()

# --- SBOM ---

file(READ "${CURRENT_PACKAGES_DIR}/share/doc/gated/gated.cdx.json" sbom)
file(READ "${SOURCE_DIR}/LICENSE" licence)
string(REGEX MATCH "Copyright [^\n]+" copyright "${licence}")

# expect_in_sbom(<value> <member>...) expects that the SBOM has this value at this JSON path.
function(expect_in_sbom value)
  string(JSON found ERROR_VARIABLE error GET "${sbom}" ${ARGN})
  if(error OR NOT found STREQUAL value)
    message(SEND_ERROR "gated.cdx.json: ${ARGN} is '${found}', expected '${value}'")
  endif()
endfunction()
expect_in_sbom(CycloneDX bomFormat)
expect_in_sbom(gated metadata component name)
expect_in_sbom(${VERSION} metadata component version)
expect_in_sbom(pkg:generic/gated@${VERSION} metadata component purl)
expect_in_sbom("${copyright}" metadata component copyright)
expect_in_sbom(MIT metadata component licenses 0 license id)
foreach(i RANGE 1)
  string(JSON component GET "${sbom}" components ${i} bom-ref)
  expect_in_sbom(${component} dependencies 0 dependsOn ${i})
endforeach()
foreach(path "${SOURCE_DIR}" "${WORK_DIR}")
  string(FIND "${sbom}" "${path}" at)
  if(NOT at EQUAL -1)
    message(SEND_ERROR "gated.cdx.json contains the path ${path}")
  endif()
endforeach()

# --- Licences ---

file(STRINGS "${SOURCE_DIR}/REUSE.toml" paths REGEX "^path = ")
string(REGEX MATCHALL "\"[^\"]+\"" paths "${paths}")
foreach(path IN LISTS paths)
  string(REPLACE "\"" "" path "${path}")
  if(NOT path STREQUAL "**")
    expect_file("${SOURCE_DIR}/${path}")
  endif()
endforeach()
file(STRINGS "${SOURCE_DIR}/REUSE.toml" expressions REGEX "^SPDX-License-Identifier = ")
string(REGEX MATCHALL "[A-Z][A-Z0-9]+-?[A-Z]*-?[0-9.]+(-Clause)?|MIT" identifiers "${expressions}")
list(REMOVE_DUPLICATES identifiers)
list(TRANSFORM identifiers APPEND .txt)
list(SORT identifiers)
file(GLOB texts RELATIVE "${SOURCE_DIR}/LICENSES" "${SOURCE_DIR}/LICENSES/*")
list(SORT texts)
if(NOT identifiers STREQUAL texts)
  message(SEND_ERROR "REUSE.toml names ${identifiers}, but LICENSES contains ${texts}")
endif()
file(READ "${SOURCE_DIR}/LICENSES/MIT.txt" mit)
if(NOT mit STREQUAL licence)
  message(SEND_ERROR "LICENSES/MIT.txt differs from LICENSE")
endif()
find_program(REUSE reuse)  # only reuse 4 and later versions read REUSE.toml
if(REUSE)
  execute_process(COMMAND ${REUSE} --version OUTPUT_VARIABLE version)
  if(version MATCHES "version ([0-9]+)" AND CMAKE_MATCH_1 GREATER_EQUAL 4)
    run(${REUSE} --root "${SOURCE_DIR}" lint)
  endif()
endif()

# --- Conan ---

file(READ "${packaging}/conan/conanfile.py" recipe)
file(GLOB_RECURSE exported RELATIVE "${SOURCE_DIR}/include" "${SOURCE_DIR}/include/*.h*" "${SOURCE_DIR}/include/*.inl")
list(TRANSFORM exported REPLACE "^.*[.]" "")
list(REMOVE_DUPLICATES exported)
foreach(suffix IN LISTS exported)
  if(NOT recipe MATCHES "\"[*][.]${suffix}\"")
    message(SEND_ERROR "conanfile.py does not export *.${suffix}")
  endif()
endforeach()
if(PYTHON)
  foreach(recipe conanfile.py test_package/conanfile.py)
    run(${PYTHON} -c "import sys; compile(open(sys.argv[1]).read(), sys.argv[1], 'exec')" "${packaging}/conan/${recipe}")
  endforeach()
endif()

run(${CMAKE_COMMAND} -S "${packaging}/conan/test_package" -B "${WORK_DIR}/test_package" -G ${GENERATOR} -C "${SETTINGS}"
    -DCMAKE_BUILD_TYPE=Debug "-Dgated_DIR=${CURRENT_PACKAGES_DIR}/share/cmake/gated")
run(${CMAKE_COMMAND} --build "${WORK_DIR}/test_package")
execute_process(COMMAND "${WORK_DIR}/test_package/test_package" WORKING_DIRECTORY "${WORK_DIR}" COMMAND_ERROR_IS_FATAL ANY)

# --- OSS-Fuzz ---

set(oss_fuzz "${packaging}/oss-fuzz")

# Builds the smallest target as OSS-Fuzz's Docker image does, and runs it on 1000 inputs mutated from its seeds.
find_program(BASH bash)
find_program(ZIP zip)
find_program(CLANG clang++)
set(status 1)
set(probe "${WORK_DIR}/oss-fuzz/probe.cpp")
if(BASH AND ZIP AND CLANG)
  file(WRITE "${probe}" "extern \"C\" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }\n")
  execute_process(COMMAND ${CLANG} -fsanitize=fuzzer,address "${probe}" -o "${probe}.out" RESULT_VARIABLE status OUTPUT_QUIET
                          ERROR_QUIET)
endif()
if(NOT status EQUAL 0)
  message("oss-fuzz/build.sh was not run: it needs bash, zip and clang++ with libFuzzer")
  return()
endif()
set(src "${WORK_DIR}/oss-fuzz/src")
set(out "${WORK_DIR}/oss-fuzz/out")
file(MAKE_DIRECTORY "${src}" "${out}/seeds")
file(CREATE_LINK "${SOURCE_DIR}" "${src}/gated" SYMBOLIC)
file(CREATE_LINK "${EIGEN_DIR}" "${src}/eigen" SYMBOLIC)
run(${CMAKE_COMMAND} -E env "SRC=${src}" "OUT=${out}" SANITIZER=address "CXX=${CLANG}" LIB_FUZZING_ENGINE=-fsanitize=fuzzer
    "CXXFLAGS=-O1 -fsanitize=address,fuzzer-no-link" ${BASH} "${oss_fuzz}/build.sh" csv)
file(ARCHIVE_EXTRACT INPUT "${out}/gated_fuzz_csv_seed_corpus.zip" DESTINATION "${out}/seeds")
expect_file("${out}/seeds/seed_numbers")
expect_file("${out}/gated_fuzz_csv.options")
run("${out}/gated_fuzz_csv" -runs=1000 "${out}/seeds")
