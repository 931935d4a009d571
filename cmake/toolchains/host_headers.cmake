# Eigen and nlohmann/json are headers: those of this machine will do for another. Where the latter lie beside the C library's,
# which will not do, they are given a folder of their own.
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
list(APPEND CMAKE_PREFIX_PATH /usr /usr/local /opt/homebrew)
find_path(HOST_INCLUDE_DIR nlohmann/json.hpp PATHS /usr/include /usr/local/include /opt/homebrew/include NO_CMAKE_FIND_ROOT_PATH
          REQUIRED)
set(nlohmann_json_DIR ${CMAKE_BINARY_DIR}/host)
file(MAKE_DIRECTORY ${nlohmann_json_DIR})
file(CREATE_LINK ${HOST_INCLUDE_DIR}/nlohmann ${nlohmann_json_DIR}/nlohmann SYMBOLIC)
file(WRITE ${nlohmann_json_DIR}/nlohmann_jsonConfig.cmake "add_library(nlohmann_json::nlohmann_json INTERFACE IMPORTED)
target_include_directories(nlohmann_json::nlohmann_json INTERFACE \${CMAKE_CURRENT_LIST_DIR})
")
