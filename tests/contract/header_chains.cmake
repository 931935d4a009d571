# gated_included_by(<header> <result>) lists the headers of gated, such as gated/core/matrix.hpp, that `header` includes at any
# depth.
function(gated_included_by header result)
  get_property(known GLOBAL PROPERTY gated_included_by_${header} SET)
  if(NOT known)
    set(all "")
    file(STRINGS ${PROJECT_SOURCE_DIR}/include/${header} lines REGEX "^#include \"gated/")
    list(FILTER lines EXCLUDE REGEX "gated/compiled/")  # included only if gated::compiled is linked
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" next "${line}")
      set_property(GLOBAL PROPERTY gated_included_by_${header} "${all}")  # breaks cycles, such as a header and its .inl
      gated_included_by(${next} deeper)
      list(APPEND all ${next} ${deeper})
    endforeach()
    list(REMOVE_DUPLICATES all)
    set_property(GLOBAL PROPERTY gated_included_by_${header} "${all}")
  endif()
  get_property(all GLOBAL PROPERTY gated_included_by_${header})
  set(${result} "${all}" PARENT_SCOPE)
endfunction()

# gated_chains(<result> <header>...) sorts the headers into few chains, in each of which a header includes the one before. The
# result is a list of strings: header,header,…
#
# A header compiles alone if it compiles after some of the headers that it includes. So one file that includes a chain, header by
# header, checks them all.
function(gated_chains result)
  set(by_size "")
  foreach(header IN LISTS ARGN)
    gated_included_by(${header} included)
    list(LENGTH included size)
    math(EXPR size "1000 + ${size}")  # equally many digits, to be sorted as text
    list(APPEND by_size "${size} ${header}")
  endforeach()
  list(SORT by_size)
  set(chains "")
  foreach(header IN LISTS by_size)
    string(REGEX REPLACE "^[0-9]+ " "" header "${header}")
    gated_included_by(${header} included)
    set(index 0)
    foreach(chain IN LISTS chains)
      string(REGEX REPLACE "^.*," "" last "${chain}")
      if(last IN_LIST included)
        break()
      endif()
      math(EXPR index "${index} + 1")
    endforeach()
    list(LENGTH chains count)
    if(index LESS count)
      list(TRANSFORM chains APPEND ",${header}" AT ${index})
    else()
      list(APPEND chains ${header})
    endif()
  endforeach()
  set(${result} "${chains}" PARENT_SCOPE)
endfunction()
