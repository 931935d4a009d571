#include "gated/models/language_model.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/core/allocations.hpp"
#include "trunks.hpp"

// Tests of all language models. Tests specific to a kind of trunk are in gmlp_language_model_test.cpp,
// flash_language_model_test.cpp and gau_encoder_test.cpp.

namespace gated::language_model_test {
namespace {

using test::allocations_during;
using test::is_untouched;
using test::literal_model;
using test::message_of;
using test::near;
using test::random_layer;
using test::random_mask;
using test::refuses;
using test::same_bits;
using test::small_channels;
using test::small_length;
using test::untouched;

using Ids = std::vector<Index>;

constexpr Index vocabulary = 11;
const Ids text_of_12{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8};

/// A kind of trunk and a scalar type.
template <class K, class Scalar>
struct Case {
  using Kind = K;
  using T = Scalar;
  using Model = LanguageModel<typename K::template Trunk<T>>;
};

/// Configurations that cover every option and every trunk of a kind.
template <class C>
auto configs_of(bool causal, Index length = small_length) {
  const auto trunks = C::Kind::configs(causal, length);
  std::vector<typename C::Model::Config> all;
  for (std::size_t i = 0; i < std::max<std::size_t>(trunks.size(), 6); ++i) {
    typename C::Model::Config config{.vocabulary = vocabulary, .trunk = trunks[i % trunks.size()]};
    switch (i % 6) {
      case 0:
        break;
      case 1:
        config.position = PositionForm::sinusoid;
        config.head = {.form = HeadForm::untied, .norm = NormForm::rms, .bias = true};
        break;
      case 2:
        config.token_types = 2;
        config.embedding_norm = NormForm::layer_norm;
        config.head = {.form = HeadForm::none};
        break;
      case 3:
        config.position = PositionForm::sinusoid_table;
        config.max_length = length;
        config.head = {.dense = true, .norm = NormForm::scale_norm, .bias = true};
        break;
      case 4:
        config.token_types = 3;
        config.position = PositionForm::sinusoid;
        config.embedding_norm = NormForm::rms;
        config.head = {.form = HeadForm::untied, .dense = true, .activation = Activation::gelu, .norm = NormForm::none};
        break;
      case 5:
        config.head = {.norm = NormForm::none};
        break;
    }
    all.push_back(config);
  }
  return all;
}

template <class C>
class LanguageModelOf : public ::testing::Test {
 protected:
  using M = typename C::Model;
  using S = typename C::T;
  static constexpr bool masks = C::Kind::takes_mask;

  /// Calls `f(model)` with a random model of each configuration.
  template <class F>
  static void for_each_model(bool causal, const F& f, Index length = small_length) {
    int number = 0;
    for (const auto& config : configs_of<C>(causal, length)) {
      SCOPED_TRACE(text(M::architecture, causal ? ", causal, number " : ", number ", number++));
      f(random_layer<M>(config));
    }
  }

  /// Calls forward(), with `mask` only if the trunk takes masks.
  static void forward(const M& model, const Ids& tokens, const Sequences& sequences, View<S> y, Workspace<S>& workspace,
                      Mask mask = {}, Tokens types = {}) {
    model.forward(tokens, sequences, y, workspace, masks ? mask : Mask(), types);
  }
  static Matrix<S> run(const M& model, const Ids& tokens, const Sequences& sequences, int threads = 1, Mask mask = {},
                       Tokens types = {}) {
    Workspace<S> workspace(Threads{threads});
    Matrix<S> y(static_cast<Index>(tokens.size()), model.out());
    forward(model, tokens, sequences, y, workspace, mask, types);
    return y;
  }

  /// Token types for `model`; empty if it has none.
  static Ids some_types(const M& model, std::size_t count) {
    Ids types(model.config.token_types > 0 ? count : 0);
    for (std::size_t i = 0; i < types.size(); ++i) {
      types[i] = static_cast<Index>(i % 3) % model.config.token_types;
    }
    return types;
  }

  /// Streams the next `count` tokens of `ids` and returns their outputs.
  static Matrix<S> go_on(const M& model, const Ids& ids, State<S>& state, Index count, Workspace<S>& workspace) {
    Matrix<S> y(count, model.out());
    model.extend(Tokens(ids).subspan(static_cast<std::size_t>(state.position()), static_cast<std::size_t>(count)), state, y,
                 workspace);
    return y;
  }
};

using Cases = ::testing::Types<Case<test::OfGmlpBlocks, float>, Case<test::OfMixedChunkAttention, float>,
                               Case<test::OfMixedChunkAttention, double>, Case<test::OfGatedAttentionUnits, float>,
                               Case<test::OfGatedAttentionUnits, double>, Case<test::OfTransformerBlocks, float>,
                               Case<test::OfChunkedTransformerBlocks, float>, Case<test::OfTextTransformerBlocks, float>,
                               Case<test::OfMixerBlocks, float>, Case<test::OfPlainBlocks, double>>;
TYPED_TEST_SUITE(LanguageModelOf, Cases, );

// --- Batches ---

TYPED_TEST(LanguageModelOf, EqualsItsFormula) {
  using T = typename TypeParam::T;
  const auto sequences = Sequences::of_lengths({7, 0, 12, 1});
  Ids tokens(text_of_12);
  tokens.insert(tokens.end(), text_of_12.begin() + 1, text_of_12.begin() + 9);
  for (const bool causal : {false, true}) {
    TestFixture::for_each_model(causal, [&](const auto& model) {
      const auto mask = TestFixture::masks ? random_mask(sequences, 3) : std::vector<std::uint8_t>();
      const Ids types = TestFixture::some_types(model, 20);
      constexpr double relative = 10 * test::tolerance<T>;
      EXPECT_TRUE(near(TestFixture::run(model, tokens, sequences), literal_model(model, tokens, sequences), relative));
      const Matrix<T> y = TestFixture::run(model, tokens, sequences, 1, mask, types);
      EXPECT_TRUE(near(y, literal_model(model, tokens, sequences, mask, types), relative));
      EXPECT_TRUE(same_bits(TestFixture::run(model, tokens, sequences, 3, mask, types), y)) << "with 3 threads";
    });
  }
}

TYPED_TEST(LanguageModelOf, HasTheConfiguredHead) {
  TestFixture::for_each_model(true, [&](const auto& model) {
    const HeadForm form = model.config.head.form;
    EXPECT_EQ(model.head.has_value(), form != HeadForm::none);
    EXPECT_EQ(model.out(), form == HeadForm::none ? small_channels : vocabulary);
    if (model.head) {
      EXPECT_EQ(model.head->output.has_value(), form == HeadForm::untied);
      EXPECT_EQ(model.head->dense.has_value(), model.config.head.dense);
      EXPECT_EQ(model.head->bias.size(), form == HeadForm::tied && model.config.head.bias ? vocabulary : 0);
    }
    EXPECT_EQ(model.type_embedding.has_value(), model.config.token_types > 0);
  });
}

TYPED_TEST(LanguageModelOf, ARaggedBatchIsBitEqualToSeparateCalls) {
  using T = typename TypeParam::T;
  const auto sequences = Sequences::of_lengths({5, 1, 12, 0});
  Ids ids(text_of_12.begin(), text_of_12.begin() + 6);
  ids.insert(ids.end(), text_of_12.begin(), text_of_12.end());
  const auto mask = random_mask(sequences, 3);
  for (const bool causal : {false, true}) {
    TestFixture::for_each_model(causal, [&](const auto& model) {
      const Matrix<T> logits = TestFixture::run(model, ids, sequences, 2, mask);
      for (Index b = 0; b < sequences.count(); ++b) {
        const Index offset = sequences.offset(b), length = sequences.length(b);
        const auto first = ids.begin() + offset;
        const Matrix<T> alone =
            TestFixture::run(model, Ids(first, first + length), Sequences::single(length), 1, mask_part(mask, offset, length));
        EXPECT_TRUE(same_bits(logits.middleRows(offset, length), alone)) << "text " << b;
      }
    });
  }
}

TYPED_TEST(LanguageModelOf, PredictionsNeverDependOnLaterTokens) {
  using T = typename TypeParam::T;
  TestFixture::for_each_model(true, [&](const auto& model) {
    const Matrix<T> logits = TestFixture::run(model, text_of_12, Sequences::single(12));
    for (std::size_t t = 0; t < 12; ++t) {
      Ids changed = text_of_12;
      changed[t] = 10;
      const Matrix<T> other = TestFixture::run(model, changed, Sequences::single(12));
      const auto row = static_cast<Index>(t);
      EXPECT_TRUE(same_bits(other.topRows(row), logits.topRows(row))) << t;
      EXPECT_FALSE(same_bits(other.row(row), logits.row(row))) << t;
    }
  });
}

TYPED_TEST(LanguageModelOf, MasksPaddingByDefault) {
  using T = typename TypeParam::T;
  using Model = typename TypeParam::Model;
  const auto sequences = Sequences::of_lengths({6, 8});
  Ids tokens(text_of_12);
  tokens.insert(tokens.end(), {7, 4});
  std::vector<std::uint8_t> mask(14, 1);
  for (const std::size_t at : {4U, 5U, 12U, 13U}) {
    tokens[at] = 0;
    mask[at] = 0;
  }
  const std::vector<std::uint8_t> all(14, 1);
  for (auto config : configs_of<TypeParam>(false)) {
    config.pad_token = 0;
    if constexpr (TestFixture::masks) {
      auto model = random_layer<Model>(config);
      Workspace<T> workspace;
      const Matrix<T> y = model.forward(tokens, sequences, workspace);
      EXPECT_TRUE(same_bits(y, model.forward(tokens, sequences, workspace, mask)));
      const Matrix<T> unmasked = model.forward(tokens, sequences, workspace, all);
      EXPECT_FALSE(same_bits(unmasked, y)) << "an explicit mask takes precedence";
      model.config.pad_token = -1;
      EXPECT_TRUE(near(model.forward(tokens, sequences, workspace), test::wide(unmasked)));
    } else {
      EXPECT_TRUE(
          refuses<ArgumentError>([&] { Model{config}; }, "pad_token = 0, but the trunk takes no mask. Set pad_token = -1 and"));
    }
  }
}

TYPED_TEST(LanguageModelOf, TokenTypesDefaultToZero) {
  using T = typename TypeParam::T;
  const Ids tokens(text_of_12.begin(), text_of_12.begin() + 5), first(5, 0), second(5, 1);
  TestFixture::for_each_model(false, [&](const auto& model) {
    if (model.config.token_types > 0) {
      const Matrix<T> y = TestFixture::run(model, tokens, Sequences::single(5));
      EXPECT_TRUE(same_bits(y, TestFixture::run(model, tokens, Sequences::single(5), 1, {}, first)));
      EXPECT_FALSE(near(TestFixture::run(model, tokens, Sequences::single(5), 1, {}, second), test::wide(y)));
    }
  });
}

TYPED_TEST(LanguageModelOf, HandlesEmptyBatches) {
  using T = typename TypeParam::T;
  TestFixture::for_each_model(false, [&](const auto& model) {
    const Matrix<T> y = TestFixture::run(model, {}, Sequences::uniform(0, small_length));
    EXPECT_EQ(y.rows(), 0);
    EXPECT_EQ(y.cols(), model.out());
  });
}

TYPED_TEST(LanguageModelOf, ChargesItsParametersToTheBudget) {
  using Model = typename TypeParam::Model;
  for (auto config : configs_of<TypeParam>(true)) {
    for (const auto form : {HeadForm::none, HeadForm::tied, HeadForm::untied}) {
      for (const bool option : {false, true}) {
        config.head = {
            .form = form, .dense = option, .norm = option ? NormForm::scale_norm : NormForm::layer_norm, .bias = !option};
        SCOPED_TRACE(name_of(form));
        test::expect_fair_spending<Model>(config);
      }
    }
    config.vocabulary = Count::most;
    const ParameterBudget budget(1 << 20, "too many values");
    EXPECT_EQ(message_of<FileError>([&] { Model{config}; }), "too many values");
  }
}

TYPED_TEST(LanguageModelOf, AWarmCallAllocatesNothing) {
  using T = typename TypeParam::T;
  const auto sequences = Sequences::of_lengths({12, 1, 7});
  Ids tokens(text_of_12);
  tokens.insert(tokens.end(), text_of_12.begin(), text_of_12.begin() + 8);
  TestFixture::for_each_model(true, [&](const auto& model) {
    Matrix<T> y(20, model.out());
    for (const int threads : {1, 2}) {
      Workspace<T> workspace(Threads{threads});
      const auto forward = [&] { TestFixture::forward(model, tokens, sequences, y, workspace); };
      forward();
      EXPECT_EQ(allocations_during(forward), 0) << threads << " threads";
    }
  });
}

TYPED_TEST(LanguageModelOf, RefusesBadInputBeforeWriting) {
  using T = typename TypeParam::T;
  TestFixture::for_each_model(false, [&](const auto& model) {
    Workspace<T> workspace;
    const auto refuse = [&](const Ids& tokens, const Sequences& sequences, Index rows, Index columns, const std::string& part,
                            const std::vector<std::uint8_t>& mask = {}, const Ids& types = {}) {
      Matrix<T> y = untouched<T>(rows, columns);
      const std::string said =
          message_of<Error>([&] { TestFixture::forward(model, tokens, sequences, y, workspace, mask, types); });
      EXPECT_EQ(said.rfind("LanguageModel::forward: ", 0), 0u) << said;
      EXPECT_NE(said.find(part), std::string::npos) << part << " is not in: " << said;
      EXPECT_TRUE(is_untouched(y)) << part;
    };
    const auto three = Sequences::single(3);
    const Index out = model.out();
    refuse({1, 2, 11}, three, 3, out, "token 2 has id 11, expected 0 … 10");
    refuse({1, -1, 2}, three, 3, out, "token 1 has id -1");
    refuse({1, 2, 3}, Sequences::single(4), 3, out, "sequences cover");
    refuse({1, 2, 3}, Sequences::single(2), 3, out, "sequences cover");
    refuse({1, 2, 3}, three, 2, out, text("output is 2 × ", out, ", expected 3 × ", out));
    refuse({1, 2, 3}, three, 3, out + 1, text("output is 3 × ", out + 1, ", expected 3 × ", out));
    EXPECT_EQ(model.contract().takes_mask, TestFixture::masks);
    if constexpr (TestFixture::masks) {
      refuse({1, 2, 3}, three, 3, out, "the mask has 2 entries, expected 3", {1, 1});
    } else {
      Matrix<T> y = untouched<T>(3, out);
      const std::vector<std::uint8_t> all(3, 1);
      EXPECT_EQ(message_of<ArgumentError>([&] {
                  model.forward(Ids{1, 2, 3}, three, y, workspace, all);
                }),
                "LanguageModel::forward: got a mask, but this layer takes none. Omit the mask.");
      EXPECT_TRUE(is_untouched(y));
    }
    const Index types = model.config.token_types;
    if (types > 0) {
      refuse({1, 2, 3}, three, 3, out, "types has 2 ids, expected 3", {}, {0, 1});
      refuse({1, 2, 3}, three, 3, out, text("token 2 has id ", types, ", expected 0 … ", types - 1), {}, {0, 1, types});
    } else {
      refuse({1, 2, 3}, three, 3, out, "types has 3 ids, expected 0", {}, {0, 0, 0});
    }
    if (model.config.position == PositionForm::sinusoid_table) {
      const std::string remedy =
          model.trunk.longest() > 12 ? " Build the model with a larger max_length, or with position = sinusoid." : "";
      refuse(Ids(13, 1), Sequences::single(13), 13, out, "sequence 0 of 1 has 13 tokens, expected 12 at most." + remedy);
    }
  });
}

TYPED_TEST(LanguageModelOf, RefusesInvalidConfigurations) {
  using Model = typename TypeParam::Model;
  const auto refuse = [](auto change, const std::string& part) {
    auto config = configs_of<TypeParam>(true)[0];
    change(config);
    EXPECT_TRUE(refuses<ArgumentError>([&] { Model{config}; }, part));
  };
  refuse([](auto& config) { config.vocabulary = 0; }, "vocabulary = 0");
  refuse([](auto& config) { config.vocabulary = -5; }, "vocabulary = -5");
  refuse([](auto& config) { config.token_types = -2; }, "token_types = -2");
  refuse([](auto& config) { config.position = PositionForm::sinusoid_table; }, "max_length = 0");
  refuse([](auto& config) { config.trunk.depth = -1; }, "depth = -1");
  EXPECT_TRUE(refuses<ArgumentError>(
      [] {
        GmlpLanguageModel<float>({.vocabulary = 5,
                                  .position = PositionForm::learned,
                                  .max_length = 16,
                                  .trunk = {.length = 32, .channels = 4, .hidden = 8}});
      },
      "max_length = 16, but the trunk takes only texts of 32 tokens"));
}

// --- Streams ---

TYPED_TEST(LanguageModelOf, StepsEqualTheBatchBitForBit) {
  using T = typename TypeParam::T;
  TestFixture::for_each_model(true, [&](const auto& model) {
    const Matrix<T> logits = TestFixture::run(model, text_of_12, Sequences::single(12));
    Workspace<T> workspace;
    auto state = model.start(12);
    Matrix<T> row(1, model.out());
    for (Index t = 0; t < 12; ++t) {
      EXPECT_EQ(state.position(), t);
      model.step(text_of_12[static_cast<std::size_t>(t)], state, row, workspace);
      EXPECT_TRUE(same_bits(row, logits.row(t))) << "token " << t;
    }
  });
}

TYPED_TEST(LanguageModelOf, APrefillInAnySplitEqualsTheBatch) {
  using T = typename TypeParam::T;
  TestFixture::for_each_model(true, [&](const auto& model) {
    const Matrix<T> logits = TestFixture::run(model, text_of_12, Sequences::single(12));
    Workspace<T> workspace;
    for (const Ids& split : {Ids{12}, Ids{5, 7}, Ids{4, 1, 0, 6, 1}, Ids{1, 11}, Ids{11, 1}}) {
      auto state = model.start(12);
      for (const Index count : split) {
        const Index first = state.position();
        EXPECT_TRUE(same_bits(TestFixture::go_on(model, text_of_12, state, count, workspace), logits.middleRows(first, count)));
      }
    }
  });
}

TYPED_TEST(LanguageModelOf, APrefillReturnsAllPredictionsOrTheLast) {
  using T = typename TypeParam::T;
  TestFixture::for_each_model(true, [&](const auto& model) {
    const Matrix<T> logits = TestFixture::run(model, text_of_12, Sequences::single(12));
    Workspace<T> workspace;
    auto all = model.start(12), last = model.start(12);
    Matrix<T> seven(7, model.out()), one(1, model.out());
    model.extend(Tokens(text_of_12).first(7), all, seven, workspace);
    model.extend(Tokens(text_of_12).first(7), last, one, workspace);
    EXPECT_TRUE(same_bits(seven, logits.topRows(7)));
    EXPECT_TRUE(same_bits(one, seven.row(6)));
    EXPECT_EQ(all.position(), 7);
    EXPECT_EQ(last.position(), 7);
    model.step(text_of_12[7], last, one, workspace);
    EXPECT_TRUE(same_bits(one, logits.row(7)));
  });
}

TYPED_TEST(LanguageModelOf, APrefillOfNoTokensChangesNothing) {
  using T = typename TypeParam::T;
  TestFixture::for_each_model(true, [&](const auto& model) {
    Workspace<T> workspace;
    auto state = model.start(12);
    Matrix<T> none(0, model.out()), one = untouched<T>(1, model.out());
    model.extend({}, state, none, workspace);
    EXPECT_EQ(state.position(), 0);
    EXPECT_EQ(message_of<ShapeError>([&] { model.extend({}, state, one, workspace); }),
              "LanguageModel::extend: output has 1 rows, expected 0, one per token, or 1 for the last.");
    EXPECT_TRUE(is_untouched(one)) << "no token, no last prediction";
  });
}

TYPED_TEST(LanguageModelOf, ACopiedStateContinuesIndependently) {
  using T = typename TypeParam::T;
  TestFixture::for_each_model(true, [&](const auto& model) {
    const Matrix<T> logits = TestFixture::run(model, text_of_12, Sequences::single(12));
    Workspace<T> workspace;
    auto state = model.start(12);
    TestFixture::go_on(model, text_of_12, state, 6, workspace);
    const auto saved = state;
    auto branch = saved;
    Matrix<T> one(1, model.out()), two(1, model.out());
    for (Index t = 6; t < 12; ++t) {
      model.step(10, branch, one, workspace);
      model.step(text_of_12[static_cast<std::size_t>(t)], state, two, workspace);
      EXPECT_TRUE(same_bits(two, logits.row(t))) << t;
    }
    EXPECT_FALSE(same_bits(one, two));
    EXPECT_EQ(saved.position(), 6);
    auto again = saved;
    EXPECT_TRUE(same_bits(TestFixture::go_on(model, text_of_12, again, 6, workspace), logits.bottomRows(6)));
  });
}

TYPED_TEST(LanguageModelOf, AStreamIsBitEqualForAnyNumberOfThreads) {
  using T = typename TypeParam::T;
  TestFixture::for_each_model(true, [&](const auto& model) {
    const Matrix<T> logits = TestFixture::run(model, text_of_12, Sequences::single(12));
    for (const int threads : {2, 3}) {
      Workspace<T> workspace(Threads{threads});
      auto state = model.start(12);
      EXPECT_TRUE(same_bits(TestFixture::go_on(model, text_of_12, state, 12, workspace), logits)) << threads;
    }
  });
}

TYPED_TEST(LanguageModelOf, WarmStepsAndPrefillsAllocateNothing) {
  using T = typename TypeParam::T;
  const Index length = 60;
  const Ids tokens(static_cast<std::size_t>(length) - 20, 7);
  TestFixture::for_each_model(
      true,
      [&](const auto& model) {
        Matrix<T> y(1, model.out());
        for (const int threads : {1, 2}) {
          Workspace<T> workspace(Threads{threads});
          auto state = model.start(length);
          model.step(0, state, y, workspace);
          EXPECT_EQ(allocations_during([&] {
                      while (state.position() < 10) {
                        model.step(3, state, y, workspace);
                      }
                    }),
                    0)
              << threads << " threads";
          auto other = state;
          const auto prefill = [&](State<T>& to) { model.extend(tokens, to, y, workspace); };
          prefill(state);
          EXPECT_EQ(allocations_during([&] { prefill(other); }), 0) << threads << " threads";
          EXPECT_EQ(allocations_during([&] {
                      while (state.position() < length) {
                        model.step(3, state, y, workspace);
                      }
                    }),
                    0)
              << "steps of a growing sequence";
        }
      },
      length);
}

TYPED_TEST(LanguageModelOf, ReportsTheCapacityOfAState) {
  using Kind = typename TypeParam::Kind;
  using T = typename TypeParam::T;
  TestFixture::for_each_model(true, [&](const auto& model) {
    EXPECT_EQ(model.start(3).capacity(), 3);
    const Index longest = model.longest();
    if (longest < State<T>::unlimited) {
      EXPECT_EQ(longest, small_length);
      EXPECT_EQ(model.start().capacity(), longest) << "defaults to the length of the model";
      EXPECT_TRUE(message_of<ShapeError>([&] {
                    model.start(13);
                  }).starts_with("LanguageModel::start: capacity = 13, but the model can serve 12 tokens at most. "));
      auto full = model.start();
      Workspace<T> workspace;
      Matrix<T> y(13, model.out());
      const std::string message = message_of<ShapeError>([&] { model.extend(Ids(13, 1), full, y, workspace); });
      EXPECT_NE(message.find("Rewind the state, or change the model. "), message.npos) << message << ": no remedy";
    } else if constexpr (Kind::remembers_tokens) {
      EXPECT_TRUE(refuses<ArgumentError>([&] { model.start(); }, "start(capacity)"));
    } else {
      EXPECT_EQ(model.start().capacity(), State<T>::unlimited);
    }
    EXPECT_EQ(message_of<ArgumentError>([&] { model.start(-1); }), "LanguageModel::start: capacity = -1 must not be negative.");
  });
}

TYPED_TEST(LanguageModelOf, RefusedStepsKeepTheState) {
  using T = typename TypeParam::T;
  TestFixture::for_each_model(true, [&](const auto& model) {
    const Matrix<T> logits = TestFixture::run(model, text_of_12, Sequences::single(12));
    Workspace<T> workspace;
    auto state = model.start(12);
    const Index out = model.out();
    TestFixture::go_on(model, text_of_12, state, 10, workspace);
    const auto refuse = [&](const Ids& ids, Index rows, Index columns, const std::string& part) {
      Matrix<T> y = untouched<T>(rows, columns);
      const std::string said = message_of<Error>([&] { model.extend(ids, state, y, workspace); });
      EXPECT_EQ(said.rfind("LanguageModel::extend: ", 0), 0u) << said;
      EXPECT_NE(said.find(part), std::string::npos) << part << " is not in: " << said;
      EXPECT_TRUE(is_untouched(y)) << part;
      EXPECT_EQ(state.position(), 10);
    };
    refuse({1, 2, 3}, 3, out, "3 tokens from position 10 exceed the 12 tokens that the ");
    refuse({1, 11}, 2, out, "token 1 has id 11, expected 0 … 10");  // an unknown id after a known one
    refuse({-1}, 1, out, "token 0 has id -1");
    refuse({1}, 2, out, "output has 2 rows, expected 1");
    refuse({1, 2}, 3, out, "output has 3 rows, expected 2, one per token, or 1 for the last.");
    refuse({}, 1, out, "output has 1 rows, expected 0");
    refuse({1}, 1, out + 1, text("output is 1 × ", out + 1, ", expected 1 × ", out));
    Matrix<T> one = untouched<T>(1, out);
    EXPECT_EQ(message_of<ArgumentError>([&] { model.step(11, state, one, workspace); }),
              "LanguageModel::step: token 0 has id 11, expected 0 … 10.");
    Matrix<T> wide = untouched<T>(1, out + 1);
    EXPECT_TRUE(message_of<ShapeError>([&] {
                  model.step(1, state, wide, workspace);
                }).starts_with(text("LanguageModel::step: output is 1 × ", out + 1, ", expected 1 × ", out)));
    EXPECT_TRUE(is_untouched(one) && is_untouched(wide));

    EXPECT_TRUE(same_bits(TestFixture::go_on(model, text_of_12, state, 2, workspace), logits.bottomRows(2)))
        << "unaffected by the refused calls";
    EXPECT_THROW(model.step(1, state, one, workspace), ShapeError);
    EXPECT_EQ(state.position(), 12);
    EXPECT_TRUE(is_untouched(one));
  });
}

TYPED_TEST(LanguageModelOf, RefusesPaddingInAStream) {
  using T = typename TypeParam::T;
  using Model = typename TypeParam::Model;
  if constexpr (TestFixture::masks) {
    for (auto config : configs_of<TypeParam>(true)) {
      config.pad_token = 0;
      const auto model = random_layer<Model>(config);
      Workspace<T> workspace;
      auto state = model.start(12), before = state;
      Matrix<T> y = untouched<T>(2, model.out()), one(1, model.out()), expected(1, model.out());
      EXPECT_EQ(message_of<ArgumentError>([&] {
                  model.extend(Ids{1, 0}, state, y, workspace);
                }),
                "LanguageModel::extend: token 0 is padding. Leave it out of a stream.");
      EXPECT_TRUE(is_untouched(y));
      EXPECT_EQ(state.position(), 0);
      model.step(1, state, one, workspace);
      model.step(1, before, expected, workspace);
      EXPECT_TRUE(same_bits(one, expected));
    }
  }
}

TYPED_TEST(LanguageModelOf, RefusesAStateOfAnotherConfiguration) {
  using T = typename TypeParam::T;
  using Model = typename TypeParam::Model;
  const auto config = configs_of<TypeParam>(true)[0];
  const auto model = random_layer<Model>(config);
  auto deeper = config;
  deeper.trunk.depth += 1;
  const Model stranger(deeper);
  Workspace<T> workspace;
  auto state = stranger.start(12);
  Matrix<T> y = untouched<T>(1, model.out());
  EXPECT_EQ(message_of<ArgumentError>([&] { model.step(1, state, y, workspace); }),
            "LanguageModel::step: the state was made for another configuration. Make one with this model's start().");
  EXPECT_TRUE(is_untouched(y));
  EXPECT_EQ(state.position(), 0);
}

TYPED_TEST(LanguageModelOf, RefusesToStreamIfNotCausal) {
  using Model = typename TypeParam::Model;
  for (const auto& config : configs_of<TypeParam>(false)) {
    if constexpr (requires { config.trunk.spatial; }) {
      if (config.trunk.spatial == SpatialForm::scaled_toeplitz) {
        continue;  // always lower triangular
      }
    }
    EXPECT_TRUE(refuses<ArgumentError>([&] { Model(config).start(12); }, "causal = true"));
  }
}

}  // namespace
}  // namespace gated::language_model_test
