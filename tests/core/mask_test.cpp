#include "gated/core/mask.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "numbers.hpp"

namespace gated::mask_test {
namespace {

using test::message_of;
using Entries = std::vector<std::uint8_t>;

TEST(Mask, CountsUnmaskedTokens) {
  const Entries mask{1, 0, 1, 1, 0, 7};
  EXPECT_EQ(unmasked(mask, 0, 6), 4);
  EXPECT_EQ(unmasked(mask, 1, 3), 2);
  EXPECT_EQ(unmasked(mask, 4, 1), 0);
  EXPECT_EQ(unmasked(mask, 2, 0), 0);
}

TEST(Mask, IsValidIfEmptyOrIfEachSequenceKeepsAToken) {
  const auto sequences = Sequences::of_lengths({2, 0, 3});
  for (const bool softmax : {false, true}) {
    EXPECT_NO_THROW(expect_mask("f", {}, sequences, {.softmax = softmax}));
    EXPECT_NO_THROW(expect_mask("f", Entries{1, 1, 1, 1, 1}, sequences, {.softmax = softmax}));
    EXPECT_NO_THROW(expect_mask("f", Entries{0, 1, 0, 0, 1}, sequences, {.softmax = softmax}));
    EXPECT_NO_THROW(expect_mask("f", {}, Sequences::uniform(0, 3), {.softmax = softmax}));
  }
}

TEST(Mask, IsRefusedIfItsLengthIsWrong) {
  for (const bool softmax : {false, true}) {
    EXPECT_EQ(
        message_of<ShapeError>([&] {
          expect_mask({"GatedAttentionUnit", "forward"}, Entries{1, 1, 1}, Sequences::of_lengths({2, 2}), {.softmax = softmax});
        }),
        "GatedAttentionUnit::forward: the mask has 3 entries, expected 4, one per token.");
    EXPECT_THROW(expect_mask("f", Entries{1, 1, 1, 1, 1}, Sequences::single(4), {.softmax = softmax}), ShapeError);
  }
}

TEST(Mask, CanHideAWholeSequenceUnlessASoftmaxNeedsIt) {
  const Entries mask{1, 0, 0, 0, 1};
  const auto sequences = Sequences::of_lengths({2, 2, 1});
  EXPECT_NO_THROW(expect_mask("f", mask, sequences));
  EXPECT_EQ(message_of<ShapeError>([&] { expect_mask("f", mask, sequences, {.softmax = true}); }),
            "f: the mask leaves no token of sequence 1 for the softmax to attend to. Leave the sequence out of the batch.");
}

TEST(Mask, PartsShareMemory) {
  const Entries mask{1, 0, 1, 1};
  const Mask part = mask_part(mask, 1, 2);
  EXPECT_EQ(part.data(), mask.data() + 1);
  EXPECT_EQ(part.size(), 2u);
  EXPECT_TRUE(mask_part({}, 1, 2).empty());
}

TEST(Mask, ConvertsToZerosAndOnes) {
  Workspace<float> workspace;
  const auto frame = workspace.frame();
  EXPECT_EQ(mask_values<float>({}, workspace), nullptr);
  const Entries mask{1, 0, 255};
  const float* const values = mask_values<float>(mask, workspace);
  EXPECT_EQ(values[0], 1.0F);
  EXPECT_EQ(values[1], 0.0F);
  EXPECT_EQ(values[2], 1.0F);
}

}  // namespace
}  // namespace gated::mask_test
