// Start-up code that runs before main(), for the Cortex-M7 of the MPS2 AN500 board.

#include <cstdint>
#include <cstdlib>

extern "C" {

extern std::uint32_t stack_top[], data_in_flash[], data_begin[], data_end[], bss_begin[], bss_end[];
void __libc_init_array();
void initialise_monitor_handles();  // semihosting: uses the files and the console of the debugger, here QEMU
int program() __asm__("main");      // C++ forbids calling main()
void* __dso_handle = nullptr;       // required by the C++ runtime; may be null because nothing is ever unloaded
void _init() {}
void _fini() {}

[[noreturn]] void reset() {
  auto* const coprocessors = reinterpret_cast<volatile std::uint32_t*>(0xE000ED88);
  *coprocessors = *coprocessors | (0xFU << 20);  // enables the FPU
  __asm__ __volatile__("dsb\n isb");
  const std::uint32_t* from = data_in_flash;
  for (std::uint32_t* to = data_begin; to != data_end; ++to, ++from) {
    *to = *from;
  }
  for (std::uint32_t* to = bss_begin; to != bss_end; ++to) {
    *to = 0;
  }
  initialise_monitor_handles();
  __libc_init_array();
  std::exit(program());
}

[[noreturn]] void fault() { std::abort(); }

/// The vector table: initial stack pointer, reset handler, fault handlers.
[[gnu::section(".vectors"), gnu::used]] const void* const vectors[] = {
    stack_top,
    reinterpret_cast<const void*>(&reset),
    reinterpret_cast<const void*>(&fault),
    reinterpret_cast<const void*>(&fault),
    reinterpret_cast<const void*>(&fault),
    reinterpret_cast<const void*>(&fault),
    reinterpret_cast<const void*>(&fault),
};

}  // extern "C"
