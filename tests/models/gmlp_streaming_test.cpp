#include <gtest/gtest.h>

#include "gmlps.hpp"

namespace gated {
namespace {

using test::message_of;
using test::near;
using test::random_matrix;
using test::random_model;
using test::same_bits;
using test::small_channels;
using test::small_gmlps;
using test::small_length;
using test::wide;

/// A causal model, an input, and what forward() makes of it.
template <class T>
struct Streamed {
  Gmlp<T> model;
  Matrix<T> x = random_matrix<T>(small_length, small_channels, 2);
  Workspace<T> workspace;
  Matrix<T> whole;

  explicit Streamed(const GmlpConfig& config) : model(random_model<Gmlp<T>>(config)) {
    whole = model.forward(x, Sequences::single(small_length), workspace);
  }

  /// The outputs for the next `count` tokens of x.
  Matrix<T> go_on(GmlpState<T>& state, Index count) {
    Matrix<T> y(count, small_channels);
    model.extend(x.middleRows(state.position(), count), state, y, workspace);
    return y;
  }
};

template <class T>
class GmlpStreaming : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(GmlpStreaming, Scalars, );

TYPED_TEST(GmlpStreaming, EveryStepEqualsItsRowOfTheBatch) {
  for (const GmlpConfig& config : small_gmlps(true)) {
    Streamed<TypeParam> s(config);
    auto state = s.model.start();
    for (Index t = 0; t < small_length; ++t) {
      EXPECT_EQ(state.position(), t);
      EXPECT_TRUE(near(s.go_on(state, 1), wide<TypeParam>(s.whole.row(t)))) << test::describe(config) << ": token " << t;
    }
  }
}

TYPED_TEST(GmlpStreaming, APrefillOfManyTokensEqualsAsManySteps) {
  for (const GmlpConfig& config : small_gmlps(true)) {
    Streamed<TypeParam> s(config);
    for (const Index first : {1, 5, 12}) {
      auto state = s.model.start();
      EXPECT_TRUE(near(s.go_on(state, first), wide<TypeParam>(s.whole.topRows(first)))) << test::describe(config);
      EXPECT_EQ(state.position(), first);
      EXPECT_TRUE(near(s.go_on(state, small_length - first), wide<TypeParam>(s.whole.bottomRows(small_length - first))));
    }
  }
}

TYPED_TEST(GmlpStreaming, CopiesOfAStateGoTheirOwnWays) {
  for (const GmlpConfig& config : small_gmlps(true)) {
    Streamed<TypeParam> s(config);
    auto state = s.model.start();
    s.go_on(state, 5);
    auto branch = state;
    const auto other = random_matrix<TypeParam>(4, small_channels, 9);
    Matrix<TypeParam> y(4, small_channels);
    s.model.extend(other, branch, y, s.workspace);
    EXPECT_EQ(branch.position(), 9);
    EXPECT_EQ(state.position(), 5);
    EXPECT_TRUE(near(s.go_on(state, 7), wide<TypeParam>(s.whole.bottomRows(7)))) << test::describe(config);

    Matrix<TypeParam> branched(9, small_channels);
    branched << s.x.topRows(5), other;
    EXPECT_TRUE(near(y, wide<TypeParam>(s.model.forward(branched, Sequences::of_lengths({9}), s.workspace).bottomRows(4))))
        << test::describe(config);
  }
}

TYPED_TEST(GmlpStreaming, ARewoundStateHasNeverBeenFurther) {
  for (const GmlpConfig& config : small_gmlps(true)) {
    Streamed<TypeParam> s(config);
    auto straight = s.model.start(), state = s.model.start();
    s.go_on(straight, 5), s.go_on(state, 5);
    Matrix<TypeParam> astray = Matrix<TypeParam>::Constant(7, small_channels, std::numeric_limits<TypeParam>::quiet_NaN());
    s.model.extend(astray, state, astray, s.workspace);
    state.rewind(5);
    EXPECT_EQ(state.position(), 5);
    for (Index t = 5; t < small_length; ++t) {
      EXPECT_TRUE(same_bits(s.go_on(state, 1), s.go_on(straight, 1))) << test::describe(config) << ": token " << t;
    }
    state.rewind(0);
    auto fresh = s.model.start();
    EXPECT_TRUE(same_bits(s.go_on(state, 12), s.go_on(fresh, 12))) << test::describe(config);
  }
}

TYPED_TEST(GmlpStreaming, GivesEqualBitsForAnyNumberOfThreads) {
  for (const GmlpConfig& config : small_gmlps(true)) {
    Streamed<TypeParam> s(config);
    auto one = s.model.start(), three = s.model.start();
    const Matrix<TypeParam> expected = s.go_on(one, 7);
    Workspace<TypeParam> workspace(Threads{3});
    Matrix<TypeParam> y(7, small_channels);
    s.model.extend(s.x.topRows(7), three, y, workspace);
    EXPECT_TRUE(same_bits(y, expected)) << test::describe(config);
  }
}

TEST(GmlpState, KeepsItsSizeHoweverLongTheSequence) {
  for (const GmlpConfig& config : small_gmlps(true)) {
    Streamed<float> s(config);
    auto state = s.model.start();
    const std::size_t bytes = state.bytes();
    const Index gated = config.gate == GateForm::split ? config.hidden / 2 : config.hidden;
    const Index per_token = gated + 2 * config.attention + (config.token_shift > 0 ? config.channels : 0);
    EXPECT_EQ(bytes, sizeof(float) * static_cast<std::size_t>(config.depth * small_length * per_token));
    for (Index t = 0; t < small_length; ++t) {
      s.go_on(state, 1);
      EXPECT_EQ(state.bytes(), bytes);
    }
  }
}

TEST(GmlpState, RefusesToRewindToWhereItHasNotBeen) {
  Streamed<float> s(small_gmlps(true)[0]);
  auto state = s.model.start();
  s.go_on(state, 4);
  EXPECT_EQ(message_of<ArgumentError>([&] { state.rewind(5); }), "GmlpState::rewind: position = 5, expected 0 … 4.");
  EXPECT_THROW(state.rewind(-1), ArgumentError);
  EXPECT_EQ(state.position(), 4);
}

TEST(Gmlp, RefusesToStreamUnlessItIsCausal) {
  for (const GmlpConfig& config : small_gmlps(false)) {
    EXPECT_NE(message_of<ArgumentError>([&] { Gmlp<float>(config).start(); }).find("the block is not causal"),
              std::string::npos);
  }
}

TEST(Gmlp, RefusesBadStepsAndLeavesTheStateUnchanged) {
  for (const GmlpConfig& config : small_gmlps(true)) {
    Streamed<float> s(config);
    auto state = s.model.start();
    s.go_on(state, 10);
    const auto refuse = [&](const Matrix<float>& x, Index rows, Index columns) {
      Matrix<float> y = test::sentinel<float>(rows, columns);
      EXPECT_THROW(s.model.extend(x, state, y, s.workspace), ShapeError) << test::describe(config);
      EXPECT_TRUE(test::is_sentinel(y));
      EXPECT_EQ(state.position(), 10);
    };
    refuse(Matrix<float>::Zero(3, small_channels), 3, small_channels);  // past the end
    refuse(Matrix<float>::Zero(1, 9), 1, small_channels);
    refuse(Matrix<float>::Zero(1, small_channels), 2, small_channels);
    refuse(Matrix<float>::Zero(1, small_channels), 1, 11);
    EXPECT_TRUE(near(s.go_on(state, 2), wide<float>(s.whole.bottomRows(2)))) << "as if nothing had been asked";
  }
}

TEST(Gmlp, SaysWhatToDoPastItsLength) {
  Streamed<float> s(small_gmlps(true)[0]);
  auto state = s.model.start();
  s.go_on(state, 12);
  Matrix<float> y(1, small_channels);
  EXPECT_EQ(message_of<ShapeError>([&] { s.model.extend(s.x.topRows(1), state, y, s.workspace); }),
            "Gmlp::extend: 1 tokens from position 12 on go past the 12 tokens that the model was built for. Resize its spatial "
            "weights with resize_length(), rewind, or start anew.");
  EXPECT_EQ(state.position(), 12);
}

TEST(Gmlp, RefusesAStateOfAnotherModel) {
  const auto configs = small_gmlps(true);
  Streamed<float> s(configs[0]);
  std::vector<GmlpConfig> others(5, configs[0]);
  others[0].depth = 3;
  others[1].length = 6;
  others[2].hidden = 20;
  others[3].attention = 4;
  others[4].token_shift = 1;
  for (const GmlpConfig& other : others) {
    auto state = Gmlp<float>(other).start();
    Matrix<float> y = test::sentinel<float>(1, small_channels);
    EXPECT_NE(message_of<ArgumentError>([&] {
                s.model.extend(s.x.topRows(1), state, y, s.workspace);
              }).find("Make it with start() of this model."),
              std::string::npos);
    EXPECT_TRUE(test::is_sentinel(y));
    EXPECT_EQ(state.position(), 0);
  }
}

}  // namespace
}  // namespace gated
