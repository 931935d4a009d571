#include "../train.hpp"
#include "gated/layers/external_attention.hpp"
#include "gated/layers/fourier_mixing.hpp"
#include "gated/layers/self_attention.hpp"
#include "gated/layers/synthesizer_attention.hpp"

namespace digits {

namespace attention {

using gated::FeedForward;

int train_fourier(const Options& options, const Data& data) {
  return train_mixer<gated::FourierMixing<float>, FeedForward<float>>(
      options, data, [](auto& c) { c.trunk.block.norm_position = gated::NormPosition::post; });  // as in FNet
}

int train_synthesizer(const Options& options, const Data& data) {
  return train_mixer<gated::SynthesizerAttention<float>, FeedForward<float>>(options, data, [](auto& c) {
    c.trunk.block.token_mixer = {
        .heads = 4, .max_length = c.tokens(), .form = gated::SynthesizerForm::factorized_random, .rank = 8};
  });
}

int train_attention(const Options& options, const Data& data) {
  return train_mixer<gated::SelfAttention<float>, FeedForward<float>>(options, data, [](auto& c) {
    c.position_grid = c.grid();  // attention alone ignores the patches' positions
    c.trunk.block.token_mixer.heads = 4;
  });
}

int train_external(const Options& options, const Data& data) {
  return train_mixer<gated::ExternalAttention<float>, FeedForward<float>>(options, data, [](auto& c) {
    c.position_grid = c.grid();
    c.trunk.block.token_mixer = {.heads = 4, .memories = 32};
  });
}

constexpr Mixer mixers[] = {{"fourier", "a Fourier transform: FNet", train_fourier},
                            {"synthesizer", "attention with learned weights: Synthesizer", train_synthesizer},
                            {"attention", "self-attention: a Transformer", train_attention},
                            {"external", "attention to learned memories: external attention", train_external}};

}  // namespace attention

std::span<const Mixer> attention_mixers() { return attention::mixers; }

}  // namespace digits
