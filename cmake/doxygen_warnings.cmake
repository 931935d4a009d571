# cmake -D LOG=warnings.txt -P doxygen_warnings.cmake: fails on every Doxygen warning, for example about an undocumented class,
# function or name in namespace gated. Warnings about these are ignored:
#   class members             their declarations suffice; forward() and the members of a Config are checked
#   names_of()                it lists the names of the enumeration above it
#   macros                    they are private to their header
#   Laplace                   it is documented at LaplaceForm
#   shifted()                 it is documented at another overload
#   stb's own headers         they are third-party
#   .inl files                they hold kernel loops and are included more than once
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
