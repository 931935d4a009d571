#include "gated/layers/mixer_block.hpp"

#include "gated/layers/feed_forward.hpp"
#include "gated/layers/glu_feed_forward.hpp"
#include "gated/layers/token_projection.hpp"
#include "gated/ops/token_shift.hpp"
#include "literal_attention.hpp"
#include "tests/promises.hpp"

namespace gated::mixer_block_test {
namespace {

using test::message_of;
using test::near;
using test::random_layer;
using test::random_matrix;
using test::wide;

/// The configuration of ShiftMixer.
struct ShiftMixerConfig {
  Index channels = 0;
  bool causal = true;

  template <class C = ShiftMixerConfig>
  static constexpr auto fields() {
    return Fields(setting("channels", &C::channels), setting("causal", &C::causal));
  }
};

/// A user-defined mixer, y = shift(x) ⊙ gain + bias. It accepts no epilogue, so it cannot fuse a residual.
template <class T>
struct ShiftMixer : Layer<ShiftMixer<T>> {
  using Config = ShiftMixerConfig;
  static constexpr const char* name = "ShiftMixer";
  static constexpr const char* architecture = "test.ShiftMixer";

  ShiftMixerConfig config;
  Norm<T> norm;

  ShiftMixer() = default;
  explicit ShiftMixer(const Config& c) : config(c), norm(c.channels, 1e-5, NormForm::affine) {}
  static constexpr auto fields() { return Fields(field("norm", &ShiftMixer::norm)); }
  Contract contract() const {
    return {.in = config.channels, .out = config.channels, .sees = config.causal ? Sees::past : Sees::all};
  }

  auto apply(auto& run, auto x) const {
    return run(norm, token_shift(run, std::move(x), {.amount = 1, .causal = config.causal}));
  }
};

template <class T>
using Projected = MixerBlock<TokenProjection<T>, FeedForward<T>>;
template <class T>
using Gated = MixerBlock<TokenProjection<T>, GluFeedForward<T>>;
template <class T>
using Shifted = MixerBlock<ShiftMixer<T>, FeedForward<T>>;

constexpr Index channels = 6, length = 9;

/// Variants of `config` that cover the options of a MixerBlock.
template <class Config>
std::vector<Config> forms_of(Config config) {
  config.channels = channels;
  config.channel_mixer.hidden = 7;
  std::vector<Config> all(6, config);
  all[1].norm_position = NormPosition::post;
  all[2].token_norm = all[2].channel_norm = NormForm::affine, all[2].layer_scale = 0.1;
  all[3].token_norm = NormForm::none, all[3].channels_first = true;
  all[4].norm_position = NormPosition::post, all[4].channel_norm = NormForm::none, all[4].layer_scale = 1e-4;
  all[5].channels_first = true, all[5].norm_eps = 0.1, all[5].drop_path = 0.5;
  return all;
}

template <template <class> class Block>
void expect_promises_of_forms(typename Block<float>::Config config, const test::Promises& promises) {
  for (const auto& form : forms_of(config)) {
    test::expect_promises<Block>(form, promises);
  }
}

TEST(MixerBlock, KeepsItsPromisesWithATokenProjection) {
  expect_promises_of_forms<Projected>({.token_mixer = {.length = length}}, {.lengths = {length, length}});
}

TEST(MixerBlock, KeepsItsPromisesWithAnAffineNormBeforeTheFft) {
  test::expect_promises<Projected>({.channels = 4,
                                    .token_norm = NormForm::affine,
                                    .layer_scale = 0.3,
                                    .token_mixer = {.length = length, .form = SpatialForm::toeplitz, .fourier_from = 8},
                                    .channel_mixer = {.hidden = 5}},
                                   {.lengths = {length, length}});
}

TEST(MixerBlock, KeepsItsPromisesWithACausalTokenMixer) {
  expect_promises_of_forms<Gated>({.token_mixer = {.length = length, .causal = true}}, {.causal = true});
}

TEST(MixerBlock, KeepsItsPromisesWithoutAFusedResidual) { expect_promises_of_forms<Shifted>({}, {.causal = true}); }

TEST(MixerBlock, KeepsItsPromisesWithThreadedProducts) {
  test::expect_promises<Gated>(
      {.channels = 24, .layer_scale = 0.1, .token_mixer = {.length = 300, .causal = true}, .channel_mixer = {.hidden = 50}},
      {.lengths = {300, 3, 170}, .causal = true, .trains = false});
}

/// One branch by its formula: x + scale ⊙ mix(norm(x)) if pre-norm, norm(x + scale ⊙ mix(x)) if post-norm.
template <class Config, class Mixer, class Mix>
Matrix<double> literal_branch(const Config& c, const Branch<Mixer>& branch, const Matrix<double>& x, const Mix& mix) {
  const bool post = c.norm_position == NormPosition::post;
  Matrix<double> y = mix(post ? x : literal::norm(branch.norm, x));
  if (c.layer_scale > 0) {
    y = y * branch.scale.asDiagonal();
  }
  y += x;
  return post ? literal::norm(branch.norm, y) : y;
}

TEST(MixerBlock, EqualsItsFormulaInEveryForm) {
  const auto sequences = Sequences::uniform(2, length);
  const auto x = random_matrix<double>(sequences.total(), channels, 2);
  Workspace<double> workspace;
  for (const auto& config : forms_of(Gated<double>::Config{.token_mixer = {.length = length}})) {
    SCOPED_TRACE(test::settings_of(config));
    const auto block = random_layer<Gated<double>>(config);
    const auto tokens = [&](const Matrix<double>& in) {
      return literal_branch(config, block.tokens, in,
                            [&](const Matrix<double>& z) { return literal::spatial(block.tokens.mixer.proj, z, sequences); });
    };
    const auto mixed = [&](const Matrix<double>& in) {
      return literal_branch(config, block.channels, in, [&](const Matrix<double>& z) {
        const auto& glu = block.channels.mixer;
        const Matrix<double> gate = literal::activate(glu.config.activation, literal::linear(glu.gate, z));
        return literal::linear(glu.proj_out, gate.cwiseProduct(literal::linear(glu.up, z)));
      });
    };
    EXPECT_TRUE(near(block.forward(x, sequences, workspace), config.channels_first ? tokens(mixed(x)) : mixed(tokens(x))));
  }
}

TEST(MixerBlock, AddsTheResidualIfTheMixerCannotFuseIt) {
  const auto sequences = Sequences::of_lengths({3, 5});
  const auto x = random_matrix<double>(8, channels, 2);
  Workspace<double> workspace;
  const auto block = random_layer<Shifted<double>>({.channels = channels, .layer_scale = 0.3, .channel_mixer = {.hidden = 4}});
  const Matrix<double> normed = literal::norm(block.tokens.norm, x);
  const Matrix<double> shifted = literal::norm(block.tokens.mixer.norm, literal::token_shift(normed, sequences, 1, true));
  const Matrix<double> h = x + shifted * block.tokens.scale.asDiagonal();
  const auto& feed_forward = block.channels.mixer;
  const Matrix<double> hidden =
      literal::activate(Activation::gelu, literal::linear(feed_forward.proj_in, literal::norm(block.channels.norm, h)));
  const Matrix<double> y = h + literal::linear(feed_forward.proj_out, hidden) * block.channels.scale.asDiagonal();
  EXPECT_TRUE(near(block.forward(x, sequences, workspace), y));
}

TEST(MixerBlock, SetsTheChannelsOfItsMixers) {
  const Gated<float> block({.channels = 6, .layer_scale = 0.5, .token_mixer = {.length = 9}, .channel_mixer = {.hidden = 4}});
  EXPECT_EQ(block.config.token_mixer.channels, 6);
  EXPECT_EQ(block.config.channel_mixer.channels, 6);
  EXPECT_EQ(block.longest(), 9);
  EXPECT_EQ(block.tokens.scale, Vector<float>::Constant(6, 0.5f));
  EXPECT_EQ(Shifted<float>({.channels = 6}).longest(), State<float>::unlimited);
  EXPECT_STREQ(Gated<float>::architecture, "gated.MixerBlock<gated.TokenProjection,gated.GluFeedForward>");
}

TEST(MixerBlock, RefusesMixersOfOtherWidths) {
  EXPECT_EQ(message_of<ArgumentError>([] { Projected<float>({.channels = 6, .token_mixer = {.channels = 5, .length = 9}}); }),
            "MixerBlock: token_mixer.channels = 5, but the block has 6. Leave it at 0.");
  EXPECT_EQ(message_of<ArgumentError>(
                [] { Projected<float>({.channels = 6, .token_mixer = {.length = 9}, .channel_mixer = {.out = 5}}); }),
            "Branch: FeedForward maps 6 channels to 5, expected 6 to 6 for the residual. Build it with equal input and output "
            "channels.");
  EXPECT_EQ(message_of<ArgumentError>([] { Shifted<float>({.channels = 6, .drop_path = 1}); }),
            "Branch: drop_path = 1, expected 0 ≤ drop_path < 1.");
  EXPECT_EQ(message_of<ArgumentError>([] { Shifted<float>({.channels = 6, .layer_scale = -1}); }),
            "Branch: layer_scale = -1 must not be negative.");
}

TEST(MixerBlock, DropPathDropsWholeSequences) {
  const auto dropped_branches = [](const auto& block) {
    const auto sequences = Sequences::uniform(40, length);
    const auto x = random_matrix<double>(sequences.total(), channels, 2);
    Tape<double> tape(Threads{1}, {.scaled_depth = true});
    auto gradient = zeros_like(block);
    Random noise(3);
    tape.begin(block, gradient, noise);
    const Matrix<double> y = tape[record(tape, block, tape.input(x), sequences)];
    Index unchanged = 0;
    for (Index b = 0; b < sequences.count(); ++b) {
      const Index offset = sequences.offset(b);
      unchanged += y.middleRows(offset, length) == x.middleRows(offset, length) ? 1 : 0;
    }
    return unchanged;
  };
  const auto expect_some = [&](Index unchanged) {  // both branches dropped: about 10 of 40 sequences
    EXPECT_GE(unchanged, 3);
    EXPECT_LE(unchanged, 20);
  };
  expect_some(dropped_branches(random_layer<Projected<double>>(
      {.channels = channels, .layer_scale = 0.1, .drop_path = 0.5, .token_mixer = {.length = length}})));
  expect_some(dropped_branches(random_layer<Shifted<double>>({.channels = channels, .drop_path = 0.5})));
}

}  // namespace
}  // namespace gated::mixer_block_test
