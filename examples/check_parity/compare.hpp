#pragma once

#include <optional>
#include <string>

#include "families.hpp"

namespace parity {

enum class Status { ok, failed, unsupported };

/// How a case went.
struct Verdict {
  Status status = Status::failed;
  double float_error = 0;                ///< largest difference to the original's float32, relative to its largest output
  double double_error = 0;               ///< the same in float64
  std::optional<double> gradient_error;  ///< of the worst gradient, in float64; without gradients in the file, none
  std::string message;                   ///< why it is unsupported; otherwise what the numbers do not say
};

/// Runs a case in both precisions and compares every outcome that the file holds.
///
/// Tolerances: in double 1e-10 of the largest output; in float 1e-5 of it, or 20 times the error that the original's own
/// float32 is recorded to have, whichever is larger. Of gradients, in double, 1e-9 of the largest number of each, or of all for
/// parameters that have no effect. NaN is never
/// within a tolerance. Of an output that is zero everywhere the message says that it proves nothing.
Verdict check(const CaseFile& file);

}  // namespace parity
