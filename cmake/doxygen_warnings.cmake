# cmake -D LOG=warnings.txt -P doxygen_warnings.cmake: fails on every Doxygen warning, above all on undocumented classes,
# functions and names in namespace gated. Exempt are
#   class members             the declarations of parameters and sizes speak for themselves; but forward() and
#                             settings need comments
#   names_of()                the names of the enumeration above it
#   macros                    private to their header
#   Laplace, shifted()        one comment documents both overloads, or the template of the same name
#   stb's own headers         third-party
#   .inl files                kernel loops, included more than once
cmake_minimum_required(VERSION 3.21)

file(READ ${LOG} log)
string(REGEX REPLACE "[][;]" "?" log "${log}")
string(REPLACE "\n" ";" lines "${log}")
set(problems "")
foreach(line IN LISTS lines)
  if(line MATCHES "is not documented"
     AND line MATCHES "\\) of (struct|class) |Member (names_of\\(|shifted\\(|Laplace)|\\(macro definition\\)"
     AND NOT line MATCHES "Member forward\\(|\\(variable\\) of struct gated::[A-Za-z]*Config is")
    continue()
  endif()
  if(NOT line STREQUAL "" AND NOT line MATCHES "include file (stb_[a-z_]+.h|[a-z_/]+.inl) not found")
    string(APPEND problems "${line}\n")
  endif()
endforeach()
if(problems)
  message(FATAL_ERROR "${problems}")
endif()
