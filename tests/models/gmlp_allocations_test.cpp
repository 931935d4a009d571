#include <gtest/gtest.h>

#include "gated/models/gmlp.hpp"
#include "tests/core/allocations.hpp"
#include "tests/core/numbers.hpp"

namespace gated::gmlp_allocations_test {
namespace {

using test::allocations_during;
using test::random_matrix;

/// Number of allocations in a call of `f` after one warm-up call.
template <class F>
long when_warm(F&& f) {
  f();
  return allocations_during(f);
}

TEST(Allocations, AreCounted) {
  EXPECT_TRUE(test::allocations_are_counted());
#if GATED_TEST_COUNTS_MALLOC
  EXPECT_GT(allocations_during([] { Matrix<float>(100, 100).setZero(); }), 0);
#endif
}

TEST(Allocations, AWarmTrunkAllocatesNothingAtVisionSizes) {
  Random random(1);
  const Gmlp<float> model({.length = 196, .channels = 256, .hidden = 1536, .attention_width = 64}, random);
  const auto x = random_matrix<float>(392, 256, 1);
  Matrix<float> y(392, 256);
  for (const int threads : {1, 2}) {
    Workspace<float> workspace(Threads{threads});
    EXPECT_EQ(when_warm([&] { model.forward(x, Sequences::uniform(2, 196), y, workspace); }), 0) << threads << " threads";
    EXPECT_EQ(when_warm([&] { model.forward(x.topRows(196), Sequences::single(196), y.topRows(196), workspace); }), 0)
        << "one sequence: products are split among threads";
    EXPECT_EQ(allocations_during([&] { model.forward(x, Sequences::uniform(2, 196), y, workspace); }), 0)
        << "two sequences again";
  }
}

TEST(Allocations, AWarmClassifierAllocatesNothing) {
  for (const Pooling pooling : {Pooling::mean, Pooling::class_token, Pooling::tokens}) {
    Random random(1);
    const GmlpImageClassifier<double> model({.image = {32, 48},
                                             .patch = {8, 8},
                                             .classes = 10,
                                             .pooling = pooling,
                                             .stem_norm = true,
                                             .pre_logits = true,
                                             .trunk = {.channels = 48, .hidden = 96, .depth = 2, .heads = 2, .token_shift = 1}},
                                            random);
    const auto images = random_matrix<double>(3, 3 * 32 * 48, 1);
    Matrix<double> y(model.contract().output_rows(3), 10);
    for (const int threads : {1, 2}) {
      Workspace<double> workspace(Threads{threads});
      EXPECT_EQ(when_warm([&] { model.forward(images, y, workspace); }), 0) << name_of(pooling) << ", " << threads;
    }
  }
}

TEST(Allocations, AWarmStreamAllocatesNothing) {
  for (const SpatialForm spatial : {SpatialForm::dense, SpatialForm::toeplitz, SpatialForm::scaled_toeplitz}) {
    for (const Index attention : {0, 16}) {
      Random random(1);
      const GmlpLanguageModel<float> model({.vocabulary = 50,
                                            .trunk = {.length = 700,
                                                      .channels = 32,
                                                      .hidden = 64,
                                                      .depth = 2,
                                                      .spatial = spatial,
                                                      .causal = true,
                                                      .attention_width = attention}},
                                           random);
      for (const int threads : {1, 2}) {
        Workspace<float> workspace(Threads{threads});
        auto state = model.start();
        Matrix<float> logits(1, 50);
        model.step(0, state, logits, workspace);
        EXPECT_EQ(allocations_during([&] {
                    while (state.position() < 700) {
                      model.step(3, state, logits, workspace);
                    }
                  }),
                  0)
            << name_of(spatial) << ", attention " << attention << ", threads " << threads;
      }
    }
  }
}

TEST(Allocations, AWarmLanguageModelAllocatesNothing) {
  for (const SpatialForm spatial : {SpatialForm::dense, SpatialForm::toeplitz, SpatialForm::scaled_toeplitz}) {
    Random random(1);
    const GmlpLanguageModel<float> model({.vocabulary = 500,
                                          .head = {.form = spatial == SpatialForm::dense ? HeadForm::tied : HeadForm::untied},
                                          .trunk = {.length = 256,
                                                    .channels = 128,
                                                    .hidden = 512,
                                                    .depth = 2,
                                                    .spatial = spatial,
                                                    .causal = true,
                                                    .attention_width = 32,
                                                    .token_shift = 2}},
                                         random);
    const std::vector<Index> ids(300, 7);
    const auto sequences = Sequences::of_lengths({256, 1, 43});
    Matrix<float> logits(300, 500);
    for (const int threads : {1, 2}) {
      Workspace<float> workspace(Threads{threads});
      auto state = model.start();
      EXPECT_EQ(when_warm([&] { model.forward(ids, sequences, logits, workspace); }), 0) << name_of(spatial);
      EXPECT_EQ(when_warm([&] {
                  state.rewind(0);
                  model.extend(Tokens(ids).first(200), state, logits.topRows(200), workspace);
                }),
                0)
          << name_of(spatial);
      EXPECT_EQ(when_warm([&] { model.step(3, state, logits.topRows(1), workspace); }), 0) << name_of(spatial);
      EXPECT_EQ(allocations_during([&] {
                  for (Index id = 0; id < 50; ++id) {
                    model.step(id, state, logits.topRows(1), workspace);
                  }
                }),
                0)
          << name_of(spatial) << ": steps of a growing sequence";
    }
  }
}

}  // namespace
}  // namespace gated::gmlp_allocations_test
