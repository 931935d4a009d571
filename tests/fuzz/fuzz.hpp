#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>
#include <utility>

#include "gated/core/error.hpp"

/// What the fuzz targets share.
///
/// A target reads untrusted bytes. It may refuse them with a gated::Error and in no other way: another exception,
/// a crash, a finding of a sanitizer, or a broken promise ends the program, and libFuzzer keeps the input.

/// What libFuzzer, or replay.cpp, calls with each input.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace gated::fuzz {

/// Whether `f()` is done without a gated::Error.
template <class F>
bool accepted(F&& f) {
  try {
    std::forward<F>(f)();
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Ends the program unless a promise was kept.
inline void promise(bool kept, const char* what) {
  if (!kept) {
    std::fprintf(stderr, "a promise was broken: %s\n", what);
    std::abort();
  }
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace gated::fuzz
