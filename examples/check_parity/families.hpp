#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "case_file.hpp"

namespace parity {

/// The gradient of a parameter: `ours` computed by gated, `theirs` from the case file.
template <class T>
struct GradientPair {
  std::string name;
  gated::Matrix<T> ours, theirs;
  bool has_effect = true;  ///< false if the parameter cannot change the output: its gradient is rounding error
};

/// The results of a run.
template <class T>
struct Result {
  gated::Matrix<T> output;
  gated::Matrix<T> block0_output;                                     ///< the first block's output; empty if the case has none
  std::vector<std::pair<std::string, gated::Matrix<T>>> others = {};  ///< further outputs in the file
  std::vector<GradientPair<T>> gradients = {};                        ///< in double only; empty if the case has none

  /// A hook that keeps the output of the layer at `path` as block0_output.
  auto keep(std::string path) {
    return [this, path = std::move(path)](const std::string& at, gated::ConstView<T> value) {
      if (at == path) {
        block0_output = value;
      }
    };
  }
};

/// The cases of one class in the original code, and the functions that run them in gated.
struct Family {
  std::string_view family;      ///< as in the case file's metadata
  std::string_view class_name;  ///< likewise
  Result<float> (*in_float)(const CaseFile&);
  Result<double> (*in_double)(const CaseFile&);
};

// One list per file in families/. To add a family, write its `run` and add it to a list.
std::span<const Family> timm_families();
std::span<const Family> glu_families();
std::span<const Family> lucidrains_gmlp_families();
std::span<const Family> labml_families();
std::span<const Family> lucidrains_flash_families();
std::span<const Family> junnyu_families();
std::span<const Family> mmpose_families();
std::span<const Family> fairseq_families();
std::span<const Family> hf_fnet_families();
std::span<const Family> synthesizer_families();
std::span<const Family> external_attention_families();
std::span<const Family> vit_ff_families();
std::span<const Family> time_mixer_families();
std::span<const Family> keyword_mlp_families();
std::span<const Family> audio_families();
std::span<const Family> component_families();
std::span<const Family> clear_voice_families();
std::span<const Family> branchformer_families();
std::span<const Family> text_transformer_families();
std::span<const Family> bs_roformer_families();

/// All families: the lists above.
std::span<const std::span<const Family>> all_families();

/// The family of `file`, or nullptr.
const Family* find_family(const CaseFile& file);

}  // namespace parity
