#pragma once

#include <algorithm>
#include <concepts>

#include "gated/core/joined_name.hpp"
#include "gated/core/settings.hpp"
#include "gated/layers/norm_position.hpp"
#include "gated/ops/elementwise.hpp"
#include "gated/ops/fused.hpp"

/// @file
/// A block that mixes tokens, then channels: MLP-Mixer, ResMLP, FNet, Transformers, and those that nobody has tried.

namespace gated {

/// The options of a block. Those of the mixers follow; their `channels` are the block's and may be left 0.
template <class TokenMixerConfig, class ChannelMixerConfig>
struct MixerBlockConfig {
  Index channels = 0;                              ///< C, of input and output
  bool channels_first = false;                     ///< the channel mixer stands before the token mixer
  NormForm token_norm = NormForm::layer_norm;      ///< of the token mixer
  NormForm channel_norm = NormForm::layer_norm;    ///< of the channel mixer
  NormPosition norm_position = NormPosition::pre;  ///< norms stand before their mixers, or after the residuals
  double norm_eps = 1e-5;                          ///< ε of both norms
  double layer_scale = 0;  ///< where training starts the learned scales per channel of both branches; 0 for none
  double survival = 1;     ///< probability that training keeps a branch or block (stochastic depth); no effect on forward
  TokenMixerConfig token_mixer{};      ///< of what mixes tokens
  ChannelMixerConfig channel_mixer{};  ///< of what mixes channels

  /// The mixers' options with the block's channels.
  TokenMixerConfig sized_token_mixer() const { return sized(token_mixer); }
  ChannelMixerConfig sized_channel_mixer() const { return sized(channel_mixer); }

  template <class C = MixerBlockConfig>
  static constexpr auto fields() {
    return std::tuple(setting("channels", &C::channels), setting("channels_first", &C::channels_first),
                      setting("token_norm", &C::token_norm), setting("channel_norm", &C::channel_norm),
                      setting("norm_position", &C::norm_position), setting("norm_eps", &C::norm_eps),
                      setting("layer_scale", &C::layer_scale), setting("survival", &C::survival),
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

/// A layer of single tokens, or one that says whether it is causal.
template <class L>
concept KnowsCausality = std::derived_from<L, TokenLayer<L, typename L::Scalar>> || requires(const L& layer) {
  layer.is_causal();
};
template <KnowsCausality L>
bool is_causal(const L& layer) {
  if constexpr (requires { layer.is_causal(); }) {
    return layer.is_causal();
  } else {
    return true;
  }
}

}  // namespace detail

/// h = x + s₁ ⊙ tokens(norm₁(x)), y = h + s₂ ⊙ channels(norm₂(h)), with scales per channel (arXiv:2103.17239) or none;
/// post-norm h = norm₁(x + …), y = norm₂(h + …).
///
///     using Block = MixerBlock<TokenMlp<float>, FeedForward<float>>;   // MLP-Mixer; swap either
///     Stack<Block> model({.depth = 12, .block = {.channels = 768, .token_mixer = {.length = 196, .hidden = 384}}}, random);
///
/// A mixer is a layer as wide as its input, with Config, value_count() and architecture as in examples/custom_layer. One whose
/// Options are Fused takes the residual along in its last product; to others it is added. A TokenProjection computes an affine
/// norm before it as it reads x (ResMLP): the same bits without a pass of its own. The block streams, takes masks and
/// refuses lengths as its mixers do.
/// Shapes: x and y are rows × C; y may be x.
/// Errors: ArgumentError when built, ShapeError when run.
/// Cost: the mixers'; scratch rows × C besides theirs.
template <class TokenMixer, class ChannelMixer>
struct MixerBlock : SequenceLayer<MixerBlock<TokenMixer, ChannelMixer>, typename TokenMixer::Scalar> {
  using Scalar = typename TokenMixer::Scalar;
  using T = Scalar;
  using Config = MixerBlockConfig<typename TokenMixer::Config, typename ChannelMixer::Config>;
  static constexpr const char* name = "MixerBlock";
  static constexpr const char* architecture =
      detail::joined_name<detail::mixer_block_word, TokenMixer::architecture, ChannelMixer::architecture>.data();
  static constexpr bool takes_mask = detail::takes_mask<TokenMixer>() || detail::takes_mask<ChannelMixer>();

  Config config;
  Norm<T> token_norm;
  TokenMixer token_mixer;
  Vector<T> token_scale;  ///< C, or empty
  Norm<T> channel_norm;
  ChannelMixer channel_mixer;
  Vector<T> channel_scale;  ///< C, or empty

  MixerBlock() = default;
  /// Weights that nobody has set, for a checkpoint to be loaded into.
  explicit MixerBlock(const Config& c) : config(c) {
    const auto expect_channels = [&](const char* mixer, const auto& options) {
      if constexpr (requires { options.channels; }) {
        require<ArgumentError>(options.channels == 0 || options.channels == c.channels, name, ": ", mixer,
                               ".channels = ", options.channels, ", but the block has ", c.channels,
                               ". Leave it 0 to have it filled in.");
      }
    };
    expect_channels("token_mixer", c.token_mixer);
    expect_channels("channel_mixer", c.channel_mixer);
    require<ArgumentError>(c.survival > 0 && c.survival <= 1, name, ": survival = ", c.survival,
                           ", expected 0 < survival ≤ 1.");
    require<ArgumentError>(c.layer_scale >= 0, name, ": layer_scale = ", c.layer_scale, " must not be negative.");
    config.token_mixer = c.sized_token_mixer();
    config.channel_mixer = c.sized_channel_mixer();
    token_norm = Norm<T>(c.channels, c.norm_eps, c.token_norm);
    channel_norm = Norm<T>(c.channels, c.norm_eps, c.channel_norm);
    token_mixer = TokenMixer(config.token_mixer);
    channel_mixer = ChannelMixer(config.channel_mixer);
    for (const auto& [mixer_name, in, out] : {std::tuple(TokenMixer::name, token_mixer.in(), token_mixer.out()),
                                              std::tuple(ChannelMixer::name, channel_mixer.in(), channel_mixer.out())}) {
      require<ArgumentError>(in == c.channels && out == c.channels, name, ": a ", mixer_name, " that makes ", out,
                             " channels of ", in, " cannot join the ", c.channels,
                             " of the block. Build it with as many in and out.");
    }
    token_scale = channel_scale = Vector<T>::Constant(c.layer_scale > 0 ? c.channels : 0, static_cast<T>(c.layer_scale));
  }
  /// With initial parameters, as initialize() draws them.
  MixerBlock(const Config& c, Random& random) : MixerBlock(c) { this->initialize(random); }
  /// The values in one of this configuration.
  static Count value_count(const Config& c) {
    return Norm<T>::value_count(c.channels, c.token_norm) + Norm<T>::value_count(c.channels, c.channel_norm) +
           TokenMixer::value_count(c.sized_token_mixer()) + ChannelMixer::value_count(c.sized_channel_mixer()) +
           (c.layer_scale > 0 ? 2 * Count(c.channels) : 0);
  }

  static constexpr auto fields() {
    using B = MixerBlock;
    return std::tuple(field("token_norm", &B::token_norm), field("token_mixer", &B::token_mixer),
                      field("token_scale", &B::token_scale, Role::norm), field("channel_norm", &B::channel_norm),
                      field("channel_mixer", &B::channel_mixer), field("channel_scale", &B::channel_scale, Role::norm));
  }

  Index in() const { return config.channels; }
  Index out() const { return config.channels; }
  Index longest() const { return std::min(detail::longest_of(token_mixer), detail::longest_of(channel_mixer)); }
  /// True if no output depends on a later token.
  bool is_causal() const requires detail::KnowsCausality<TokenMixer> && detail::KnowsCausality<ChannelMixer> {
    return detail::is_causal(token_mixer) && detail::is_causal(channel_mixer);
  }
  void check(Where where, const Sequences& sequences, Mask mask) const {
    detail::check_sequences(where, token_mixer, sequences, mask);
    detail::check_sequences(where, channel_mixer, sequences, mask);
  }

  template <class Run>
  auto apply(Run& run, const RowsOf<Run>& x, const PlaceOf<Run>& to) const {
    const auto mix_tokens = [&](const RowsOf<Run>& rows, const PlaceOf<Run>& place) {
      return branch(run, token_norm, token_mixer, token_scale, rows, place);
    };
    const auto mix_channels = [&](const RowsOf<Run>& rows, const PlaceOf<Run>& place) {
      return branch(run, channel_norm, channel_mixer, channel_scale, rows, place);
    };
    if (config.channels_first) {
      return mix_tokens(mix_channels(x, to), to);
    }
    return mix_channels(mix_tokens(x, to), to);
  }

 private:
  /// x + scale ⊙ mixer(norm(x)), or norm(x + scale ⊙ mixer(x)).
  template <class Run, class Mixer>
  auto branch(Run& run, const Norm<T>& norm, const Mixer& mixer, const Vector<T>& scale, const RowsOf<Run>& x,
              const PlaceOf<Run>& to) const {
    if constexpr (!Run::records && !Run::streams && requires { mixer.takes_map(run.sequences()); }) {
      if (norm.form == NormForm::affine && config.norm_position == NormPosition::pre && !run.observed() &&
          mixer.takes_map(run.sequences())) {
        const bool is_read = to.data == x.data;  // by the last row, when the first is written
        return run(mixer, x, {.scale = &scale, .residual = x, .map = {norm.weight.data(), norm.bias.data()}},
                   is_read ? PlaceOf<Run>() : to);
      }
    }
    return with_norm(run, norm, config.norm_position, x, to, [&](const RowsOf<Run>& z, const PlaceOf<Run>& place) {
      const Fused<Run> fused{.scale = &scale, .residual = x, .survival = config.survival};
      if constexpr (std::is_same_v<OptionsOf<Mixer, Run>, Fused<Run>>) {
        if constexpr (!Run::records) {
          if (run.observed()) {  // an observer sees what the mixer gives before the residual joins it: the same bits, unfused
            auto y = run(mixer, z);  // rows × C
            y = fused.factors() == nullptr ? y : gated::scale(run, y, per_channel<T>(fused.factors()));
            return add(run, x, y, nullptr, place);
          }
        }
        return run(mixer, z, fused, place);
      } else {
        static_assert(
            std::is_same_v<OptionsOf<Mixer, Run>, NoOptions> || requires(OptionsOf<Mixer, Run> o) { o.residual; },
            "a mixer takes Fused<Run>, a residual or nothing besides x");
        auto y = run(mixer, z);  // rows × C
        if constexpr (Run::records) {
          y = run.drops(config.survival) ? run.drop(y, config.survival) : y;
        }
        return add(run, x, y, fused.factors(), place);
      }
    });
  }
};

}  // namespace gated
