#include "gated/train/masked_tokens.hpp"

#include <gtest/gtest.h>

#include "gated/models/gmlp.hpp"
#include "gated/train/recording.hpp"
#include "tests/train/gradients.hpp"

namespace gated::masked_tokens_test {
namespace {

using test::message_of;

constexpr MaskingOptions options{.mask_token = 1, .vocabulary = 100};

/// Ids from 2 to 99, none of which is the mask token.
std::vector<Index> words(std::size_t count) {
  std::vector<Index> ids(count);
  for (std::size_t i = 0; i < count; ++i) {
    ids[i] = 2 + static_cast<Index>(i * 37 % 98);
  }
  return ids;
}

TEST(MaskTokens, SelectsTheConfiguredShareAndReplacesTokens) {
  const std::vector<Index> tokens = words(200000);
  Random random(1);
  const MaskedTokens masked = mask_tokens(tokens, Sequences::uniform(2000, 100), options, random);
  const double asked = static_cast<double>(masked.rows.size());
  EXPECT_NEAR(asked / 200000, 0.15, 0.004);  // tolerance: five standard deviations
  ASSERT_EQ(masked.targets.size(), masked.rows.size());
  double hidden = 0, kept = 0;
  std::vector<Index> restored = masked.tokens;
  for (std::size_t i = 0; i < masked.rows.size(); ++i) {
    Index& token = restored[static_cast<std::size_t>(masked.rows[i])];
    hidden += token == options.mask_token ? 1 : 0;
    kept += token == masked.targets[i] ? 1 : 0;
    token = masked.targets[i];
  }
  EXPECT_EQ(restored, tokens);  // all other tokens are unchanged
  EXPECT_NEAR(hidden / asked, 0.8 + 0.1 / 100, 0.012);
  EXPECT_NEAR(kept / asked, 0.1 + 0.1 / 100, 0.01);
  EXPECT_TRUE(std::is_sorted(masked.rows.begin(), masked.rows.end()));
}

TEST(MaskTokens, SelectsAtLeastOneTokenUnlessAllAreSpecial) {
  const std::vector<Index> tokens{5, 6, 7, 0, 0, 8, 0};
  const Sequences sequences = Sequences::of_lengths({3, 2, 0, 2});
  MaskingOptions rare = options;
  rare.share = 0;
  rare.special = {0};
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    const MaskedTokens masked = mask_tokens(tokens, sequences, rare, random);
    ASSERT_EQ(masked.rows.size(), 2u);  // the second sequence has only special tokens, the third has no tokens
    EXPECT_LT(masked.rows[0], 3);
    EXPECT_EQ(masked.rows[1], 5);
    EXPECT_EQ(masked.targets[1], 8);
  }
  MaskingOptions all = rare;
  all.share = 1;
  Random random(1);
  EXPECT_EQ(mask_tokens(tokens, sequences, all, random).rows, (std::vector<Index>{0, 1, 2, 5}));
}

TEST(MaskTokens, RefusesInvalidSettings) {
  const std::vector<Index> tokens{5, 6, 7};
  const auto message = [&](const MaskingOptions& wrong) {
    Random random(1);
    return message_of<ArgumentError>([&] { mask_tokens(tokens, Sequences::single(3), wrong, random); });
  };
  EXPECT_EQ(message({.mask_token = 1, .vocabulary = 100, .share = 1.5}), "mask_tokens: share = 1.5, expected 0 … 1.");
  EXPECT_EQ(message({.mask_token = 1, .vocabulary = 100, .random = 0.3}),
            "mask_tokens: masked + random = 1.1, expected 0 … 1.");
  EXPECT_EQ(message({.mask_token = 100, .vocabulary = 100}), "mask_tokens: mask_token = 100, expected 0 … 99.");
  EXPECT_EQ(message({.mask_token = 0}), "mask_tokens: vocabulary = 0 must be positive. Set it to the model's vocabulary.");
  EXPECT_EQ(message({.mask_token = 1, .vocabulary = 6}), "mask_tokens: token 1 has id 6, expected 0 … 5.");
  Random random(1);
  EXPECT_THROW(mask_tokens(tokens, Sequences::single(4), options, random), ShapeError);
}

TEST(RecordRows, EqualsTheChosenRowsOfAllLogits) {
  Random random(1);
  GmlpLanguageModel<double> model(
      {.vocabulary = 8, .trunk = {.length = 7, .channels = 10, .hidden = 8, .depth = 2, .length_policy = LengthPolicy::slice}},
      random);
  test::shake(model, 2);
  const std::vector<Index> tokens{4, 2, 7, 1, 3, 3, 5, 0, 6}, rows{1, 4, 8}, targets{2, 7, 3};
  const Sequences sequences = Sequences::of_lengths({4, 5});
  const auto train = [&](bool all, GmlpLanguageModel<double>& gradient) {
    std::vector<Index> wide(tokens.size(), CrossEntropyOptions{}.ignored);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      wide[static_cast<std::size_t>(rows[i])] = targets[i];
    }
    Tape<double> tape;
    tape.begin(model, gradient);
    if (all) {
      return tape.backward(cross_entropy(tape, record(tape, model, tokens, sequences), wide));
    }
    const Variable logits = record_rows(tape, model, tokens, sequences, rows);
    EXPECT_EQ(tape.rows(logits), 3);
    return tape.backward(cross_entropy(tape, logits, targets));
  };
  GmlpLanguageModel<double> some = zeros_like(model), every = some;
  EXPECT_NEAR(train(false, some), train(true, every), 1e-14);
  std::vector<double> expected;
  for_each_parameter([&](const ParameterInfo&, auto values) { expected.insert(expected.end(), values.begin(), values.end()); },
                     every);
  std::size_t i = 0;
  double largest = 0;
  for_each_parameter(
      [&](const ParameterInfo& info, auto values) {
        for (const double value : values) {
          EXPECT_NEAR(value, expected[i], 1e-13) << info.path();
          largest = std::max(largest, std::abs(value));
          ++i;
        }
      },
      some);
  EXPECT_GT(largest, 1e-3);

  Tape<double> tape;
  tape.begin(model, some);
  const std::vector<Index> beyond{9}, none;
  EXPECT_EQ(message_of<ArgumentError>([&] { record_rows(tape, model, tokens, sequences, beyond); }),
            "gather: rows[0] is 9, expected 0 … 8.");
  EXPECT_THROW(record_rows(tape, model, tokens, sequences, none), ArgumentError);
}

}  // namespace
}  // namespace gated::masked_tokens_test
