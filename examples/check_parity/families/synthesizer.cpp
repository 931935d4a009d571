#include "../inputs.hpp"
#include "gated/layers/synthesizer_attention.hpp"

namespace parity {

namespace synthesizer {

using gated::SynthesizerForm;
using gated::SynthesizerMixture;

/// The configuration of a case, whose `mode` is "random", "factorized_dense", "dense_plus_alpha", …
gated::SynthesizerAttentionConfig config_of(const CaseFile& file) {
  const auto& a = file.arguments();
  gated::SynthesizerAttentionConfig config{.channels = a.at("dim"),
                                           .heads = argument<Index>(a, "heads", 8),
                                           .head_width = argument<Index>(a, "dim_head", 128),
                                           .max_length = argument<Index>(a, "max_length", 512),
                                           .rank = argument<Index>(a, "factorized_dim", 16),
                                           .causal = argument(a, "causal", false)};
  std::string mode = argument<std::string>(a, "mode", "random_plus_alpha");
  if (const auto plus = mode.find("_plus"); plus != std::string::npos) {
    config.mixture = mode.substr(plus) == "_plus" ? SynthesizerMixture::sum : SynthesizerMixture::learned;
    mode = mode.substr(0, plus);
  }
  const auto form = gated::value_named<SynthesizerForm>(mode);
  gated::require<gated::ArgumentError>(form.has_value(), "unknown mode \"", mode, "\", expected one of ",
                                       gated::list_of_names<SynthesizerForm>(), ".");
  config.form = *form;
  if (const auto factors = a.find("factors"); factors != a.end() && factors->is_array()) {
    config.factors = {factors->at(0), factors->at(1)};
  }
  return config;
}

/// Maps gated's parameter names to those in the cases.
gated::NameMap names() {
  return {.origin = "the case",
          .rules = {{"query", "to_q"},
                    {"key", "to_k"},
                    {"value", "to_v"},
                    {"proj_out", "to_out"},
                    {"random", "R"},
                    {"left", "R1"},
                    {"right", "R2"},
                    {"dense", "pi.weight"},
                    {"outer", "pi_a.weight"},
                    {"inner", "pi_b.weight"},
                    {"share", "alpha"}}};
}

template <class T>
Result<T> run(const CaseFile& file) {
  gated::SynthesizerAttention<T> layer(config_of(file));
  return run_layer<T>(file, layer, names());
}

constexpr Family families[] = {{"synthesizer", "SynthesizerAttention", run<float>, run<double>}};

}  // namespace synthesizer

std::span<const Family> synthesizer_families() { return synthesizer::families; }

}  // namespace parity
