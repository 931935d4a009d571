# cmake -P cmake/single_header.cmake <output> [<headers>...]
#
# Writes gated into one file: gated/gated.hpp, which has all layers and models, and the headers named after the output, such as
# gated/train.hpp or gated/io/model_file.hpp, each once and after what it includes. Includes of other libraries stay includes.

cmake_minimum_required(VERSION 3.21)
cmake_path(SET checkout NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/..")

set(arguments "")
foreach(i RANGE ${CMAKE_ARGC})
  list(APPEND arguments "${CMAKE_ARGV${i}}")
endforeach()
list(FIND arguments "-P" script)
math(EXPR after "${script} + 2")
list(SUBLIST arguments ${after} -1 arguments)
list(POP_FRONT arguments output)
if(NOT output)
  message(FATAL_ERROR "usage: cmake -P cmake/single_header.cmake <output> [<headers>...]")
endif()

set(visited "")   # headers that are in `body`, or on their way there
set(includes "")  # lines for the top
set(body "")

macro(append_header header)
  if(NOT "${header}" IN_LIST visited)
    list(APPEND visited "${header}")
    append_unvisited_header("${header}")
  endif()
endmacro()

# Puts the files of kernels, which are included once per instruction set, where they are included.
macro(insert_parts text)
  while("${${text}}" MATCHES "#include \"(gated/[^\"]+\\.inl)\"")
    set(part "${CMAKE_MATCH_1}")
    file(READ "${checkout}include/${part}" inserted)
    string(REPLACE "#include \"${part}\"\n" "${inserted}" ${text} "${${text}}")
  endwhile()
endmacro()

function(append_unvisited_header header)
  set(file "${checkout}include/${header}")
  if(NOT EXISTS "${file}")
    message(FATAL_ERROR "gated has no header ${header}")
  endif()

  # The directives only: other lines may hold ; and [, which CMake's lists do not keep.
  file(STRINGS "${file}" directives REGEX "^#(if|endif|define|include)")
  set(own "")
  set(hoisted "")
  set(depth 0)
  set(has_macros FALSE)
  foreach(directive IN LISTS directives)
    if(directive MATCHES "^#if")
      math(EXPR depth "${depth} + 1")
    elseif(directive MATCHES "^#endif")
      math(EXPR depth "${depth} - 1")
    elseif(directive MATCHES "^#define")
      set(has_macros TRUE)
    elseif(directive MATCHES "^#include \"(gated/[^\"]+\\.hpp)\"")
      append_header("${CMAKE_MATCH_1}")
      list(APPEND own "${directive}")
    elseif(depth EQUAL 0 AND NOT has_macros AND NOT directive MATCHES "\\.inl\"")
      list(APPEND hoisted "${directive}")  # one that depends on the platform or on a macro above it stays where it is
    endif()
  endforeach()

  file(READ "${file}" text)
  # A single header is compiled as it stands, and so without gated::compiled: with the definitions that follow a header.
  string(REGEX REPLACE "\n#if defined\\(GATED_COMPILED\\)\n#include [^\n]*\n#else\n" "\n#if !defined(GATED_COMPILED)\n" text "${text}")
  string(REGEX REPLACE "\n#if defined\\(GATED_COMPILED\\)\n#include [^\n]*\n#endif\n" "\n" text "${text}")
  set(definitions "")
  if(text MATCHES "\n(#if !defined\\(GATED_COMPILED\\)\n#include \"(gated/[^\"]+\\.inl)\"\n#endif\n)")
    set(definitions "${CMAKE_MATCH_2}")
    string(REPLACE "${CMAKE_MATCH_1}" "" text "${text}")
  endif()
  insert_parts(text)
  foreach(directive IN ITEMS "#pragma once" ${own} ${hoisted})
    string(REPLACE "${directive}\n" "" text "${text}")
  endforeach()
  string(REGEX REPLACE "\n\n\n+" "\n\n" text "${text}")
  string(STRIP "${text}" text)
  list(APPEND includes ${hoisted})
  string(APPEND body "\n// --- ${header} ---\n\n${text}\n")
  if(definitions)
    append_header("${definitions}")
  endif()
  foreach(variable visited includes body)
    set(${variable} "${${variable}}" PARENT_SCOPE)
  endforeach()
endfunction()

foreach(header IN ITEMS gated/gated.hpp LISTS arguments)
  append_header("${header}")
endforeach()
list(REMOVE_DUPLICATES includes)
list(SORT includes)
list(JOIN includes "\n" includes)

file(READ "${checkout}LICENSE" licence)
string(STRIP "${licence}" licence)
string(REPLACE "\n" "\n// " licence "// ${licence}")
string(REGEX REPLACE "// \n" "//\n" licence "${licence}")
file(WRITE "${output}" "// gated in one file, made by cmake/single_header.cmake.\n//\n${licence}\n\n#pragma once\n\n${includes}\n${body}")
