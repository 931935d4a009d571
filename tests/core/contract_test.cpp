#include "gated/core/contract.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/core/numbers.hpp"

namespace gated::contract_test {
namespace {

using test::message_of;

TEST(Contract, AllowsAnythingByDefault) {
  const Contract contract;
  EXPECT_EQ(contract.output_rows(7), 7);
  EXPECT_EQ(contract.output_columns(5), 5);
  EXPECT_EQ(contract.longest, Contract::unlimited);
  EXPECT_TRUE(contract.mixes_tokens());
  EXPECT_FALSE(contract.is_causal());
  EXPECT_FALSE(contract.takes_mask);
}

TEST(Contract, DescribesTheOutputShape) {
  const Contract contract{.in = 4, .out = 3, .of_rows = 6, .rows = 2};
  EXPECT_EQ(contract.output_rows(18), 6);
  EXPECT_EQ(contract.output_rows(0), 0);
  EXPECT_EQ(contract.output_columns(4), 3);
}

TEST(Contract, TellsWhetherALayerIsCausalOrMixesTokens) {
  EXPECT_TRUE(Contract{.sees = Sees::itself}.is_causal());
  EXPECT_FALSE(Contract{.sees = Sees::itself}.mixes_tokens());
  EXPECT_TRUE(Contract{.sees = Sees::past}.is_causal());
  EXPECT_TRUE(Contract{.sees = Sees::past}.mixes_tokens());
  EXPECT_FALSE(Contract{.sees = Sees::all}.is_causal());
}

TEST(Contract, ComposesTwoConsecutiveLayers) {
  const Contract first{.in = 4, .out = 6, .of_rows = 2, .rows = 1, .sees = Sees::itself, .in_note = "pixels"},
      next{.in = 6, .out = 3, .of_rows = 3, .rows = 5, .sees = Sees::past};
  const Contract both = first.then(next);
  EXPECT_EQ(both.in, 4);
  EXPECT_EQ(both.out, 3);
  EXPECT_EQ(both.output_rows(12), 10);
  EXPECT_STREQ(both.in_note, "pixels");
  EXPECT_EQ(both.sees, Sees::past);
  EXPECT_EQ(first.then({.sees = Sees::itself}).out, 6) << "a layer that keeps the number of columns";
}

TEST(Contract, CombinesTheRequirementsOfBothParts) {
  const Contract whole{.in = 4, .out = 6, .sees = Sees::itself, .multiple = 6, .shows_itself = true};
  const Contract part{.in = 9,
                      .out = 8,
                      .sees = Sees::all,
                      .shortest = 5,
                      .longest = 5,
                      .multiple = 4,
                      .remedy = " Cut it.",
                      .unstreamable = "No.",
                      .takes_mask = true,
                      .mask = {.softmax = true}};
  for (const Contract& both : {whole.with(part), whole.with(part).with({.sees = Sees::past, .takes_mask = true})}) {
    EXPECT_EQ(both.in, 4);
    EXPECT_EQ(both.out, 6);
    EXPECT_EQ(both.sees, Sees::all);
    EXPECT_EQ(both.longest, 5);
    EXPECT_EQ(both.shortest, 5);
    EXPECT_EQ(both.multiple, 12);
    EXPECT_STREQ(both.remedy, " Cut it.");
    EXPECT_STREQ(both.unstreamable, "No.");
    EXPECT_TRUE(both.takes_mask);
    EXPECT_TRUE(both.mask.softmax);
    EXPECT_FALSE(both.shows_itself) << "applies to the layer alone, not to its parts";
  }
}

TEST(Contract, WidensByTheFactorsOfBothParts) {
  const Contract twice{.widening = 2}, fixed{.in = 3, .out = 5};
  EXPECT_EQ(twice.output_columns(7), 14);
  EXPECT_EQ(twice.output_columns(Contract::any), Contract::any);
  EXPECT_EQ(twice.then(twice).output_columns(7), 28);
  EXPECT_EQ(fixed.then(twice).output_columns(3), 10);
  EXPECT_EQ(twice.then(fixed).output_columns(7), 5);
}

TEST(Contract, TakesAMaskOnlyIfNoPartMixesMaskedTokens) {
  const Contract attention{.sees = Sees::all, .takes_mask = true}, norm{.sees = Sees::itself}, shift{.sees = Sees::past};
  EXPECT_TRUE(attention.with(norm).takes_mask);
  EXPECT_TRUE(norm.then(attention).takes_mask);
  EXPECT_FALSE(norm.with(norm).takes_mask) << "nothing to hide tokens from";
  for (const Contract& both : {attention.with(shift), shift.with(attention), attention.with(shift).with(attention)}) {
    EXPECT_FALSE(both.takes_mask);
  }
}

TEST(Contract, IntersectsLengthsAndKeepsTheStricterRemedy) {
  const Contract exact{.shortest = 9, .longest = 9, .remedy = " Resize it."}, most{.longest = 5, .remedy = " Cut it."};
  for (const Contract& both : {exact.with(most), most.with(exact)}) {
    EXPECT_EQ(both.shortest, 9);
    EXPECT_EQ(both.longest, 5) << "no length fits both";
  }
  const Contract as_long{.longest = 9, .remedy = " Else."};
  for (const Contract& both : {exact.with(as_long), as_long.with(exact)}) {
    EXPECT_EQ(both.shortest, 9);
    EXPECT_EQ(both.longest, 9);
    EXPECT_STREQ(both.remedy, " Resize it.");
  }
  EXPECT_STREQ((Contract{.remedy = " Own."}.with({.multiple = 4, .remedy = " Other."}).remedy), " Own.");
  EXPECT_STREQ(Contract{}.with({.multiple = 4, .remedy = " Other."}).remedy, " Other.");
}

TEST(Contract, ConvertsLengthLimitsToInputTokens) {
  const Contract halves{.of_rows = 2, .rows = 1}, both = halves.then({.shortest = 3, .longest = 5, .multiple = 3});
  EXPECT_EQ(both.shortest, 6);
  EXPECT_EQ(both.longest, 10);
  EXPECT_EQ(both.multiple, 6);
  EXPECT_TRUE(halves.then({}).takes_any_length());
  const Contract four{.of_rows = 1, .rows = 4}, fourfold = four.then({.shortest = 5, .longest = 9, .multiple = 6});
  EXPECT_EQ(fourfold.shortest, 2) << "one token becomes four, fewer than 5";
  EXPECT_EQ(fourfold.longest, 2);
  EXPECT_EQ(fourfold.multiple, 3) << "3 tokens become 12, a multiple of 6";
}

TEST(ExpectLengths, RefusesLengthsOutsideTheContract) {
  const auto refusal = [](const Contract& contract, const Sequences& sequences) {
    return message_of<ShapeError>([&] { expect_lengths({"Layer", "forward"}, contract, sequences); });
  };
  const Sequences ragged = Sequences::of_lengths({4, 8, 6});
  EXPECT_EQ(refusal({.shortest = 9, .longest = 9, .remedy = " Resize it."}, Sequences::single(7)),
            "Layer::forward: sequence 0 of 1 has 7 tokens, expected 9. Resize it.");
  EXPECT_EQ(refusal({.longest = 7, .remedy = " Cut it."}, ragged),
            "Layer::forward: sequence 1 of 3 has 8 tokens, expected 7 at most. Cut it.");
  EXPECT_EQ(refusal({.shortest = 5, .longest = 8, .remedy = " Pad it."}, ragged),
            "Layer::forward: sequence 0 of 3 has 4 tokens, expected 5 at least. Pad it.");
  EXPECT_EQ(refusal({.multiple = 4, .remedy = " Pad it."}, ragged),
            "Layer::forward: sequence 2 of 3 has 6 tokens, expected a multiple of 4. Pad it.");
  EXPECT_NO_THROW(expect_lengths("Layer", {}, ragged));
  EXPECT_NO_THROW(expect_lengths("Layer", {.longest = 8, .multiple = 2}, ragged));
  EXPECT_NO_THROW(expect_lengths("Layer", {.shortest = 8, .longest = 8}, Sequences::uniform(3, 8)));
  EXPECT_NO_THROW(expect_lengths("Layer", {.shortest = 8, .longest = 8}, Sequences::uniform(0, 5))) << "no sequences";
}

TEST(ExpectInput, RefusesInputsOutsideTheContract) {
  const std::vector<std::uint8_t> mask{1, 0, 1, 1, 0, 1};
  const Contract contract{.in = 4, .of_rows = 3, .longest = 3, .remedy = " Cut it.", .in_note = "pixels"};
  const auto expect = [&](Index rows, Index columns, const Sequences& sequences, Mask used) {
    expect_input({"Layer", "forward"}, contract, rows, columns, sequences, used);
  };
  EXPECT_NO_THROW(expect(6, 4, Sequences::uniform(2, 3), {}));
  EXPECT_EQ(message_of<ShapeError>([&] { expect(6, 5, Sequences::uniform(2, 3), {}); }),
            "Layer::forward: x has 5 columns, expected in = 4 (pixels).");
  EXPECT_EQ(message_of<ShapeError>([&] { expect(5, 4, Sequences::single(5), {}); }),
            "Layer::forward: x has 5 rows, expected a multiple of 3.");
  EXPECT_EQ(message_of<ShapeError>([&] { expect(6, 4, Sequences::single(3), {}); }),
            "Layer::forward: x has 6 rows, but the sequences cover 1 sequence × 3 tokens. Every row must belong to exactly one "
            "sequence.");
  EXPECT_EQ(message_of<ShapeError>([&] { expect(6, 4, Sequences::single(6), {}); }),
            "Layer::forward: sequence 0 of 1 has 6 tokens, expected 3 at most. Cut it.");
  EXPECT_EQ(message_of<ArgumentError>([&] { expect(6, 4, Sequences::uniform(2, 3), mask); }),
            "Layer::forward: got a mask, but this layer takes none. Omit the mask.");
  EXPECT_NO_THROW(expect_input("Layer", {}, 6, 1000, Sequences::single(6), {})) << "any number of columns";
}

TEST(ExpectInput, RefusesMasksOutsideTheContract) {
  const std::vector<std::uint8_t> mask{1, 0, 1}, none{0, 0, 0};
  const Contract any{.takes_mask = true}, softmax{.takes_mask = true, .mask = {.softmax = true}};
  const auto expect = [](const Contract& contract, Mask used) {
    expect_input("Layer", contract, 3, 2, Sequences::single(3), used);
  };
  EXPECT_NO_THROW(expect(any, mask));
  EXPECT_NO_THROW(expect(any, none));
  EXPECT_NO_THROW(expect(softmax, mask));
  EXPECT_EQ(message_of<ShapeError>([&] { expect(softmax, none); }),
            "Layer: the mask leaves no token of sequence 0 for the softmax to attend to. Leave the sequence out of the batch.");
  EXPECT_EQ(message_of<ShapeError>([&] { expect(any, Mask(mask).first(2)); }),
            "Layer: the mask has 2 entries, expected 3, one per token.");
}

TEST(ExpectStreaming, RefusesLayersThatCannotStream) {
  const auto refusal = [](const Contract& contract) {
    return message_of<ArgumentError>([&] { expect_streaming({"Layer", "start"}, contract); });
  };
  EXPECT_EQ(refusal({}),
            "Layer::start: an output depends on later tokens, so the layer cannot be streamed. Build it with causal = true, or "
            "use forward() on whole sequences.");
  EXPECT_EQ(refusal({.unstreamable = "It is bidirectional."}),
            "Layer::start: an output depends on later tokens, so the layer cannot be streamed. It is bidirectional.");
  EXPECT_EQ(refusal({.sees = Sees::past, .unstreamable = "It has no state."}), "Layer::start: It has no state.");
  EXPECT_NO_THROW(expect_streaming("Layer", {.sees = Sees::past}));
  EXPECT_NO_THROW(expect_streaming("Layer", {.sees = Sees::itself}));
}

}  // namespace
}  // namespace gated::contract_test
