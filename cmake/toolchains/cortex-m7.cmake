# A Cortex-M7 without an operating system: newlib, on QEMU's board MPS2 AN500. Packages (Debian, Ubuntu): gcc-arm-none-eabi,
# libstdc++-arm-none-eabi-newlib, qemu-system-arm.

set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR cortex-m7)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)  # CMake cannot link its test program without a linker script
set(CMAKE_CXX_COMPILER arm-none-eabi-g++)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_ASM_COMPILER arm-none-eabi-gcc)
set(processor "-mcpu=cortex-m7 -mthumb -mfpu=fpv5-d16 -mfloat-abi=hard")
set(CMAKE_ASM_FLAGS_INIT "${processor}")
# -Wno-psabi: GCC 7's change of calling convention is harmless if one compiler builds everything.
set(CMAKE_CXX_FLAGS_INIT "${processor} -fno-exceptions -fno-rtti -ffunction-sections -fdata-sections -Wno-psabi")
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-system-arm -M mps2-an500 -display none -monitor none -serial none -semihosting -kernel)
include(${CMAKE_CURRENT_LIST_DIR}/host_headers.cmake)
