#include "gated/layers/branch.hpp"

#include "gated/layers/feed_forward.hpp"
#include "gated/layers/gated_attention_unit.hpp"
#include "gated/layers/token_projection.hpp"
#include "literal_attention.hpp"
#include "tests/promises.hpp"

namespace gated::branch_test {
namespace {

using test::message_of;
using test::near;
using test::random_matrix;

constexpr Index channels = 6, length = 9;

/// Branches with every combination of norm position, layer scale and drop path, and some with other norms.
std::vector<BranchOptions> forms() {
  std::vector<BranchOptions> all;
  for (const NormPosition position : {NormPosition::pre, NormPosition::post, NormPosition::res_post}) {
    for (const double layer_scale : {0.0, 0.1}) {
      for (const double drop_path : {0.0, 0.5}) {
        all.push_back({.channels = channels, .norm_position = position, .layer_scale = layer_scale, .drop_path = drop_path});
      }
    }
  }
  all.push_back({.channels = channels, .norm = NormForm::none});
  all.push_back({.channels = channels, .norm = NormForm::rms, .norm_eps = 0.1, .layer_scale = 1e-4});
  return all;
}

std::string describe(const BranchOptions& o) {
  return text(name_of(o.norm), ", ", name_of(o.norm_position), ", layer_scale ", o.layer_scale, ", drop_path ", o.drop_path);
}

template <template <class> class Mixer>
void expect_promises_of_forms(const typename Mixer<float>::Config& config, const test::Promises& promises) {
  for (const BranchOptions& options : forms()) {
    SCOPED_TRACE(describe(options));
    test::expect_promises([&](auto zero) { return Branch<Mixer<decltype(zero)>>(options, config); }, promises);
  }
}

/// Attention that streams and accepts masks, but cannot fuse an epilogue.
constexpr GatedAttentionUnitConfig attention{.channels = channels,
                                             .value = 8,
                                             .query_key = 4,
                                             .score_scale = ScoreScale::sqrt_width,
                                             .causal = true,
                                             .residual = Residual::none};

TEST(Branch, KeepsItsPromisesWithAFusedResidual) {
  expect_promises_of_forms<FeedForward>({.channels = channels, .hidden = 7}, {});
  expect_promises_of_forms<TokenProjection>({.channels = channels, .length = length}, {.lengths = {length, length}});
  expect_promises_of_forms<TokenProjection>({.channels = channels, .length = length, .causal = true}, {.causal = true});
}

TEST(Branch, KeepsItsPromisesWithoutAFusedResidual) {
  expect_promises_of_forms<GatedAttentionUnit>(attention, {.causal = true});
}

/// Compares a branch with its formula, computed with separate calls of the norm and the mixer.
template <class Mixer>
void expect_formula(const typename Mixer::Config& config, const Sequences& sequences) {
  const auto x = random_matrix<double>(sequences.total(), channels, 2);
  for (const BranchOptions& options : forms()) {
    SCOPED_TRACE(describe(options));
    Branch<Mixer> branch(options, config);
    test::randomize(branch, 1);
    const bool pre = options.norm_position == NormPosition::pre, post = options.norm_position == NormPosition::post;
    Matrix<double> mixed = branch.mixer.forward(pre ? branch.norm.forward(x) : x, sequences);
    mixed = pre || post ? mixed : branch.norm.forward(mixed);
    if (options.layer_scale > 0) {
      mixed = mixed * branch.scale.asDiagonal();
    }
    const Matrix<double> sum = x + mixed;
    EXPECT_TRUE(near(branch.forward(x, sequences), post ? branch.norm.forward(sum) : sum));
  }
}

TEST(Branch, EqualsItsFormulaInEveryForm) {
  const Sequences sequences = Sequences::of_lengths({7, 0, length, 1});
  expect_formula<FeedForward<double>>({.channels = channels, .hidden = 7}, sequences);
  expect_formula<TokenProjection<double>>({.channels = channels, .length = length, .causal = true}, sequences);
  expect_formula<GatedAttentionUnit<double>>(attention, sequences);
}

TEST(Branch, InitializesItsScale) {
  const FeedForwardConfig mixer{.channels = channels};
  EXPECT_EQ(Branch<FeedForward<float>>({.channels = channels}, mixer).scale.size(), 0);
  EXPECT_EQ(Branch<FeedForward<float>>({.channels = channels, .layer_scale = 0.5}, mixer).scale,
            Vector<float>::Constant(channels, 0.5f));
}

TEST(Branch, InheritsTheContractOfItsMixer) {
  const Branch<TokenProjection<float>> exact({.channels = channels}, TokenProjectionConfig{.channels = channels, .length = 9});
  EXPECT_EQ(exact.in(), channels);
  EXPECT_EQ(exact.out(), channels);
  EXPECT_EQ(exact.longest(), 9);
  EXPECT_FALSE(exact.is_causal());
  EXPECT_FALSE(exact.contract().takes_mask);
  EXPECT_EQ(message_of<ShapeError>([&] { exact.forward(Matrix<float>::Zero(4, channels), Sequences::single(4)); }),
            "Branch::forward: sequence 0 of 1 has 4 tokens, expected 9. Resize the spatial weight with resize_length(); for "
            "shorter sequences, "
            "length_policy = slice uses its corner.");
  const Branch<GatedAttentionUnit<float>> attending({.channels = channels}, attention);
  EXPECT_TRUE(attending.is_causal());
  EXPECT_TRUE(attending.contract().takes_mask);
  EXPECT_EQ(attending.longest(), Contract::unlimited);
}

TEST(Branch, RefusesInvalidConfigurations) {
  using Feeding = Branch<FeedForward<float>>;
  const auto refusal = [](const BranchOptions& options, const FeedForwardConfig& mixer) {
    return message_of<ArgumentError>([&] { Feeding(options, mixer); });
  };
  EXPECT_EQ(refusal({.channels = 6}, {.channels = 6, .out = 5}),
            "Branch: FeedForward maps 6 channels to 5, expected 6 to 6 for the residual. Build it with equal input and output "
            "channels.");
  EXPECT_EQ(refusal({.channels = 6}, {.channels = 5, .out = 6}),
            "Branch: FeedForward maps 5 channels to 6, expected 6 to 6 for the residual. Build it with equal input and output "
            "channels.");
  EXPECT_EQ(refusal({.channels = 6, .layer_scale = -1}, {.channels = 6}), "Branch: layer_scale = -1 must not be negative.");
  EXPECT_EQ(refusal({.channels = 6, .drop_path = 1}, {.channels = 6}), "Branch: drop_path = 1, expected 0 ≤ drop_path < 1.");
  EXPECT_EQ(refusal({.channels = 6, .drop_path = -0.5}, {.channels = 6}),
            "Branch: drop_path = -0.5, expected 0 ≤ drop_path < 1.");
  EXPECT_THROW(Feeding({.channels = 0}, FeedForwardConfig{.channels = 6}), ArgumentError);
}

/// Expects y = x for dropped sequences, and branch outputs divided by 1 - drop_path for the others.
template <class Mixer>
void expect_stochastic_depth(const typename Mixer::Config& config, NormPosition position) {
  Branch<Mixer> branch({.channels = channels, .norm_position = position, .layer_scale = 0.1, .drop_path = 0.5}, config);
  test::randomize(branch, 1);
  const auto sequences = Sequences::uniform(40, length);
  const auto x = random_matrix<double>(sequences.total(), channels, 2);
  const Matrix<double> whole = branch.forward(x, sequences);
  Tape<double> tape(Threads{1}, {.scaled_depth = true});
  auto gradient = zeros_like(branch);
  Random noise(3);
  tape.begin(branch, gradient, noise);
  const Matrix<double> y = tape[record(tape, branch, tape.input(x), sequences)];
  Index dropped = 0;
  for (Index b = 0; b < sequences.count(); ++b) {
    const Matrix<double> before = x.middleRows(sequences.offset(b), length), after = y.middleRows(sequences.offset(b), length),
                         kept = whole.middleRows(sequences.offset(b), length);
    if (after == before) {
      ++dropped;
    } else {
      EXPECT_TRUE(near(after, Matrix<double>(before + (kept - before) / 0.5))) << "sequence " << b;
    }
  }
  EXPECT_GE(dropped, 10);
  EXPECT_LE(dropped, 30);
}

TEST(Branch, DropPathDropsWholeSequences) {
  for (const NormPosition position : {NormPosition::pre, NormPosition::res_post}) {
    expect_stochastic_depth<TokenProjection<double>>({.channels = channels, .length = length}, position);
    expect_stochastic_depth<GatedAttentionUnit<double>>(attention, position);
  }
}

TEST(Branch, AFactorScalesTheMixer) {
  Branch<FeedForward<double>> branch({.channels = 6, .factor = 0.5}, FeedForwardConfig{.channels = 6, .hidden = 8});
  test::shake(branch, 1);
  const auto x = test::random_matrix<double>(5, 6, 2);
  EXPECT_LT((branch.forward(x) - x - 0.5 * branch.mixer.forward(branch.norm.forward(x))).cwiseAbs().maxCoeff(), 1e-14);
  EXPECT_EQ(parameter_count(branch), parameter_count(branch.norm) + parameter_count(branch.mixer));
}

}  // namespace
}  // namespace gated::branch_test
