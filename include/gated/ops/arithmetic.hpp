#pragma once

#include <atomic>
#include <cfloat>
#include <cstdlib>
#include <string_view>

#include "gated/core/error.hpp"
#include "gated/core/words.hpp"

/// @file
/// Fastest or portable arithmetic.

// Programs that define GATED_PORTABLE in all of their translation units, or link gated::compiled, compile kernels for both.
#if defined(GATED_PORTABLE)
#define GATED_HAS_PORTABLE_KERNELS 1
#else
#define GATED_HAS_PORTABLE_KERNELS 0
#endif

namespace gated {

/// How floating-point numbers are added and multiplied.
enum class Arithmetic {
  fastest,  ///< as suits the instruction set: equal bits for any number of threads, but not between KernelForms
  portable  ///< the same on every machine: equal bits between KernelForms, processors and compilers too
};

constexpr auto names_of(Arithmetic) { return words_for<Arithmetic>("fastest", "portable"); }

namespace detail {

/// Added to the form of a run in portable arithmetic: see core/kernel_choice.hpp.
inline constexpr int portable_bit = 16;
/// The environment variable names no arithmetic that this program has.
inline constexpr int no_arithmetic = -1;

/// Whether a translation unit of this program was compiled without kernels for portable arithmetic.
inline constinit bool some_unit_lacks_portable_kernels = false;
#if !GATED_HAS_PORTABLE_KERNELS
inline const bool this_unit_lacks_portable_kernels = some_unit_lacks_portable_kernels = true;
#endif

/// 0, portable_bit, or no_arithmetic for an unknown one.
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

/// The portable_bit of a new run.
/// Errors: ArgumentError if GATED_ARITHMETIC is not known, or not in this program.
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

/// Uses `arithmetic` in all new runs, on all threads. Without it, the environment variable GATED_ARITHMETIC (fastest, portable)
/// decides, and by default arithmetic is the fastest.
///
/// Portable arithmetic gives the same bits on every machine and with every compiler, for all weight formats and for
/// int8_products(). Products are rounded before they are added. Sums over a row have 16 lanes of floats, or 8 of doubles, in
/// every instruction set. All functions are made of +, -, ×, ÷ and √. bf16_products() multiply in float.
///
/// The promise is for finite values: NaNs spread as in fastest arithmetic. Subnormal numbers keep their bits unless the program
/// flushes them to 0 (FTZ, DAZ). Where a Toeplitz weight is applied by FFT, its gradient is an exception; so are sums over the
/// ranks of MPI, whose order is the MPI library's.
///
/// Errors: ArgumentError for portable arithmetic in a program of which a part was compiled without GATED_PORTABLE.
/// Cost: include/gated/README.md has measurements.
inline void use_arithmetic(Arithmetic arithmetic) {
#if GATED_HAS_PORTABLE_KERNELS
  static_assert(FLT_EVAL_METHOD == 0 || FLT_EVAL_METHOD == 16,  // 16: so do machines with half-precision numbers

                "Portable arithmetic needs floats that are computed as floats: compile with -mfpmath=sse.");
#endif
  if (arithmetic == Arithmetic::portable) {
    detail::expect_portable_kernels("use_arithmetic");
  }
  detail::chosen_arithmetic.store(arithmetic == Arithmetic::portable ? detail::portable_bit : 0, std::memory_order_relaxed);
}

}  // namespace gated
