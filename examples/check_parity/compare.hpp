#pragma once

#include <optional>
#include <string>

#include "families.hpp"

namespace parity {

enum class Status { ok, failed, unsupported };

/// The outcome of a case.
struct Verdict {
  Status status = Status::failed;
  double float_error = 0;                ///< largest difference to the original's float32, relative to its largest output
  double double_error = 0;               ///< the same in float64
  std::optional<double> gradient_error;  ///< of the worst gradient, in float64; none if the file has no gradients
  std::string message;                   ///< why it is unsupported, or a warning
};

/// Runs a case in both precisions and compares every result in the file.
///
/// Tolerances: in double 1e-10 of the largest output; in float 1e-5 of it, or 20 times the original's recorded float32 error,
/// whichever is larger. Gradients, in double: 1e-9 of the largest value of each, or of all gradients for parameters without
/// effect. NaN always fails. The message warns about an output that is all zero.
Verdict check(const CaseFile& file);

}  // namespace parity
