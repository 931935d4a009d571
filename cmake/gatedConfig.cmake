# find_package(gated) provides gated::gated, and each of gated::io, gated::openmp, gated::native, gated::compiled and gated::c
# if its dependencies are found. The search fails if a component in COMPONENTS is missing. gated::c is the installed shared
# library, which needs neither Eigen nor C++. If that library is not installed, the project that links gated::c builds it.

cmake_minimum_required(VERSION 3.21)  # also sets the CMake policies for this file
include("${CMAKE_CURRENT_LIST_DIR}/dependencies.cmake")

gated_find_installed_c()
if(TARGET gated::c AND "${gated_FIND_COMPONENTS}" STREQUAL "c")
  set(gated_c_FOUND TRUE)
  return()
endif()
gated_find_eigen(gated_problem)
if(gated_problem)
  set(gated_FOUND FALSE)
  set(gated_NOT_FOUND_MESSAGE "${gated_problem}")
  return()
endif()
gated_find_threads()
if(NOT gated_FIND_QUIETLY)
  gated_check_build_type()
endif()
include("${CMAKE_CURRENT_LIST_DIR}/gatedTargets.cmake")

set(gated_wanted ${GATED_COMPONENTS} ${gated_FIND_COMPONENTS})
list(REMOVE_DUPLICATES gated_wanted)
foreach(gated_component IN LISTS gated_wanted)
  gated_add_component("${gated_component}" gated_problem)
  if(gated_problem)
    set(gated_${gated_component}_FOUND FALSE)
    if(gated_FIND_REQUIRED_${gated_component})
      set(gated_FOUND FALSE)
      string(APPEND gated_NOT_FOUND_MESSAGE "gated::${gated_component} is missing. ${gated_problem}\n")
    endif()
  else()
    set(gated_${gated_component}_FOUND TRUE)
  endif()
endforeach()
