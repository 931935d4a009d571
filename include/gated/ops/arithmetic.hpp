#pragma once

#include <atomic>
#include <cfloat>
#include <cstdlib>
#include <string_view>

#include "gated/core/error.hpp"
#include "gated/core/words.hpp"

/// @file
/// The choice between fastest and portable arithmetic.

// A program also has portable kernels if it defines GATED_PORTABLE in all translation units, or links gated::compiled.
#if defined(GATED_PORTABLE)
#define GATED_HAS_PORTABLE_KERNELS 1
#else
#define GATED_HAS_PORTABLE_KERNELS 0
#endif

namespace gated {

/// How floating-point numbers are added and multiplied.
enum class Arithmetic {
  fastest,  ///< as fast as the instruction set allows: bits depend on KernelForm and compiler, not on the number of threads
  portable  ///< the same bits on every machine, for every KernelForm, compiler and number of threads
};

constexpr auto names_of(Arithmetic) { return words_for<Arithmetic>("fastest", "portable"); }

namespace detail {

/// A flag added to the KernelForm number of a run that uses portable arithmetic: see core/kernel_choice.hpp.
inline constexpr int portable_bit = 16;
/// Marks an unknown name in GATED_ARITHMETIC.
inline constexpr int no_arithmetic = -1;

/// True if a translation unit of this program was compiled without kernels for portable arithmetic.
inline constinit bool some_unit_lacks_portable_kernels = false;
#if !GATED_HAS_PORTABLE_KERNELS
inline const bool this_unit_lacks_portable_kernels = some_unit_lacks_portable_kernels = true;
#endif

/// Returns 0 for "fastest" or no name, portable_bit for "portable", and no_arithmetic for any other name.
inline int arithmetic_named(const char* name) {
  if (name == nullptr || *name == '\0' || std::string_view(name) == "fastest") {
    return 0;
  }
  return std::string_view(name) == "portable" ? portable_bit : no_arithmetic;
}

inline std::atomic<int> chosen_arithmetic{arithmetic_named(std::getenv("GATED_ARITHMETIC"))};

/// Raises ArgumentError unless the whole program has kernels for portable arithmetic.
inline void expect_portable_kernels(const char* where) {
  require<ArgumentError>(
      !some_unit_lacks_portable_kernels, where,
      ": this program, or a part of it, has no kernels for portable arithmetic. Define GATED_PORTABLE in all "
      "of its translation units, or link gated::compiled.");
}

/// Returns portable_bit if a new run uses portable arithmetic, otherwise 0.
/// Errors: ArgumentError if GATED_ARITHMETIC is not a known arithmetic, or is "portable" in a program without portable kernels.
inline int arithmetic_of_new_run() {
  const int chosen = chosen_arithmetic.load(std::memory_order_relaxed);
  if (chosen == 0) [[likely]] {
    return 0;
  }
  const char* const name = std::getenv("GATED_ARITHMETIC");
  require<ArgumentError>(chosen == portable_bit, "The environment variable GATED_ARITHMETIC is \"", name == nullptr ? "" : name,
                         "\", expected fastest or portable.");
  expect_portable_kernels("GATED_ARITHMETIC = portable");
  return chosen;
}

}  // namespace detail

/// Uses `arithmetic` in all new runs, on all threads. Without this call, the environment variable GATED_ARITHMETIC (fastest,
/// portable) decides; the default is fastest.
///
/// Portable arithmetic computes the same bits on every machine and with every compiler, for all weight formats and for
/// int8_products(). Products are rounded before they are added. Sums over a row have 16 lanes of floats, or 8 of doubles, in
/// every instruction set. Functions such as exp use only +, -, ×, ÷ and √. bf16_products() has no effect.
///
/// Bit equality holds for finite values; NaNs propagate as in fastest arithmetic. Subnormal numbers keep their bits unless the
/// program flushes them to 0 (FTZ, DAZ). Two results may differ between machines: the gradient of a Toeplitz weight applied by
/// FFT, and sums over MPI ranks, whose order is up to the MPI library.
///
/// Errors: ArgumentError for portable arithmetic if part of the program was compiled without GATED_PORTABLE.
/// Cost: see the measurements in include/gated/README.md.
inline void use_arithmetic(Arithmetic arithmetic) {
#if GATED_HAS_PORTABLE_KERNELS
  static_assert(FLT_EVAL_METHOD == 0 || FLT_EVAL_METHOD == 16,  // 0 or 16: float expressions have float precision

                "Portable arithmetic needs floats that are computed as floats: compile with -mfpmath=sse.");
#endif
  if (arithmetic == Arithmetic::portable) {
    detail::expect_portable_kernels("use_arithmetic");
  }
  detail::chosen_arithmetic.store(arithmetic == Arithmetic::portable ? detail::portable_bit : 0, std::memory_order_relaxed);
}

}  // namespace gated
