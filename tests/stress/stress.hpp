#pragma once

#include <cstdlib>
#include <string>

/// How long the stress tests run: seconds in an ordinary ctest, longer if the environment says so. See README.md.

namespace gated::test {

/// The whole number in the environment variable `name`, or `otherwise`.
inline long from_environment(const char* name, long otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : std::stol(value);
}

}  // namespace gated::test
