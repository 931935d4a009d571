#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "families.hpp"
#include "gated/train/tape.hpp"

/// Gradients of a case, compared with those that the original's own way back gave.

namespace parity {

/// If the case has gradients, and T is double: the gradients of Σ output ⊙ cotangent in every parameter of `model`, and in
/// `input` if the case has that, beside the file's. `record(tape, x)` gives the output; `adjust(gradient)` may change the
/// model that holds the gradients before they are compared.
template <class T, class Model, class Record, class Adjust>
void add_gradients(Result<T>& result, const CaseFile& file, const Model& model, const gated::NameMap& names,
                   const gated::Matrix<T>& input, const gated::Matrix<T>& cotangent, const Record& record,
                   const Adjust& adjust) {
  if constexpr (std::is_same_v<T, double>) {
    // A gradient is a model: the file's gradients are loaded as a model's parameters are.
    Model gradient = gated::zeros_like(model), expected = gated::zeros_like(model);
    file.load(expected, names, "grad.");
    gated::Tape<T> tape;
    tape.begin(model, gradient);
    const gated::Variable x = tape.input(input), y = record(tape, x);
    const gated::View<T> output = tape[y];
    const auto shaped = Eigen::Map<const gated::Matrix<T>>(cotangent.data(), output.rows(), output.cols());
    tape.backward(y, shaped);
    adjust(gradient);
    gated::for_each_parameter(
        [&](const gated::ParameterInfo& info, auto ours, auto theirs) {
          const auto matrix = [](auto values) {
            return gated::Matrix<T>(Eigen::Map<const gated::Matrix<T>>(values.data(), 1, static_cast<gated::Index>(values.size())));
          };
          if (info.role != gated::Role::constant) {
            result.gradients.push_back({info.path(), matrix(ours), matrix(theirs)});
          }
        },
        gradient, expected);
    if (file.has("grad.input")) {
      result.gradients.push_back({"input", tape.gradient(x), {}});
    }
  }
}

/// The same for an output in the order of the file's.
template <class T, class Model, class Record>
void add_gradients(Result<T>& result, const CaseFile& file, const Model& model, const gated::NameMap& names,
                   const gated::Matrix<T>& input, const Record& record) {
  if (file.has("cotangent")) {
    add_gradients(result, file, model, names, input, file.matrix<T>("cotangent"), record, [](Model&) {});
    if (!result.gradients.empty() && file.has("grad.input")) {
      result.gradients.back().theirs = file.matrix<T>("grad.input", 0);
    }
  }
}

}  // namespace parity
