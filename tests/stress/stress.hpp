#pragma once

#include <cstdlib>
#include <string>

/// The duration of the stress tests: seconds in ctest, longer by environment variables. See README.md.

namespace gated::test {

/// The integer in the environment variable `name`, or `otherwise`.
inline long from_environment(const char* name, long otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : std::stol(value);
}

}  // namespace gated::test
