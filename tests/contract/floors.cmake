# cmake -DINCLUDE_DIR=<folder that contains gated/> -P floors.cmake
#
# Fails, and lists the offenders, if a header or .inl file (a header's definitions) breaks one of these rules:
#   * it includes no header of a higher floor or of a sibling: core <- ops <- {audio, layers} <- models <- {io, train}, io <- c.
#     audio/ uses the Fourier transforms of ops/ but no layers, and layers/ uses no audio/; models/ and io/ may use both;
#   * outside io/, it includes no third-party code except Eigen. train/distributed_mpi.hpp may include MPI, but no header may
#     include train/distributed_mpi.hpp;
#   * outside io/, it includes no header of the operating system, except in core/aligned_memory.hpp (huge pages), core/team.hpp
#     (process id) and ops/kernel_form.hpp (instruction sets);
#   * it does not include <iostream>, because a library does not print;
#   * it includes, at some depth, core/compiler.hpp, which states the compiler requirements;
#   * it does not use OpenMP, except in core/parallel.hpp, which splits loops among threads.

set(height_of_core 0)
set(height_of_ops 1)
set(height_of_audio 2)
set(height_of_layers 2)
set(height_of_models 3)
set(height_of_gated 4)  # gated.hpp itself, which includes all layers and models
set(height_of_io 5)
set(height_of_train 5)
set(height_of_c 6)

set(culprits "")
cmake_path(ABSOLUTE_PATH INCLUDE_DIR)
file(GLOB_RECURSE headers RELATIVE ${INCLUDE_DIR} ${INCLUDE_DIR}/gated/*.hpp ${INCLUDE_DIR}/gated/*.inl)
list(FILTER headers EXCLUDE REGEX "^gated/(compiled|ops/kernels)/")  # parts of gated.hpp and of ops/kernels.hpp
if(NOT headers)
  message(FATAL_ERROR "No headers in ${INCLUDE_DIR}/gated")
endif()

foreach(header IN LISTS headers)
  if(header STREQUAL "gated/version.hpp")
    set(floor core)
  elseif(header MATCHES "^gated/([a-z_]+)[/.]")
    set(floor ${CMAKE_MATCH_1})
  endif()
  if(NOT DEFINED height_of_${floor})
    string(APPEND culprits "${header} is on no known floor\n")
    continue()
  endif()

  file(READ ${INCLUDE_DIR}/${header} text)
  string(REPLACE "#include \"gated/version.hpp\"" "" text "${text}")
  if(NOT text MATCHES "#include \"gated/" AND NOT header MATCHES "^gated/(version|core/compiler)\\.hpp$")
    string(APPEND culprits "${header} does not reach core/compiler.hpp; include it\n")
  endif()
  file(STRINGS ${INCLUDE_DIR}/${header} lines REGEX "^[ \t]*#[ \t]*(include|pragma omp)")
  foreach(line IN LISTS lines)
    if(line MATCHES "<sys/mman\\.h>" AND header STREQUAL "gated/core/aligned_memory.hpp")
      continue()  # Linux only
    endif()
    if(line MATCHES "gated/compiled/[a-z]+\\.inl")
      continue()  # extern templates, included only if gated::compiled is linked
    endif()
    if(line MATCHES "<this_line_ends_the_compilation>" AND header STREQUAL "gated/core/compiler.hpp")
      continue()
    endif()
    if(line MATCHES "<(immintrin|arm_neon|wasm_simd128)\\.h>" AND header STREQUAL "gated/ops/kernels.hpp")
      continue()  # intrinsics
    endif()
    if(line MATCHES "<unistd\\.h>" AND header STREQUAL "gated/core/team.hpp")
      continue()  # for fork()
    endif()
    if(line MATCHES "<(cpuid|sys/syscall|unistd)\\.h>" AND header STREQUAL "gated/ops/kernel_form.hpp")
      continue()  # asks the system for instruction sets, and for permission to use AMX
    endif()
    if(line MATCHES "<mpi\\.h>" AND header STREQUAL "gated/train/distributed_mpi.hpp")
      continue()  # optional: see below
    endif()
    if(line MATCHES "pragma omp" OR line MATCHES "<omp\\.h>")
      if(NOT header STREQUAL "gated/core/parallel.hpp")
        string(APPEND culprits "${header} uses OpenMP directly; call parallel_for() of core/parallel.hpp\n")
      endif()
    elseif(line MATCHES "[<\"]gated/([a-z_]+)[/.]")
      set(below ${CMAKE_MATCH_1})
      if(below STREQUAL "version")
        continue()
      endif()
      if(NOT line MATCHES "\"(gated/[^\"]+)\"")
        string(APPEND culprits "${header}: write ${line} with quotes\n")
      elseif(NOT EXISTS ${INCLUDE_DIR}/${CMAKE_MATCH_1})
        string(APPEND culprits "${header} includes ${CMAKE_MATCH_1}, which does not exist\n")
      elseif(NOT DEFINED height_of_${below} OR height_of_${below} GREATER height_of_${floor})
        string(APPEND culprits "${header} includes ${CMAKE_MATCH_1}, which is on a higher floor\n")
      elseif(height_of_${below} EQUAL height_of_${floor} AND NOT below STREQUAL floor)
        string(APPEND culprits "${header} includes ${CMAKE_MATCH_1}: ${below} and ${floor} must not depend on each other\n")
      elseif(CMAKE_MATCH_1 STREQUAL "gated/train/distributed_mpi.hpp")
        string(APPEND culprits "${header} includes ${CMAKE_MATCH_1}, which is optional\n")
      endif()
    elseif(line MATCHES "<iostream>")
      string(APPEND culprits "${header} includes <iostream>; return a string and let the caller print\n")
    elseif(line MATCHES "<(unsupported/)?Eigen/" OR line MATCHES "<[a-z_0-9]+>")
      # Eigen and the standard library are allowed everywhere
    elseif(NOT floor STREQUAL "io")
      string(APPEND culprits "${header} has ${line}; third-party code belongs in io/\n")
    endif()
  endforeach()
endforeach()

if(culprits)
  message(FATAL_ERROR "${culprits}")
endif()
