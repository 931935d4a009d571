#pragma once

#include "gated/core/compiler.hpp"

/// @file
/// Fixes the form (instruction set) of the kernels for a whole run, on all its threads. use_kernels() affects only later runs.
///
/// A form is an int here; ops/kernel_form.hpp has the names.

namespace gated::detail {

/// The value of kernels_of_run() outside a run.
inline constexpr int no_kernels = -1;

/// Returns the form for a new run, or raises an error. Set by ops/kernel_form.hpp; nullptr in a program without kernels.
using ChooseKernels = int (*)();
inline constinit ChooseKernels kernels_for_new_run = nullptr;

/// The form of this thread's run.
inline int& kernels_of_run() {
#if GATED_HAS_THREADS
  static constinit thread_local int form = no_kernels;
#else
  static constinit int form = no_kernels;
#endif
  return form;
}

/// While a KernelChoice exists, this thread is in a run. A nested one keeps the outer one's form unless it is given a form.
class KernelChoice {
 public:
  /// Starts a run, unless this thread is already in one.
  KernelChoice() : before_(kernels_of_run()) {
    if (before_ == no_kernels && kernels_for_new_run != nullptr) {
      kernels_of_run() = kernels_for_new_run();
    }
  }
  /// Joins another thread's run, whose kernels have the form `form`.
  explicit KernelChoice(int form) : before_(kernels_of_run()) { kernels_of_run() = form; }
  ~KernelChoice() { kernels_of_run() = before_; }
  KernelChoice(const KernelChoice&) = delete;
  KernelChoice& operator=(const KernelChoice&) = delete;

 private:
  int before_;
};

}  // namespace gated::detail
