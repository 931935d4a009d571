#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "gated/models/flash.hpp"
#include "gated/models/gau_presets.hpp"
#include "gated/models/gmlp.hpp"
#include "gated/models/prepare.hpp"
#include "tests/layers/literal.hpp"
#include "tests/stress/stress.hpp"

// Tests one const model in 64 threads, each with its own workspace: every result is bit-equal to a serial run. The preset
// `tsan` runs these tests under ThreadSanitizer.

namespace gated {
namespace {

using test::from_environment;
using test::same_bits;

constexpr Index vocabulary = 17, longest = 48;
constexpr int threads = 64;

std::chrono::milliseconds duration() {
  return std::chrono::milliseconds(1000 * from_environment("GATED_STRESS_SECONDS", 2) / 4);
}

/// Calls `work(random, workspace)` repeatedly from 64 threads and returns the number of calls. Expects that `work` always
/// returns true.
template <class T, class Work>
long hammer(const PreparedWeights<T>* prepared, const Work& work) {
  std::atomic<long> runs{0}, wrong{0};
  const auto end = std::chrono::steady_clock::now() + duration();
  std::vector<std::thread> team;
  for (int id = 0; id < threads; ++id) {
    team.emplace_back([&, id] {
      Random random(static_cast<std::uint64_t>(id));
      Workspace<T> workspace(Threads{id % 8 == 0 ? 2 : 1});  // some workspaces use two threads
      if (prepared != nullptr && id % 2 == 0) {
        workspace.use(*prepared);
      }
      do {
        wrong += work(random, workspace) ? 0 : 1;
        ++runs;
      } while (std::chrono::steady_clock::now() < end);
    });
  }
  for (std::thread& thread : team) {
    thread.join();
  }
  EXPECT_EQ(wrong, 0) << "of " << runs << " runs";
  std::printf("%ld runs\n", runs.load());
  return runs;
}

Index below(Random& random, Index limit) { return static_cast<Index>(random.bits() % static_cast<std::uint64_t>(limit)); }

std::vector<Index> text(Index length) {
  std::vector<Index> tokens;
  Random random(3);
  for (Index i = 0; i < length; ++i) {
    tokens.push_back(below(random, vocabulary));
  }
  return tokens;
}

/// Expects that concurrent runs of prefixes of one text are bit-equal to serial runs, both in one call and token by token.
template <class Model>
void expect_same_texts(const Model& model) {
  using T = typename Model::Scalar;
  const std::vector<Index> tokens = text(longest);
  const auto prefix = [&](Index length) { return Tokens(tokens.data(), static_cast<std::size_t>(length)); };
  Workspace<T> serial;
  std::vector<Matrix<T>> expected(longest + 1);
  for (Index length = 1; length <= longest; ++length) {
    expected[static_cast<std::size_t>(length)] = model.forward(prefix(length), Sequences::single(length), serial);
  }
  Matrix<T> steps(longest, vocabulary);
  auto state = model.start();
  for (Index i = 0; i < longest; ++i) {
    model.step(tokens[static_cast<std::size_t>(i)], state, steps.row(i), serial);
  }
  const auto prepared = prepare(model);
  hammer<T>(&prepared, [&](Random& random, Workspace<T>& workspace) {
    const Index length = 1 + below(random, longest);
    if (below(random, 2) == 0) {
      return static_cast<bool>(same_bits(model.forward(prefix(length), Sequences::single(length), workspace),
                                         expected[static_cast<std::size_t>(length)]));
    }
    auto own = model.start();
    Matrix<T> logits(1, vocabulary);
    bool same = true;
    for (Index i = 0; i < length; ++i) {
      model.step(tokens[static_cast<std::size_t>(i)], own, logits, workspace);
      same = same && same_bits(logits, steps.row(i));
    }
    return same;
  });
}

TEST(SixtyFourThreads, ShareAnAmlpForText) {
  GmlpLanguageModel<float> model({.vocabulary = vocabulary,
                                  .trunk = {.length = longest,
                                            .channels = 20,
                                            .hidden = 48,
                                            .depth = 2,
                                            .spatial = SpatialForm::toeplitz,
                                            .causal = true,
                                            .heads = 2,
                                            .attention_width = 8,
                                            .token_shift = 1}});
  test::randomize(model, 1);
  expect_same_texts(model);
}

TEST(SixtyFourThreads, ShareAFlashForText) {
  FlashLanguageModel<float> model(
      {.vocabulary = vocabulary,
       .position = PositionForm::sinusoid,
       .trunk = {.depth = 2, .block = flash_presets::lucidrains({.channels = 20, .query_key = 8, .chunk = 16})}});
  test::randomize(model, 2);
  expect_same_texts(model);
}

TEST(SixtyFourThreads, ShareThePapersFlashInDouble) {
  FlashLanguageModel<double> model(
      {.vocabulary = vocabulary,
       .position = PositionForm::sinusoid,
       .trunk = {.depth = 1, .block = flash_presets::paper({.channels = 12, .query_key = 8, .chunk = 8})}});
  test::randomize(model, 3);
  expect_same_texts(model);
}

TEST(SixtyFourThreads, ShareAnImageClassifier) {
  GmlpImageClassifier<float> model({.image = {8, 8},
                                    .patch = {2, 2},
                                    .image_channels = 1,
                                    .classes = 10,
                                    .pooling = Pooling::class_token,
                                    .pre_logits = true,
                                    .trunk = {.channels = 20, .hidden = 40, .depth = 2}});
  test::randomize(model, 4);
  const Matrix<float> images = test::random_matrix<float>(24, 64, 5);
  Workspace<float> serial;
  const Matrix<float> expected = model.forward(images, serial);
  const auto prepared = prepare(model);
  hammer<float>(&prepared, [&](Random& random, Workspace<float>& workspace) {
    const Index first = below(random, 24), count = 1 + below(random, 24 - first);
    return static_cast<bool>(
        same_bits(model.forward(images.middleRows(first, count), workspace), expected.middleRows(first, count)));
  });
}

}  // namespace
}  // namespace gated
