# Warnings that gated's headers do not trigger. For gated's own programs only: users choose their own warnings.

add_library(gated_warnings INTERFACE)
if(MSVC)
  target_compile_options(gated_warnings INTERFACE /W4 /permissive- /utf-8 $<$<BOOL:${GATED_WERROR}>:/WX>)
else()
  target_compile_options(gated_warnings INTERFACE
    -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow $<$<BOOL:${GATED_WERROR}>:-Werror>)
  # GCC before 13 warns about its own headers: _mm512_undefined_ps() (GCC bug 105593) and string literal + std::string (105651).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(gated_warnings INTERFACE -Wno-uninitialized -Wno-maybe-uninitialized -Wno-restrict)
  endif()
endif()
