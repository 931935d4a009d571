#pragma once

#include "gated/core/compiler.hpp"

#include <Eigen/Core>

#include "gated/core/error.hpp"

/// @file
/// Enforces one alignment per program: code with a different EIGEN_MAX_ALIGN_BYTES would free Eigen's matrices wrongly.
///
/// Each translation unit defines one symbol, in a section named after the unit's alignment: linkers merge sections of one name,
/// and refuse a symbol defined in two. Shared libraries that export the symbol all bind to the one loaded first, and to its
/// gated and Eigen functions. A library with a different alignment therefore ends the program at load time, with an error.

#if defined(__ELF__) && (EIGEN_COMP_GNUC || EIGEN_COMP_CLANG)
#define GATED_TEXT_OF(x) #x
#define GATED_TEXT(x) GATED_TEXT_OF(x)

namespace gated::detail {

template <int bytes>
struct Alignment {
  static const int tag;
};
template <int bytes>
[[gnu::used]] const int Alignment<bytes>::tag = bytes;
template struct Alignment<EIGEN_MAX_ALIGN_BYTES>;

}  // namespace gated::detail

extern "C" [[gnu::used]] const int gated_needs_one_EIGEN_MAX_ALIGN_BYTES_in_all_units__march_sets_it
#if defined(GATED_BUILDS_COMPILED)
    __attribute__((visibility("default")))  // whether a library exports it depends on its units that link gated::compiled
#endif
    __attribute__((alias("_ZN5gated6detail9AlignmentILi" GATED_TEXT(EIGEN_MAX_ALIGN_BYTES) "EE3tagE")));

#if defined(__PIC__) && !defined(__PIE__)  // may be part of a shared library
namespace gated::detail {

inline bool expect_alignment(int of_library, int of_program) noexcept {
  require<ArgumentError>(
      of_library == of_program, "A shared library with EIGEN_MAX_ALIGN_BYTES = ", of_library,
      " calls gated and Eigen functions compiled with ", of_program,
      ". Compile shared libraries with -fvisibility=hidden, or everything with the same flags (-march sets the alignment).");
  return true;
}

[[maybe_unused]] static const bool has_one_alignment =
    expect_alignment(EIGEN_MAX_ALIGN_BYTES,
                     *static_cast<const volatile int*>(&gated_needs_one_EIGEN_MAX_ALIGN_BYTES_in_all_units__march_sets_it));

}  // namespace gated::detail
#endif
#endif
