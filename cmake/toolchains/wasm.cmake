# WebAssembly, run by node (Debian, Ubuntu: emscripten). Programs can open the host's files, so tests can read their data.

find_program(EMXX em++ REQUIRED)
file(REAL_PATH "${EMXX}" emscripten)
cmake_path(GET emscripten PARENT_PATH emscripten)
include(${emscripten}/cmake/Modules/Platform/Emscripten.cmake)

include(${CMAKE_CURRENT_LIST_DIR}/host_headers.cmake)
set(CMAKE_CXX_FLAGS_INIT "-fwasm-exceptions -msimd128")
# -O1 applies to linking only: at higher levels, the linker needs Node modules that are not always installed. Without the last
# flag, Emscripten 3.1.6 loads the program with fetch(), which cannot read files in Node 18 and newer.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-O1 -sNODERAWFS=1 -sALLOW_MEMORY_GROWTH=1 -sWASM_ASYNC_COMPILATION=0")
