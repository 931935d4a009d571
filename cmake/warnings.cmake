# The warnings that gated's headers are free of. For our own programs only: users choose their own.

add_library(gated_warnings INTERFACE)
if(MSVC)
  target_compile_options(gated_warnings INTERFACE /W4 /permissive- /utf-8 $<$<BOOL:${GATED_WERROR}>:/WX>)
else()
  target_compile_options(gated_warnings INTERFACE
    -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow $<$<BOOL:${GATED_WERROR}>:-Werror>)
  # GCC before 13 takes _mm512_undefined_ps() of its own headers for a mistake (its bug 105593).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(gated_warnings INTERFACE -Wno-uninitialized -Wno-uninitialized -Wno-maybe-uninitialized)
  endif()
endif()
