#include "gated/models/gmlp.hpp"

#include <gtest/gtest.h>

#include "gmlps.hpp"

// Tests specific to a stack of gMLP blocks; stack_test.cpp tests all stacks.

namespace gated::gmlp_test {
namespace {

using test::message_of;
using test::random_matrix;
using test::random_model;
using test::same_bits;
using test::small_channels;
using test::small_gmlps;
using test::small_length;

Matrix<float> run(const Gmlp<float>& model, const Matrix<float>& x, const Sequences& sequences, int threads = 1) {
  Workspace<float> workspace(Threads{threads});
  return model.forward(x, sequences, workspace);
}

TEST(Gmlp, StartsAsAFeedForwardNetwork) {
  Random random(1);
  const Gmlp<double> model({.length = 9, .channels = 10, .hidden = 24, .depth = 3}, random);
  const auto x = random_matrix<double>(9, 10, 2);
  Workspace<double> workspace;
  const Matrix<double> y = model.forward(x, Sequences::single(9), workspace);
  Matrix<double> one_by_one(9, 10);
  const Gmlp<double> sliced = [&] {
    Gmlp<double> copy = model;
    for (auto& block : copy.blocks) {
      block.gate.proj.config.length_policy = LengthPolicy::slice;
    }
    return copy;
  }();
  for (Index t = 0; t < 9; ++t) {  // each token is a sequence of its own: no token mixing
    one_by_one.row(t) = sliced.forward(x.row(t), Sequences::single(1), workspace);
  }
  EXPECT_TRUE(test::near(y, one_by_one, 1e-4));
  EXPECT_FALSE(same_bits(y, one_by_one));
}

TEST(Gmlp, RefusesOtherLengthsBeforeWriting) {
  for (const GmlpConfig& config : small_gmlps(false)) {
    const auto model = random_model<Gmlp<float>>(config);
    Workspace<float> workspace;
    const auto refuse = [&](Index rows, const Sequences& sequences) {
      Matrix<float> y = test::sentinel<float>(rows, small_channels);
      const std::string said = message_of<ShapeError>(
          [&] { model.forward(Matrix<float>::Zero(rows, small_channels).eval(), sequences, y, workspace); });
      EXPECT_EQ(said.rfind("Stack::forward: ", 0), 0u) << said;
      EXPECT_NE(said.find(" tokens, expected 12. Resize the spatial weight"), std::string::npos) << said;
      EXPECT_TRUE(test::is_sentinel(y));
    };
    refuse(11, Sequences::single(11));
    refuse(13, Sequences::single(13));
    refuse(24, Sequences::of_lengths({12, 11, 1}));
  }
  for (const GmlpConfig& config : small_gmlps(true)) {
    const auto model = random_model<Gmlp<float>>(config);
    EXPECT_NO_THROW(run(model, Matrix<float>::Zero(11, small_channels), Sequences::single(11)))
        << "slicing a causal weight changes nothing: " << test::describe(config);
    EXPECT_THROW(run(model, Matrix<float>::Zero(13, small_channels), Sequences::single(13)), ShapeError);
  }
}

TEST(Gmlp, NamesTheExpectedLength) {
  const Gmlp<float> model({.length = 196, .channels = 4, .hidden = 8, .depth = 2});
  EXPECT_EQ(message_of<ShapeError>([&] { run(model, Matrix<float>::Zero(197, 4), Sequences::single(197)); }),
            "Stack::forward: sequence 0 of 1 has 197 tokens, expected 196. Resize the spatial weight with resize_length(); for "
            "shorter sequences, "
            "length_policy = slice uses its corner.");
  const Gmlp<float> causal({.length = 196, .channels = 4, .hidden = 8, .depth = 2, .causal = true});
  EXPECT_EQ(message_of<ShapeError>([&] {
              run(causal, Matrix<float>::Zero(200, 4), Sequences::of_lengths({3, 197}));
            }),
            "Stack::forward: sequence 1 of 2 has 197 tokens, expected 196 at most. Resize the spatial weight with "
            "resize_length(); for "
            "shorter sequences, length_policy = slice uses its corner.");
}

TEST(Gmlp, RefusesInvalidConfigurations) {
  const GmlpConfig good{.length = 4, .channels = 6, .hidden = 8};
  const auto refused = [&](auto change) {
    GmlpConfig config = good;
    change(config);
    EXPECT_THROW(Gmlp<float>{config}, ArgumentError);
  };
  refused([](GmlpConfig& c) { c.length = 0; });
  refused([](GmlpConfig& c) { c.length = -4; });
  refused([](GmlpConfig& c) { c.channels = -1; });
  const std::string negative = message_of<ArgumentError>([] { Gmlp<float>({.length = 4, .channels = -1, .hidden = 8}); });
  EXPECT_NE(negative.find("channels = -1"), negative.npos) << negative;
  refused([](GmlpConfig& c) { c.hidden = 0; });
  refused([](GmlpConfig& c) { c.hidden = 7; });
  refused([](GmlpConfig& c) { c.depth = -1; });
  refused([](GmlpConfig& c) { c.heads = 3; });
  refused([](GmlpConfig& c) { c.drop_path = 1; });
  refused([](GmlpConfig& c) { c.drop_path = -0.5; });
  EXPECT_NO_THROW(Gmlp<float>{good});
}

TEST(Gmlp, ChargesItsParametersToTheBudget) {
  std::vector<GmlpConfig> configs = small_gmlps(true);
  configs.push_back({.length = 1, .channels = 1, .hidden = 2, .depth = 0});
  configs.push_back({.length = 3, .channels = 2, .hidden = 6, .depth = 3, .gate = GateForm::linear, .heads = 2});
  for (const GmlpConfig& config : configs) {
    SCOPED_TRACE(test::describe(config));
    test::expect_fair_spending<Gmlp<float>>(config);
  }
  const ParameterBudget budget(1 << 20, "too many values");
  EXPECT_EQ(message_of<FileError>([] { Gmlp<float>({.length = Count::most / 2, .channels = 4, .hidden = 4}); }),
            "too many values");
}

// --- Streams ---

TEST(GmlpState, HasTheExpectedSizeAndCapacity) {
  for (const GmlpConfig& config : small_gmlps(true)) {
    const auto model = random_model<Gmlp<float>>(config);
    const Index gated = config.gate == GateForm::split ? config.hidden / 2 : config.hidden;
    const Index per_token = gated + 2 * config.attention_width + (config.token_shift > 0 ? config.channels : 0);
    for (const Index capacity : {small_length, Index{5}}) {
      const auto state = model.start(capacity);
      EXPECT_EQ(state.bytes(), sizeof(float) * static_cast<std::size_t>(config.depth * capacity * per_token));
      EXPECT_EQ(state.capacity(), capacity);
    }
    EXPECT_EQ(model.start().bytes(), model.start(small_length).bytes()) << "the capacity defaults to the model's length";
  }
}

constexpr const char* not_causal =
    "Stack::start: an output depends on later tokens, so the layer cannot be streamed. Build it with causal = true, or use "
    "forward() on whole sequences.";

TEST(Gmlp, RefusesToStreamIfNotCausal) {
  for (GmlpConfig config : small_gmlps(false)) {
    if (config.spatial != SpatialForm::scaled_toeplitz) {
      EXPECT_EQ(message_of<ArgumentError>([&] { Gmlp<float>(config).start(); }), not_causal) << test::describe(config);
    }
  }
}

TEST(Gmlp, ScaledFormStreamsUnlessAnotherLayerLooksAhead) {
  GmlpConfig config = small_gmlps(false)[2];
  ASSERT_EQ(config.spatial, SpatialForm::scaled_toeplitz);  // always lower triangular
  const auto model = random_model<Gmlp<float>>(config);
  const auto x = random_matrix<float>(small_length, small_channels, 2);
  Workspace<float> workspace;
  Matrix<float> y(small_length, small_channels);
  auto state = model.start();
  model.extend(x, state, y, workspace);
  EXPECT_TRUE(same_bits(y, run(model, x, Sequences::single(small_length))));

  config.token_shift = 1;
  EXPECT_EQ(message_of<ArgumentError>([&] { Gmlp<float>(config).start(); }), not_causal) << "token shift looks ahead";
  config.token_shift = 0;
  config.attention_width = 4;
  EXPECT_EQ(message_of<ArgumentError>([&] { Gmlp<float>(config).start(); }), not_causal) << "attention looks ahead";
}

TEST(Gmlp, SuggestsARemedyIfAStreamIsTooLong) {
  const auto model = random_model<Gmlp<float>>(small_gmlps(true)[0]);
  const auto x = random_matrix<float>(small_length, small_channels, 2);
  Workspace<float> workspace;
  auto state = model.start();
  Matrix<float> y(small_length, small_channels), one(1, small_channels);
  model.extend(x, state, y, workspace);
  EXPECT_EQ(message_of<ShapeError>([&] { model.extend(x.topRows(1), state, one, workspace); }),
            "Stack::extend: 1 tokens from position 12 exceed the 12 tokens that the model can serve. Rewind the state, or "
            "change the model. Resize the spatial weight with resize_length(); for shorter sequences, length_policy = slice "
            "uses its corner.");
  EXPECT_EQ(state.position(), 12);
}

TEST(Gmlp, RefusesAStateOfAnotherConfiguration) {
  const auto configs = small_gmlps(true);
  const auto model = random_model<Gmlp<float>>(configs[0]);
  const auto x = random_matrix<float>(1, small_channels, 2);
  Workspace<float> workspace;
  std::vector<GmlpConfig> others(5, configs[0]);
  others[0].depth = 3;
  others[1].length = 6;
  others[2].hidden = 20;
  others[3].attention_width = 4;
  others[4].token_shift = 1;
  for (const GmlpConfig& other : others) {
    const Gmlp<float> stranger(other);
    auto state = stranger.start();
    Matrix<float> y = test::sentinel<float>(1, small_channels);
    if (other.length < small_length) {
      model.extend(x, state, y, workspace);  // compatible, because only the capacity is smaller
      EXPECT_EQ(state.position(), 1);
      continue;
    }
    EXPECT_NE(
        message_of<ArgumentError>([&] { model.extend(x, state, y, workspace); }).find("Make one with this model's start()."),
        std::string::npos);
    EXPECT_TRUE(test::is_sentinel(y));
    EXPECT_EQ(state.position(), 0);
  }
}

}  // namespace
}  // namespace gated::gmlp_test
