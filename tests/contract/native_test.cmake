# cmake -P native_test.cmake tests the choice of compiler flags for several machines.

include(${CMAKE_CURRENT_LIST_DIR}/../../cmake/native.cmake)

function(expect flags compiler version processor cpuinfo)
  gated_native_candidates(got ${compiler} ${version} ${processor} "${cpuinfo}")
  if(NOT "${got}" STREQUAL "${flags}")
    message(SEND_ERROR "${compiler} ${version} on ${processor}, ${cpuinfo}: expected '${flags}', got '${got}'")
  endif()
endfunction()

set(zen5 "vendor_id : AuthenticAMD\nflags : sse2 avx2 avx512f\n")
set(zen3 "vendor_id : AuthenticAMD\nflags : sse2 avx2\n")
set(xeon "vendor_id : GenuineIntel\nflags : sse2 avx2 avx512f\n")

expect("-march=native;-mtune=icelake-server" GNU 12.2.0 x86_64 "${zen5}")
expect("-march=native" GNU 13.1.0 x86_64 "${zen5}")
expect("-march=native" Clang 14.0.6 x86_64 "${zen5}")
expect("-march=native" GNU 12.2.0 x86_64 "${zen3}")
expect("-march=native" GNU 12.2.0 x86_64 "${xeon}")
expect("-march=native" AppleClang 15.0 x86_64 "")
expect("-mcpu=native" GNU 12.2.0 aarch64 "")
expect("-mcpu=native" AppleClang 15.0 arm64 "")
expect("" MSVC 19.38 AMD64 "")
