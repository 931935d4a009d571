# WebAssembly, run by node (Debian, Ubuntu: emscripten). Files are those of the machine, so that a test can read its cases.

find_program(EMXX em++ REQUIRED)
file(REAL_PATH "${EMXX}" emscripten)
cmake_path(GET emscripten PARENT_PATH emscripten)
include(${emscripten}/cmake/Modules/Platform/Emscripten.cmake)

# Eigen and nlohmann/json are headers: those of this machine will do. Where the latter lie beside the C library's, which will not
# do, they are given a folder of their own.
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
find_path(HOST_INCLUDE_DIR nlohmann/json.hpp PATHS /usr/include /usr/local/include /opt/homebrew/include NO_CMAKE_FIND_ROOT_PATH
          REQUIRED)
set(nlohmann_json_DIR ${CMAKE_BINARY_DIR}/host)
file(MAKE_DIRECTORY ${nlohmann_json_DIR})
file(CREATE_LINK ${HOST_INCLUDE_DIR}/nlohmann ${nlohmann_json_DIR}/nlohmann SYMBOLIC)
file(WRITE ${nlohmann_json_DIR}/nlohmann_jsonConfig.cmake "add_library(nlohmann_json::nlohmann_json INTERFACE IMPORTED)
target_include_directories(nlohmann_json::nlohmann_json INTERFACE \${CMAKE_CURRENT_LIST_DIR})
")
set(CMAKE_CXX_FLAGS_INIT -fwasm-exceptions)
# -O1: the object files are optimised as the build asks, but the linker's own passes need modules that not every node finds.
# The last flag: Node 18 and newer have a fetch() that reads no files, and Emscripten 3.1.6 would load the program with it.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-O1 -sNODERAWFS=1 -sALLOW_MEMORY_GROWTH=1 -sWASM_ASYNC_COMPILATION=0")
