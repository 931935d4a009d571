#include "../train.hpp"
#include "gated/layers/token_glu.hpp"
#include "gated/layers/token_mlp.hpp"
#include "gated/layers/token_projection.hpp"

namespace digits {

namespace token_weights {

using gated::FeedForward, gated::GluFeedForward;

int train_projection(const Options& options, const Data& data) {
  return train_mixer<gated::TokenProjection<float>, FeedForward<float>>(options, data, [](auto&) {});
}

int train_mlp(const Options& options, const Data& data) {
  return train_mixer<gated::TokenMlp<float>, FeedForward<float>>(
      options, data, [](auto& c) { c.trunk.block.token_mixer.hidden = c.tokens() / 4; });
}

int train_glu(const Options& options, const Data& data) {
  return train_mixer<gated::TokenGlu<float>, GluFeedForward<float>>(
      options, data, [](auto& c) { c.trunk.block.token_mixer.hidden = c.tokens() / 4; });
}

constexpr Mixer mixers[] = {{"projection", "one linear map over the patches: ResMLP", train_projection},
                            {"mlp", "an MLP over the patches: MLP-Mixer", train_mlp},
                            {"glu", "gated feed-forwards over patches and channels: gMixer", train_glu}};

}  // namespace token_weights

std::span<const Mixer> token_weight_mixers() { return token_weights::mixers; }

}  // namespace digits
