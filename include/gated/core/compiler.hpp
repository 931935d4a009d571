#pragma once

/// @file
/// Compiler requirements. Included first by every header.

#if defined(_MSVC_LANG) ? _MSVC_LANG < 202002L : __cplusplus < 202002L
#error "gated needs C++20: compile with -std=c++20 (CMake: target_compile_features(app PRIVATE cxx_std_20))"
#include <this_line_ends_the_compilation>  // prevents follow-up errors
#endif

// -ffast-math breaks compensated sums and NaN checks.
#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "gated must be compiled without -ffast-math and -Ofast. For files that include it, add -fno-fast-math after these flags."
#endif

#if defined(__GNUC__) && !defined(__OPTIMIZE__) && !defined(GATED_ALLOW_UNOPTIMIZED)
#pragma message("gated is compiled without optimization and is many times slower. Add -O2, or define GATED_ALLOW_UNOPTIMIZED.")
#endif

#include <version>

// Thread support, which is missing on bare metal and, by default, on WebAssembly.
#if (defined(__GLIBCXX__) && !defined(_GLIBCXX_HAS_GTHREADS)) || defined(_LIBCPP_HAS_NO_THREADS) || \
    (defined(__EMSCRIPTEN__) && !defined(__EMSCRIPTEN_PTHREADS__))
#define GATED_HAS_THREADS 0
#else
#define GATED_HAS_THREADS 1
#endif

/// Marks a real-time function: from its first call on, it takes no lock, makes no system call, allocates nothing and, with
/// valid arguments, throws nothing. clang 20's RealtimeSanitizer checks it (-fsanitize=realtime).
#if defined(__has_cpp_attribute)
#if __has_cpp_attribute(clang::nonblocking)
#define GATED_NONBLOCKING [[clang::nonblocking]]
#endif
#endif
#if !defined(GATED_NONBLOCKING)
#define GATED_NONBLOCKING
#endif

/// Linkage of the functions in .inl files: inline, unless the program links gated::compiled, which holds the only definition
/// (cmake/compiled).
#if defined(GATED_COMPILED)
#define GATED_INLINE
#else
#define GATED_INLINE inline
#endif
