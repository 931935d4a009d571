#pragma once

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "families.hpp"
#include "gated/train/recording.hpp"

/// Gradients of a case, compared with the original's backward pass.

namespace parity {

/// Records a case's input matrices on a tape under their names: `input("key", matrix)`.
template <class T>
class Inputs {
 public:
  explicit Inputs(gated::Tape<T>& tape) : tape_(tape) {}

  gated::Variable operator()(const char* name, const gated::Matrix<T>& matrix) {
    made_.emplace_back(name, tape_.input(matrix));
    return made_.back().second;
  }
  const std::vector<std::pair<std::string, gated::Variable>>& made() const { return made_; }

 private:
  gated::Tape<T>& tape_;
  std::vector<std::pair<std::string, gated::Variable>> made_;
};

/// Loads the file's gradients of all unfrozen parameters. Each gradient in the file must be used.
template <class Model, class IsFrozen>
void load_unfrozen(Model& gradient, const CaseFile& file, const gated::NameMap& names, const IsFrozen& is_frozen) {
  std::size_t used = 0;
  gated::for_each_parameter(
      [&](const gated::ParameterInfo& info, auto values) {
        if (info.role != gated::Role::constant && !is_frozen(info)) {
          file.file().read("grad." + names.in_file(info.path(), info.shape).name, values);
          ++used;
        }
      },
      gradient);
  std::size_t held = 0;
  for (const auto& [name, entry] : file.file().tensors()) {
    held += name.starts_with("grad.") && !file.has(name.substr(5)) ? std::size_t{1} : 0;
  }
  gated::require<gated::FileError>(used == held, file.name(), ": the file has ", held, " parameter gradients, expected ", used,
                                   ", one per trainable parameter.");
}

/// Pairs our gradients of Σ output ⊙ cotangent with the file's, for each parameter of `model` and for each input that has a
/// gradient in the file. Does nothing if T is float or the case has no gradients.
///
/// `record(tape, input)` records the forward pass and returns its output; it records each input with `input(name, matrix)`.
/// `arrange(matrix)` converts the file's matrices to our layout. `adjust(gradient)` may change our gradients before they are
/// compared. Parameters below a path in `frozen` (in the file's names) have no gradient in the file.
template <class T, class Model, class Record, class Arrange, class Adjust>
void add_gradients(Result<T>& result, const CaseFile& file, const Model& model, const gated::NameMap& names,
                   const Record& record, const Arrange& arrange, const Adjust& adjust,
                   const std::vector<std::string>& frozen = {}) {
  if constexpr (std::is_same_v<T, double>) {
    if (!file.has("cotangent")) {
      return;
    }
    // Gradients are stored in a Model, so the file's gradients load like its parameters.
    Model gradient = gated::zeros_like(model), expected = gated::zeros_like(model);
    const auto is_frozen = [&](const gated::ParameterInfo& info) {
      const std::string name = names.in_file(info.path(), info.shape).name;
      return std::any_of(frozen.begin(), frozen.end(), [&](const auto& part) { return name.starts_with(part + "."); });
    };
    if (frozen.empty()) {
      file.load(expected, names, "grad.");
    } else {
      load_unfrozen(expected, file, names, is_frozen);
    }
    gated::Tape<T> tape;
    tape.begin(model, gradient);
    Inputs<T> inputs(tape);
    const gated::Variable y = record(tape, inputs);
    const gated::View<T> output = tape[y];
    const gated::Matrix<T> cotangent = arrange(file.matrix<T>("cotangent"));
    tape.backward(y, Eigen::Map<const gated::Matrix<T>>(cotangent.data(), output.rows(), output.cols()));
    adjust(gradient);
    gated::for_each_parameter(
        [&](const gated::ParameterInfo& info, auto ours, auto theirs) {
          const auto matrix = [](auto values) {
            return gated::Matrix<T>(
                Eigen::Map<const gated::Matrix<T>>(values.data(), 1, static_cast<gated::Index>(values.size())));
          };
          if (info.role != gated::Role::constant && !is_frozen(info)) {
            const bool has_effect = !file.has_no_effect(names.in_file(info.path(), info.shape).name);
            result.gradients.push_back({info.path(), matrix(ours), matrix(theirs), has_effect});
          }
        },
        gradient, expected);
    for (const auto& [name, variable] : inputs.made()) {
      if (file.has("grad." + name)) {
        result.gradients.push_back({name, tape.gradient(variable), arrange(file.matrix<T>("grad." + name))});
      }
    }
  }
}

/// add_gradients() for matrices that need no reordering.
template <class T, class Model, class Record>
void add_gradients(Result<T>& result, const CaseFile& file, const Model& model, const gated::NameMap& names,
                   const Record& record) {
  add_gradients<T>(
      result, file, model, names, record, [](gated::Matrix<T> matrix) { return matrix; }, [](Model&) {});
}

}  // namespace parity
