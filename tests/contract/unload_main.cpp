#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <thread>

// unload_main MODULE repeatedly loads the module, runs a loop on its threads, and unloads it. A thread that outlives its
// library would run in unmapped memory.

int main(int, char** arguments) {
  for (int round = 0; round < 10; ++round) {
    void* const module = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    if (module == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    const auto count_to = reinterpret_cast<int (*)(int)>(dlsym(module, "count_to"));
    if (count_to == nullptr || count_to(1000) != 1000 || dlclose(module) != 0) {
      std::fprintf(stderr, "round %d failed\n", round);
      return 1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::puts("all is well");
}
