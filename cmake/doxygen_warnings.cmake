# cmake -D LOG=warnings.txt -P doxygen_warnings.cmake: fails for every warning of Doxygen, above all for a class, function or name
# of the namespace gated that is not documented. Not asked for are comments on
#   members of a class        a layer's parameters and sizes say in their declaration what they are; but forward() and every
#                             setting of a configuration are asked for
#   names_of()                the words of the enumeration above it
#   macros                    private to their header
#   Laplace, shifted()        one comment stands above both overloads, or above the template that it names
#   stb's own headers         not ours to read
#   .inl files                the loops of kernels, which are included more than once
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
