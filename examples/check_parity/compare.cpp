#include "compare.hpp"

#include <algorithm>

namespace parity {

namespace {

/// The largest difference, and what it is measured by.
struct Difference {
  double absolute = 0, scale = 0;

  double relative() const { return scale > 0 ? absolute / scale : absolute; }
};

template <class T>
Difference compare(const gated::Matrix<T>& ours, const CaseFile& file, const std::string& tensor) {
  const auto theirs = file.matrix<double>(tensor, 0);  // one row of all numbers
  gated::require<gated::ShapeError>(ours.size() == theirs.size(), tensor, ": we computed ", ours.rows(), " × ", ours.cols(),
                                    " numbers, the file has ", theirs.size(), ".");
  Difference difference;
  for (gated::Index i = 0; i < ours.size(); ++i) {
    const double error = std::abs(static_cast<double>(ours.data()[i]) - theirs.data()[i]);
    // max() would drop a NaN, and the case would pass.
    difference.absolute = error <= difference.absolute ? difference.absolute : error;
    difference.scale = std::max(difference.scale, std::abs(theirs.data()[i]));
  }
  return difference;
}

/// The larger; NaN if either is.
double worse(double a, double b) { return b <= a ? a : (a <= b ? b : a + b); }

}  // namespace

Verdict check(const CaseFile& file) {
  Verdict verdict;
  const Family* family = find_family(file);
  if (family == nullptr) {
    verdict.status = Status::unsupported;
    verdict.message = gated::text("no family \"", file.family(), "\" with class \"", file.class_name(), "\"");
    return verdict;
  }
  bool ok = true;
  const auto outcomes = family->run(file);
  for (const Outcome& outcome : outcomes) {
    const std::string name(outcome.tensor);
    const auto in_float = compare(outcome.in_float, file, name);
    const auto in_double = compare(outcome.in_double, file, name + "_f64");
    ok = ok && in_float.absolute <= std::max(20 * file.recorded_float_error(), 1e-5 * in_float.scale) &&
         in_double.absolute <= 1e-10 * in_double.scale;
    verdict.float_error = worse(verdict.float_error, in_float.relative());
    verdict.double_error = worse(verdict.double_error, in_double.relative());
  }
  verdict.status = ok && !outcomes.empty() ? Status::ok : Status::failed;
  return verdict;
}

}  // namespace parity
