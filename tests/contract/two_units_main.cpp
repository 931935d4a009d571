// Two files of one program include every header. A function that is not inline makes the link fail, a variable that each
// file has for itself makes the run fail.

#include <cstdio>

#include "every_header.hpp"

gated::ErrorHandler* error_handler_of_the_other_unit();

int main() {
  if (&gated::detail::error_handler() != error_handler_of_the_other_unit()) {
    std::puts("each translation unit has an error handler of its own");
    return 1;
  }
  return 0;
}
