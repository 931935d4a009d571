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
  const auto in_float = family->in_float(file);
  const auto in_double = family->in_double(file);
  bool ok = true;
  const auto judge = [&](const std::string& tensor, const auto& floats, const auto& doubles) {
    const auto f = compare(floats, file, tensor);
    const auto d = compare(doubles, file, tensor + "_f64");
    ok = ok && f.absolute <= std::max(20 * file.recorded_float_error(), 1e-5 * f.scale) && d.absolute <= 1e-10 * d.scale;
    verdict.float_error = worse(verdict.float_error, f.relative());
    verdict.double_error = worse(verdict.double_error, d.relative());
  };
  judge("output", in_float.output, in_double.output);
  if (file.has("block0_output") && file.has("block0_output_f64")) {
    judge("block0_output", in_float.block0_output, in_double.block0_output);
  }
  verdict.status = ok ? Status::ok : Status::failed;
  return verdict;
}

}  // namespace parity
