# Eigen, nlohmann/json and CLI11 are header-only, so the host's copies work for any target. nlohmann/json and
# CLI11 share a folder with the host's C headers, so host_headers() links them into folders of their own.
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
list(APPEND CMAKE_PREFIX_PATH /usr /usr/local /opt/homebrew)

# host_headers(<folder> <a header in it> <package> <target>)
function(host_headers folder header package target)
  find_path(HOST_INCLUDE_${package} ${folder}/${header} PATHS /usr/include /usr/local/include /opt/homebrew/include
            NO_CMAKE_FIND_ROOT_PATH)
  if(NOT HOST_INCLUDE_${package})
    return()
  endif()
  set(${package}_DIR ${CMAKE_BINARY_DIR}/host/${package})
  file(MAKE_DIRECTORY ${${package}_DIR})
  file(CREATE_LINK ${HOST_INCLUDE_${package}}/${folder} ${${package}_DIR}/${folder} SYMBOLIC)
  file(WRITE ${${package}_DIR}/${package}Config.cmake "add_library(${target} INTERFACE IMPORTED)
target_include_directories(${target} INTERFACE \${CMAKE_CURRENT_LIST_DIR})
")
  set(${package}_DIR ${${package}_DIR} PARENT_SCOPE)
endfunction()

host_headers(nlohmann json.hpp nlohmann_json nlohmann_json::nlohmann_json)
host_headers(CLI CLI.hpp CLI11 CLI11::CLI11)
