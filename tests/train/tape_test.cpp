#include "gated/train/tape.hpp"

#include <functional>
#include <limits>
#include <thread>
#include <vector>

#include "gated/layers/linear.hpp"
#include "gated/models/gau_presets.hpp"
#include "gated/ops/pool.hpp"
#include "gated/train/recording.hpp"
#include "gated/train/regression_loss.hpp"
#include "tests/train/gradients.hpp"

namespace gated::tape_test {
namespace {

using test::expect_gradients;
using test::random_matrix;

struct Two {
  Linear<double> first, second;
  static constexpr auto fields() { return Fields(field("first", &Two::first), field("second", &Two::second)); }
};

/// A run in which all rows of x are one sequence.
Recording<double> run_over(Tape<double>& tape, Variable x) { return {tape, Sequences::single(tape.rows(x))}; }

Two two(Index width) {
  Two model{Linear<double>(width, width), Linear<double>(width, width)};
  test::shake(model, 1);
  return model;
}

TEST(Tape, GradientsOfAChainAreExact) {
  expect_gradients(two(5), random_matrix<double>(4, 5, 2), [](Tape<double>& tape, const Two& model, Variable x) {
    auto run = run_over(tape, x);
    return run(model.second, activate(run, run(model.first, x), Activation::gelu));
  });
}

TEST(Tape, SumsTheGradientsOfAVariableReadTwice) {
  expect_gradients(two(5), random_matrix<double>(4, 5, 2), [](Tape<double>& tape, const Two& model, Variable x) {
    auto run = run_over(tape, x);
    const Variable a = run(model.first, x), b = run(model.second, a);
    return add(run, multiply(run, a, b), add(run, a, x));
  });
}

TEST(Tape, PartsAndTheirWholeCanBothBeRead) {
  for (const Index unread : {0, 1}) {
    for (const int order : {0, 1, 2}) {
      expect_gradients(two(6), random_matrix<double>(4, 6, 2), [=](Tape<double>& tape, const Two& model, Variable x) {
        auto run = run_over(tape, x);
        const Variable z = run(model.first, x);
        const Variable whole_first = order == 0 ? run(model.second, z) : z;
        const Variable left = tape.columns(z, 0, 3 - unread), right = tape.columns(z, 3, 3 - unread);
        const Variable product = multiply(run, left, right);
        if (order == 2) {
          return product;
        }
        const Variable y = order == 0 ? whole_first : run(model.second, z);
        return add(run, tape.columns(y, 0, 3 - unread), product);
      });
    }
  }
}

TEST(Tape, CopiesOverlappingColumns) {
  expect_gradients(two(6), random_matrix<double>(3, 6, 2), [](Tape<double>& tape, const Two& model, Variable x) {
    auto run = run_over(tape, x);
    const Variable z = run(model.first, x), left = run.columns(z, 0, 4), right = run.columns(z, 2, 4);
    EXPECT_TRUE(test::same_bits(Matrix<double>(tape[right]), Matrix<double>(tape[z].rightCols(4))));
    return multiply(run, left, right);
  });
}

TEST(Tape, RefusesASecondBackwardPass) {
  const Two model = two(3);
  Two gradient = zeros_like(model);
  Tape<double> tape;
  const Matrix<double> x = random_matrix<double>(1, 3, 2);
  for (int i = 0; i < 2; ++i) {
    tape.begin(model, gradient);
    const Variable y = record(tape, model.first, tape.input(x));
    EXPECT_THROW(tape.backward(y), ShapeError);  // y is not 1 × 1
    EXPECT_THROW(tape.backward(y, x.leftCols(2)), ShapeError);
    tape.backward(y, x);
    EXPECT_THROW(tape.backward(y, x), ArgumentError);
  }
}

TEST(Tape, RunsPushedFunctionsInReverse) {
  const Two model = two(3);
  Two gradient = zeros_like(model);
  Tape<double> tape;
  tape.begin(model, gradient);
  const Matrix<double> x = random_matrix<double>(2, 3, 2);
  const Variable input = tape.input(x), output = tape.make(2, 3);
  EXPECT_FALSE(Variable());
  EXPECT_TRUE(input);
  std::vector<int> order;
  tape.push([&order, input](Tape<double>& back) {
    order.push_back(1);
    back.target(input).give(back.last_gradient(input) * 2.0);  // adds to the gradient
  });
  tape.push([&order, input, output](auto& back) {
    order.push_back(2);
    back.target(input).give(back.gradient(output));
  });
  tape.backward(output, x);
  EXPECT_EQ(order, (std::vector<int>{2, 1}));
  EXPECT_TRUE(Matrix<double>(tape.gradient(input)).isApprox(3 * x, 1e-15));
}

TEST(Tape, ParametersOfOtherModelsReceiveNoGradient) {
  const Two model = two(3), other = two(3);
  Two gradient = zeros_like(model);
  Tape<double> tape;
  tape.begin(model, gradient);
  const Matrix<double> x = random_matrix<double>(2, 3, 2);
  const Variable y = record(tape, other.second, record(tape, model.first, tape.constant(x)));
  tape.backward(y, x);
  EXPECT_FALSE(gradient.first.weight.isZero(0));
  EXPECT_TRUE(gradient.second.weight.isZero(0));
}

TEST(Tape, AConstantReceivesNoGradient) {
  const Two model = two(3);
  Two gradient = zeros_like(model);
  const Matrix<double> x = random_matrix<double>(2000, 3, 2);
  const auto bytes = [&](bool is_input) {
    Tape<double> tape;
    for (int i = 0; i < 2; ++i) {
      tape.begin(model, gradient);
      tape.backward(record(tape, model.first, is_input ? tape.input(x) : tape.constant(x)), x);
    }
    return tape.bytes();
  };
  EXPECT_GE(bytes(true) - bytes(false), 2000 * 3 * sizeof(double));
}

TEST(Tape, MemoryDependsOnTokensNotOnSequenceLengths) {
  Random random(1);
  const GatedAttentionUnit<float> model(gau_presets::flash_quad_junnyu({.channels = 8, .max_length = 256, .query_key = 4}),
                                        random);
  auto gradient = zeros_like(model);
  const Matrix<float> x = random_matrix<float>(256, 8, 2);
  const auto bytes = [&](Index count) {
    Tape<float> tape;
    for (int i = 0; i < 3; ++i) {
      tape.begin(model, gradient);
      tape.backward(record(tape, model, tape.input(x), Sequences::uniform(count, 256 / count)), x);
    }
    return tape.bytes();
  };
  EXPECT_NEAR(static_cast<double>(bytes(1)), static_cast<double>(bytes(16)), 2048) << "stored scores would take 256 KiB";
}

/// A block that reads an outer variable b: y = x + second(x) ⊙ b.
const auto gated_by = [](Tape<double>& tape, const Two& model, Variable b) {
  return [&tape, &model, b](Variable x) {
    auto run = run_over(tape, x);
    return add(run, multiply(run, run(model.second, x), b), x);
  };
};

TEST(Tape, BlocksCanReadOuterVariables) {
  for (const bool recompute : {false, true}) {
    SCOPED_TRACE(recompute);
    expect_gradients(two(5), random_matrix<double>(4, 5, 2),
                     [](Tape<double>& tape, const Two& model, Variable x) {
                       auto run = run_over(tape, x);
                       const Variable b = run(model.first, x);
                       Variable y = activate(run, run(model.first, x), Activation::tanh);
                       for (int i = 0; i < 3; ++i) {
                         y = tape.block(y, gated_by(tape, model, b));
                       }
                       return y;
                     },
                     1e-6, {.recompute = recompute});
  }
}

/// A block that reads part of an outer variable b: y = x ⊙ (two columns of b).
const auto times_columns = [](Tape<double>& tape, Variable b) {
  return [&tape, b](Variable x) {
    auto run = run_over(tape, x);
    return multiply(run, x, tape.columns(b, 3, 2));
  };
};

TEST(Tape, BlocksCanReadPartsOfOuterVariables) {
  for (const bool recompute : {false, true}) {
    SCOPED_TRACE(recompute);
    expect_gradients(two(6), random_matrix<double>(4, 6, 2),
                     [recompute](Tape<double>& tape, const Two& model, Variable x) {
                       auto run = run_over(tape, x);
                       const Variable b = run(model.first, x), own = tape.columns(b, 0, 1);
                       Variable y = tape.columns(run(model.second, x), 0, 2);
                       for (int i = 0; i < (recompute ? 3 : 1); ++i) {  // without recomputation, all blocks would share a part
                         y = tape.block(y, times_columns(tape, b));
                       }
                       return multiply(run, tape.columns(run(model.first, b), 2, 1), own);
                     },
                     1e-6, {.recompute = recompute});
    expect_gradients(two(6), random_matrix<double>(4, 6, 2),
                     [](Tape<double>& tape, const Two& model, Variable x) {
                       auto run = run_over(tape, x);
                       const Variable b = run(model.first, x), z = run(model.second, b);
                       const Variable y = activate(run, tape.columns(z, 0, 2), Activation::tanh);
                       return tape.block(y, times_columns(tape, b));
                     },
                     1e-6, {.recompute = recompute});
  }
}

TEST(Tape, BlocksCanBeNested) {
  for (const bool recompute : {false, true}) {
    SCOPED_TRACE(recompute);
    expect_gradients(
        two(5), random_matrix<double>(4, 5, 2),
        [](Tape<double>& tape, const Two& model, Variable x) {
          const Variable b = record(tape, model.first, x);
          return tape.block(x, [&tape, &model, b](Variable in) {
            const Variable own = record(tape, model.second, in);
            const Variable a = tape.block(own, gated_by(tape, model, own));
            return tape.block(run_over(tape, a).dropout(a, 0.2), gated_by(tape, model, b));
          });
        },
        1e-6, {.recompute = recompute}, 3);
  }
}

TEST(Tape, RefusesCallsThatWouldCorruptGradients) {
  Two model = two(6);
  Two gradient = zeros_like(model);
  const Matrix<double> x = random_matrix<double>(1, 6, 2);
  for (const bool recompute : {false, true}) {
    Tape<double> tape({}, {.recompute = recompute});
    EXPECT_THROW(tape.input(x), ArgumentError) << "before begin()";
    EXPECT_THROW(tape.begin(model, model), ArgumentError);
    EXPECT_THROW(tape.input(x), ArgumentError) << "begin() failed";
    tape.begin(model, gradient);
    const Variable input = tape.input(x), left = tape.columns(input, 1, 3);
    EXPECT_EQ(tape.columns(input, 1, 3).index, left.index) << "the same part";
    EXPECT_EQ(tape[tape.columns(input, 3, 2)], Matrix<double>(x.middleCols(3, 2)))
        << "copied, because it overlaps another part";
    EXPECT_THROW(tape.columns(input, 4, 3), ArgumentError) << "beyond";
    EXPECT_THROW(tape.columns(input, -1, 2), ArgumentError);
    EXPECT_EQ(tape[tape.columns(left, 0, 1)], Matrix<double>(x.middleCols(1, 1))) << "copied, because `left` is itself a part";
    EXPECT_THROW(tape.columns(left, 3, 1), ArgumentError);
    EXPECT_THROW(tape.block(input, [&tape](Variable z) { return tape.columns(z, 4, 2); }), ShapeError);
    EXPECT_THROW(tape.backward(Variable{}), ArgumentError);
    EXPECT_THROW(tape.backward(Variable{100, input.step}, x), ArgumentError);
  }
}

TEST(Tape, RefusesVariablesOfOtherStepsAndTapes) {
  const Two model = two(6);
  Two gradient = zeros_like(model);
  const Matrix<double> x = random_matrix<double>(4, 6, 2);
  Tape<double> tape, other;
  tape.begin(model, gradient);
  other.begin(model, gradient);
  const Variable earlier = record(tape, model.first, tape.input(x)), elsewhere = record(other, model.first, other.input(x));
  tape.begin(model, gradient);
  const Variable own = record(tape, model.first, tape.input(x));
  ASSERT_EQ(earlier.index, own.index);
  ASSERT_EQ(elsewhere.index, own.index);
  auto run = run_over(tape, own);
  for (const Variable wrong : {earlier, elsewhere, Variable{}, Variable{own.index + 1, own.step}}) {
    EXPECT_EQ(test::message_of<ArgumentError>([&] { record(tape, model.second, wrong); }),
              "Tape: the variable is absent, or belongs to another tape or an earlier begin(). Record it on this tape after "
              "begin().");
    EXPECT_THROW(add(run, own, wrong), ArgumentError);
    EXPECT_THROW(tape.columns(wrong, 0, 1), ArgumentError);
    EXPECT_THROW(regression_loss(tape, wrong, x), ArgumentError);
    EXPECT_THROW(tape.backward(wrong), ArgumentError);
    EXPECT_THROW(tape.backward(wrong, x), ArgumentError);
    EXPECT_THROW(tape.gradient(wrong), ArgumentError);
  }
  Two expected = zeros_like(model);
  set_zero(gradient);
  tape.backward(record(tape, model.second, own), x);
  Tape<double> fresh;
  fresh.begin(model, expected);
  fresh.backward(record(fresh, model.second, record(fresh, model.first, fresh.input(x))), x);
  EXPECT_TRUE(test::same_bits(gradient.first.weight, expected.first.weight)) << "refused calls leave nothing behind";
}

TEST(Tape, RefusesTwoThreadsAtTheSameTime) {
  const Two model = two(6);
  Two gradient = zeros_like(model);
  const Matrix<double> x = random_matrix<double>(4, 6, 2);
  Tape<double> tape;
  int refusals = 0;
  const auto expect_refusals = [&] {
    std::thread([&] {
      Two of_thread = zeros_like(model);
      for (const auto& use : std::initializer_list<std::function<void()>>{
               [&] { tape.begin(model, of_thread); }, [&] { tape.constant(x); }, [&] { tape.input(x); },
               [&] { tape.make(1, 1); }, [&] { Tape<double>::InLayer(tape, model.first); }, [&] { tape.backward(Variable()); },
               [&] { tape.backward(Variable(), x); }}) {
        EXPECT_EQ(test::message_of<ArgumentError>(use),
                  "Tape: two threads use it at the same time. Give each thread its own tape; threads may share the model.");
        ++refusals;
      }
    }).join();
  };
  for (int i = 0; i < 2; ++i) {
    tape.begin(model, gradient);
    const Variable input = tape.input(x);
    tape.push([&expect_refusals](auto&) { expect_refusals(); });  // during the backward pass
    {
      const Tape<double>::InLayer layer(tape, model.first);  // inside a layer
      expect_refusals();
    }
    std::thread([&] { tape.backward(record(tape, model.first, input), x); }).join();  // one after another
  }
  EXPECT_EQ(refusals, 4 * 7);
}

TEST(Tape, CopiesTargetsAndInputs) {
  const Two model = two(6);
  const auto gradient_of = [&](bool changes) {
    Two gradient = zeros_like(model);
    Matrix<double> x = random_matrix<double>(4, 6, 2), target = random_matrix<double>(4, 6, 3);
    std::vector<std::uint8_t> observed(24, 1);
    observed[5] = 0;
    Tape<double> tape;
    tape.begin(model, gradient);
    const Variable loss = regression_loss(tape, record(tape, model.first, tape.constant(x)), target, {}, observed);
    if (changes) {
      x.setRandom();
      target.setRandom();
      std::fill(observed.begin(), observed.end(), 1);
    }
    tape.backward(loss);
    return gradient.first.weight;
  };
  EXPECT_TRUE(test::same_bits(gradient_of(true), gradient_of(false)));
}

TEST(Tape, RefusesAStepThatRecordedACopyOfTheModel) {
  const Two model = two(5), copy = model;
  Two gradient = zeros_like(model);
  const Matrix<double> x = random_matrix<double>(4, 5, 2);
  Tape<double> tape;
  const auto step = [&](const Two& recorded) {
    tape.begin(model, gradient);
    const Variable from = tape.constant(x);
    auto run = run_over(tape, from);
    return tape.backward(regression_loss(tape, run(recorded.first, from), x));
  };
  EXPECT_EQ(test::message_of<ArgumentError>([&] { step(copy); }),
            "Tape::backward: no parameter of the model given to begin() took part, so it has no gradient. Record that model "
            "itself, not a copy.");
  EXPECT_NO_THROW(step(model));
}

TEST(Tape, RefusesMismatchedShapes) {
  Two model = two(6);
  Two gradient = zeros_like(model);
  const Matrix<double> x = random_matrix<double>(4, 6, 2);
  Tape<double> tape;
  tape.begin(model, gradient);
  const Variable whole = tape.input(x), narrow = tape.columns(whole, 0, 3), low = tape.input(x.topRows(3));
  auto run = run_over(tape, whole), shorter = run_over(tape, low), longer = run.with(Sequences::single(5));
  EXPECT_EQ(test::message_of<ShapeError>([&] { add(run, whole, narrow); }),
            "add: a is 4 × 6 and b is 4 × 3, expected equal shapes.");
  EXPECT_THROW(multiply(run, low, whole), ShapeError);
  EXPECT_THROW(mean_over_tokens(shorter, whole), ShapeError);
  EXPECT_THROW(first_tokens(longer, whole), ShapeError);
  constexpr Index most = std::numeric_limits<Index>::max();
  EXPECT_THROW(tape.columns(whole, most, most), ArgumentError);
}

}  // namespace
}  // namespace gated::tape_test
