#include <dlfcn.h>

#include <cmath>
#include <cstdio>
#include <string_view>

// shared_main global|local LIBRARY LIBRARY first|last loads two libraries as a linker (global) or Python (local) does. It runs
// both, beginning with the one loaded first or last. Their results must agree.

int main(int, char** arguments) {
  using std::operator""sv;
  const int scope = arguments[1] == "global"sv ? RTLD_GLOBAL : RTLD_LOCAL;
  double (*runs[2])();
  for (int i = 0; i < 2; ++i) {
    void* const library = dlopen(arguments[2 + i], RTLD_NOW | scope);
    if (library == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    runs[i] = reinterpret_cast<double (*)()>(dlsym(library, "run"));
  }
  const int first = arguments[4] == "first"sv ? 0 : 1;
  const double one = runs[first](), other = runs[1 - first]();
  if (!(std::abs(one - other) < 1e-4 * std::abs(one))) {
    std::fprintf(stderr, "%.9g and %.9g\n", one, other);
    return 1;
  }
  std::puts("all is well");
}
