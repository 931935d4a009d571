#include "gated/io/bs_roformer.hpp"

#include "../inputs.hpp"
#include "gated/models/roformer.hpp"

namespace parity {

namespace bs_roformer {

gated::RoformerConfig roformer_config(const CaseFile& file) {
  const auto& a = file.arguments();
  const Index channels = a.at("dim");
  const double mult = argument(a, a.contains("mult") ? "mult" : "ff_mult", 4.0);
  return {.trunk = gated::roformer_layers({.channels = channels,
                                           .depth = argument<Index>(a, "depth", 1),
                                           .heads = argument<Index>(a, "heads", 8),
                                           .head_width = argument<Index>(a, "dim_head", 64),
                                           .hidden = static_cast<Index>(static_cast<double>(channels) * mult),
                                           .rotary = argument(a, "rotary", true)}),
          .norm = argument(a, "norm_output", true) ? gated::NormForm::l2_norm : gated::NormForm::none};
}

/// BS-RoFormer's Attention or FeedForward: a norm and a mixer, without a residual.
template <class Mixer>
struct Normed : gated::Layer<Normed<Mixer>> {
  using T = typename Mixer::Scalar;
  static constexpr const char* name = "Normed";

  gated::Norm<T> norm;
  Mixer mixer;

  Normed(const gated::BranchOptions& o, const typename Mixer::Config& c) : norm(o.channels, o.norm_eps, o.norm), mixer(c) {}
  static constexpr auto fields() {
    return gated::Fields(gated::field("norm", &Normed::norm), gated::field("mixer", &Normed::mixer));
  }
  gated::Contract contract() const { return norm.contract().then(mixer.contract()); }
  auto apply(auto& run, auto x) const { return run(mixer, run(norm, std::move(x))); }
};

template <class T>
Result<T> run_attention(const CaseFile& file) {
  const auto c = roformer_config(file).trunk.block;
  Normed<gated::SelfAttention<T>> layer(c.branch(c.token_norm), c.sized_token_mixer());
  return run_layer<T>(file, layer, gated::bs_roformer_attention_names());
}

template <class T>
Result<T> run_feed_forward(const CaseFile& file) {
  const auto c = roformer_config(file).trunk.block;
  Normed<gated::FeedForward<T>> layer(c.branch(c.channel_norm), c.sized_channel_mixer());
  return run_layer<T>(file, layer, gated::bs_roformer_feed_forward_names());
}

template <class T>
Result<T> run_transformer(const CaseFile& file) {
  gated::Roformer<T> model(roformer_config(file));
  const auto names = gated::bs_roformer_names();
  auto result = run_layer<T>(file, model, names);
  if (file.has("block0_output")) {  // the first Attention, without its residual
    gated::Workspace<T> workspace;
    const auto x = file.matrix<T>("input");
    const auto sequences = sequences_of(file);
    const auto& branch = model.trunk.blocks.front().tokens;
    result.block0_output = branch.mixer.forward(branch.norm.forward(x, sequences, workspace), sequences, workspace);
  }
  return result;
}

constexpr Family families[] = {{"roformer", "Attention", run_attention<float>, run_attention<double>},
                               {"roformer", "FeedForward", run_feed_forward<float>, run_feed_forward<double>},
                               {"roformer", "Transformer", run_transformer<float>, run_transformer<double>}};

}  // namespace bs_roformer

std::span<const Family> bs_roformer_families() { return bs_roformer::families; }

}  // namespace parity
