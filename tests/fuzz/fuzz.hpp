#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>
#include <utility>

#include "gated/core/error.hpp"

/// Shared code of the fuzz targets.
///
/// A target reads untrusted bytes and may refuse them only with a gated::Error. Another exception, a crash, a sanitizer finding
/// or a broken promise ends the program, and libFuzzer keeps the input.

/// Called by libFuzzer or replay.cpp for each input.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace gated::fuzz {

/// True if `f()` completes without a gated::Error.
template <class F>
bool accepted(F&& f) {
  try {
    std::forward<F>(f)();
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Aborts if a promise is broken.
inline void promise(bool kept, const char* what) {
  if (!kept) {
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
  }
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace gated::fuzz
