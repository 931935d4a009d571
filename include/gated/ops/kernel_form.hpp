#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "gated/core/error.hpp"
#include "gated/core/kernel_choice.hpp"
#include "gated/core/words.hpp"
#include "gated/ops/arithmetic.hpp"

/// @file
/// Instruction sets with kernels, and the choice between them at run time.
///
/// A *form* is an instruction set. Kernels are compiled once per form, whatever the compiler's flags, and a program runs the
/// best form that the machine supports. If GATED_ONLY_BASELINE is defined in all translation units, only the form that the
/// compiler's flags enable is compiled.

// The form that the compiler's flags enable.
#if defined(EIGEN_DONT_VECTORIZE)
#define GATED_BASELINE scalar
#elif defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__) && defined(__FMA__)
#define GATED_BASELINE avx512
#elif defined(__AVX2__) && defined(__FMA__)
#define GATED_BASELINE avx2
#elif defined(__SSE2__)
#define GATED_BASELINE sse2
#elif defined(__aarch64__) && defined(__ARM_NEON)
#define GATED_BASELINE neon
#elif defined(__wasm_simd128__)
#define GATED_BASELINE simd128
#else
#define GATED_BASELINE scalar
#endif

// GCC for Windows does not align the stack for vectors of more than 128 bits (GCC bug 54412).
#if defined(__SSE2__) && !defined(EIGEN_DONT_VECTORIZE) && !defined(GATED_ONLY_BASELINE) && \
    (defined(__clang__) || (defined(__GNUC__) && !defined(_WIN32)))
#define GATED_CHOOSES_FORM 1
#else
#define GATED_CHOOSES_FORM 0
#endif

// AVX512-BF16 kernels complement those of AVX-512. They exist if the form is chosen at run time, or if the flags enable them.
#if GATED_CHOOSES_FORM || (defined(__AVX512BF16__) && defined(__AVX512BW__) && !defined(EIGEN_DONT_VECTORIZE))
#define GATED_HAS_BF16_KERNELS 1
#else
#define GATED_HAS_BF16_KERNELS 0
#endif

// The namespace of the baseline's integer kernels.
#if defined(__AVX512VNNI__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__) && \
    !defined(EIGEN_DONT_VECTORIZE)
#define GATED_BASELINE_HAS_VNNI 1
#define GATED_INT8_BASELINE avx512_vnni
#elif defined(__AVXVNNI__) && defined(__AVX2__) && !defined(__AVX512F__) && !defined(EIGEN_DONT_VECTORIZE)
#define GATED_BASELINE_HAS_VNNI 1
#define GATED_INT8_BASELINE avx2_vnni
#else
#define GATED_BASELINE_HAS_VNNI 0
#define GATED_INT8_BASELINE GATED_BASELINE
#endif

// AMX kernels complement those of AVX512-VNNI.
#if defined(__x86_64__) && defined(__linux__) && (GATED_CHOOSES_FORM || (GATED_BASELINE_HAS_VNNI && defined(__AVX512F__)))
#define GATED_HAS_AMX_KERNELS 1
#else
#define GATED_HAS_AMX_KERNELS 0
#endif

#if GATED_CHOOSES_FORM || GATED_HAS_AMX_KERNELS
#include <cpuid.h>
#endif
#if GATED_HAS_AMX_KERNELS
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace gated {

/// The instruction sets with kernels, lowest first.
enum class KernelForm {
  scalar,   ///< no vectors
  simd128,  ///< WebAssembly
  neon,     ///< AArch64
  sse2,     ///< any x86-64
  avx2,     ///< with FMA: x86-64-v3
  avx512    ///< F, BW, DQ and VL: x86-64-v4
};

constexpr auto names_of(KernelForm) { return words_for<KernelForm>("scalar", "simd128", "neon", "sse2", "avx2", "avx512"); }

namespace detail {

/// The forms that this program has.
#if GATED_CHOOSES_FORM
inline constexpr std::array compiled_forms{KernelForm::sse2, KernelForm::avx2, KernelForm::avx512};
#else
inline constexpr std::array compiled_forms{KernelForm::GATED_BASELINE};
#endif

inline std::string_view word_of(KernelForm form) { return names_of(form)[static_cast<std::size_t>(form)].second; }

inline KernelForm best_form() {
#if GATED_CHOOSES_FORM
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma")) {
    return KernelForm::avx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return KernelForm::avx2;
  }
#endif
  return KernelForm::GATED_BASELINE;
}

/// The initial form of new runs: the one called `name` if the machine supports it, otherwise the machine's best. A program with
/// one form takes any name of a form. Returns no_kernels if `name` is unknown.
inline int form_named(const char* name) {
  const KernelForm best = best_form();
  if (name == nullptr || *name == '\0') {
    return static_cast<int>(best);
  }
  for (const auto& [form, word] : names_of(best)) {
    const bool is_compiled = std::find(compiled_forms.begin(), compiled_forms.end(), form) != compiled_forms.end();
    if (word == name && (is_compiled || compiled_forms.size() == 1)) {
      return static_cast<int>(std::clamp(form, compiled_forms.front(), best));
    }
  }
  return no_kernels;
}

inline std::atomic<int> chosen_form{form_named(std::getenv("GATED_KERNELS"))};

/// The form of a new run, plus its portable_bit.
/// Errors: ArgumentError if GATED_KERNELS is not a known form, or GATED_ARITHMETIC is not a known arithmetic.
inline int chosen_kernels() {
  const int form = chosen_form.load(std::memory_order_relaxed);
  if (form == no_kernels) [[unlikely]] {
    const char* const name = std::getenv("GATED_KERNELS");
    std::string words;
    for (const auto& [known, word] : names_of(KernelForm{})) {
      if (form_named(word.data()) != no_kernels) {
        words += text(words.empty() ? "" : ", ", word);
      }
    }
    raise<ArgumentError>("The environment variable GATED_KERNELS is \"", name == nullptr ? "" : name, "\", expected one of ",
                         words, ". Without it, the best form of this machine runs.");
  }
  return form + arithmetic_of_new_run();
}

inline const bool runs_choose_kernels = (kernels_for_new_run = &chosen_kernels) != nullptr;

#if GATED_CHOOSES_FORM
/// Reads the bit of AVX-VNNI: bit 4 of EAX in CPUID leaf 7.1. __builtin_cpu_supports() of clang 14 does not know it.
inline bool has_avx_vnni() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> 4 & 1) != 0;
}

inline const bool machine_has_avx512_vnni = __builtin_cpu_supports("avx512vnni") != 0;
inline const bool machine_has_avx_vnni = has_avx_vnni();
inline const bool machine_multiplies_bf16 = __builtin_cpu_supports("avx512bf16") != 0;
#else
inline constexpr bool machine_multiplies_bf16 = GATED_HAS_BF16_KERNELS;
#endif

#if GATED_HAS_AMX_KERNELS
/// The products that AMX computes for this process.
struct Amx {
  bool int8 = false, bf16 = false;
};

/// The products of AMX that the processor has and the system permits. The first call asks the system for permission, which then
/// holds for the life of the process and makes signal handlers' frames 8 KiB larger. The system refuses permission while any
/// thread's sigaltstack() is too small for such a frame.
inline Amx granted_amx() {
  static const Amx granted = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    const bool has_tiles = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d >> 24 & 1) != 0;
    if (!has_tiles) {
      return Amx();
    }
    const Amx has{.int8 = (d >> 25 & 1) != 0 && (c >> 11 & 1) != 0, .bf16 = (d >> 22 & 1) != 0};
    unsigned low = 0, high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    constexpr unsigned tiles = 3u << 17;  // XTILECFG and XTILEDATA, which a hypervisor can hide
    constexpr long request_permission = 0x1023, tile_data = 18;
    return (low & tiles) == tiles && syscall(SYS_arch_prctl, request_permission, tile_data) == 0 ? has : Amx();
  }();
  return granted;
}
#endif

/// The form and portable_bit of this thread's run; outside a run, those of a new run.
inline int running_kernels() {
  const int kernels = kernels_of_run();
  return kernels == no_kernels ? chosen_kernels() : kernels;
}

}  // namespace detail

/// The form of the running kernels: the best of this machine, unless the environment variable GATED_KERNELS (sse2, avx2) or
/// use_kernels() selects a lower one. A run keeps the form it started with. Within a form, results are bit-equal for any number
/// of threads; between forms they differ in the last digits, unless use_arithmetic() makes them portable.
///
/// Errors: ArgumentError if GATED_KERNELS is not a known form; every run raises it until use_kernels() is called.
inline KernelForm kernels() { return static_cast<KernelForm>(detail::running_kernels() % detail::portable_bit); }

/// The arithmetic of the running kernels: see use_arithmetic().
inline Arithmetic arithmetic() {
  return GATED_HAS_PORTABLE_KERNELS && detail::running_kernels() >= detail::portable_bit ? Arithmetic::portable
                                                                                         : Arithmetic::fastest;
}

/// The forms that this program can run on this machine, lowest first.
inline std::vector<KernelForm> available_kernels() {
  std::vector<KernelForm> forms;
  for (const KernelForm form : detail::compiled_forms) {
    if (form <= detail::best_form()) {
      forms.push_back(form);
    }
  }
  return forms;
}

/// Uses the kernels of `form` in all new runs, on all threads. Float weights that were prepared before the call are then packed
/// anew for each product; quantized weights must be prepared again.
/// Errors: ArgumentError for a form that this machine or this program lacks.
inline void use_kernels(KernelForm form) {
  const auto forms = available_kernels();
  require<ArgumentError>(std::find(forms.begin(), forms.end(), form) != forms.end(), "use_kernels: this program has no ",
                         detail::word_of(form), " kernels on this machine. See available_kernels().");
  detail::chosen_form.store(static_cast<int>(form), std::memory_order_relaxed);
}

}  // namespace gated
