#include "gated/models/stack.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/core/allocations.hpp"
#include "trunks.hpp"

// Tests of stacks of every kind of block, including a user-defined block. Tests specific to a kind are in gmlp_test.cpp and
// flash_test.cpp.

namespace gated::stack_test {
namespace {

using test::allocations_during;
using test::bad_numbers;
using test::message_of;
using test::random_layer;
using test::random_mask;
using test::random_matrix;
using test::same_bits;
using test::small_channels;
using test::small_length;

/// A kind of trunk and a scalar type.
template <class K, class Scalar>
struct Case {
  using Kind = K;
  using T = Scalar;
  using Model = typename K::template Trunk<T>;
};

template <class C>
class StackOf : public ::testing::Test {
 protected:
  using M = typename C::Model;
  using S = typename C::T;

  /// Calls `f(model)` with a random model of each configuration.
  template <class F>
  static void for_each_model(bool causal, const F& f, Index length = small_length) {
    int number = 0;
    for (const auto& config : C::Kind::configs(causal, length)) {
      SCOPED_TRACE(text(C::Kind::architecture, causal ? ", causal, number " : ", number ", number++));
      f(random_layer<M>(config));
    }
  }

  /// Calls forward(), with `mask` only if the trunk takes masks.
  static void forward(const M& model, const Matrix<S>& x, const Sequences& sequences, View<S> y, Workspace<S>& workspace,
                      Mask mask = {}) {
    model.forward(x, sequences, y, workspace, C::Kind::takes_mask ? mask : Mask());
  }
  static Matrix<S> run(const M& model, const Matrix<S>& x, const Sequences& sequences, int threads = 1, Mask mask = {}) {
    Workspace<S> workspace(Threads{threads});
    Matrix<S> y(x.rows(), x.cols());
    forward(model, x, sequences, y, workspace, mask);
    return y;
  }

  /// Streams the next `count` tokens of x and returns their outputs.
  static Matrix<S> go_on(const M& model, const Matrix<S>& x, State<S>& state, Index count, Workspace<S>& workspace) {
    Matrix<S> y(count, x.cols());
    model.extend(x.middleRows(state.position(), count), state, y, workspace);
    return y;
  }
};

using Cases = ::testing::Types<Case<test::OfGmlpBlocks, float>, Case<test::OfGmlpBlocks, double>,
                               Case<test::OfMixedChunkAttention, float>, Case<test::OfMixedChunkAttention, double>,
                               Case<test::OfGatedAttentionUnits, float>, Case<test::OfGatedAttentionUnits, double>,
                               Case<test::OfTransformerBlocks, float>, Case<test::OfChunkedTransformerBlocks, float>,
                               Case<test::OfTextTransformerBlocks, double>, Case<test::OfMixerBlocks, float>,
                               Case<test::OfPlainBlocks, double>>;
TYPED_TEST_SUITE(StackOf, Cases, );

// --- Batches ---

TYPED_TEST(StackOf, RefusesToRunIfMovedFrom) {
  using T = typename TypeParam::T;
  TestFixture::for_each_model(true, [&](auto model) {
    const auto moved = std::move(model);
    const Matrix<T> x = random_matrix<T>(3, small_channels, 2);
    const std::string message = message_of<ArgumentError>([&] { TestFixture::run(model, x, Sequences::single(3)); });
    EXPECT_NE(message.find("the stack has 0 blocks, expected depth = "), message.npos) << message;
    EXPECT_NE(message.find("moved from"), message.npos) << message;
    EXPECT_NO_THROW(TestFixture::run(moved, x, Sequences::single(3)));
    model.blocks = moved.blocks;
    EXPECT_NO_THROW(TestFixture::run(model, x, Sequences::single(3)));
    model.blocks.pop_back();
    EXPECT_THROW(TestFixture::run(model, x, Sequences::single(3)), ArgumentError) << "a block is missing";
  });
}

TYPED_TEST(StackOf, RunsItsBlocksInOrder) {
  using Kind = typename TypeParam::Kind;
  using T = typename TypeParam::T;
  const auto sequences = Sequences::of_lengths({7, 12, 0, 1});
  for (const bool causal : {false, true}) {
    TestFixture::for_each_model(causal, [&](const auto& model) {
      const auto mask = random_mask(sequences, 3);
      Matrix<T> x = random_matrix<T>(20, small_channels, 2);
      Matrix<double> expected = test::wide(x);
      const Matrix<T> y = TestFixture::run(model, x, sequences, 1, mask);
      Workspace<T> workspace;
      for (const auto& block : model.blocks) {
        expected = test::literal_block(block, expected, sequences, mask);
        block.forward(x, sequences, x, workspace, Kind::takes_mask ? Mask(mask) : Mask());
      }
      EXPECT_TRUE(same_bits(y, x));
      EXPECT_TRUE(test::near(y, expected));
    });
  }
}

TYPED_TEST(StackOf, IsTheIdentityWithoutBlocks) {
  using Kind = typename TypeParam::Kind;
  using Model = typename TypeParam::Model;
  using T = typename TypeParam::T;
  auto config = Kind::configs(true)[0];
  config.depth = 0;
  const Model model(config);
  const auto x = random_matrix<T>(4, small_channels, 1);
  EXPECT_TRUE(same_bits(TestFixture::run(model, x, Sequences::single(4)), x));
  Matrix<T> in_place = x;
  Workspace<T> workspace;
  model.forward(in_place, Sequences::single(4), in_place, workspace);
  EXPECT_TRUE(same_bits(in_place, x));
  auto state = model.start();
  EXPECT_TRUE(same_bits(TestFixture::go_on(model, x, state, 4, workspace), x));
}

TYPED_TEST(StackOf, WorksInPlace) {
  using T = typename TypeParam::T;
  const auto sequences = Sequences::of_lengths({5, 7});
  for (const bool causal : {false, true}) {
    TestFixture::for_each_model(causal, [&](const auto& model) {
      Matrix<T> x = random_matrix<T>(12, small_channels, 2);
      const Matrix<T> y = TestFixture::run(model, x, sequences);
      Workspace<T> workspace;
      model.forward(x, sequences, x, workspace);
      EXPECT_TRUE(same_bits(x, y));
    });
  }
}

TYPED_TEST(StackOf, NeverReadsLaterTokensIfCausal) {
  using T = typename TypeParam::T;
  TestFixture::for_each_model(true, [&](const auto& model) {
    const auto sequences = Sequences::single(small_length);
    const auto x = random_matrix<T>(small_length, small_channels, 2);
    const Matrix<T> y = TestFixture::run(model, x, sequences);
    for (Index t = 0; t < small_length; ++t) {
      for (const T factor : {T{-1.5}, T{1e6}, static_cast<T>(1e15)}) {
        Matrix<T> changed = x;
        changed.row(t) *= factor;
        const Matrix<T> z = TestFixture::run(model, changed, sequences);
        EXPECT_TRUE(same_bits(z.topRows(t), y.topRows(t))) << "token " << t << " × " << factor;
        EXPECT_FALSE(same_bits(z.row(t), y.row(t)));
      }
      for (const T bad : bad_numbers<T>()) {
        Matrix<T> changed = x;
        changed.row(t).setConstant(bad);
        const Matrix<T> z = TestFixture::run(model, changed, sequences);
        EXPECT_TRUE(same_bits(z.topRows(t), y.topRows(t))) << "token " << t << " is " << bad;
      }
    }
  });
}

TYPED_TEST(StackOf, NeverReadsLaterTokensInLongSequences) {
  using T = typename TypeParam::T;
  const Index length = 300;  // several row blocks
  TestFixture::for_each_model(
      true,
      [&](const auto& model) {
        const auto x = random_matrix<T>(length, small_channels, 2);
        const Matrix<T> y = TestFixture::run(model, x, Sequences::single(length));
        for (const Index t : {1, 127, 128, 129, 256, 299}) {
          Matrix<T> changed = x;
          changed.bottomRows(length - t) *= static_cast<T>(-1e10);
          EXPECT_TRUE(same_bits(TestFixture::run(model, changed, Sequences::single(length)).topRows(t), y.topRows(t))) << t;
          changed.bottomRows(length - t).setConstant(std::numeric_limits<T>::quiet_NaN());
          EXPECT_TRUE(same_bits(TestFixture::run(model, changed, Sequences::single(length)).topRows(t), y.topRows(t)))
              << "NaN from token " << t << " on";
        }
      },
      length);
}

TYPED_TEST(StackOf, ARaggedBatchIsBitEqualToSeparateCalls) {
  using T = typename TypeParam::T;
  const auto sequences = Sequences::of_lengths({5, 1, 12, 0, 7});
  const auto mask = random_mask(sequences, 3);
  const auto x = random_matrix<T>(sequences.total(), small_channels, 2);
  for (const bool causal : {false, true}) {
    TestFixture::for_each_model(causal, [&](const auto& model) {
      const Matrix<T> y = TestFixture::run(model, x, sequences, 1, mask);
      for (Index b = 0; b < sequences.count(); ++b) {
        const Index offset = sequences.offset(b), length = sequences.length(b);
        const Matrix<T> alone = TestFixture::run(model, x.middleRows(offset, length), Sequences::single(length), 1,
                                                 mask_part(mask, offset, length));
        EXPECT_TRUE(same_bits(y.middleRows(offset, length), alone)) << "sequence " << b;
      }
    });
  }
}

TYPED_TEST(StackOf, TheOrderOfSequencesDoesNotMatter) {
  using T = typename TypeParam::T;
  const auto x = random_matrix<T>(8, small_channels, 2);
  Matrix<T> swapped(8, small_channels);
  swapped << x.bottomRows(3), x.topRows(5);
  for (const bool causal : {false, true}) {
    TestFixture::for_each_model(causal, [&](const auto& model) {
      const Matrix<T> y = TestFixture::run(model, x, Sequences::of_lengths({5, 3}));
      const Matrix<T> z = TestFixture::run(model, swapped, Sequences::of_lengths({3, 5}));
      EXPECT_TRUE(same_bits(z.topRows(3), y.bottomRows(3)));
      EXPECT_TRUE(same_bits(z.bottomRows(5), y.topRows(5)));
    });
  }
}

TYPED_TEST(StackOf, IsBitEqualForAnyNumberOfThreads) {
  using T = typename TypeParam::T;
  const auto sequences = Sequences::uniform(3, 150);
  const auto x = random_matrix<T>(sequences.total(), small_channels, 2);
  for (const bool causal : {false, true}) {
    TestFixture::for_each_model(
        causal,
        [&](const auto& model) {
          const Matrix<T> y = TestFixture::run(model, x, sequences);
          EXPECT_TRUE(same_bits(TestFixture::run(model, x, sequences, 2), y));
          EXPECT_TRUE(same_bits(TestFixture::run(model, x, sequences, 3), y));
        },
        150);
  }
}

TYPED_TEST(StackOf, NaNStaysInItsSequence) {
  using T = typename TypeParam::T;
  const auto sequences = Sequences::uniform(3, small_length);
  const auto x = random_matrix<T>(sequences.total(), small_channels, 2);
  for (const bool causal : {false, true}) {
    TestFixture::for_each_model(causal, [&](const auto& model) {
      const Matrix<T> clean = TestFixture::run(model, x, sequences);
      for (const T bad : bad_numbers<T>()) {
        Matrix<T> spoiled = x;
        spoiled.row(small_length + 3).setConstant(bad);
        const Matrix<T> y = TestFixture::run(model, spoiled, sequences, 2);
        EXPECT_TRUE(same_bits(y.topRows(small_length), clean.topRows(small_length))) << bad;
        EXPECT_TRUE(same_bits(y.bottomRows(small_length), clean.bottomRows(small_length))) << bad;
      }
    });
  }
}

TYPED_TEST(StackOf, HandlesSequencesOfOneToken) {
  using T = typename TypeParam::T;
  const auto x = random_matrix<T>(3, small_channels, 2);
  for (const bool causal : {false, true}) {
    TestFixture::for_each_model(
        causal,
        [&](const auto& model) {
          Matrix<double> expected = test::wide(x);
          for (const auto& block : model.blocks) {
            expected = test::literal_block(block, expected, Sequences::uniform(3, 1), {});
          }
          EXPECT_TRUE(test::near(TestFixture::run(model, x, Sequences::uniform(3, 1)), expected));
        },
        1);
  }
}

TYPED_TEST(StackOf, HandlesEmptyBatches) {
  using T = typename TypeParam::T;
  TestFixture::for_each_model(false, [&](const auto& model) {
    for (const Sequences& none : {Sequences::uniform(0, small_length), Sequences::uniform(2, 0)}) {
      const Matrix<T> y = TestFixture::run(model, Matrix<T>(0, small_channels), none);
      EXPECT_EQ(y.rows(), 0);
      EXPECT_EQ(y.cols(), small_channels);
    }
  });
}

TYPED_TEST(StackOf, AWarmCallAllocatesNothing) {
  using T = typename TypeParam::T;
  const auto sequences = Sequences::of_lengths({12, 1, 7, 12});
  const auto mask = random_mask(sequences, 3);
  const auto x = random_matrix<T>(sequences.total(), small_channels, 2);
  Matrix<T> y(x.rows(), x.cols());
  for (const bool causal : {false, true}) {
    TestFixture::for_each_model(causal, [&](const auto& model) {
      for (const int threads : {1, 2}) {
        Workspace<T> workspace(Threads{threads});
        const auto forward = [&] { TestFixture::forward(model, x, sequences, y, workspace, mask); };
        forward();
        EXPECT_EQ(allocations_during(forward), 0) << threads << " threads";
      }
    });
  }
}

TYPED_TEST(StackOf, RefusesMismatchedShapesBeforeWriting) {
  using T = typename TypeParam::T;
  TestFixture::for_each_model(false, [&](const auto& model) {
    Workspace<T> workspace;
    const auto refuse = [&](Index columns, const Sequences& sequences, Index y_rows, Index y_columns, const std::string& part,
                            const std::vector<std::uint8_t>& mask = {}) {
      Matrix<T> y = test::untouched<T>(y_rows, y_columns);
      const auto x = random_matrix<T>(12, columns, 1);
      const std::string said = message_of<ShapeError>([&] { TestFixture::forward(model, x, sequences, y, workspace, mask); });
      EXPECT_EQ(said.rfind("Stack::forward: ", 0), 0u) << said;
      EXPECT_NE(said.find(part), std::string::npos) << said;
      EXPECT_TRUE(test::is_untouched(y));
    };
    refuse(11, Sequences::single(12), 12, 10, "x has 11 columns, expected in = 10 (a matrix is tokens × channels");
    refuse(10, Sequences::single(11), 12, 10, "x has 12 rows, but the sequences cover 1 sequence × 11 tokens");
    refuse(10, Sequences::single(12), 11, 10, "y is 11 × 10, expected 12 × 10");
    refuse(10, Sequences::single(12), 12, 11, "y is 12 × 11, expected 12 × 10");
    if constexpr (TypeParam::Kind::takes_mask) {
      refuse(10, Sequences::single(12), 12, 10, "the mask has 1 entries, expected 12, one per token.", {1});
    } else {
      Matrix<T> y = test::untouched<T>(12, 10);
      const std::vector<std::uint8_t> all(12, 1);
      EXPECT_EQ(message_of<ArgumentError>(
                    [&] { model.forward(Matrix<T>::Zero(12, 10).eval(), Sequences::single(12), y, workspace, all); }),
                "Stack::forward: got a mask, but this layer takes none. Omit the mask.");
      EXPECT_TRUE(test::is_untouched(y));
    }
  });
}

TYPED_TEST(StackOf, ReportsItsArchitectureAndContract) {
  using Kind = typename TypeParam::Kind;
  using Model = typename TypeParam::Model;
  EXPECT_STREQ(Model::architecture, Kind::architecture);
  const auto config = Kind::configs(true)[0];
  const Model model(config);
  EXPECT_EQ(model.in(), small_channels);
  EXPECT_EQ(model.out(), small_channels);
  EXPECT_EQ(model.blocks.size(), static_cast<std::size_t>(config.depth));
  EXPECT_EQ(model.config.depth, config.depth);
  EXPECT_EQ(model.contract().takes_mask, Kind::takes_mask);
}

TYPED_TEST(StackOf, ChargesItsParametersToTheBudget) {
  using Kind = typename TypeParam::Kind;
  using Model = typename TypeParam::Model;
  for (const bool causal : {false, true}) {
    for (auto config : Kind::configs(causal)) {
      for (const Index depth : {0, 1, 3}) {
        config.depth = depth;
        test::expect_fair_spending<Model>(config);
      }
      config.depth = Count::most;
      {
        const ParameterBudget budget(1 << 20, "too many values");
        EXPECT_EQ(message_of<FileError>([&] { Model{config}; }), "too many values");
      }
      config.depth = -1;
      EXPECT_EQ(message_of<ArgumentError>([&] { Model{config}; }), "Stack: depth = -1 must not be negative.");
    }
  }
}

// --- Streams ---

TYPED_TEST(StackOf, StepsEqualTheBatchBitForBit) {
  using T = typename TypeParam::T;
  TestFixture::for_each_model(true, [&](const auto& model) {
    const auto x = random_matrix<T>(small_length, small_channels, 2);
    const Matrix<T> whole = TestFixture::run(model, x, Sequences::single(small_length));
    Workspace<T> workspace;
    auto state = model.start(small_length);
    for (Index t = 0; t < small_length; ++t) {
      EXPECT_EQ(state.position(), t);
      EXPECT_TRUE(same_bits(TestFixture::go_on(model, x, state, 1, workspace), whole.row(t))) << "token " << t;
    }
    EXPECT_EQ(state.position(), small_length);
  });
}

TYPED_TEST(StackOf, LongStreamsEqualTheBatchBitForBit) {
  using T = typename TypeParam::T;
  const Index length = 300;  // several row blocks, and many chunks
  TestFixture::for_each_model(
      true,
      [&](const auto& model) {
        const auto x = random_matrix<T>(length, small_channels, 2);
        const Matrix<T> whole = TestFixture::run(model, x, Sequences::single(length));
        Workspace<T> workspace;
        auto state = model.start(length);
        for (const Index count : {120, 1, 7, 1, 130, 0, 2, 39}) {
          const Index first = state.position();
          EXPECT_TRUE(same_bits(TestFixture::go_on(model, x, state, count, workspace), whole.middleRows(first, count)))
              << count << " tokens from " << first;
        }
      },
      length);
}

TYPED_TEST(StackOf, APrefillInAnySplitEqualsTheBatch) {
  using T = typename TypeParam::T;
  TestFixture::for_each_model(true, [&](const auto& model) {
    const auto x = random_matrix<T>(small_length, small_channels, 2);
    const Matrix<T> whole = TestFixture::run(model, x, Sequences::single(small_length));
    Workspace<T> workspace;
    for (const std::vector<Index>& split : {std::vector<Index>{12}, {1, 11}, {5, 0, 7}, {4, 1, 1, 0, 6}, {11, 1}}) {
      auto state = model.start(small_length);
      for (const Index count : split) {
        const Index first = state.position();
        EXPECT_TRUE(same_bits(TestFixture::go_on(model, x, state, count, workspace), whole.middleRows(first, count)));
        EXPECT_EQ(state.position(), first + count);
      }
    }
  });
}

TYPED_TEST(StackOf, AStreamWorksInPlace) {
  using T = typename TypeParam::T;
  TestFixture::for_each_model(true, [&](const auto& model) {
    Matrix<T> x = random_matrix<T>(small_length, small_channels, 2);
    const Matrix<T> whole = TestFixture::run(model, x, Sequences::single(small_length));
    Workspace<T> workspace;
    auto state = model.start(small_length);
    for (const Index count : {1, 4, 7}) {
      View<T> rows = x.middleRows(state.position(), count);
      model.extend(rows, state, rows, workspace);
    }
    EXPECT_TRUE(same_bits(x, whole));
  });
}

TYPED_TEST(StackOf, StreamsNeverReadLaterTokens) {
  using T = typename TypeParam::T;
  TestFixture::for_each_model(true, [&](const auto& model) {
    const auto x = random_matrix<T>(small_length, small_channels, 2);
    const Matrix<T> whole = TestFixture::run(model, x, Sequences::single(small_length));
    Workspace<T> workspace;
    for (const T bad : bad_numbers<T>()) {
      for (Index t = 0; t < small_length; ++t) {
        Matrix<T> spoiled = x;
        spoiled.row(t).setConstant(bad);
        auto state = model.start(small_length);
        const Matrix<T> y = TestFixture::go_on(model, spoiled, state, small_length, workspace);
        EXPECT_TRUE(same_bits(y.topRows(t), whole.topRows(t))) << "token " << t << " is " << bad;
      }
    }
  });
}

TYPED_TEST(StackOf, ACopiedStateContinuesIndependently) {
  using T = typename TypeParam::T;
  TestFixture::for_each_model(true, [&](const auto& model) {
    const auto x = random_matrix<T>(small_length, small_channels, 2);
    const Matrix<T> whole = TestFixture::run(model, x, Sequences::single(small_length));
    Workspace<T> workspace;
    auto state = model.start(small_length);
    TestFixture::go_on(model, x, state, 5, workspace);
    auto branch = state;
    Matrix<T> branched(9, small_channels), y(4, small_channels);
    branched << x.topRows(5), random_matrix<T>(4, small_channels, 9);
    model.extend(branched.bottomRows(4), branch, y, workspace);
    EXPECT_EQ(branch.position(), 9);
    EXPECT_EQ(state.position(), 5);
    EXPECT_TRUE(same_bits(TestFixture::go_on(model, x, state, 7, workspace), whole.bottomRows(7)));
    EXPECT_TRUE(same_bits(y, TestFixture::run(model, branched, Sequences::single(9)).bottomRows(4)));
  });
}

TYPED_TEST(StackOf, ARewoundStateForgetsLaterTokens) {
  using Kind = typename TypeParam::Kind;
  using T = typename TypeParam::T;
  TestFixture::for_each_model(true, [&](const auto& model) {
    const auto x = random_matrix<T>(small_length, small_channels, 2);
    const Matrix<T> whole = TestFixture::run(model, x, Sequences::single(small_length));
    Workspace<T> workspace;
    auto state = model.start(small_length);
    TestFixture::go_on(model, x, state, 5, workspace);
    state.rewind(5);  // a rewind to the current position is always possible
    if constexpr (Kind::remembers_tokens) {
      Matrix<T> astray = Matrix<T>::Constant(7, small_channels, std::numeric_limits<T>::quiet_NaN());
      model.extend(astray, state, astray, workspace);
      state.rewind(5);
      EXPECT_EQ(state.position(), 5);
      for (Index t = 5; t < small_length; ++t) {
        EXPECT_TRUE(same_bits(TestFixture::go_on(model, x, state, 1, workspace), whole.row(t))) << "token " << t;
      }
      state.rewind(0);
      EXPECT_TRUE(same_bits(TestFixture::go_on(model, x, state, 12, workspace), whole));
    } else {
      EXPECT_EQ(message_of<ArgumentError>([&] { state.rewind(4); }),
                "State::rewind: this model keeps only the last tokens, or sums over tokens, so it cannot return to an earlier "
                "position. To "
                "return to a position later, copy the state at that position.");
      EXPECT_EQ(state.position(), 5);
    }
    const Index position = state.position();
    EXPECT_EQ(message_of<ArgumentError>([&] { state.rewind(position + 1); }),
              text("State::rewind: position = ", position + 1, ", expected 0 … ", position, "."));
    EXPECT_THROW(state.rewind(-1), ArgumentError);
    EXPECT_EQ(state.position(), position);
  });
}

TYPED_TEST(StackOf, AStreamIsBitEqualForAnyNumberOfThreads) {
  using T = typename TypeParam::T;
  TestFixture::for_each_model(true, [&](const auto& model) {
    const auto x = random_matrix<T>(small_length, small_channels, 2);
    Workspace<T> one;
    auto alone = model.start(small_length);
    const Matrix<T> expected = TestFixture::go_on(model, x, alone, small_length, one);
    for (const int threads : {2, 3}) {
      Workspace<T> workspace(Threads{threads});
      auto state = model.start(small_length);
      EXPECT_TRUE(same_bits(TestFixture::go_on(model, x, state, small_length, workspace), expected)) << threads;
    }
  });
}

TYPED_TEST(StackOf, AStateHasConstantSize) {
  using T = typename TypeParam::T;
  TestFixture::for_each_model(true, [&](const auto& model) {
    const auto x = random_matrix<T>(small_length, small_channels, 2);
    Workspace<T> workspace;
    auto state = model.start(small_length);
    const std::size_t bytes = state.bytes();
    EXPECT_GT(bytes, 0u);
    for (Index t = 0; t < small_length; ++t) {
      TestFixture::go_on(model, x, state, 1, workspace);
      EXPECT_EQ(state.bytes(), bytes);
    }
  });
}

TYPED_TEST(StackOf, AWarmStreamAllocatesNothing) {
  using T = typename TypeParam::T;
  const Index length = 300;
  TestFixture::for_each_model(
      true,
      [&](const auto& model) {
        const auto x = random_matrix<T>(length, small_channels, 2);
        Matrix<T> y(1, small_channels);
        for (const int threads : {1, 2}) {
          Workspace<T> workspace(Threads{threads});
          auto state = model.start(length);
          model.extend(x.topRows(1), state, y, workspace);
          EXPECT_EQ(allocations_during([&] {
                      while (state.position() < length) {
                        model.extend(x.middleRows(state.position(), 1), state, y, workspace);
                      }
                    }),
                    0)
              << threads << " threads";
        }
      },
      length);
}

TYPED_TEST(StackOf, RefusesToStreamIfNotCausal) {
  using Kind = typename TypeParam::Kind;
  using Model = typename TypeParam::Model;
  for (const auto& config : Kind::configs(false)) {
    if constexpr (requires { config.spatial; }) {
      if (config.spatial == SpatialForm::scaled_toeplitz) {
        EXPECT_NO_THROW(Model(config).start()) << "W is always lower triangular in this form";
        continue;
      }
    }
    const std::string said = message_of<ArgumentError>([&] { Model(config).start(small_length); });
    EXPECT_NE(said.find("::start: "), std::string::npos) << said;
    EXPECT_NE(said.find("causal = true"), std::string::npos) << said;
  }
}

TYPED_TEST(StackOf, ReportsTheCapacityOfAState) {
  using Kind = typename TypeParam::Kind;
  using T = typename TypeParam::T;
  TestFixture::for_each_model(true, [&](const auto& model) {
    Workspace<T> workspace;
    EXPECT_EQ(model.start(3).capacity(), 3);
    EXPECT_EQ(message_of<ArgumentError>([&] { model.start(-1); }), "Stack::start: capacity = -1 must not be negative.");
    const Index longest = model.longest();
    if (longest < State<T>::unlimited) {
      EXPECT_EQ(longest, small_length);
      EXPECT_EQ(model.start().capacity(), longest) << "defaults to the length of the model";
      EXPECT_TRUE(message_of<ShapeError>([&] { model.start(longest + 1); })
                      .starts_with(text("Stack::start: capacity = ", longest + 1, ", but the model can serve ", longest,
                                        " tokens at most. ")));
    } else if constexpr (Kind::remembers_tokens) {
      const std::string said = message_of<ArgumentError>([&] { model.start(); });
      EXPECT_NE(said.find("start(capacity)"), std::string::npos) << said;
    } else {
      EXPECT_EQ(model.start().capacity(), State<T>::unlimited);
      EXPECT_EQ(model.start().bytes(), model.start(3).bytes()) << "independent of the capacity";
    }
    const auto x = random_matrix<T>(small_length, small_channels, 2);
    auto state = model.start(3);
    TestFixture::go_on(model, x, state, 3, workspace);
    Matrix<T> y = test::untouched<T>(1, small_channels);
    const std::string said = message_of<ShapeError>([&] { model.extend(x.topRows(1), state, y, workspace); });
    EXPECT_EQ(said.rfind("Stack::extend: 1 tokens from position 3 exceed the 3 tokens that the state has room for.", 0), 0u)
        << said;
    EXPECT_TRUE(test::is_untouched(y));
    EXPECT_EQ(state.position(), 3);
  });
}

TYPED_TEST(StackOf, RefusedStepsKeepTheState) {
  using T = typename TypeParam::T;
  TestFixture::for_each_model(true, [&](const auto& model) {
    const auto x = random_matrix<T>(small_length, small_channels, 2);
    const Matrix<T> whole = TestFixture::run(model, x, Sequences::single(small_length));
    Workspace<T> workspace;
    auto state = model.start(small_length);
    TestFixture::go_on(model, x, state, 10, workspace);
    const auto refuse = [&](Index x_rows, Index x_columns, Index rows, Index columns) {
      Matrix<T> y = test::untouched<T>(rows, columns);
      const std::string said =
          message_of<ShapeError>([&] { model.extend(Matrix<T>::Ones(x_rows, x_columns).eval(), state, y, workspace); });
      EXPECT_EQ(said.rfind("Stack::extend: ", 0), 0u) << said;
      EXPECT_TRUE(test::is_untouched(y));
      EXPECT_EQ(state.position(), 10);
    };
    refuse(3, small_channels, 3, small_channels);  // past the capacity
    refuse(1, 9, 1, small_channels);
    refuse(1, small_channels, 2, small_channels);
    refuse(1, small_channels, 1, 11);
    EXPECT_TRUE(same_bits(TestFixture::go_on(model, x, state, 2, workspace), whole.bottomRows(2)))
        << "unaffected by the refused calls";
  });
}

TYPED_TEST(StackOf, RefusesAStateOfAnotherDepth) {
  using Kind = typename TypeParam::Kind;
  using Model = typename TypeParam::Model;
  using T = typename TypeParam::T;
  const auto config = Kind::configs(true)[0];
  const auto model = random_layer<Model>(config);
  const auto x = random_matrix<T>(1, small_channels, 2);
  Workspace<T> workspace;
  for (const Index depth : {config.depth - 1, config.depth + 1, Index{0}}) {
    auto other = config;
    other.depth = depth;
    const Model stranger(other);
    auto state = stranger.start(small_length);
    Matrix<T> y = test::untouched<T>(1, small_channels);
    EXPECT_EQ(message_of<ArgumentError>([&] { model.extend(x, state, y, workspace); }),
              "Stack::extend: the state was made for another configuration. Make one with this model's start().");
    EXPECT_TRUE(test::is_untouched(y));
    EXPECT_EQ(state.position(), 0);
  }
  auto state = model.start(small_length);
  const Model twin = model;
  Matrix<T> y(1, small_channels);
  EXPECT_NO_THROW(twin.extend(x, state, y, workspace)) << "an equal configuration";
}

}  // namespace
}  // namespace gated::stack_test
