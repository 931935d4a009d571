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
  double double_error = 0;               ///< the same in double, against the original's float64 output
  std::optional<double> gradient_error;  ///< largest relative error of a gradient, in double; empty without gradients
  std::string message;                   ///< why the case is unsupported, or a warning
};

/// Runs a case in both precisions and compares every result in the file.
///
/// Tolerances of outputs: in double, 1e-10 of the largest output; in float, 1e-5 of it or 20 times the original's recorded
/// float32 error, whichever is larger. Tolerance of a gradient, in double: 1e-9 of its largest value; if the parameter has
/// no effect, 1e-9 of the largest value of all gradients. NaN always fails. The message warns about an output that is all zero.
Verdict check(const CaseFile& file);

}  // namespace parity
