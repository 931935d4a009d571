#pragma once

#include <cstdlib>
#include <string>

/// Stress tests take seconds in ctest. Environment variables make them longer; see README.md.

namespace gated::test {

/// The integer in the environment variable `name`, or `otherwise` if it is unset or empty.
inline long from_environment(const char* name, long otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : std::stol(value);
}

}  // namespace gated::test
