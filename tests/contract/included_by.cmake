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
