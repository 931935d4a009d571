#pragma once

#include <utility>

#include "gated/core/joined_name.hpp"
#include "gated/layers/branch.hpp"

/// @file
/// A block that mixes tokens, then channels: MLP-Mixer, ResMLP, FNet, Transformers, and new combinations.

namespace gated {

/// The options of a block and its mixers. Leave the mixers' `channels` at 0: the block sets them.
template <class TokenMixerConfig, class ChannelMixerConfig>
struct MixerBlockConfig {
  Index channels = 0;                              ///< C, channels of input and output
  bool channels_first = false;                     ///< applies the channel mixer before the token mixer
  NormForm token_norm = NormForm::layer_norm;      ///< type of the norm in the token mixer's branch
  NormForm channel_norm = NormForm::layer_norm;    ///< type of the norm in the channel mixer's branch
  NormPosition norm_position = NormPosition::pre;  ///< normalizes each mixer's input, the residual sum, or the mixer's output
  double norm_eps = 1e-5;                          ///< ε of both norms
  double layer_scale = 0;                          ///< initial value of each branch's per-channel scales; 0 for no scales
  double drop_path = 0;                            ///< in training, probability of dropping a branch or block: see TapeOptions
  TokenMixerConfig token_mixer{};                  ///< options of the token mixer
  ChannelMixerConfig channel_mixer{};              ///< options of the channel mixer

  /// The mixers' options with the block's channels.
  TokenMixerConfig sized_token_mixer() const { return sized(token_mixer); }
  ChannelMixerConfig sized_channel_mixer() const { return sized(channel_mixer); }

  /// The options of a branch with this type of norm.
  BranchOptions branch(NormForm norm) const {
    return {.channels = channels,
            .norm = norm,
            .norm_position = norm_position,
            .norm_eps = norm_eps,
            .layer_scale = layer_scale,
            .drop_path = drop_path};
  }

  template <class C = MixerBlockConfig>
  static constexpr auto fields() {
    return Fields(setting("channels", &C::channels), setting("channels_first", &C::channels_first),
                  setting("token_norm", &C::token_norm), setting("channel_norm", &C::channel_norm),
                  setting("norm_position", &C::norm_position), setting("norm_eps", &C::norm_eps),
                  setting("layer_scale", &C::layer_scale), setting("drop_path", &C::drop_path),
                  setting("token_mixer", &C::token_mixer), setting("channel_mixer", &C::channel_mixer));
  }

 private:
  template <class MixerConfig>
  MixerConfig sized(MixerConfig mixer) const {
    if constexpr (requires { mixer.channels; }) {
      mixer.channels = channels;
    }
    return mixer;
  }
};

namespace detail {

inline constexpr const char* mixer_block_word = "gated.MixerBlock";

}  // namespace detail

/// h = x + s₁ ⊙ tokens(norm₁(x)), y = h + s₂ ⊙ channels(norm₂(h)): two branches, see Branch.
///
///     using Block = MixerBlock<TokenMlp<float>, FeedForward<float>>;   // MLP-Mixer; swap either
///     Stack<Block> model({.depth = 12, .block = {.channels = 768, .token_mixer = {.length = 196, .hidden = 384}}}, random);
///
/// A mixer is any layer that defines `Config` and `architecture` (see examples/custom_layer) and whose y has the shape of x.
/// Shapes: x and y are rows × C.
/// Errors: ArgumentError from the constructor for invalid options; ShapeError for wrong sizes.
/// Cost: that of the mixers. Scratch: that of the mixers, plus rows × C elements.
template <class TokenMixer, class ChannelMixer>
struct MixerBlock : Layer<MixerBlock<TokenMixer, ChannelMixer>> {
  using Config = MixerBlockConfig<typename TokenMixer::Config, typename ChannelMixer::Config>;
  static constexpr const char* name = "MixerBlock";
  static constexpr const char* architecture =
      detail::joined_name<detail::mixer_block_word, TokenMixer::architecture, ChannelMixer::architecture>.data();

  Config config;
  Branch<TokenMixer> tokens;
  Branch<ChannelMixer> channels;

  MixerBlock() = default;
  explicit MixerBlock(const Config& c) : config(c) {
    const auto expect_channels = [&](const char* mixer, const auto& options) {
      if constexpr (requires { options.channels; }) {
        expect_channels_of_block(name, mixer, options.channels, c.channels);
      }
    };
    expect_channels("token_mixer", c.token_mixer);
    expect_channels("channel_mixer", c.channel_mixer);
    config.token_mixer = c.sized_token_mixer();
    config.channel_mixer = c.sized_channel_mixer();
    tokens = Branch<TokenMixer>(c.branch(c.token_norm), config.token_mixer);
    channels = Branch<ChannelMixer>(c.branch(c.channel_norm), config.channel_mixer);
  }
  MixerBlock(const Config& c, Random& random) : MixerBlock(c) { this->initialize(random); }

  static constexpr auto fields() {
    return Fields(field("tokens", &MixerBlock::tokens), field("channels", &MixerBlock::channels));
  }

  Contract contract() const { return tokens.contract().then(channels.contract()); }

  auto apply(auto& run, auto x) const {
    if (config.channels_first) {
      return run(tokens, run(channels, std::move(x)));
    }
    return run(channels, run(tokens, std::move(x)));
  }
};

}  // namespace gated
