# Compiler flags for the build machine, for programs that run only there.

# Sets `flags` to the flags to try. The arguments describe the machine, so that tests can cover any machine. `cpuinfo` is the
# text of /proc/cpuinfo.
function(gated_native_candidates flags compiler_id compiler_version processor cpuinfo)
  if(compiler_id STREQUAL "MSVC")
    set(candidates "")
  elseif(processor MATCHES "^(aarch64|arm64|ARM64)$")
    set(candidates -mcpu=native)
  else()
    set(candidates -march=native)
    # GCC before 13 tunes for Zen 4 and 5 as for Zen 3, which has no 512-bit vectors. That tuning makes matmul with
    # 512-bit vectors a fifth slower.
    if(compiler_id STREQUAL "GNU" AND compiler_version VERSION_LESS 13 AND cpuinfo MATCHES "AuthenticAMD"
       AND cpuinfo MATCHES "avx512f")
      list(APPEND candidates -mtune=icelake-server)
    endif()
  endif()
  set(${flags} "${candidates}" PARENT_SCOPE)
endfunction()

# Sets `flags` to the flags that the compiler accepts, and `summary` to one line that names flags, compiler and machine.
function(gated_native_flags flags summary)
  set(${flags} "" PARENT_SCOPE)
  if(CMAKE_CROSSCOMPILING)
    set(${summary} "no flags, because this build is for another machine" PARENT_SCOPE)
    return()
  endif()

  set(cpuinfo "")
  if(EXISTS /proc/cpuinfo)
    file(READ /proc/cpuinfo cpuinfo LIMIT 8192)  # the first core's entry is enough
  endif()
  set(machine "${CMAKE_SYSTEM_PROCESSOR}")
  if(cpuinfo MATCHES "model name[ \t]*:[ \t]*([^\n]+)")
    set(machine "${CMAKE_MATCH_1}")
  endif()
  set(compiler "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")

  gated_native_candidates(candidates "${CMAKE_CXX_COMPILER_ID}" "${CMAKE_CXX_COMPILER_VERSION}" "${CMAKE_SYSTEM_PROCESSOR}"
                          "${cpuinfo}")
  include(CheckCXXCompilerFlag)
  set(accepted "")
  foreach(flag IN LISTS candidates)
    string(MAKE_C_IDENTIFIER "GATED_ACCEPTS${flag}" known)
    set(CMAKE_REQUIRED_QUIET ON)
    check_cxx_compiler_flag(${flag} ${known})
    if(${known})
      list(APPEND accepted ${flag})
    endif()
  endforeach()

  set(${flags} "${accepted}" PARENT_SCOPE)
  if(accepted)
    list(JOIN accepted " " chosen)
    set(${summary} "${chosen} (${compiler} on ${machine})" PARENT_SCOPE)
  else()
    set(${summary} "no flags are known for ${compiler} on ${machine}" PARENT_SCOPE)
  endif()
endfunction()
