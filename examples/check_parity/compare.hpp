#pragma once

#include <optional>
#include <string>

#include "families.hpp"

namespace parity {

enum class Status { ok, failed, unsupported };

/// The outcome of a case.
struct Verdict {
  Status status = Status::failed;
  double float_error = 0;                ///< largest error against the original's float32 output, relative to its largest value
  double double_error = 0;               ///< like float_error, but in double and against the float64 output
  std::optional<double> gradient_error;  ///< largest relative error of a gradient, in double; empty without gradients
  std::string message;                   ///< why the case is unsupported, or a warning
};

/// Runs a case in both precisions and compares every result in the file.
///
/// The tolerance of an output is relative to its largest value: 1e-10 in double; in float 1e-5, or 20 times the original's
/// recorded float32 error if that is larger. Gradients are compared in double: the tolerance is 1e-9 of a gradient's largest
/// value, or of the largest value of all gradients if the parameter has no effect. NaN always fails. The message warns about
/// an output that is all zero.
Verdict check(const CaseFile& file);

}  // namespace parity
