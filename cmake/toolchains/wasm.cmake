# WebAssembly, run by node (Debian, Ubuntu: emscripten). Programs can open the host's files, so tests can read their data.

find_program(EMXX em++ REQUIRED)
file(REAL_PATH "${EMXX}" emscripten)
cmake_path(GET emscripten PARENT_PATH emscripten)
include(${emscripten}/cmake/Modules/Platform/Emscripten.cmake)

include(${CMAKE_CURRENT_LIST_DIR}/host_headers.cmake)
set(CMAKE_CXX_FLAGS_INIT "-fwasm-exceptions -msimd128")
# -O1 applies to linking only. It is not higher because the linker would then need Node modules that are not always installed.
# By default, Emscripten 3.1.6 loads the program with fetch(), which cannot read files in Node 18 and newer;
# WASM_ASYNC_COMPILATION=0 prevents that.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-O1 -sNODERAWFS=1 -sALLOW_MEMORY_GROWTH=1 -sWASM_ASYNC_COMPILATION=0")
