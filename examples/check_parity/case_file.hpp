#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "gated/core/matrix.hpp"
#include "gated/core/sequences.hpp"
#include "gated/io/checkpoint.hpp"

namespace parity {

/// A test case: parameters, inputs and outputs of an original implementation, in one safetensors file.
///
/// The tensors are `model.<key>` (the original's state_dict), `input` and other call arguments, `output` and `output_f64`; if
/// the case has gradients, also `cotangent`, `grad.<key>` of parameters and `grad.<name>` of inputs. The metadata has `case`,
/// `family`, `class`, `max_abs_err_f32_vs_f64`, `no_effect_params` (see has_no_effect()) and `config`, a JSON object with these
/// members: `config` (the constructor's explicit arguments), `config_full` (the same and the defaults), `call` (the call's
/// arguments) and `variant`.
class CaseFile {
 public:
  explicit CaseFile(const std::string& path);

  const gated::SafetensorsFile& file() const { return file_; }
  const std::string& name() const { return name_; }
  const std::string& family() const { return family_; }
  const std::string& class_name() const { return class_name_; }
  /// Distinguishes original implementations that share a class name; empty if only one has the name.
  const std::string& variant() const { return variant_; }

  /// The constructor's arguments, with defaults filled in.
  const nlohmann::json& arguments() const { return arguments_; }
  /// The constructor's arguments without defaults.
  const nlohmann::json& explicit_arguments() const { return explicit_arguments_; }
  const nlohmann::json& call() const { return call_; }

  /// The largest difference between the original's float32 and float64 outputs; 0 if not recorded.
  double recorded_float_error() const { return recorded_float_error_; }

  /// True if the parameter of this name in the original cannot change the output in exact arithmetic.
  bool has_no_effect(std::string_view parameter) const { return no_effect_.count(parameter) > 0; }
  /// The largest absolute value of all gradients.
  double largest_gradient() const;

  bool has(std::string_view tensor) const { return file_.contains(tensor); }
  const std::vector<gated::Index>& shape(std::string_view tensor) const { return file_.tensor(tensor).shape; }

  /// A tensor as a matrix: the first `leading` dimensions (by default, all but the last) become rows, the rest columns.
  template <class T>
  gated::Matrix<T> matrix(std::string_view tensor, int leading = -1) const {
    const auto& sizes = shape(tensor);
    const std::size_t split = leading < 0 ? (sizes.empty() ? 0 : sizes.size() - 1) : static_cast<std::size_t>(leading);
    gated::Index rows = 1, columns = 1;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      (i < split ? rows : columns) *= sizes[i];
    }
    gated::Matrix<T> result(rows, columns);
    file_.read<T>(tensor, std::span<T>(result.data(), static_cast<std::size_t>(result.size())));
    return result;
  }

  /// Loads the tensors `model.*` into `model`; fails unless this uses every tensor and fills every parameter. With the prefix
  /// `grad.`, loads the gradients of the parameters instead.
  template <class Model>
  void load(Model& model, gated::NameMap names = {}, const std::string& prefix = "model.") const {
    names.prefix = prefix + names.prefix;
    for (const auto& [tensor, entry] : file_.tensors()) {
      const bool of_input = prefix == "grad." && tensor.starts_with(prefix) && file_.contains(tensor.substr(prefix.size()));
      if (!tensor.starts_with(prefix) || of_input) {
        ignore(names, tensor);
      }
    }
    gated::load_parameters(model, file_, names);
  }

 private:
  static void ignore(gated::NameMap& names, const std::string& tensor);

  gated::SafetensorsFile file_;
  std::string name_, family_, class_name_, variant_;
  nlohmann::json arguments_, explicit_arguments_, call_;
  std::set<std::string, std::less<>> no_effect_;
  double recorded_float_error_ = 0;
};

}  // namespace parity
