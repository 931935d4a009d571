#pragma once

#include "gated/core/compiler.hpp"

#include <Eigen/Core>

#include "gated/core/error.hpp"

/// @file
/// Enforces one EIGEN_MAX_ALIGN_BYTES per program: with two values, a matrix could be freed by the wrong deallocator.
///
/// Each translation unit defines the same symbol, in a section named after the unit's alignment. Linkers merge sections of the
/// same name; if the names differ, the symbol is defined twice, which is a link error. Shared libraries that export the symbol
/// use the gated and Eigen functions of the one loaded first; one with a different alignment aborts the program with an error.

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
    __attribute__((visibility("default")))  // exported unless a unit that links gated::compiled hides it
#endif
    __attribute__((alias("_ZN5gated6detail9AlignmentILi" GATED_TEXT(EIGEN_MAX_ALIGN_BYTES) "EE3tagE")));

#if defined(__PIC__) && !defined(__PIE__)  // this unit may be part of a shared library
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
