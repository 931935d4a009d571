# 32-bit x86 with SSE2, run on a 64-bit machine (Debian, Ubuntu: g++-i686-linux-gnu).

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR i686)
set(CMAKE_CXX_COMPILER i686-linux-gnu-g++)
set(CMAKE_C_COMPILER i686-linux-gnu-gcc)
# SSE, because x87 computes with excess precision that depends on the optimizer.
set(CMAKE_CXX_FLAGS_INIT "-msse2 -mfpmath=sse")
# Not an emulator, but the dynamic loader of the cross compiler's libraries.
set(CMAKE_CROSSCOMPILING_EMULATOR /usr/i686-linux-gnu/lib/ld-linux.so.2 --library-path /usr/i686-linux-gnu/lib)
