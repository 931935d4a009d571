# 32-bit x86 with SSE2, linked statically so that a 64-bit machine runs it as it is (Debian, Ubuntu: g++-i686-linux-gnu).

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR i686)
set(CMAKE_CXX_COMPILER i686-linux-gnu-g++)
set(CMAKE_C_COMPILER i686-linux-gnu-gcc)
# The older arithmetic keeps more digits than a float has, and how many depends on the optimiser.
set(CMAKE_CXX_FLAGS_INIT "-msse2 -mfpmath=sse")
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
