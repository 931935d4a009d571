#include <gtest/gtest.h>

#include "gated/models/gau_presets.hpp"
#include "literal_attention.hpp"
#include "tests/core/allocations.hpp"

namespace gated {
namespace {

using test::is_untouched;
using test::near;
using test::random_layer;
using test::random_matrix;
using test::refuses;
using test::same_bits;
using test::settings_of;
using test::untouched;
using test::wide;

constexpr Index c = 6, s = 8, capacity = 14;

/// Causal units whose scores have a fixed divisor.
std::vector<GatedAttentionUnitConfig> streamable() {
  std::vector<GatedAttentionUnitConfig> all(7, gau_presets::flash_quad_junnyu(c, capacity, s));
  all[1] = gau_presets::lucidrains(c, s);
  all[1].score_scale = ScoreScale::sqrt_width;
  all[2] = gau_presets::gau_alpha(c, s);
  all[2].kernel = ScoreKernel::softmax;
  all[3] = gau_presets::rtmcc(c, s);
  all[4].kernel = ScoreKernel::laplace;
  all[5].score_scale = ScoreScale::one;
  all[6].rotary = Rotary::interleaved;
  all[6].rotary_dimensions = 4;
  for (auto& config : all) {
    config.causal = true;
  }
  return all;
}

template <class T>
class GatedAttentionUnitStreaming : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(GatedAttentionUnitStreaming, Scalars, );

TYPED_TEST(GatedAttentionUnitStreaming, StepsAndPrefillsEqualTheRowsOfTheBatch) {
  using T = TypeParam;
  const auto x = random_matrix<T>(capacity, c, 2);
  for (const GatedAttentionUnitConfig& config : streamable()) {
    const auto unit = random_layer<GatedAttentionUnit<T>>(config);
    Workspace<T> workspace;
    const Matrix<double> whole = wide(unit.forward(x, Sequences::single(capacity), workspace));
    for (const std::vector<Index>& split :
         {std::vector<Index>(capacity, 1), std::vector<Index>{5, 1, 8}, std::vector<Index>{14}, std::vector<Index>{13, 0, 1}}) {
      auto state = unit.start(capacity);
      Matrix<T> y(capacity, c);
      Index first = 0;
      for (const Index rows : split) {
        unit.extend(x.middleRows(first, rows), first, state, y.middleRows(first, rows), workspace);
        first += rows;
      }
      EXPECT_TRUE(near(y, whole)) << settings_of(config);
    }
  }
}

TYPED_TEST(GatedAttentionUnitStreaming, ACopiedStateBranches) {
  using T = TypeParam;
  const auto unit = random_layer<GatedAttentionUnit<T>>(streamable()[0]);
  const auto x = random_matrix<T>(capacity, c, 2), other = random_matrix<T>(1, c, 3);
  Workspace<T> workspace;
  Matrix<T> y(5, c), one(1, c), two(1, c);
  auto state = unit.start(capacity);
  EXPECT_EQ(state.bytes(), sizeof(T) * static_cast<std::size_t>(capacity * (s + 2 * c)));
  unit.extend(x.topRows(5), 0, state, y, workspace);
  auto branch = state;
  unit.extend(other, 5, branch, one, workspace);
  unit.extend(x.row(5), 5, state, two, workspace);
  const Matrix<double> whole = wide(unit.forward(x.topRows(6), Sequences::single(6), workspace));
  EXPECT_TRUE(near(two, whole.bottomRows(1)));
  EXPECT_FALSE(near(one, whole.bottomRows(1)));
}

TEST(GatedAttentionUnit, AStreamAllocatesNothingAfterItsFirstStep) {
  constexpr Index length = 900;
  for (GatedAttentionUnitConfig config : streamable()) {
    config.max_length = length;
    const auto unit = random_layer<GatedAttentionUnit<float>>(config);
    const auto x = random_matrix<float>(length, c, 2);
    Matrix<float> y(1, c);
    Workspace<float> workspace;
    auto state = unit.start(length);
    unit.extend(x.row(0), 0, state, y, workspace);
    EXPECT_EQ(test::allocations_during([&] {
                for (Index i = 1; i < length; ++i) {
                  unit.extend(x.row(i), i, state, y, workspace);
                }
              }),
              0)
        << settings_of(config);
  }
}

TEST(GatedAttentionUnit, RefusesToStreamWhereATokenNeedsLaterOnesAndSaysWhatToSet) {
  auto config = gau_presets::paper(c, capacity, s);
  EXPECT_TRUE(refuses<ArgumentError>([&] { GatedAttentionUnit<float>(config).start(4); }, "causal = true"));
  config.causal = true;
  EXPECT_TRUE(refuses<ArgumentError>([&] { GatedAttentionUnit<float>(config).start(4); },
                                     "Set score_scale = max_length or sqrt_width"));
  config.score_scale = ScoreScale::max_length;
  config.divide_by_keys = true;
  EXPECT_TRUE(refuses<ArgumentError>([&] { GatedAttentionUnit<float>(config).start(4); }, "divide_by_keys = false"));
  config.divide_by_keys = false;
  config.kernel = ScoreKernel::softmax_plus;
  EXPECT_TRUE(refuses<ArgumentError>([&] { GatedAttentionUnit<float>(config).start(4); }, "another kernel than softmax_plus"));
  config.kernel = ScoreKernel::relu2;
  EXPECT_TRUE(refuses<ShapeError>([&] { GatedAttentionUnit<float>(config).start(capacity + 1); }, "larger max_length"));
  EXPECT_NO_THROW(GatedAttentionUnit<float>(config).start(capacity));
  EXPECT_TRUE(refuses<ArgumentError>([&] { GatedAttentionUnit<float>(config).start(-1); }, "capacity = -1"));
}

TEST(GatedAttentionUnit, RefusesBadStepsAndLeavesTheStateUnchanged) {
  const auto unit = random_layer<GatedAttentionUnit<float>>(streamable()[0]);
  Workspace<float> workspace;
  auto state = unit.start(4);
  const auto refuse = [&](const Matrix<float>& x, Index first, Index rows, Index columns) {
    Matrix<float> y = untouched<float>(rows, columns);
    EXPECT_THROW(unit.extend(x, first, state, y, workspace), ShapeError);
    EXPECT_TRUE(is_untouched(y));
    EXPECT_TRUE(state.keys.isZero(0));
    EXPECT_TRUE(state.values.isZero(0));
  };
  refuse(Matrix<float>::Ones(5, c), 0, 5, c);
  refuse(Matrix<float>::Ones(1, c), 4, 1, c);
  refuse(Matrix<float>::Ones(1, c), -1, 1, c);
  refuse(Matrix<float>::Ones(1, c), std::numeric_limits<Index>::max(), 1, c);
  refuse(Matrix<float>::Ones(1, c + 1), 0, 1, c);
  refuse(Matrix<float>::Ones(1, c), 0, 2, c);
  refuse(Matrix<float>::Ones(1, c), 0, 1, c - 1);
  auto narrow = streamable()[0];
  narrow.query_key = 4;
  auto other = GatedAttentionUnit<float>(narrow).start(4);
  Matrix<float> y = untouched<float>(1, c);
  EXPECT_TRUE(refuses<ArgumentError>([&] { unit.extend(Matrix<float>::Ones(1, c), 0, other, y, workspace); },
                                     "Make it with start() of this unit"));
  EXPECT_TRUE(is_untouched(y));

  auto longer = streamable()[0];  // of the same widths, with a Toeplitz bias
  longer.max_length = 40;
  auto foreign = GatedAttentionUnit<float>(longer).start(40);
  EXPECT_TRUE(refuses<ShapeError>([&] { unit.extend(Matrix<float>::Ones(1, c), capacity, foreign, y, workspace); },
                                  "the Toeplitz bias holds 14 positions"));
  auto both_ways = streamable()[0];
  both_ways.causal = false;
  const auto not_causal = random_layer<GatedAttentionUnit<float>>(both_ways);
  EXPECT_TRUE(refuses<ArgumentError>([&] { not_causal.extend(Matrix<float>::Ones(1, c), 0, state, y, workspace); },
                                     "GatedAttentionUnit::extend: the unit is not causal"));
  state.values.resize(3, state.values.cols());
  EXPECT_THROW(unit.extend(Matrix<float>::Ones(1, c), 0, state, y, workspace), ArgumentError);
  EXPECT_TRUE(is_untouched(y));
}

TEST(GatedAttentionUnit, RefusesBadInputBeforeWriting) {
  auto config = gau_presets::flash_quad_junnyu(c, 8, s);
  const auto unit = random_layer<GatedAttentionUnit<float>>(config);
  Workspace<float> workspace;
  const auto refuse = [&](Index rows, Index columns, const Sequences& sequences, Index y_rows, Index y_columns,
                          const std::vector<std::uint8_t>& mask, const std::string& part) {
    Matrix<float> y = untouched<float>(y_rows, y_columns);
    EXPECT_TRUE(refuses<ShapeError>(
        [&] { unit.forward(random_matrix<float>(rows, columns, 1), sequences, y, workspace, mask); }, part));
    EXPECT_TRUE(is_untouched(y)) << part;
  };
  refuse(6, c + 1, Sequences::single(6), 6, c, {}, "x has 7 columns, expected channels = 6");
  refuse(6, c, Sequences::single(5), 6, c, {}, "x has 6 rows");
  refuse(6, c, Sequences::single(6), 5, c, {}, "y is 5 × 6, expected 6 × 6");
  refuse(6, c, Sequences::single(6), 6, c - 1, {}, "y is 6 × 5, expected 6 × 6");
  refuse(9, c, Sequences::single(9), 9, c, {}, "a sequence has 9 tokens, but the Toeplitz bias holds 8 positions");
  refuse(6, c, Sequences::single(6), 6, c, {1, 1, 1, 1, 1}, "the mask has 5 entries, expected 6");
  refuse(6, c, Sequences::of_lengths({2, 4}), 6, c, {0, 0, 1, 1, 1, 1}, "the mask leaves no token of sequence 0");
  Matrix<float> y = untouched<float>(6, c);
  EXPECT_TRUE(refuses<ShapeError>(
      [&] {
        unit.forward(random_matrix<float>(6, c, 1), Sequences::of_lengths({2, 4}), random_matrix<float>(3, 4, 1), y, workspace);
      },
      "bias is 3 × 4, expected at least 4 × 4"));
  EXPECT_TRUE(is_untouched(y));
}

TEST(GatedAttentionUnit, RefusesConfigurationsThatMakeNoSenseAndNamesTheOption) {
  const auto refuse = [](auto change, const std::string& part) {
    auto config = gau_presets::paper(c, 8, s);
    change(config);
    EXPECT_TRUE(refuses<ArgumentError>([&] { GatedAttentionUnit<float>{config}; }, part));
  };
  refuse([](auto& config) { config.channels = 0; }, "channels = 0");
  refuse([](auto& config) { config.value = -1; }, "value = -1");
  refuse([](auto& config) { config.query_key = 0; }, "query_key = 0");
  refuse([](auto& config) { config.query_key = 7; }, "rotary_dimensions");  // odd
  refuse([](auto& config) { config.rotary_dimensions = 5; }, "rotary_dimensions");
  refuse([](auto& config) { config.rotary_dimensions = 10; }, "rotary_dimensions = 10, expected at most query_key = 8");
  refuse([](auto& config) { config.max_length = 0; }, "max_length");
  refuse([](auto& config) { config.out = 5; }, "Set residual = none");
  refuse(
      [](auto& config) {
        config.relative_bias = RelativeBiasForm::none;
        config.score_scale = ScoreScale::max_length;
        config.max_length = 0;
      },
      "score_scale = max_length needs max_length");
}

}  // namespace
}  // namespace gated
