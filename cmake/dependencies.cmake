# Finds the dependencies and creates the targets gated::<component> that link them. The build and the installed package both
# include this file, so each searches the machine it runs on, and no path is baked into the package.

set(GATED_COMPONENTS io openmp native compiled c)

# Finds Eigen. Sets `problem` to an error message on failure, to "" otherwise.
#
# The version is compared here, because Eigen 3.4.0's version file refuses "3.4...5", and that of Eigen 5.x refuses "3.4".
function(gated_find_eigen problem)
  set(${problem} "" PARENT_SCOPE)
  if(TARGET Eigen3::Eigen)
    return()  # the enclosing project provides it
  endif()
  set(advice "Install it (Debian, Ubuntu: libeigen3-dev; Fedora: eigen3-devel; Arch, Homebrew: eigen), or set Eigen3_DIR to \
the folder of its Eigen3Config.cmake.")
  find_package(Eigen3 CONFIG QUIET)
  if(NOT TARGET Eigen3::Eigen)
    set(${problem} "gated needs Eigen 3.4 or newer and found none. ${advice}" PARENT_SCOPE)
  elseif(Eigen3_VERSION AND Eigen3_VERSION VERSION_LESS 3.4)
    set(${problem} "gated needs Eigen 3.4 or newer and found ${Eigen3_VERSION} in ${Eigen3_DIR}. ${advice}" PARENT_SCOPE)
  endif()
endfunction()

# Warns once if no build type is set: compilers then do not optimize.
function(gated_check_build_type)
  get_property(has_configurations GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
  get_property(has_warned GLOBAL PROPERTY gated_has_warned_of_build_type)
  if(CMAKE_BUILD_TYPE OR has_configurations OR has_warned OR "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_INIT}" MATCHES "-O[1-9s]")
    return()
  endif()
  set_property(GLOBAL PROPERTY gated_has_warned_of_build_type TRUE)
  message(WARNING "gated: no build type is set. Without optimization, models run many times slower. \
Configure with -DCMAKE_BUILD_TYPE=Release.")
endfunction()

# Finds the system's thread library, which is not always part of the C library. On systems without threads, such as bare metal,
# nothing is linked and loops run on one thread.
function(gated_find_threads)
  if(TARGET Threads::Threads OR NOT (CMAKE_C_COMPILER_LOADED OR CMAKE_CXX_COMPILER_LOADED)
     OR CMAKE_TRY_COMPILE_TARGET_TYPE STREQUAL "STATIC_LIBRARY")  # a check that does not link finds any library
    return()
  endif()
  find_package(Threads QUIET)
  if(TARGET Threads::Threads AND "GLOBAL" IN_LIST ARGN)
    set_target_properties(Threads::Threads PROPERTIES IMPORTED_GLOBAL TRUE)
  endif()
endfunction()

# Creates gated::c if the shared library of the C interface is installed with this package.
function(gated_find_installed_c)
  cmake_path(GET CMAKE_CURRENT_FUNCTION_LIST_DIR PARENT_PATH share)
  cmake_path(GET share PARENT_PATH share)
  cmake_path(GET share PARENT_PATH prefix)
  unset(gated_c_library)  # a variable that is set would not be searched for
  find_library(gated_c_library NAMES gated PATHS "${prefix}/lib" "${prefix}/lib64" PATH_SUFFIXES "${CMAKE_LIBRARY_ARCHITECTURE}"
               NO_DEFAULT_PATH NO_CACHE)
  if(gated_c_library AND NOT TARGET gated::c)
    add_library(gated::c SHARED IMPORTED GLOBAL)
    set_target_properties(gated::c PROPERTIES IMPORTED_LOCATION "${gated_c_library}"
                                              INTERFACE_INCLUDE_DIRECTORIES "${prefix}/include")
    if(WIN32)  # find_library() finds the import library
      set_target_properties(gated::c PROPERTIES IMPORTED_IMPLIB "${gated_c_library}")
    endif()
  endif()
endfunction()

# Creates the target gated::<component>, or sets `problem` if a dependency is missing. `GLOBAL` makes the target visible in the
# whole project.
function(gated_add_component component problem)
  set(${problem} "" PARENT_SCOPE)
  if(TARGET gated::${component})
    return()
  endif()
  if(NOT CMAKE_CXX_COMPILER_LOADED AND NOT component STREQUAL "io")
    set(${problem} "It needs the language CXX. Enable CXX before find_package(gated)." PARENT_SCOPE)
    return()
  endif()
  if("GLOBAL" IN_LIST ARGN)
    set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)
  endif()

  if(component STREQUAL "io")  # checkpoints and images
    find_path(GATED_STB_INCLUDE_DIR stb_image_write.h PATH_SUFFIXES stb DOC "Folder of stb_image.h, for gated/io/image.hpp and image_reader.hpp")
    mark_as_advanced(GATED_STB_INCLUDE_DIR)
    add_library(gated::io INTERFACE IMPORTED ${ARGN})
    target_link_libraries(gated::io INTERFACE gated::gated)
    if(GATED_STB_INCLUDE_DIR)
      target_include_directories(gated::io INTERFACE "${GATED_STB_INCLUDE_DIR}")
    endif()

  elseif(component STREQUAL "openmp")  # runs loops on OpenMP's threads
    find_package(OpenMP QUIET COMPONENTS CXX)
    if(NOT TARGET OpenMP::OpenMP_CXX)
      set(${problem} "It needs OpenMP. Install libomp-dev for clang on Debian or Ubuntu, libomp for Apple clang." PARENT_SCOPE)
      return()
    endif()
    add_library(gated::openmp INTERFACE IMPORTED ${ARGN})
    target_link_libraries(gated::openmp INTERFACE gated::gated OpenMP::OpenMP_CXX)

  elseif(component STREQUAL "native")  # flags for the build machine
    include("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/native.cmake")
    gated_native_flags(flags summary)
    if(NOT gated_FIND_QUIETLY)
      message(STATUS "gated::native: ${summary}")
    endif()
    add_library(gated::native INTERFACE IMPORTED ${ARGN})
    target_compile_options(gated::native INTERFACE "$<$<COMPILE_LANGUAGE:C,CXX,OBJC,OBJCXX>:${flags}>")

  elseif(component STREQUAL "compiled")  # the headers' definitions as a static library, built by the project that links it
    set(folder "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/compiled")
    file(GLOB sources "${folder}/kernels.cpp" "${folder}/layers_*.cpp" "${folder}/models_*.cpp" "${folder}/files_*.cpp")
    add_library(gated_compiled STATIC EXCLUDE_FROM_ALL ${sources})
    add_library(gated::compiled ALIAS gated_compiled)
    target_link_libraries(gated_compiled PUBLIC gated::io)
    # A fixed Eigen alignment lets programs with any -march link the library.
    target_compile_definitions(gated_compiled PUBLIC GATED_COMPILED GATED_PORTABLE EIGEN_MAX_ALIGN_BYTES=64)
    target_compile_definitions(gated_compiled PRIVATE GATED_BUILDS_COMPILED)
    # Hidden visibility keeps shared libraries that link gated_compiled from exporting its symbols.
    set_target_properties(gated_compiled PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                                                    VISIBILITY_INLINES_HIDDEN ON UNITY_BUILD OFF)
    if(NOT MSVC)
      target_compile_options(gated_compiled PRIVATE -O2)  # optimized in a Debug build too
    endif()
    if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")  # the linker can drop unused functions
      target_compile_options(gated_compiled PRIVATE -ffunction-sections -fdata-sections)
    endif()
    if(CMAKE_SYSTEM_NAME STREQUAL "Linux")  # GCC exports specialized variable templates despite hidden visibility
      target_link_options(gated_compiled INTERFACE "LINKER:--exclude-libs,libgated_compiled.a")
    endif()

  elseif(component STREQUAL "c")  # the C interface as a shared library, built by the project that links it
    gated_add_component(compiled not_compiled ${ARGN})
    if(not_compiled OR NOT TARGET gated_compiled)
      set(${problem} "${not_compiled}" PARENT_SCOPE)
      return()
    endif()
    set(folder "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/c")
    add_library(gated_c SHARED EXCLUDE_FROM_ALL "${folder}/gated.cpp")
    add_library(gated::c ALIAS gated_c)
    set_target_properties(gated_c PROPERTIES OUTPUT_NAME gated VERSION "${gated_VERSION}" CXX_VISIBILITY_PRESET hidden
                                             VISIBILITY_INLINES_HIDDEN ON LINK_DEPENDS "${folder}/exports.map")
    target_link_libraries(gated_c PRIVATE gated::compiled)
    target_compile_definitions(gated_c PRIVATE GATED_EXPORTS)  # for dllexport on Windows
    get_target_property(include gated::gated INTERFACE_INCLUDE_DIRECTORIES)
    target_include_directories(gated_c INTERFACE "${include}")
    if(NOT MSVC)
      target_compile_options(gated_c PRIVATE -O2)
    endif()
    if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
      target_link_options(gated_c PRIVATE LINKER:--gc-sections "LINKER:--version-script=${folder}/exports.map")
    endif()

  else()
    list(JOIN GATED_COMPONENTS ", " known)
    set(${problem} "gated has no such component; it has ${known}." PARENT_SCOPE)
  endif()
endfunction()
