# The target `doc`: Doxygen pages of the headers, in <build folder>/doc/html.
# Fails on every warning that doxygen_warnings.cmake does not exempt.

find_program(GATED_DOXYGEN doxygen DOC "Doxygen, for the target doc")
mark_as_advanced(GATED_DOXYGEN)
if(NOT GATED_DOXYGEN)
  message(STATUS "The target doc is left out. It needs Doxygen (Debian, Ubuntu: doxygen).")
  return()
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/Doxyfile.in ${PROJECT_BINARY_DIR}/doc/Doxyfile @ONLY)
add_custom_target(doc
  COMMAND ${GATED_DOXYGEN} ${PROJECT_BINARY_DIR}/doc/Doxyfile
  COMMAND ${CMAKE_COMMAND} -D LOG=${PROJECT_BINARY_DIR}/doc/warnings.txt -P ${CMAKE_CURRENT_LIST_DIR}/doxygen_warnings.cmake
  COMMENT "Pages in ${PROJECT_BINARY_DIR}/doc/html" VERBATIM)
