# cmake -P cmake/single_header.cmake <output> [--only] [--baseline] [<headers>...]
#
# Writes gated as one header: gated/gated.hpp (all layers and models) and the listed headers, such as gated/train.hpp or
# gated/io/model_file.hpp. Each is copied once, after the headers it includes. Headers of other libraries stay #includes.
#
#   --only      only the headers listed and what they include, without gated/gated.hpp
#   --baseline  kernels only for the instruction set of the compiler's flags (GATED_ONLY_BASELINE): a shorter header, which
#               compiles faster

cmake_minimum_required(VERSION 3.21)
cmake_path(SET checkout NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/..")

set(arguments "")
foreach(i RANGE ${CMAKE_ARGC})
  list(APPEND arguments "${CMAKE_ARGV${i}}")
endforeach()
list(FIND arguments "-P" script)
math(EXPR after "${script} + 2")
list(SUBLIST arguments ${after} -1 arguments)
cmake_parse_arguments(with "--only;--baseline" "" "" ${arguments})
list(POP_FRONT with_UNPARSED_ARGUMENTS output)
set(headers ${with_UNPARSED_ARGUMENTS})
if(NOT with_--only)
  list(PREPEND headers gated/gated.hpp)
endif()
if(NOT output OR NOT headers)
  message(FATAL_ERROR "usage: cmake -P cmake/single_header.cmake <output> [--only] [--baseline] [<headers>...]")
endif()

set(visited "")   # headers already in `body` or being added
set(includes "")  # #include lines for the top
set(body "")

macro(append_header header)
  if(NOT "${header}" IN_LIST visited)
    list(APPEND visited "${header}")
    append_unvisited_header("${header}")
  endif()
endmacro()

# Removes the kernels for instruction sets that the compiler's flags do not enable.
macro(remove_forms text)
  string(FIND "${${text}}" "#if GATED_CHOOSES_FORM\n" begin)
  if(begin GREATER -1)
    string(SUBSTRING "${${text}}" 0 ${begin} before)
    string(SUBSTRING "${${text}}" ${begin} -1 after)
    string(FIND "${after}" "\n#else\n" length)
    string(SUBSTRING "${after}" 0 ${length} forms)
    if(forms MATCHES "#include \"gated/ops/kernels/")
      string(SUBSTRING "${after}" ${length} -1 after)
      set(${text} "${before}#if GATED_CHOOSES_FORM\n${after}")
    endif()
  endif()
endmacro()

# Replaces each #include of a kernel part with the text of the part. Parts are included once per instruction set.
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

  # Reads directives only: other lines may contain ; and [, which break CMake's lists.
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
    elseif(directive MATCHES "^#include \"(gated/[^\"]+\\.(hpp|h))\"")
      append_header("${CMAKE_MATCH_1}")
      list(APPEND own "${directive}")
    elseif(depth EQUAL 0 AND NOT has_macros AND NOT directive MATCHES "\\.inl\"")
      list(APPEND hoisted "${directive}")  # conditional or macro-dependent #includes stay in place
    endif()
  endforeach()

  file(READ "${file}" text)
  # A single header does not use gated::compiled, so it also contains each header's definitions (.inl).
  string(REGEX REPLACE "\n#if defined\\(GATED_COMPILED\\)\n#include [^\n]*\n#else\n" "\n#if !defined(GATED_COMPILED)\n" text "${text}")
  string(REGEX REPLACE "\n#if defined\\(GATED_COMPILED\\)\n#include [^\n]*\n#endif\n" "\n" text "${text}")
  set(definitions "")
  if(text MATCHES "\n(#if !defined\\(GATED_COMPILED\\)\n#include \"(gated/[^\"]+\\.inl)\"\n#endif\n)")
    set(definitions "${CMAKE_MATCH_2}")
    string(REPLACE "${CMAKE_MATCH_1}" "" text "${text}")
  endif()
  if(with_--baseline)
    remove_forms(text)
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

foreach(header IN LISTS headers)
  append_header("${header}")
endforeach()
list(REMOVE_DUPLICATES includes)
list(SORT includes)
list(JOIN includes "\n" includes)

set(definition "")
if(with_--baseline)
  set(definition "#if !defined(GATED_ONLY_BASELINE)\n#define GATED_ONLY_BASELINE\n#endif\n\n")
endif()

file(READ "${checkout}LICENSE" licence)
string(STRIP "${licence}" licence)
string(REGEX MATCH "Copyright \\(c\\) ([^\n]+)" copyright "${licence}")
set(copyright "${CMAKE_MATCH_1}")
string(REPLACE "\n" "\n// " licence "// ${licence}")
string(REGEX REPLACE "// \n" "//\n" licence "${licence}")
file(WRITE "${output}" "// gated in one header, made by cmake/single_header.cmake.
//
// SPDX-FileCopyrightText: ${copyright}
// SPDX-License-Identifier: MIT
//
${licence}

#pragma once

${definition}${includes}
${body}")
