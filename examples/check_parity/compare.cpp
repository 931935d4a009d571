#include "compare.hpp"

#include <algorithm>

namespace parity {

namespace {

/// The largest difference, and the scale by which relative() divides it.
struct Difference {
  double absolute = 0, scale = 0;

  double relative() const { return scale > 0 ? absolute / scale : absolute; }
};

template <class T>
Difference compare(const gated::Matrix<T>& ours, const gated::Matrix<double>& theirs, const std::string& tensor) {
  gated::require<gated::ShapeError>(ours.size() == theirs.size(), tensor, ": computed ", ours.rows(), " × ", ours.cols(),
                                    " values, the file has ", theirs.size(), ".");
  Difference difference;
  for (gated::Index i = 0; i < ours.size(); ++i) {
    const double error = std::abs(static_cast<double>(ours.data()[i]) - theirs.data()[i]);
    // std::max() would drop a NaN, so the case would pass.
    difference.absolute = error <= difference.absolute ? difference.absolute : error;
    difference.scale = std::max(difference.scale, std::abs(theirs.data()[i]));
  }
  return difference;
}

template <class T>
Difference compare(const gated::Matrix<T>& ours, const CaseFile& file, const std::string& tensor) {
  return compare(ours, file.matrix<double>(tensor, 0), tensor);
}

/// The larger of a and b; NaN if either is NaN.
double worse(double a, double b) { return b <= a ? a : (a <= b ? b : a + b); }

/// Compares the gradients and sets verdict.gradient_error. Returns whether all are within the tolerance.
bool check_gradients(const std::vector<GradientPair<double>>& gradients, const CaseFile& file, Verdict& verdict) {
  bool ok = true;
  for (const auto& gradient : gradients) {
    auto difference = compare(gradient.ours, gradient.theirs, "the gradient of " + gradient.name);
    if (!gradient.has_effect) {
      difference.scale = file.largest_gradient();  // the gradient is only rounding error
    }
    ok = ok && difference.absolute <= 1e-9 * difference.scale;
    verdict.gradient_error = worse(verdict.gradient_error.value_or(0), difference.relative());
  }
  return ok;
}

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
  std::size_t judged = 0;
  const auto judge = [&](const std::string& tensor, const auto& floats, const auto& doubles) {
    const bool exact = file.has(tensor + "_f64");  // false if the file has this tensor only in float32
    const auto f = compare(floats, file, tensor);
    const auto d = compare(doubles, file, exact ? tensor + "_f64" : tensor);
    if (d.scale == 0) {  // for example, the output of a zero-initialized head
      verdict.message = tensor + " is zero everywhere, which proves nothing";
    }
    ok = ok && f.absolute <= std::max(20 * file.recorded_float_error(), 1e-5 * f.scale) &&
         d.absolute <= (exact ? 1e-10 : 1e-6) * d.scale;
    verdict.float_error = worse(verdict.float_error, f.relative());
    verdict.double_error = exact ? worse(verdict.double_error, d.relative()) : verdict.double_error;
    ++judged;
  };
  if (file.has("output")) {
    judge("output", in_float.output, in_double.output);
  }
  if (file.has("block0_output") && file.has("block0_output_f64")) {
    judge("block0_output", in_float.block0_output, in_double.block0_output);
  }
  for (std::size_t i = 0; i < in_float.others.size(); ++i) {
    judge(in_float.others[i].first, in_float.others[i].second, in_double.others[i].second);
  }
  ok = check_gradients(in_double.gradients, file, verdict) && ok && judged > 0 &&
       (!file.has("cotangent") || !in_double.gradients.empty());
  verdict.status = ok ? Status::ok : Status::failed;
  return verdict;
}

}  // namespace parity
