#include "gated/ops/arithmetic.hpp"

#include <cstdio>

// Compiled with GATED_PORTABLE and linked with a unit compiled without it: portable arithmetic must be refused.

int main() {
  try {
    gated::use_arithmetic(gated::Arithmetic::portable);
  } catch (const gated::ArgumentError&) {
    return 0;
  }
  std::puts("portable arithmetic was not refused, although a part of the program lacks its kernels");
  return 1;
}
