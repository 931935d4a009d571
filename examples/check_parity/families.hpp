#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "case_file.hpp"

namespace parity {

/// A gradient of ours beside the file's.
template <class T>
struct GradientPair {
  std::string name;
  gated::Matrix<T> ours, theirs;
  bool has_effect = true;  ///< false for a parameter that cannot change the output: its gradient is 0 but for rounding
};

/// What a run gives.
template <class T>
struct Result {
  gated::Matrix<T> output;
  gated::Matrix<T> block0_output;  ///< what left the first block; empty where the case has none
  std::vector<std::pair<std::string, gated::Matrix<T>>> others = {};  ///< further tensors of the file
  std::vector<GradientPair<T>> gradients = {};                        ///< in double only, if the case has them

  /// A hook that keeps the output of the layer at `path` as block0_output.
  auto keep(std::string path) {
    return [this, path = std::move(path)](const std::string& at, gated::ConstView<T> value) {
      if (at == path) {
        block0_output = value;
      }
    };
  }
};

/// A family of cases: which class of which original, and how to run such a case here.
struct Family {
  std::string_view family;      ///< as in the case file's metadata
  std::string_view class_name;  ///< likewise
  Result<float> (*in_float)(const CaseFile&);
  Result<double> (*in_double)(const CaseFile&);
};

// One list per file of families/. To add a family, write its `run` beside the others and put it into its list.
std::span<const Family> timm_families();
std::span<const Family> glu_families();
std::span<const Family> lucidrains_gmlp_families();
std::span<const Family> labml_families();
std::span<const Family> lucidrains_flash_families();
std::span<const Family> junnyu_families();
std::span<const Family> mmpose_families();
std::span<const Family> hf_fnet_families();
std::span<const Family> synthesizer_families();
std::span<const Family> external_attention_families();
std::span<const Family> vit_ff_families();
std::span<const Family> time_mixer_families();
std::span<const Family> component_families();

/// Every list.
std::span<const std::span<const Family>> all_families();

/// The family of `file`, or nullptr.
const Family* find_family(const CaseFile& file);

}  // namespace parity
