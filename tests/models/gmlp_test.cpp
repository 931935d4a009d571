#include "gated/models/gmlp.hpp"

#include <gtest/gtest.h>

#include "gmlps.hpp"

namespace gated {
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

TEST(Gmlp, IsItsBlocksOneAfterTheOther) {
  for (const GmlpConfig& config : small_gmlps(false)) {
    const auto model = random_model<Gmlp<float>>(config);
    const auto sequences = Sequences::uniform(2, small_length);
    Matrix<float> x = random_matrix<float>(2 * small_length, small_channels, 2);
    const Matrix<float> y = run(model, x, sequences);
    Workspace<float> workspace;
    for (const auto& block : model.blocks) {
      block.forward(x, sequences, x, workspace);
    }
    EXPECT_TRUE(same_bits(y, x)) << test::describe(config);
  }
}

TEST(Gmlp, WithoutBlocksIsTheIdentity) {
  const Gmlp<float> model({.length = 4, .channels = 3, .hidden = 6, .depth = 0});
  const auto x = random_matrix<float>(4, 3, 1);
  EXPECT_TRUE(same_bits(run(model, x, Sequences::single(4)), x));
}

TEST(Gmlp, MayWriteOverItsInput) {
  const auto model = random_model<Gmlp<float>>(small_gmlps(false)[6]);
  Matrix<float> x = random_matrix<float>(small_length, small_channels, 2);
  const Matrix<float> y = run(model, x, Sequences::single(small_length));
  Workspace<float> workspace;
  model.forward(x, Sequences::single(small_length), x, workspace);
  EXPECT_TRUE(same_bits(x, y));
}

TEST(Gmlp, CausalTokensNeverSeeTheFuture) {
  for (const GmlpConfig& config : small_gmlps(true)) {
    const auto model = random_model<Gmlp<float>>(config);
    const auto sequences = Sequences::single(small_length);
    const auto x = random_matrix<float>(small_length, small_channels, 2);
    const Matrix<float> y = run(model, x, sequences);
    for (Index t = 0; t < small_length; ++t) {
      for (const float factor : {-1.5F, 1e6F, 1e15F}) {
        Matrix<float> changed = x;
        changed.row(t) *= factor;
        const Matrix<float> z = run(model, changed, sequences);
        EXPECT_TRUE(same_bits(z.topRows(t), y.topRows(t))) << test::describe(config) << ": token " << t << " × " << factor;
        EXPECT_FALSE(same_bits(z.row(t), y.row(t)));
      }
    }
  }
}

TEST(Gmlp, LongCausalSequencesNeverSeeTheFutureEither) {
  for (GmlpConfig config : small_gmlps(true)) {
    config.length = 300;  // several blocks of rows
    const auto model = random_model<Gmlp<float>>(config);
    const auto x = random_matrix<float>(300, small_channels, 2);
    const Matrix<float> y = run(model, x, Sequences::single(300));
    for (const Index t : {1, 127, 128, 129, 256, 299}) {
      Matrix<float> changed = x;
      changed.bottomRows(300 - t) *= -1e10F;
      EXPECT_TRUE(same_bits(run(model, changed, Sequences::single(300)).topRows(t), y.topRows(t)))
          << test::describe(config) << ": token " << t;
    }
  }
}

TEST(Gmlp, ARaggedBatchEqualsItsSequencesOneByOneToTheBit) {
  for (const bool causal : {true, false}) {
    for (GmlpConfig config : small_gmlps(causal)) {
      config.length_policy = LengthPolicy::slice;
      const auto model = random_model<Gmlp<float>>(config);
      const auto sequences = Sequences::of_lengths({5, 1, 12, 0, 7});
      const auto x = random_matrix<float>(sequences.total(), small_channels, 2);
      const Matrix<float> y = run(model, x, sequences);
      for (Index b = 0; b < sequences.count(); ++b) {
        const Index offset = sequences.offset(b), length = sequences.length(b);
        const Matrix<float> alone = run(model, x.middleRows(offset, length), Sequences::single(length));
        EXPECT_TRUE(same_bits(y.middleRows(offset, length), alone)) << test::describe(config) << ": sequence " << b;
      }
    }
  }
}

TEST(Gmlp, TheOrderOfABatchDoesNotMatter) {
  const auto model = random_model<Gmlp<float>>(small_gmlps(true)[6]);
  const auto x = random_matrix<float>(8, small_channels, 2);
  Matrix<float> swapped(8, small_channels);
  swapped << x.bottomRows(3), x.topRows(5);
  const Matrix<float> y = run(model, x, Sequences::of_lengths({5, 3}));
  const Matrix<float> z = run(model, swapped, Sequences::of_lengths({3, 5}));
  EXPECT_TRUE(same_bits(z.topRows(3), y.bottomRows(3)));
  EXPECT_TRUE(same_bits(z.bottomRows(5), y.topRows(5)));
}

TEST(Gmlp, GivesEqualBitsForAnyNumberOfThreads) {
  for (const bool causal : {true, false}) {
    for (GmlpConfig config : small_gmlps(causal)) {
      config.length = 150;
      const auto model = random_model<Gmlp<float>>(config);
      const auto sequences = Sequences::uniform(3, 150);
      const auto x = random_matrix<float>(sequences.total(), small_channels, 2);
      const Matrix<float> y = run(model, x, sequences);
      EXPECT_TRUE(same_bits(run(model, x, sequences, 2), y)) << test::describe(config);
      EXPECT_TRUE(same_bits(run(model, x, sequences, 3), y)) << test::describe(config);
    }
  }
}

TEST(Gmlp, KeepsABadSequenceToItself) {
  for (const bool causal : {true, false}) {
    for (const GmlpConfig& config : small_gmlps(causal)) {
      const auto model = random_model<Gmlp<float>>(config);
      const auto sequences = Sequences::uniform(3, small_length);
      const auto x = random_matrix<float>(sequences.total(), small_channels, 2);
      const Matrix<float> clean = run(model, x, sequences);
      for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::infinity(), std::numeric_limits<float>::max()}) {
        Matrix<float> spoiled = x;
        spoiled.row(small_length + 3).setConstant(bad);
        const Matrix<float> y = run(model, spoiled, sequences, 2);
        EXPECT_TRUE(same_bits(y.topRows(small_length), clean.topRows(small_length))) << test::describe(config) << ": " << bad;
        EXPECT_TRUE(same_bits(y.bottomRows(small_length), clean.bottomRows(small_length))) << test::describe(config);
      }
    }
  }
}

TEST(Gmlp, WorksOnSequencesOfOneToken) {
  for (const bool causal : {true, false}) {
    for (GmlpConfig config : small_gmlps(causal)) {
      config.length = 1;
      const auto model = random_model<Gmlp<float>>(config);
      const auto x = random_matrix<float>(3, small_channels, 2);
      Matrix<double> expected = test::wide(x);
      for (const auto& block : model.blocks) {
        expected = literal::block(block, expected, Sequences::uniform(3, 1));
      }
      EXPECT_TRUE(test::near(run(model, x, Sequences::uniform(3, 1)), expected)) << test::describe(config);
    }
  }
}

TEST(Gmlp, GivesNothingForAnEmptyBatch) {
  for (const GmlpConfig& config : small_gmlps(false)) {
    const Matrix<float> y = run(random_model<Gmlp<float>>(config), Matrix<float>(0, small_channels), Sequences::uniform(0, 12));
    EXPECT_EQ(y.rows(), 0);
    EXPECT_EQ(y.cols(), small_channels);
  }
}

TEST(Gmlp, StartsAsAPlainFeedForwardNetwork) {
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
  for (Index t = 0; t < 9; ++t) {  // each token alone: no token mixing is left to miss
    one_by_one.row(t) = sliced.forward(x.row(t), Sequences::single(1), workspace);
  }
  EXPECT_TRUE(test::near(y, one_by_one, 1e-4));
  EXPECT_FALSE(same_bits(y, one_by_one));
}

TEST(Gmlp, RefusesOtherShapesBeforeWriting) {
  for (const GmlpConfig& config : small_gmlps(false)) {
    const auto model = random_model<Gmlp<float>>(config);
    Workspace<float> workspace;
    const auto refuse = [&](Index rows, Index columns, const Sequences& sequences, Index y_rows, Index y_columns) {
      Matrix<float> y = test::sentinel<float>(y_rows, y_columns);
      EXPECT_THROW(model.forward(Matrix<float>::Zero(rows, columns), sequences, y, workspace), ShapeError);
      EXPECT_TRUE(test::is_sentinel(y));
    };
    refuse(12, 11, Sequences::single(12), 12, 10);
    refuse(12, 10, Sequences::single(11), 12, 10);
    refuse(11, 10, Sequences::single(11), 11, 10);
    refuse(13, 10, Sequences::single(13), 13, 10);
    refuse(12, 10, Sequences::single(12), 11, 10);
    refuse(12, 10, Sequences::single(12), 12, 11);
    refuse(24, 10, Sequences::of_lengths({12, 11, 1}), 24, 10);
  }
}

TEST(Gmlp, SaysWhichRowsItExpected) {
  const Gmlp<float> model({.length = 196, .channels = 4, .hidden = 8, .depth = 2});
  EXPECT_EQ(
      message_of<ShapeError>([&] { run(model, Matrix<float>::Zero(197, 4), Sequences::single(197)); }),
      "Gmlp::forward: x has 197 rows = 1 sequence × 197 tokens, but the gate was built for 196 tokens. Resize the spatial "
      "weight to the longer length first.");
}

TEST(Gmlp, RefusesToBeBuiltFromConfigurationsThatMakeNoSense) {
  const GmlpConfig good{.length = 4, .channels = 6, .hidden = 8};
  const auto refused = [&](auto change) {
    GmlpConfig config = good;
    change(config);
    EXPECT_THROW(Gmlp<float>{config}, ArgumentError);
  };
  refused([](GmlpConfig& c) { c.length = 0; });
  refused([](GmlpConfig& c) { c.length = -4; });
  refused([](GmlpConfig& c) { c.channels = -1; });
  refused([](GmlpConfig& c) { c.hidden = 0; });
  refused([](GmlpConfig& c) { c.hidden = 7; });
  refused([](GmlpConfig& c) { c.depth = -1; });
  refused([](GmlpConfig& c) { c.heads = 3; });
  refused([](GmlpConfig& c) { c.survival = 0; });
  refused([](GmlpConfig& c) { c.survival = 1.5; });
  EXPECT_NO_THROW(Gmlp<float>{good});
}

}  // namespace
}  // namespace gated
