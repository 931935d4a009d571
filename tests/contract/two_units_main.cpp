// Two translation units of one program include every header. Linking fails if a function is not inline; the program fails if
// a variable exists once per unit.

#include <cstdio>

#include "every_header.hpp"

gated::ErrorHandler* error_handler_of_the_other_unit();

int main() {
  if (&gated::detail::error_handler() != error_handler_of_the_other_unit()) {
    std::puts("each translation unit has its own error handler");
    return 1;
  }
  return 0;
}
